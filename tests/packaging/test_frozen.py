"""The programs of the page, made into one file each by its commands, serve, call and translate."""

import ast
import os
import re
import shutil
import sys
from importlib.util import resolve_name
from pathlib import Path

import pytest
from mcp_protogen.pipeline.config import GenerationOptions
from mcp_protogen.pipeline.parts import DEFAULT
from support import missing, tables
from support.docs.pages import block_texts, page
from support.generating import write_files
from support.made_once import generated_once
from support.peers.places import python_with
from support.programs import run_program

NAME = "frozen.md"
PROGRAMS = block_texts(NAME)
PACKAGE, PYINSTALLER, NUITKA, ZIPAPP = block_texts(NAME, "sh")
(VISIT, VISITED), (NUITKA_VISIT, _) = re.findall("`(.+)` prints `(.+?)`", page(NAME))

LOADED = "python -X importtime visit.py sh -c 'python -X importtime greeter.py 2>greeter' 2>visit"
OF_FILE = "\ndist/visit greeter.py 2>&1 | grep -o 'ValueError: .*'"
REFUSED = (
    "ValueError: this program in one file has no Python for greeter.py:"
    """ name one, connect(["python", 'greeter.py'])"""
)

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("frozen")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the package of the page and its programs."""
    revisions = tuple(re.findall(r"--revision (\S+)", PACKAGE))
    write_files(generated_once(GenerationOptions(revisions, parts=DEFAULT)).files, tmp_path / "pkg")
    for program in PROGRAMS:
        (tmp_path / program.split()[1]).write_text(program)
    return tmp_path


def type_in(lines: str, folder: Path, python: Path) -> str:
    """Type lines into a shell of an installed Python; return the output."""
    path = os.pathsep.join((str(python.parent), os.environ["PATH"]))
    output = run_program(
        "sh", "-ec", lines, cwd=folder, env={**os.environ, "PATH": path, "PYTHONPATH": ""}
    )
    return output.strip()


def require_all(made: str) -> None:
    """Skip what takes a minute of a processor, except with `--all`."""
    if not tables.count(0, 1):
        missing.skip_untested("--all", f"that programs that {made} serve and call")


def test_archive_of_python_serves_and_calls_also_a_file(folder: Path) -> None:
    lines = f"{ZIPAPP}\npython visit.pyz greeter.py"
    assert type_in(lines, folder, Path(sys.executable)) == f"{VISITED}\n{VISITED}"


def test_programs_load_only_modules_that_their_code_names(folder: Path) -> None:
    assert type_in(LOADED, folder, Path(sys.executable)) == VISITED
    for name in ("visit", "greeter"):
        loaded = set(re.findall(r"\| +(pkg\S*)$", (folder / name).read_text(), re.MULTILINE))
        assert loaded
        assert loaded - modules_named(name, folder) == set()


def modules_named(program: str, folder: Path) -> set[str]:
    """Return the modules that imports name, also those in functions and for type checkers."""
    found, left = set[str](), [program]
    while left:
        name = left.pop()
        place = folder.joinpath(*name.split("."))
        is_package = place.is_dir()
        file = place / "__init__.py" if is_package else place.with_suffix(".py")
        if name in found or not file.exists():
            continue
        found.add(name)
        above = name.rpartition(".")[0]
        left.append(above)
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom):
                named = "." * node.level + (node.module or "")
                base = resolve_name(named, name if is_package else above)
                left += [base, *(f"{base}.{alias.name}" for alias in node.names)]
    return found


def test_file_of_pyinstaller_serves_and_calls_no_file(folder: Path) -> None:
    require_all("PyInstaller makes")
    said = type_in(PYINSTALLER + VISIT + OF_FILE, folder, python_with("frozen"))
    assert said == f"{VISITED}\n{REFUSED}"


def test_file_of_nuitka_serves_and_calls(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require_all("Nuitka compiles")
    if shutil.which("cc") is None:
        missing.skip_untested("a C compiler", "that programs that Nuitka compiles serve and call")
    monkeypatch.setenv("CCFLAGS", "-O0")
    assert type_in(NUITKA + NUITKA_VISIT, folder, python_with("nuitka")).endswith(VISITED)
