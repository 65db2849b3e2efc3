"""The content of the page, as values for its template."""

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import groupby, pairwise
from typing import NamedTuple

from mcp_protogen.base.printable import safe_line
from mcp_protogen.pipeline.reports.change import (
    Category,
    Comparison,
    Matrix,
    MatrixCell,
    MatrixRow,
    Reader,
    ReportedChange,
    Severity,
)
from mcp_protogen.pipeline.reports.pages.ranking import CATEGORIES, POSITION, rank_changes

DESCRIPTIONS: Mapping[Severity, str] = {
    Severity.BREAKING: "What worked before fails, or is refused.",
    Severity.WARNING: "What worked before still works, but has another meaning or lacks something.",
    Severity.INFO: "Something to know, or to use.",
    Severity.NONE: "Of no interest to this reader.",
}
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


class CellMark(StrEnum):
    """The change of a row in a revision."""

    NEW = "new"
    CHANGED = "changed"
    GONE = "gone"
    SAME = "same"
    ABSENT = "absent"


class ChangeView(NamedTuple):
    """One change; `order` is its position among all changes without regard to severity."""

    anchor: str
    order: int
    severities: Mapping[Reader, Severity]
    change: ReportedChange


class RowView(NamedTuple):
    """A row of the matrix, with the mark and detail of each cell; `moves` if it has changes."""

    name: str
    moves: bool
    cells: tuple[tuple[CellMark, str], ...]


def sections_of(
    comparison: Comparison, reader: Reader | None
) -> Mapping[Severity, list[ChangeView]]:
    """Return the changes of each severity; empty ones are included, for other readers."""
    entries = sorted(rank_changes(comparison, reader), key=lambda entry: _by_item(entry.change))
    anchors = _anchors([entry.change for entry in entries])
    sections: dict[Severity, list[ChangeView]] = {severity: [] for severity in Severity}
    for order, (entry, anchor) in enumerate(zip(entries, anchors, strict=True)):
        judged = {
            judged_reader: entry.change.severity_for(judged_reader)
            for judged_reader in comparison.readers
        }
        sections[entry.severity].append(ChangeView(anchor, order, judged, entry.change))
    return sections


def _by_item(change: ReportedChange) -> tuple[int, str, str, str]:
    return POSITION[change.category], change.item, change.code, change.pointer


def _anchors(changes: Sequence[ReportedChange]) -> Iterator[str]:
    """Yield a link name for each change, from its item, independent of most other changes."""
    taken: set[str] = set()
    for change in changes:
        name = f"change-{_UNSAFE.sub('-', f'{change.code}-{change.item}')}"
        anchor, number = name, 2
        while anchor in taken:
            anchor, number = f"{name}-{number}", number + 1
        taken.add(anchor)
        yield anchor


def groups_of(matrix: Matrix | None) -> Mapping[Category, list[RowView]]:
    """Return the rows of the matrix by category, each with its changes over time."""
    rows = sorted(matrix.rows if matrix else (), key=lambda row: POSITION[row.category])
    groups = groupby(rows, key=lambda row: row.category)
    return {category: [*map(_row_view, group)] for category, group in groups}


def _row_view(row: MatrixRow) -> RowView:
    first, *_ = row.cells
    start = CellMark.SAME if first.present else CellMark.ABSENT
    marks = (start, *(_mark(before, now) for before, now in pairwise(row.cells)))
    details = (safe_line(cell.detail) for cell in row.cells)
    moves = any(mark in (CellMark.NEW, CellMark.CHANGED, CellMark.GONE) for mark in marks)
    return RowView(safe_line(row.name), moves, tuple(zip(marks, details, strict=True)))


def _mark(before: MatrixCell, now: MatrixCell) -> CellMark:
    if before.present and now.present:
        return (
            CellMark.SAME
            if (before.digest, before.detail) == (now.digest, now.detail)
            else CellMark.CHANGED
        )
    if now.present:
        return CellMark.NEW
    return CellMark.GONE if before.present else CellMark.ABSENT


def categories_of(comparison: Comparison, matrix: Matrix | None) -> Mapping[Category, str]:
    """Return the categories that occur, with their names."""
    found = {change.category for change in comparison.changes}
    found |= {row.category for row in (matrix.rows if matrix else ())}
    return {category: name for category, name in CATEGORIES.items() if category in found}
