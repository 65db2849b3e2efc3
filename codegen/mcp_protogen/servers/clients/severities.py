"""The severity of each change of a server's tools, by the table in `severities.md`."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from mcp_protogen.pipeline.reports.change import Category, Reader, ReportedChange, Severity
from mcp_protogen.pipeline.reports.severities import table_rows

READERS: Final[tuple[Reader, ...]] = (Reader.CALLER, Reader.MODEL, Reader.HOST)


@dataclass(frozen=True, slots=True)
class ToolSeverity:
    """The severities of one code for each reader, its message, and why."""

    code: str
    category: Category
    message: str
    severity: Mapping[Reader, Severity]
    why: str


@cache
def severities() -> Mapping[str, ToolSeverity]:
    """Return the table, by code."""
    rows = table_rows(Path(__file__).with_suffix(".md"))
    return {row.code: row for row in map(_row, rows)}


def _row(cells: list[str]) -> ToolSeverity:
    code, about, message, *levels, why = cells
    severity: Mapping[Reader, Severity] = dict(zip(READERS, map(Severity, levels), strict=True))
    return ToolSeverity(code, Category(about), message, severity, why)


def rate(code: str, item: str, tool: str, before: str = "", after: str = "") -> ReportedChange:
    """Return a change of `tool` with its severity for each reader."""
    row = severities()[code]
    return ReportedChange(
        code=code,
        category=row.category,
        item=item,
        message=row.message,
        severity=row.severity,
        before=before,
        after=after,
        why=row.why,
        feature=tool,
    )
