"""What we wrote passes the linters and strict type checkers that `make check` runs."""

import subprocess
import sys

import pytest
from support.folders import ROOT

pytestmark = pytest.mark.long

FOLDERS = ("codegen", "tests", "benchmarks", "examples", "releasing")
COMMANDS = {
    "black": ("black", "--check", "--quiet", *FOLDERS),
    "mypy": ("mypy",),
    "pyright": ("pyright", "--pythonpath", sys.executable),
    "ruff": ("ruff", "check", *FOLDERS),
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
def test_it_finds_nothing(command: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
