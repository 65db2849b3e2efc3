"""The severity of each kind of change for each reader, by the table in `severities.md`.

The author of a client is sender or receiver of what has changed, or both; that depends on its
direction.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from mcp_protogen.findings.change import Category, Change, Reader, Severity
from mcp_protogen.ir import OTHER, Role, Senders

_TABLE = Path(__file__).with_name("severities.md")
_LINE = re.compile(r"^\| (?P<code>[a-z]+(?:-[a-z]+)+) \| (?P<rest>.*) \|$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Row:
    """The message of one code, and its severities for each side of a message."""

    code: str
    category: Category
    message: str
    sender: Severity
    receiver: Severity
    sdk: Severity
    gateway: Severity
    why: str


@dataclass(frozen=True, slots=True)
class Found:
    """A change that was found and is not judged yet; `senders` send what has changed."""

    code: str
    item: str
    pointer: str = ""
    before: str = ""
    after: str = ""
    senders: Senders = frozenset()


@cache
def severities() -> Mapping[str, Row]:
    """Return the table, by code."""
    found = _LINE.finditer(_TABLE.read_text(encoding="utf-8"))
    rows = (_row(match["code"], match["rest"].split(" | ")) for match in found)
    return {row.code: row for row in rows}


def _row(code: str, cells: list[str]) -> Row:
    about, message, *levels, why = cells
    sender, receiver, sdk, gateway = map(Severity, levels)
    return Row(code, Category(about), message, sender, receiver, sdk, gateway, why)


_READERS: Final[Mapping[Role, Reader]] = {"client": Reader.CLIENT, "server": Reader.SERVER}


def judged(found: Found) -> Change:
    """Return a change with its severity for each reader."""
    row = severities()[found.code]
    return Change(
        code=found.code,
        category=row.category,
        item=found.item,
        message=row.message,
        severity=_levels(row, found.senders),
        pointer=found.pointer,
        before=found.before,
        after=found.after,
        why=row.why,
    )


def _levels(row: Row, senders: Senders) -> Mapping[Reader, Severity]:
    levels = {Reader.CLIENT: Severity.NONE, Reader.SERVER: Severity.NONE}
    for role in senders:
        ends: tuple[tuple[Role, Severity], ...] = (
            (role, row.sender),
            (OTHER[role], row.receiver),
        )
        for end, level in ends:
            reader = _READERS[end]
            levels[reader] = min(levels[reader], level, key=lambda one: one.rank)
    levels[Reader.SDK] = row.sdk
    # A gateway passes messages on; what nobody sends does not concern it.
    levels[Reader.GATEWAY] = row.gateway if senders else Severity.NONE
    return levels
