"""The suite runs without xdist, under a debugger, and as editors run single tests."""

import subprocess
import sys
from pathlib import Path

import pytest
from support.folders import ROOT

BESIDE = "tests/static/test_skipping.py"
ONE = f"{BESIDE}::test_no_test_is_skipped_in_another_way"
SETTINGS = f"--config-file={ROOT / 'pyproject.toml'}"


@pytest.fixture
def tiny(tmp_path: Path) -> str:
    """Write a test file with a failing test in a group, to run beside `BESIDE`."""
    text = "import pytest\n\n@pytest.mark.xdist_group('g')\ndef test_fails():\n    assert 1 == 2\n"
    (tmp_path / "test_tiny.py").write_text(text)
    return str(tmp_path / "test_tiny.py")


def run(*arguments: str, cwd: Path = ROOT, typed: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, input=typed, check=False
    )


def test_single_test_runs_without_xdist() -> None:
    ran = run("-p", "no:xdist", ONE)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "1 passed" in ran.stdout


def test_debugger_stops_at_a_failure(tiny: str) -> None:
    ran = run("--pdb", SETTINGS, ONE, tiny, typed="p 40 + 2\nq\n")
    assert "(Pdb) 42" in ran.stdout, ran.stderr


def test_editor_collects_from_another_folder(tmp_path: Path) -> None:
    ran = run("--collect-only", f"--rootdir={ROOT}", SETTINGS, str(ROOT / BESIDE), cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert ONE in ran.stdout


def test_distributed_tests_keep_their_groups(tiny: str) -> None:
    ran = run("-n1", "-v", SETTINGS, ONE, tiny)
    assert "1 failed, 1 passed" in ran.stdout, ran.stderr
    assert "::test_fails@g" in ran.stdout
