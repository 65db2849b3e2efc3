"""Everything between adjacent revisions that the reference list has no words for, written down.

Run it with `PYTHONPATH=tests` to write it down anew, and read the difference before committing it.
"""

from pathlib import Path

import pytest
from mcp_protogen.compare.engine import compare_sides
from mcp_protogen.compare.sides import pinned_side
from mcp_protogen.findings.change import Change
from revisions import NEIGHBOURS
from test_reference_deltas import UNLISTED

FOLDER = Path(__file__).parent / "unlisted"


def written(before: str, after: str) -> str:
    """A line for each change, in the order in which they are found."""
    changes = compare_sides(pinned_side(before), pinned_side(after)).changes
    return "".join(map(_line, filter(_is_unlisted, changes)))


def _is_unlisted(change: Change) -> bool:
    # Of gates the list has the names alone, and the keys of `_meta` in place of the member.
    by_itself = change.code.startswith("gate-") or ".params._meta" in change.item
    return change.code in UNLISTED or by_itself


def _line(change: Change) -> str:
    levels = " ".join(f"{reader}={level}" for reader, level in change.severity.items())
    texts = f"{change.before} -> {change.after}"
    return f"{change.code} | {change.item} | {texts} | {change.pointer} | {levels}\n"


def file_of(before: str, after: str) -> Path:
    """Where it is written down."""
    return FOLDER / f"{before}-{after}.txt"


@pytest.mark.parametrize(("before", "after"), NEIGHBOURS)
def test_what_no_list_has_is_as_written_down(before: str, after: str) -> None:
    assert written(before, after) == file_of(before, after).read_text(encoding="utf-8")


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for pair in NEIGHBOURS:
        file_of(*pair).write_text(written(*pair), encoding="utf-8")
