"""The rules that a server is held to, by the table in `rules.md`, and what breaks them."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Final

from mcp_protogen.findings.severities import SeverityRow, severity_table
from mcp_protogen.inspection.checks import (
    behaviour,
    envelopes,
    extensions,
    offers,
    over_http,
    over_stdio,
    subscriptions,
)
from mcp_protogen.inspection.faults import Check, Fault
from mcp_protogen.inspection.steps import REVISIONS, STATELESS
from mcp_protogen.inspection.transcript import UNKNOWN_REVISION, Session

_HERE: Final = Path(__file__).parent
_LINE: Final = re.compile(r"^\| (?!code \|)(?P<cells>[a-z][^\n]*) \|$", re.MULTILINE)
_SITE: Final = "https://modelcontextprotocol.io/specification"
_EXTENSIONS: Final = "https://github.com/modelcontextprotocol"

CHECKS: Final[tuple[Check, ...]] = (
    *envelopes.CHECKS,
    *behaviour.CHECKS,
    *offers.CHECKS,
    *subscriptions.CHECKS,
    *extensions.CHECKS,
    *over_http.CHECKS,
    *over_stdio.CHECKS,
)


class RuleLevel(StrEnum):
    """How much a rule binds a server."""

    MUST = "MUST"
    SHOULD = "SHOULD"
    RECOMMENDATION = "recommendation"


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: what is required, in which revisions, and where that is said.

    `rows` are those of the requirements in the documentation.
    """

    code: str
    level: RuleLevel
    revisions: tuple[str, ...]
    pages: tuple[str, str]
    rows: tuple[str, ...]
    text: str

    def page(self, revision: str) -> str:
        """Return the address of the page that says it for a revision."""
        known = revision if revision in REVISIONS else self.revisions[-1]
        repository, _, page = self.path(known).rpartition(":")
        if repository:
            name, _, section = page.partition("#")
            return f"{_EXTENSIONS}/{repository}/blob/main/specification/draft/{name}.md#{section}"
        # The site has an index page at the address of its folder.
        return f"{_SITE}/{known}/{page.replace('/index', '')}"

    def path(self, revision: str) -> str:
        """Return the page that says it for a revision, and the section."""
        return self.pages[revision == STATELESS] or self.pages[revision != STATELESS]


@cache
def rules() -> Mapping[str, Rule]:
    """Return the table, by code."""
    text = (_HERE / "rules.md").read_text(encoding="utf-8")
    found = (_rule(line["cells"]) for line in _LINE.finditer(text))
    return {rule.code: rule for rule in found}


def _rule(line: str) -> Rule:
    code, level, first, last, page, later, rows, text = (cell.strip() for cell in line.split(" | "))
    revisions = REVISIONS[REVISIONS.index(first) : REVISIONS.index(last) + 1]
    return Rule(code, RuleLevel(level), revisions, (page, later), tuple(rows.split()), text)


SEVERITIES: Final[Mapping[str, SeverityRow]] = severity_table(_HERE / "severities.md")
"""The severities of each rule that is broken, by code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Breach:
    """A rule that a server breaks at one item, with an example and all sessions that show it."""

    rule: Rule
    example: Fault
    revision: str
    transport: str
    number: int
    sessions: tuple[str, ...]


def judged(sessions: Iterable[Session]) -> tuple[Breach, ...]:
    """Return all breaches, those of the strictest rules first, in the order of the table."""
    found = tuple(sessions)
    merged: dict[tuple[str, str], Breach] = {}
    # The newest revision gives the example: it is the one that a server aims at.
    for session in sorted(found, key=lambda one: one.revision, reverse=True):
        for fault in _faults(session, found):
            known = merged.get((fault.code, fault.item))
            merged[fault.code, fault.item] = _more(known, fault, session)
    order = list(rules())
    level = list(RuleLevel)
    return tuple(
        sorted(
            merged.values(),
            key=lambda one: (
                level.index(one.rule.level),
                order.index(one.rule.code),
                one.example.item,
            ),
        )
    )


def _faults(session: Session, all: tuple[Session, ...]) -> Iterator[Fault]:
    """Yield the faults of a session that are breaks of a rule of its revision."""
    spoken = {one.revision for one in all if one.is_spoken and one.revision != session.revision}
    session.others = tuple(sorted(spoken))
    known = session.revision if session.revision != UNKNOWN_REVISION else REVISIONS[-2]
    for check in CHECKS:
        for fault in check(session):
            if known in rules()[fault.code].revisions:
                yield fault


def _more(known: Breach | None, fault: Fault, session: Session) -> Breach:
    if known is None:
        return Breach(
            rule=rules()[fault.code],
            example=fault,
            revision=session.revision,
            transport=session.transport,
            number=1,
            sessions=(session.label,),
        )
    sessions = tuple(dict.fromkeys((*known.sessions, session.label)))
    return replace(known, number=known.number + 1, sessions=sessions)
