"""What targets for Python make, and programs of the pages that use it.

`test_generated_static` gives them to type checkers.
"""

import json
import sys
from pathlib import Path

import pytest
from support.programs import run_program
from support.targets.type_checked import PACKAGES, write_all

# In one process, which makes the packages once.
pytestmark = [pytest.mark.long, pytest.mark.xdist_group("static targets")]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the targets make, and the programs."""
    place = tmp_path_factory.mktemp("static")
    write_all(place)
    return place


def test_modules_import_what_they_use_in_the_usual_order(place: Path) -> None:
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "F,I"]
    for name in PACKAGES:
        run_program(*command, "--config", "line-length = 100", place / name)


def test_programs_of_the_page_run(place: Path) -> None:
    outputs = [
        run_program(sys.executable, "-m", f"page_{number}", cwd=place) for number in range(2)
    ]
    assert outputs[0] == "Hello, Ada greet\n"
    assert outputs[1] == (
        "Hello\nlater\n"
        "{'content': [{'type': 'text', 'text': 'Hello'}], 'isError': False}\n"
        "/content/0/text a string is expected\n"
    )


def test_the_program_of_the_page_about_structs_runs(place: Path) -> None:
    answer, result, read, refusal = run_program(
        sys.executable, "-m", "page_of_structs", cwd=place
    ).splitlines()
    assert json.loads(answer)["result"]["content"] == [{"type": "text", "text": "Hello from greet"}]
    assert result.startswith("CallToolResult(content=[TextContent(text='Hello from greet'")
    assert read == f"ResultMessage(id=7, result={result})"
    assert refusal == "-32602 8 Object missing required field `name`"
