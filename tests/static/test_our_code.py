"""What we wrote passes the linters and strict type checkers that `make check` runs."""

import json
import subprocess
import sys

import pytest
from support.folders import ROOT
from support.programs import run_program
from support.tables import count, some

pytestmark = pytest.mark.long

FOLDERS = ("codegen", "tests", "benchmarks", "examples", "docs/website", ".github/releasing")
COMMANDS = {"mypy": ("mypy",), "ruff": ("ruff", "check", *FOLDERS)}
# pyright takes longer for the tests alone than mypy, ruff and black; mypy reads them as strictly.
PRODUCT = ("codegen/mcp_protogen", "benchmarks", "docs/website", ".github/releasing")
TESTS = tuple(sorted({path.parent for path in (ROOT / "tests").glob("*/*.py")}))
FEW = 3


def run(*command: str) -> None:
    run_program(sys.executable, "-m", *command, cwd=ROOT)


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
def test_checker_finds_nothing(command: tuple[str, ...]) -> None:
    run(*command)


def test_formatters_find_nothing() -> None:
    """ruff checks all files; black checks those that ruff would change, and a sample."""
    command = ("ruff", "format", "--check", "--output-format=json", *FOLDERS)
    ran = subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    differing = {found["filename"] for found in json.loads(ran.stdout)}
    read = FOLDERS if count(0, 1) else map(str, some(TESTS, FEW, "black"))
    run("black", "--check", "--quiet", *differing, *read)


def test_pyright_finds_nothing() -> None:
    read = [folder.relative_to(ROOT).as_posix() for folder in some(TESTS, FEW, "pyright")]
    run("pyright", "--pythonpath", sys.executable, *PRODUCT, *read)
