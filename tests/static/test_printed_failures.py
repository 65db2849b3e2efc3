"""A run prints a failure when it happens, and not only at its end."""

import subprocess
import sys
from pathlib import Path

import pytest
from support.folders import TESTS

_FAILING = "def test_sum() -> None:\n    assert 1 + 1 == 3\n"
_READING = """
import time
from pathlib import Path

def test_output_has_earlier_failure() -> None:
    end = time.monotonic() + 30
    while "assert (1 + 1) == 3" not in Path("output").read_text() and time.monotonic() < end:
        time.sleep(0.01)
    assert "assert (1 + 1) == 3" in Path("output").read_text()
"""


@pytest.mark.parametrize("options", [(), ("-n", "1")], ids=["one process", "xdist"])
def test_run_prints_failure_before_next_test(options: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "test_first.py").write_text(_FAILING, encoding="utf-8")
    (tmp_path / "test_second.py").write_text(_READING, encoding="utf-8")
    command = (sys.executable, "-u", "-m", "pytest", "-q", "-p", "support.failures", *options)
    with (tmp_path / "output").open("wb") as output:
        subprocess.run(
            command, cwd=tmp_path, env={"PYTHONPATH": str(TESTS)}, stdout=output, check=False
        )
    assert "1 failed, 1 passed" in (tmp_path / "output").read_text(encoding="utf-8")
