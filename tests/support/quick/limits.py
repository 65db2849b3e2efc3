"""`pytest --leave-out=FILE --until=TIME`: a run of chosen tests that ends in time."""

import time
from pathlib import Path

import pytest
from support import missing


def find_left_out(config: pytest.Config, items: list[pytest.Item]) -> list[pytest.Item]:
    """Return the collected tests that the file of `--leave-out` lists, an id on each line."""
    name: str | None = config.getoption("--leave-out")
    if name is None:
        return []
    ids = set(Path(name).read_text("utf-8").splitlines())
    return [item for item in items if item.nodeid in ids]


def require_time(config: pytest.Config) -> None:
    """Skip a test that would begin after the time of `--until`, in seconds since the epoch."""
    until: float | None = config.getoption("--until")
    if until is not None and time.time() > until:
        missing.skip_untested("time", "tests that `make test` runs")
