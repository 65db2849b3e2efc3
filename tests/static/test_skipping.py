"""Missing requirements are reported once, with the number of skipped tests."""

from pathlib import Path

import pytest
from support import missing

TESTS = Path(__file__).resolve().parents[1]


def reason(wanted: str, shown: str) -> str:
    with pytest.raises(pytest.skip.Exception) as skipped:
        missing.skip_untested(wanted, shown)
    return f"Skipped: {skipped.value}"


def test_each_thing_that_is_missing_has_one_line() -> None:
    folder = [reason("the folder ../shared", shown) for shown in ("a", "b", "a")]
    assert list(missing.lines([*folder, "Skipped: forks", reason("node", "c: d")])) == [
        "NOT TESTED for want of the folder ../shared, 3 tests: a; b",
        "NOT TESTED for want of another system, 1 tests: forks",
        "NOT TESTED for want of node, 1 tests: c: d",
    ]


def test_no_test_is_skipped_in_another_way() -> None:
    calls = {
        path.name
        for path in TESTS.rglob("*.py")
        if f"pytest.{'skip('}" in path.read_text(encoding="utf-8")
    }
    assert calls == {"missing.py"}
