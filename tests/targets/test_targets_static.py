"""What targets for Python make, and programs that use it, under the strictest type checkers."""

import json
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest
from mcp_protogen.pipeline.target import LAYERS, TargetOptions
from support.docs.pages import block_texts
from support.generated.golden_package import REVISIONS
from support.generated.type_checkers import CHECKERS, find_objections, require_same
from support.generated.user_programs import wrong_lines
from support.programs import run_program
from support.tables import share, some
from support.targets.made_up_modules import build_module
from support.targets.target_modules import folder
from support.targets.type_checked import DATACLASSES, MSGSPEC, TYPEDDICT

# In one process, which makes the packages once.
pytestmark = [pytest.mark.long, pytest.mark.xdist_group("static targets")]

OLDEST: Final = REVISIONS[:1]
LATEST: Final = REVISIONS[-1:]
CHECKED: Final = (REVISIONS[0], *REVISIONS[-2:])
USED: Final[Mapping[str, tuple[TargetOptions, tuple[str, ...]]]] = {
    "mcp_types": (TargetOptions("typeddict", LAYERS), CHECKED),
    "mcp_classes": (TargetOptions("dataclasses"), REVISIONS[-2:]),
    "mcp_structs": (TargetOptions("msgspec", LAYERS), REVISIONS[-2:]),
    "mcp_models": (TargetOptions("pydantic", LAYERS), LATEST),
}
OTHERS: Final = {
    "mcp_package": (TargetOptions("dataclasses", LAYERS, "package"), OLDEST),
    "mcp_package_of_structs": (TargetOptions("msgspec", LAYERS, "package"), OLDEST),
    "mcp_package_of_models": (TargetOptions("pydantic", LAYERS, "package"), OLDEST),
    "mcp_package_of_types": (TargetOptions("typeddict", LAYERS, "package"), OLDEST),
    "mcp_sieve": (TargetOptions("pydantic", extra="ignore", root_models=True), LATEST),
    "mcp_tables": (TargetOptions("pydantic", ("methods", "capabilities")), LATEST),
}
# The revisions of the programs, and some others: each makes the type checkers slower.
PACKAGES: Final = {**USED, **dict(some([*OTHERS.items()], 2, "packages of targets"))}
(STRUCTS,) = block_texts("targets-msgspec.md")
PROGRAMS: Final[Mapping[str, str]] = {
    "typeddicts.py": TYPEDDICT.lstrip(),
    "classes.py": DATACLASSES.lstrip(),
    "structs.py": MSGSPEC.lstrip(),
    "page_of_structs.py": STRUCTS,
    **{
        f"page_{number}.py": program
        for number, program in enumerate(block_texts("targets-dependency-free.md"))
    },
}
MADE_UP: Final = {
    f"made_up_as_{target}.py": target for target in ("typeddict", "dataclasses", "msgspec")
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the targets make, and the programs."""
    place = tmp_path_factory.mktemp("static")
    for name, (options, revisions) in PACKAGES.items():
        shutil.copytree(folder(options, revisions), place / name)
    for name, program in PROGRAMS.items():
        (place / name).write_text(program)
    for name, target in MADE_UP.items():
        file = build_module(target, name)
        (place / file.path).write_bytes(file.content)
    return place


@pytest.mark.parametrize("checker", CHECKERS)
def test_checkers_object_to_wrong_lines_only(checker: str, place: Path) -> None:
    number = CHECKERS.index(checker)
    programs = share([*PROGRAMS], number, "programs of targets")
    packages = share([*PACKAGES], number, "packages that are checked")
    made_up = share([*MADE_UP], number, "made-up types")
    found = find_objections(checker, place, [*programs, *packages, *made_up])
    wrong = {(name, line) for name in programs for line in wrong_lines(PROGRAMS[name])}
    require_same(found, wrong)


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
