"""What we wrote passes the linters and strict type checkers that `make check` runs."""

import sys

import pytest
from support.folders import ROOT
from support.programs import run_program
from support.tables import some

pytestmark = pytest.mark.long

FOLDERS = ("codegen", "tests", "benchmarks", "examples", "docs/website", ".github/releasing")
COMMANDS = {
    "black": ("black", "--check", "--quiet", *FOLDERS),
    "mypy": ("mypy",),
    "ruff": ("ruff", "check", *FOLDERS),
}
# pyright takes as long as the three together for the tests alone, which mypy reads as strictly.
PRODUCT = ("codegen/mcp_protogen", "benchmarks", "docs/website", ".github/releasing")
TESTS = tuple(sorted({path.parent for path in (ROOT / "tests").glob("*/*.py")}))
FEW = 3


def run(*command: str) -> None:
    run_program(sys.executable, "-m", *command, cwd=ROOT)


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
def test_checker_finds_nothing(command: tuple[str, ...]) -> None:
    run(*command)


def test_pyright_finds_nothing() -> None:
    read = [folder.relative_to(ROOT).as_posix() for folder in some(TESTS, FEW, "pyright")]
    run("pyright", "--pythonpath", sys.executable, *PRODUCT, *read)
