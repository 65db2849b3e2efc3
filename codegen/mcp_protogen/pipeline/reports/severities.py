"""The severity of each kind of change for each reader, from the table in `severities.md`.

The author of a client is sender or receiver of a changed message, or both, depending on its
direction. Audits and test vectors have tables of the same format.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from mcp_protogen.pipeline.ir import OTHER, Role, Senders
from mcp_protogen.pipeline.reports.change import Category, Reader, ReportedChange, Severity

# Each row of a table except its head.
_ROW = re.compile(r"^\| (?!code \|)(.*) \|$", re.MULTILINE)
_READERS: Final[Mapping[Role, Reader]] = {"client": Reader.CLIENT, "server": Reader.SERVER}


@dataclass(frozen=True, slots=True)
class SeverityRow:
    """The severities of one code for each end of a message; `message` may be empty."""

    code: str
    category: Category
    message: str
    sender: Severity
    receiver: Severity
    sdk: Severity
    gateway: Severity
    why: str

    def levels(self, senders: Senders) -> Mapping[Reader, Severity]:
        """Return the severity for each reader, if these roles send the changed message."""
        levels = {Reader.CLIENT: Severity.NONE, Reader.SERVER: Severity.NONE}
        for role in senders:
            ends = (_READERS[role], self.sender), (_READERS[OTHER[role]], self.receiver)
            for reader, level in ends:
                levels[reader] = min(levels[reader], level, key=lambda one: one.rank)
        # Gateways pass messages on; a message without senders does not concern them.
        gateway = self.gateway if senders else Severity.NONE
        return levels | {Reader.SDK: self.sdk, Reader.GATEWAY: gateway}


@cache
def severity_table(file: Path) -> Mapping[str, SeverityRow]:
    """Return the table in a page, by code."""
    return {row.code: row for row in map(_row, table_rows(file))}


def table_rows(file: Path) -> Iterator[list[str]]:
    """Yield the cells of each row of the tables in a page whose first column is `code`."""
    for found in _ROW.finditer(file.read_text(encoding="utf-8")):
        yield found[1].split(" | ")


def _row(cells: list[str]) -> SeverityRow:
    code, about, *message, sender, receiver, sdk, gateway, why = cells
    ends = Severity(sender), Severity(receiver)
    others = Severity(sdk), Severity(gateway)
    return SeverityRow(code, Category(about), "".join(message), *ends, *others, why)


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
    return ReportedChange(
        code=found.code,
        category=row.category,
        item=found.item,
        message=row.message,
        severity=row.levels(found.senders),
        pointer=found.pointer,
        before=found.before,
        after=found.after,
        why=row.why,
    )
