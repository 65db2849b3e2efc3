"""Every case under `cases/` still has its recorded result."""

from collections.abc import Callable
from pathlib import Path

import pytest
from support.running import Ran

from .replay import CASES, ENVIRONMENT, Command, load_record, play, process

ALL = sorted(CASES.iterdir())


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_case(
    case: Path, tmp_path: Path, mcp_gen: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    assert_as_recorded(case, tmp_path, lambda arguments, _: mcp_gen(*arguments))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_case_as_a_process(case: Path, tmp_path: Path) -> None:
    assert_as_recorded(case, tmp_path, process)


def assert_as_recorded(case: Path, tmp_path: Path, command: Command) -> None:
    """Require that a case has its recorded result."""
    assert play(case, tmp_path, command) == load_record(case)
    for path in (case / "expected").rglob("*"):
        if path.is_file():
            made = tmp_path / path.relative_to(case / "expected")
            assert made.read_text() == path.read_text(), made.name
