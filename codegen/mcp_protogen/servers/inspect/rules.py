"""The rules that a server is held to, by the table in `rules.md`, and what breaks them."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Final

from mcp_protogen.pipeline.reports.severities import SeverityRow, severity_table
from mcp_protogen.servers.inspect.checks import (
    behaviour,
    envelopes,
    extensions,
    offers,
    over_http,
    over_stdio,
    subscriptions,
)
from mcp_protogen.servers.inspect.rule_faults import Check, Fault
from mcp_protogen.servers.inspect.steps import HANDSHAKE, REVISIONS
from mcp_protogen.servers.inspect.transcript import UNKNOWN_REVISION, Session

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
    """How much a rule binds a server, the strictest first."""

    MUST = "MUST"
    SHOULD = "SHOULD"
    RECOMMENDATION = "recommendation"


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: what is required, in which revisions, and where that is said.

    `level` is all that the table says of it; `levels` and `pages` have each revision of the rule.
    `rows` are those of the requirements in the documentation.
    """

    code: str
    level: str
    levels: Mapping[str, RuleLevel]
    pages: Mapping[str, str]
    rows: tuple[str, ...]
    text: str

    @property
    def revisions(self) -> tuple[str, ...]:
        """The revisions that have it, the oldest first."""
        return tuple(self.levels)

    def page(self, revision: str) -> str:
        """Return the address of the page that says it for a revision."""
        repository, _, page = self.pages[revision].rpartition(":")
        if repository:
            name, _, section = page.partition("#")
            return f"{_EXTENSIONS}/{repository}/blob/main/specification/draft/{name}.md#{section}"
        # The site has an index page at the address of its folder.
        return f"{_SITE}/{revision}/{page.replace('/index', '')}"


@cache
def rules() -> Mapping[str, Rule]:
    """Return the table, by code."""
    text = (_HERE / "rules.md").read_text(encoding="utf-8")
    found = (_rule(line["cells"]) for line in _LINE.finditer(text))
    return {rule.code: rule for rule in found}


def _rule(line: str) -> Rule:
    code, level, first, last, page, rows, text = (cell.strip() for cell in line.split(" | "))
    revisions = REVISIONS[REVISIONS.index(first) : REVISIONS.index(last) + 1]
    levels = {one: RuleLevel(value) for one, value in _by_revision(level, revisions).items()}
    return Rule(code, level, levels, _by_revision(page, revisions), tuple(rows.split()), text)


def _by_revision(cell: str, revisions: Sequence[str]) -> dict[str, str]:
    """Return what a cell such as `SHOULD, MUST since 2025-06-18` says of each revision."""
    first, *later = cell.split(", ")
    found = dict.fromkeys(revisions, first)
    for value, _, since in (one.partition(" since ") for one in later):
        found |= dict.fromkeys(revisions[revisions.index(since) :], value)
    return found


SEVERITIES: Final[Mapping[str, SeverityRow]] = severity_table(_HERE / "severities.md")
"""The severities of each rule that is broken, by code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Breach:
    """A rule that a server breaks at one item, with an example and all sessions that show it.

    `level` is the strictest of those of the sessions. The example is from the first of `sessions`,
    and `revision` is what that was held to.
    """

    rule: Rule
    level: RuleLevel
    example: Fault
    revision: str
    number: int
    sessions: tuple[str, ...]

    @property
    def page(self) -> str:
        """The address of the page that says what is broken."""
        return self.rule.page(self.revision)

    @property
    def shown_by(self) -> str:
        """The sessions that show it, in short."""
        first, *more = self.sessions
        return f"{first} and {len(more)} more" if more else first


def judged(sessions: Iterable[Session]) -> tuple[Breach, ...]:
    """Return all breaches, those of the strictest level first, in the order of the table."""
    found = tuple(sessions)
    shown: dict[tuple[str, str], list[tuple[Session, Fault]]] = {}
    # The newest revision gives the example: it is the one that a server aims at.
    for session in sorted(found, key=lambda one: one.revision, reverse=True):
        for fault in _faults(session, found):
            shown.setdefault((fault.code, fault.item), []).append((session, fault))
    order, levels = list(rules()), list(RuleLevel)
    return tuple(
        sorted(
            map(_breach, shown.values()),
            key=lambda one: (levels.index(one.level), order.index(one.rule.code), one.example.item),
        )
    )


def _faults(session: Session, all: tuple[Session, ...]) -> Iterator[Fault]:
    """Yield the faults of a session that are breaks of a rule of its revision."""
    spoken = {one.revision for one in all if one.is_spoken and one.revision != session.revision}
    session.others = tuple(sorted(spoken))
    for check in CHECKS:
        for fault in check(session):
            if _held_to(session) in rules()[fault.code].levels:
                yield fault


def _held_to(session: Session) -> str:
    return HANDSHAKE[-1] if session.revision == UNKNOWN_REVISION else session.revision


def _breach(shown: Sequence[tuple[Session, Fault]]) -> Breach:
    """Return what sessions show of one rule at one item."""
    rule = rules()[shown[0][1].code]
    levels = [rule.levels[_held_to(session)] for session, _ in shown]
    level = min(levels, key=list(RuleLevel).index)
    first, example = shown[levels.index(level)]
    return Breach(
        rule=rule,
        level=level,
        example=example,
        revision=_held_to(first),
        number=len(shown),
        sessions=tuple(dict.fromkeys(one.label for one in (first, *(s for s, _ in shown)))),
    )
