"""Skipping of tests that lack something, and a summary of the results not shown."""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NoReturn

import pytest

from support.folders import ROOT

SHARED: Final = ROOT.parent / "shared"
"""Reference material that is kept beside the checkout and is no part of it."""

_MARK: Final = "NOT TESTED for want of "


def skip_untested(wanted: str, shown: str) -> NoReturn:
    """Skip a test that lacks something, and say which result is not shown."""
    pytest.skip(f"{_MARK}{wanted}: {shown}")


def reference(path: str, shown: str) -> Path:
    """Return a file or folder of the reference material; skip the test if it is missing."""
    if not (SHARED / path).exists():
        skip_untested(f"the folder ../{SHARED.name}", shown)
    return SHARED / path


def lines(reasons: Iterable[str]) -> Iterator[str]:
    """Yield a line for each missing thing, with the number of skipped tests.

    Other reasons come from a mark, which is about the system.
    """
    tests: Counter[str] = Counter()
    shown: dict[str, dict[str, None]] = {}
    for reason in reasons:
        wanted, _, what = reason.removeprefix("Skipped: ").partition(": ")
        if not wanted.startswith(_MARK):
            wanted, what = f"{_MARK}another system", wanted + what
        tests[wanted] += 1
        shown.setdefault(wanted, {})[what] = None
    for wanted, number in tests.items():
        yield f"{wanted}, {number} tests: {'; '.join(shown[wanted])}"
