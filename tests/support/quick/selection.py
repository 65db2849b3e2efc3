"""Which tests to run for changed files, from the record of a full run and from names."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, zip_longest
from pathlib import PurePosixPath
from typing import Final, TypeAlias

from support.quick.record import Record, test_file

Naming: TypeAlias = Callable[[str], Iterable[str]]
"""Returns the Python files that import a module, or that name any other file."""

# These read files as text, so that a record does not show it.
_READERS: Final = {
    "codegen/": ("tests/unit/test_architecture.py",),
    "docs/": ("tests/docs/test_blocks.py",),
}
# Seconds to import a test file for its first test.
_IMPORT: Final = 0.3


@dataclass(frozen=True, slots=True)
class Selection:
    """Test files to run, tests in them to leave out, their numbers, and options of pytest."""

    files: tuple[str, ...]
    left_out: frozenset[str]
    chosen: int = 0
    found: int = 0
    options: tuple[str, ...] = ()


def is_test_file(path: str) -> bool:
    """Return true if pytest collects a file."""
    name = PurePosixPath(path)
    return path.startswith("tests/") and name.name.startswith("test_") and name.suffix == ".py"


@cache
def word_for(path: str) -> str:
    """Return the name that other files use for a file: "server" for `server/__init__.py`."""
    name = PurePosixPath(path)
    # Each recorded case has files of the same names.
    if name.stem == "__init__" or (not name.suffix and name.parent.name):
        return name.parent.name
    return name.stem if name.suffix == ".py" else name.name


def matches_name(path: str, test: str) -> bool:
    """Return true if a test file has the name of a module, or a parameter is a part of the path."""
    if path.endswith(".py"):
        stem = word_for(test_file(test)).removeprefix("test_")
        return f"_{word_for(path)}_" in f"_{stem}_"
    parameter = test.partition("[")[2].removesuffix("]")
    return parameter in {*path.split("/"), PurePosixPath(path).stem}


def closest_tests(path: str, record: Record, naming: Naming) -> list[str]:
    """Return the recorded tests for a changed file, those closest to it first.

    A module without functions runs only when it is imported, and other files are not run at all:
    files that name it stand for it.
    """
    tests = record.tests_of(path)
    if not path.endswith(".py"):
        tests |= {test for test in record.seconds if matches_name(path, test)}
    if not tests or not path.endswith(".py"):
        tests = tests.union(*(record.tests_of(user) for user in naming(path)))
    return sorted(tests, key=lambda test: _distance(path, test, record))


def _distance(path: str, test: str, record: Record) -> tuple[bool, int, float, str]:
    """A test that runs few files says more about each of them."""
    number = len(record.files.get(test, ()))
    return not matches_name(path, test), number, record.seconds[test], test


def select(changed: Sequence[str], record: Record, naming: Naming, budget: float) -> Selection:
    """Choose tests of up to `budget` recorded seconds; each changed file has its turn.

    Of changed test files, tests that are newer than the record run in any case.
    """
    edited = dict.fromkeys(filter(is_test_file, changed))
    paths = [*dict.fromkeys([*edited, *changed, *_readers(changed)])]
    rounds = zip_longest(*(closest_tests(path, record, naming) for path in paths))
    found = [*dict.fromkeys(test for test in chain.from_iterable(rounds) if test)]
    chosen = _affordable(found, record, budget)
    files = dict.fromkeys([*edited, *map(test_file, chosen)])
    left_out = {test for test in record.seconds if test_file(test) in files}.difference(chosen)
    return Selection((*files,), frozenset(left_out), len(chosen), len(found))


def _affordable(tests: Iterable[str], record: Record, budget: float) -> list[str]:
    """Return tests until the budget is spent; the tests of a file have one process, and half."""
    spent: dict[str, float] = {}
    chosen: list[str] = []
    for test in tests:
        file = test_file(test)
        of_file = spent.get(file, _IMPORT) + record.seconds[test]
        if of_file <= budget / 2 and sum(spent.values()) + of_file - spent.get(file, 0) <= budget:
            spent[file] = of_file
            chosen.append(test)
    return chosen


def _readers(changed: Iterable[str]) -> Iterable[str]:
    for folder, files in _READERS.items():
        if any(path.startswith(folder) for path in changed):
            yield from files


def select_by_name(changed: Sequence[str], test_files: Sequence[str], naming: Naming) -> Selection:
    """Choose test files without a record: changed ones, and those that changed files belong to.

    A module has the test files named after it and those that import it, and else the folder of
    tests that is named like one of its folders.
    """
    files: dict[str, None] = {}
    for path in changed:
        near = [file for file in test_files if file == path or matches_name(path, file)]
        near = near or [file for file in naming(path) if file in test_files]
        parts = set(PurePosixPath(path).parent.parts) - {"tests"}
        folder = [file for file in test_files if PurePosixPath(file).parent.name in parts]
        files.update(dict.fromkeys(near or folder))
    files.update(dict.fromkeys(_readers(changed)))
    return Selection((*files,), frozenset(), options=("-m", "not long"))
