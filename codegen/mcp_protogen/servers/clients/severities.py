"""The severity of each change of a server's tools, by the table in `severities.md`."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from mcp_protogen.pipeline.reports.change import Reader, ReportedChange
from mcp_protogen.pipeline.reports.severities import SeverityRow, severity_table

READERS: Final[tuple[Reader, ...]] = (Reader.CALLER, Reader.MODEL, Reader.HOST)


def severities() -> Mapping[str, SeverityRow]:
    """Return the table, by code."""
    return severity_table(Path(__file__).with_suffix(".md"))


def rate(code: str, item: str, tool: str, before: str = "", after: str = "") -> ReportedChange:
    """Return a change of `tool` with its severity for each reader."""
    row = severities()[code]
    levels = {reader: row.columns[reader] for reader in READERS}
    return replace(row.change(item, levels, sides=(before, after)), feature=tool)
