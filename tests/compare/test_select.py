"""A comparison narrowed for a reader."""

from dataclasses import replace

from mcp_protogen.pipeline.reports.change import (
    PROTOCOL,
    Category,
    Comparison,
    Reader,
    ReportedChange,
    Severity,
)
from mcp_protogen.pipeline.reports.pages.ranking import summary
from support import tables

_LEVELS = {"b": Severity.BREAKING, "w": Severity.WARNING, "i": Severity.INFO, "n": Severity.NONE}


def change(levels: str) -> ReportedChange:
    """A change called after its severities for client, server, SDK and gateway."""
    severity = {reader: _LEVELS[level] for reader, level in zip(PROTOCOL, levels, strict=True)}
    return ReportedChange("a-code", Category.FIELD, levels, "changed", severity)


EVERYTHING = Comparison("a", "b", tuple(map(change, ("bnnn", "wiii", "ibww", "nnin", "nnnn"))))


def test_lesser_changes_are_left_out_and_worst_come_first() -> None:
    rows: list[tuple[Reader | None, Severity | None, list[str]]] = [
        (None, None, ["bnnn", "ibww", "wiii", "nnin"]),
        (None, Severity.WARNING, ["bnnn", "ibww", "wiii"]),
        (None, Severity.BREAKING, ["bnnn", "ibww"]),
        (Reader.CLIENT, None, ["bnnn", "wiii", "ibww"]),
        (Reader.CLIENT, Severity.WARNING, ["bnnn", "wiii"]),
        (Reader.SERVER, None, ["ibww", "wiii"]),
        (Reader.SERVER, Severity.BREAKING, ["ibww"]),
        (Reader.SDK, Severity.INFO, ["ibww", "wiii", "nnin"]),
        (Reader.GATEWAY, Severity.BREAKING, []),
    ]
    for reader, least, expected in rows:
        with tables.case(expected):
            assert [change.item for change in EVERYTHING.narrow(reader, least).changes] == expected


def test_narrowing_keeps_other_fields() -> None:
    shown = EVERYTHING.narrow(Reader.CLIENT, Severity.BREAKING)
    assert (shown.before, shown.after, shown.notes) == ("a", "b", ())


def test_a_comparison_reaches_what_one_of_its_changes_is() -> None:
    rows: list[tuple[Reader | None, Severity, bool]] = [
        (None, Severity.BREAKING, True),
        (Reader.SERVER, Severity.BREAKING, True),
        (Reader.SDK, Severity.BREAKING, False),
        (Reader.SDK, Severity.WARNING, True),
        (Reader.GATEWAY, Severity.BREAKING, False),
    ]
    for reader, severity, expected in rows:
        with tables.case((reader, severity, expected)):
            assert EVERYTHING.reaches(reader, severity) is expected


def test_how_many_are_left_out_is_told_and_none_is_not_no_change() -> None:
    some = EVERYTHING.narrow(Reader.SDK, Severity.WARNING)
    assert 0 < some.left_out == len(EVERYTHING.changes) - len(some.changes)
    assert summary(some, Reader.SDK).endswith(f", {some.left_out} left out")
    assert summary(replace(some, changes=()), None) == (
        f"{some.left_out} changes, all of them left out"
    )
    again = some.narrow(Reader.SDK, Severity.BREAKING)
    assert again.left_out == len(EVERYTHING.changes) - len(again.changes)


def test_irrelevant_changes_reach_no_severity() -> None:
    assert not Comparison("a", "b", (change("nnnn"),)).reaches(None, Severity.INFO)
