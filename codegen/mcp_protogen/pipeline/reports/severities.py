"""The severity of each kind of change for each reader, from the table in `severities.md`.

The author of a client is sender or receiver of a changed message, or both, depending on its
direction. Audits, test vectors, inspections and typed clients have tables of the same format.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from mcp_protogen.pipeline.ir import OTHER, Role, Senders
from mcp_protogen.pipeline.reports.change import Category, Reader, ReportedChange, Severity

_ROW = re.compile(r"^\| (.*) \|$", re.MULTILINE)
_READERS: Final[Mapping[Role, Reader]] = {"client": Reader.CLIENT, "server": Reader.SERVER}


@dataclass(frozen=True, slots=True)
class SeverityRow:
    """One code of a table: `columns` are its severities by the names of their columns.

    `message` is empty in tables without messages.
    """

    code: str
    category: Category
    message: str
    why: str
    columns: Mapping[str, Severity]

    def change(
        self,
        item: str,
        severity: Mapping[Reader, Severity],
        message: str = "",
        sides: tuple[str, str] = ("", ""),
        pointer: str = "",
    ) -> ReportedChange:
        """Return a change of this code; `sides` are the texts before and after."""
        message = message or self.message
        about = self.code, self.category, item, message, severity
        return ReportedChange(*about, pointer, *sides, self.why)

    def levels(self, senders: Senders) -> Mapping[Reader, Severity]:
        """Return the severity for each reader, if these roles send the changed message."""
        levels = {Reader.CLIENT: Severity.NONE, Reader.SERVER: Severity.NONE}
        for role in senders:
            for reader, end in ((_READERS[role], "sender"), (_READERS[OTHER[role]], "receiver")):
                levels[reader] = min(levels[reader], self.columns[end], key=lambda one: one.rank)
        # Gateways pass messages on; a message without senders does not concern them.
        gateway = self.columns["gateway"] if senders else Severity.NONE
        return levels | {Reader.SDK: self.columns["sdk"], Reader.GATEWAY: gateway}


@cache
def severity_table(file: Path) -> Mapping[str, SeverityRow]:
    """Return the rows of the tables in a page, by code; a head names the columns of a table."""
    rows: dict[str, SeverityRow] = {}
    head: list[str] = []
    for found in _ROW.finditer(file.read_text(encoding="utf-8")):
        cells = found[1].split(" | ")
        if cells[0] == "code":
            head = cells
            continue
        row = dict(zip(head, cells, strict=True))
        code, about, why = row.pop("code"), Category(row.pop("about")), row.pop("why")
        message = row.pop("message", "")
        columns = {name: Severity(level) for name, level in row.items()}
        rows[code] = SeverityRow(code, about, message, why, columns)
    return rows


def severities() -> Mapping[str, SeverityRow]:
    """Return the table of the changes between revisions, by code."""
    return severity_table(Path(__file__).with_suffix(".md"))


@dataclass(frozen=True, slots=True)
class Difference:
    """A change without severities yet; `senders` send the changed message."""

    code: str
    item: str
    pointer: str = ""
    before: str = ""
    after: str = ""
    senders: Senders = frozenset()


def rate(found: Difference) -> ReportedChange:
    """Return a change with its severity for each reader."""
    row = severities()[found.code]
    sides = found.before, found.after
    return row.change(found.item, row.levels(found.senders), "", sides, found.pointer)
