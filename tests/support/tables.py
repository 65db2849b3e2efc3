"""Tables of cases: large ones run in part, and a failure names its case.

A part is a sample by a seed; `--all` runs everything.
"""

from collections import defaultdict
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from random import Random
from types import CodeType
from typing import TypeVar

import pytest

T = TypeVar("T")

_chosen: dict[str, str | None] = {"seed": "0"}


def configure(config: pytest.Config) -> None:
    """Read the command line before test modules are imported."""
    _chosen["seed"] = None if config.getoption("--all") else config.getoption("--seed")


def describe_sampling() -> str:
    seed = _chosen["seed"]
    if seed is None:
        return "sampling: none, every case of every table runs"
    return f"sampling: large tables in part, seed {seed}; --seed N takes others, --all takes all"


def some(cases: Sequence[T], few: int, of: str) -> list[T]:
    """Return all cases with `--all`, otherwise a few in order; `of` names the table."""
    seed = _chosen["seed"]
    if seed is None or len(cases) <= few:
        return list(cases)
    chosen = sorted(Random(f"{seed} {of}").sample(range(len(cases)), few))
    return [cases[index] for index in chosen]


def share(cases: Sequence[T], place: int, of: str) -> list[T]:
    """Return all cases with `--all`, otherwise those of one of two readers, at place 0 or 1."""
    of_first = some(range(len(cases)), len(cases) // 2, of)
    everything = _chosen["seed"] is None
    return [
        case
        for index, case in enumerate(cases)
        if everything or (index in of_first) == (place == 0)
    ]


def count(few: int, everything: int) -> int:
    """Return the number of examples: `everything` with `--all`."""
    return everything if _chosen["seed"] is None else few


@contextmanager
def case(name: object) -> Generator[None, None, None]:
    """Name the case of a table in its failure."""
    try:
        yield
    except BaseException as failure:
        failure.add_note(f"in the case {name}")
        raise


def _of(cases: Sequence[T], few: int, test: str) -> list[T]:
    """Sample cases; of several the last is included, mostly that of the newest revision."""
    if few < 2:
        return some(cases, few, test)
    return [*some(cases[:-1], few - 1, test), cases[-1]]


def names_read(code: CodeType) -> Iterator[str]:
    """Yield the global names that code reads, also in inner functions."""
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from names_read(inner)


def is_row_of(test: pytest.Function, row: str) -> bool:
    """Return whether a row belongs to a test: in its id, or in a table that it loops over."""
    if hasattr(test, "callspec"):
        return row in test.name
    read = (vars(test.module).get(name) for name in names_read(test.obj.__code__))
    return any(isinstance(table, tuple) and row in table for table in read)


def omitted_tests(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Return the cases of tests marked `sampled(few)` outside their sample."""
    tables: dict[tuple[str, int], list[pytest.Item]] = defaultdict(list)
    for item in items:
        mark = item.get_closest_marker("sampled")
        if mark is not None:
            tables[item.nodeid.partition("[")[0], mark.args[0]].append(item)
    kept = {item.nodeid for (test, few), cases in tables.items() for item in _of(cases, few, test)}
    return [item for cases in tables.values() for item in cases if item.nodeid not in kept]
