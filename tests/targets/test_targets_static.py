"""What targets for Python make, and programs that use it, under the strictest type checkers."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest
from mcp_protogen.pipeline.target import LAYERS, TargetOptions
from support.docs.pages import block_texts
from support.generated.golden_package import REVISIONS
from support.generated.user_programs import wrong_lines
from support.tables import some
from support.targets.made_up_modules import build_module
from support.targets.target_modules import folder
from support.targets.type_checked import DATACLASSES, MSGSPEC, TYPEDDICT

pytestmark = pytest.mark.long

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
OTHER_TARGETS: Final = ("typeddict", "dataclasses", "msgspec")
EXPECTED: Final = {
    (name, line) for name, program in PROGRAMS.items() for line in wrong_lines(program)
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the targets make, and the programs."""
    place = tmp_path_factory.mktemp("static")
    for name, (options, revisions) in PACKAGES.items():
        shutil.copytree(folder(options, revisions), place / name)
    for name, program in PROGRAMS.items():
        (place / name).write_text(program)
    for target in OTHER_TARGETS:
        file = build_module(target, f"made_up_as_{target}.py")
        (place / file.path).write_bytes(file.content)
    return place


def _run(place: Path, *command: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=place, capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout


def test_pyright_strict_objects_to_wrong_lines_only(place: Path) -> None:
    settings = {"typeCheckingMode": "strict", "pythonVersion": "3.11", "include": ["."]}
    settings["reportUnusedExpression"] = "none"  # that is what the wrong lines are
    (place / "pyrightconfig.json").write_text(json.dumps(settings))
    report = json.loads(_run(place, "pyright", "--outputjson", "--pythonpath", sys.executable))
    assert report["summary"]["filesAnalyzed"] == len(list(place.rglob("*.py")))
    found = {
        (Path(diagnostic["file"]).name, diagnostic["range"]["start"]["line"] + 1): diagnostic[
            "message"
        ]
        for diagnostic in report["generalDiagnostics"]
    }
    assert found.keys() == EXPECTED, {at: found.get(at) for at in found.keys() ^ EXPECTED}


def test_mypy_strict_objects_to_wrong_lines_only(place: Path) -> None:
    options = ("--strict", "--config-file=", "--python-version=3.11", "--no-error-summary")
    made_up = [f"made_up_as_{target}.py" for target in OTHER_TARGETS]
    bases, cache = "--explicit-package-bases", f"--cache-dir={place / '.mypy_cache'}"
    output = _run(place, "mypy", *options, bases, cache, *PACKAGES, *PROGRAMS, *made_up)
    lines = re.findall(r"^(\S+):(\d+): error: (.*)", output, re.MULTILINE)
    found = {(Path(name).name, int(line)): text for name, line, text in lines}
    assert found.keys() == EXPECTED, {at: found.get(at) for at in found.keys() ^ EXPECTED}


def test_modules_import_what_they_use_in_the_usual_order(place: Path) -> None:
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "F,I"]
    for name in PACKAGES:
        done = subprocess.run(
            [*command, "--config", "line-length = 100", place / name],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout


def test_programs_of_the_page_run(place: Path) -> None:
    outputs = [_run(place, f"page_{number}") for number in range(2)]
    assert outputs[0] == "Hello, Ada greet\n"
    assert outputs[1] == (
        "Hello\nlater\n"
        "{'content': [{'type': 'text', 'text': 'Hello'}], 'isError': False}\n"
        "/content/0/text a string is expected\n"
    )


def test_the_program_of_the_page_about_structs_runs(place: Path) -> None:
    answer, result, read, refusal = _run(place, "page_of_structs").splitlines()
    assert json.loads(answer)["result"]["content"] == [{"type": "text", "text": "Hello from greet"}]
    assert result.startswith("CallToolResult(content=[TextContent(text='Hello from greet'")
    assert read == f"ResultMessage(id=7, result={result})"
    assert refusal == "-32602 8 Object missing required field `name`"
