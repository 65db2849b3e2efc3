"""Distribution of tests: a process runs whole files, which share slow objects and imports.

Long tests go to any free process, alone or with their `xdist_group`.
"""

from collections.abc import Iterable
from importlib import import_module
from typing import Any, Final

import pytest

from support.folders import TESTS

_ALONE: Final = "alone"


def configure(config: pytest.Config) -> None:
    """Set the options of xdist for the scheduler below; they do nothing without xdist.

    In `addopts` they would stop a run without xdist, and one with `--pdb`.
    """
    config.option.loadgroup = True
    config.option.loadscopereorder = False


def set_apart(items: Iterable[pytest.Item]) -> None:
    """Mark long tests without a group: a scheduler only sees a test's name and group."""
    for item in items:
        if item.get_closest_marker("long") and not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(_ALONE))


def put_in_order(items: list[pytest.Item]) -> None:
    """Put long tests first, then those of large files: no worker has much left at the end.

    In the order of folders, tests that wait would be together, and all workers wait at once.
    """
    sizes = {path: path.stat().st_size for path in {item.path for item in items}}
    items.sort(
        key=lambda item: (
            item.get_closest_marker("long") is None,
            -sizes[item.path],
            item.path,
        )
    )


def begin_elsewhere(config: pytest.Config) -> None:
    """Let each worker collect from a different file on, if it collects all.

    The first import of a test module compiles it for the other workers.
    """
    worker: dict[str, Any] = getattr(config, "workerinput", {})
    if worker and config.args_source is pytest.Config.ArgsSource.TESTPATHS:
        files = sorted(str(file) for file in TESTS.rglob("test_*.py"))
        first = int(worker["workerid"].removeprefix("gw")) * len(files) // worker["workercount"]
        config.args[:] = files[first:] + files[:first]


def by_file(config: pytest.Config, log: object) -> Any:
    """Return an untyped scheduler of xdist that distributes files instead of tests."""
    scheduler: Any = import_module("xdist.scheduler").LoadGroupScheduling(config, log)
    group_of = scheduler._split_scope

    def unit_of(test: str) -> str:
        group: str = group_of(test)
        return test if group == _ALONE else group.partition("::")[0]

    scheduler._split_scope = unit_of
    return scheduler
