"""Every case under `cases/` still has its recorded result."""

from collections.abc import Callable
from pathlib import Path

import pytest
from support.running import Ran

from .replay import CASES, ENVIRONMENT, load_record, play

ALL = sorted(CASES.iterdir())


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_case(
    case: Path, tmp_path: Path, mcp_gen: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    assert play(case, tmp_path, lambda arguments, _: mcp_gen(*arguments)) == load_record(case)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_case_as_a_process(case: Path, tmp_path: Path) -> None:
    assert play(case, tmp_path) == load_record(case)
