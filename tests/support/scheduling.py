"""Which tests one process runs: those of a file, which share what is made or imported for them.

Long tests go to whoever is free, each alone or with those of its `xdist_group`.
"""

from collections.abc import Iterable
from importlib import import_module
from typing import Any, Final

import pytest

from support.folders import TESTS

_ALONE: Final = "alone"


def configure(config: pytest.Config) -> None:
    """Set the options of xdist for the scheduler below; without xdist they mean nothing.

    In `addopts` they would stop a run without xdist, and one with `--pdb`.
    """
    config.option.loadgroup = True
    config.option.loadscopereorder = False


def set_apart(items: Iterable[pytest.Item]) -> None:
    """Mark long tests without a group: a scheduler sees nothing of a test but name and group."""
    for item in items:
        if item.get_closest_marker("long") and not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(_ALONE))


def begin_elsewhere(config: pytest.Config) -> None:
    """Have each worker collect all tests from another file on, if it is to collect all.

    The first one to import a test module compiles it for the others, which come to it later.
    """
    worker: dict[str, Any] = getattr(config, "workerinput", {})
    if worker and config.args_source is pytest.Config.ArgsSource.TESTPATHS:
        files = sorted(str(file) for file in TESTS.rglob("test_*.py"))
        first = int(worker["workerid"].removeprefix("gw")) * len(files) // worker["workercount"]
        config.args[:] = files[first:] + files[:first]


def by_file(config: pytest.Config, log: object) -> Any:
    """Return a scheduler of xdist, which has no types, for files in place of single tests."""
    scheduler: Any = import_module("xdist.scheduler").LoadGroupScheduling(config, log)
    group_of = scheduler._split_scope

    def unit_of(test: str) -> str:
        group: str = group_of(test)
        return test if group == _ALONE else group.partition("::")[0]

    scheduler._split_scope = unit_of
    return scheduler
