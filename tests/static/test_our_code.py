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
# mypy reads all as strictly in a third of the time. `make check` runs both on everything.
TYPED = ("codegen/mcp_protogen", "benchmarks", "docs/website", ".github/releasing", "tests")
PLACES = sorted({path.parent for folder in TYPED for path in (ROOT / folder).rglob("*.py")})
FEW = 8


def run(*command: str) -> None:
    run_program(sys.executable, "-m", *command, cwd=ROOT)


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
def test_checker_finds_nothing(command: tuple[str, ...]) -> None:
    run(*command)


def test_pyright_finds_nothing() -> None:
    read = [f"{place.relative_to(ROOT)}/*.py" for place in some(PLACES, FEW, "pyright")]
    run("pyright", "--pythonpath", sys.executable, *read)
