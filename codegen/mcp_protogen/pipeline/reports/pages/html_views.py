"""The content of the page, as values for its template, which only prints."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby, pairwise

from mcp_protogen.base.printable import one_line
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
from mcp_protogen.pipeline.reports.pages.ranking import CATEGORIES, HEADINGS, ranked

_DESCRIPTIONS: Mapping[Severity, str] = {
    Severity.BREAKING: "What worked before fails, or is refused.",
    Severity.WARNING: "What worked before still works, but has another meaning or lacks something.",
    Severity.INFO: "Something to know, or to use.",
    Severity.NONE: "Of no interest to this reader.",
}
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_POSITION = {category: position for position, category in enumerate(Category)}


class CellMark(StrEnum):
    """The change of a row in a revision."""

    NEW = "new"
    CHANGED = "changed"
    GONE = "gone"
    SAME = "same"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class ChangeView:
    """One change; `order` is its place among all changes when severity does not count."""

    anchor: str
    order: int
    label: str
    severity: Severity
    severities: Mapping[Reader, Severity]
    change: ReportedChange


@dataclass(frozen=True, slots=True)
class SectionView:
    """All changes of one severity."""

    severity: Severity
    heading: str
    description: str
    changes: tuple[ChangeView, ...]


@dataclass(frozen=True, slots=True)
class ColumnView:
    """A revision of the matrix; the two that are compared stand out."""

    title: str
    compared: bool


@dataclass(frozen=True, slots=True)
class CellView:
    """A cell of the matrix, compared with the revision before it."""

    mark: CellMark
    detail: str


@dataclass(frozen=True, slots=True)
class RowView:
    """A row of the matrix; `moves` if it differs between revisions."""

    name: str
    moves: bool
    cells: tuple[CellView, ...]


@dataclass(frozen=True, slots=True)
class GroupView:
    """All rows of one category."""

    category: Category
    label: str
    rows: tuple[RowView, ...]


@dataclass(frozen=True, slots=True)
class FilterView:
    """A severity or a category that can be chosen, and its name."""

    value: str
    label: str


@dataclass(frozen=True, slots=True)
class FiltersView:
    """The filters that can be chosen."""

    severities: tuple[FilterView, ...]
    categories: tuple[FilterView, ...]


def sections_of(comparison: Comparison, reader: Reader | None) -> tuple[SectionView, ...]:
    """Return a section for each severity, also empty ones, which another reader may fill."""
    views = _change_views(comparison, reader)
    return tuple(
        SectionView(
            severity,
            HEADINGS[severity],
            _DESCRIPTIONS[severity],
            tuple(view for view in views if view.severity is severity),
        )
        for severity in Severity
    )


def _change_views(comparison: Comparison, reader: Reader | None) -> tuple[ChangeView, ...]:
    entries = sorted(ranked(comparison, reader), key=lambda entry: _by_item(entry.change))
    anchors = _anchors([entry.change for entry in entries])
    return tuple(
        ChangeView(
            anchor,
            order,
            CATEGORIES[entry.change.category],
            entry.severity,
            {one: entry.change.severity_for(one) for one in comparison.readers},
            entry.change,
        )
        for order, (entry, anchor) in enumerate(zip(entries, anchors, strict=True))
    )


def _by_item(change: ReportedChange) -> tuple[int, str, str, str]:
    return _POSITION[change.category], change.item, change.code, change.pointer


def _anchors(changes: Sequence[ReportedChange]) -> Iterator[str]:
    """Yield a link name for each change, after its item.

    The name stays the same when other changes are added or removed.
    """
    taken: set[str] = set()
    for change in changes:
        name = f"change-{_UNSAFE.sub('-', f'{change.code}-{change.item}')}"
        anchor, number = name, 2
        while anchor in taken:
            anchor, number = f"{name}-{number}", number + 1
        taken.add(anchor)
        yield anchor


def columns_of(comparison: Comparison, matrix: Matrix | None) -> tuple[ColumnView, ...]:
    """Return the revisions of the matrix."""
    compared = (comparison.before, comparison.after)
    titles = map(one_line, matrix.revisions if matrix else ())
    return tuple(ColumnView(title, title in compared) for title in titles)


def groups_of(matrix: Matrix | None) -> tuple[GroupView, ...]:
    """Return the rows of the matrix by category, each with its changes over time."""
    rows = sorted(matrix.rows if matrix else (), key=lambda row: _POSITION[row.category])
    return tuple(
        GroupView(category, CATEGORIES[category], tuple(map(_row_view, group)))
        for category, group in groupby(rows, key=lambda row: row.category)
    )


def _row_view(row: MatrixRow) -> RowView:
    first, *_ = row.cells
    start = CellMark.SAME if first.present else CellMark.ABSENT
    marks = (start, *(_mark(before, now) for before, now in pairwise(row.cells)))
    cells = zip(marks, row.cells, strict=True)
    return RowView(
        name=one_line(row.name),
        moves=any(mark in (CellMark.NEW, CellMark.CHANGED, CellMark.GONE) for mark in marks),
        cells=tuple(CellView(mark, one_line(cell.detail)) for mark, cell in cells),
    )


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


def filters_of(comparison: Comparison, matrix: Matrix | None) -> FiltersView:
    """Return all severities, and the categories that occur."""
    found = {change.category for change in comparison.changes}
    found |= {row.category for row in (matrix.rows if matrix else ())}
    return FiltersView(
        severities=tuple(FilterView(severity, HEADINGS[severity]) for severity in Severity),
        categories=tuple(FilterView(one, CATEGORIES[one]) for one in Category if one in found),
    )
