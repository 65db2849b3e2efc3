"""The rules for servers, from `rules.json`, and their violations."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, model_validator

from mcp_protogen.pipeline.reports.severities import SeverityRow, severity_table
from mcp_protogen.servers.inspect.checks import (
    behaviour,
    cards,
    envelopes,
    extensions,
    items,
    over_http,
    over_stdio,
    subscriptions,
)
from mcp_protogen.servers.inspect.revision_facts import all_revisions, rules_revision
from mcp_protogen.servers.inspect.rule_faults import Check, Fault
from mcp_protogen.servers.inspect.transcript import UNKNOWN_REVISION, Transcript

_HERE: Final = Path(__file__).parent
_CONFIG: Final = ConfigDict(extra="forbid", frozen=True)
_SITE: Final = "https://modelcontextprotocol.io/specification"
_EXTENSIONS: Final = "https://github.com/modelcontextprotocol"

CHECKS: Final[tuple[Check, ...]] = (
    *envelopes.CHECKS,
    *behaviour.CHECKS,
    *items.CHECKS,
    *subscriptions.CHECKS,
    *extensions.CHECKS,
    *over_http.CHECKS,
    *cards.CHECKS,
    *over_stdio.CHECKS,
)


class RuleLevel(StrEnum):
    """The levels of rules, the strictest first."""

    MUST = "MUST"
    SHOULD = "SHOULD"
    RECOMMENDATION = "recommendation"


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: its text, its revisions and its pages.

    `levels` and `pages` have each revision of the rule, the oldest first. `rows` are ids of
    the requirements in the documentation.
    """

    code: str
    levels: Mapping[str, RuleLevel]
    pages: Mapping[str, str]
    rows: tuple[str, ...]
    text: str

    @property
    def level(self) -> str:
        """The level in words, such as `SHOULD, MUST since 2025-06-18`."""
        texts, before = list[str](), ""
        for revision, level in self.levels.items():
            if level != before:
                texts.append(f"{level} since {revision}" if before else level)
            before = level
        return ", ".join(texts)

    @property
    def span(self) -> str:
        """The revisions with this rule, in words."""
        first, last = min(self.levels), max(self.levels)
        return f"in {first}" if first == last else f"from {first} to {last}"

    def page(self, revision: str) -> str:
        """Return the address of the page with the rule for a revision."""
        repository, _, page = self.pages[revision].rpartition(":")
        if repository:
            name, _, section = page.partition("#")
            return f"{_EXTENSIONS}/{repository}/blob/main/{name}.md#{section}"
        # The site has an index page at the address of its folder.
        return f"{_SITE}/{revision}/{page.replace('/index', '')}"


class _Change(BaseModel):
    """The changes of a rule from a revision on."""

    model_config = _CONFIG
    level: RuleLevel | None = None
    page: str = ""


class _Entry(BaseModel):
    """A rule in `rules.json`, by default from the first revision on, and up to the last one."""

    model_config = _CONFIG
    text: str
    begin: str = Field("", alias="from")
    until: str = ""
    level: RuleLevel = RuleLevel.MUST
    page: str
    since: dict[str, _Change] = {}
    rows: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _is_in_order(self) -> "_Entry":
        named = [name for name in (self.begin, *self.since, self.until) if name]
        if named != sorted(named) or not all_revisions().keys() >= {*named}:
            raise ValueError(f"{', '.join(named)}: unknown revisions, or not the oldest first")
        return self

    def rule(self, code: str) -> Rule:
        """Return the rule with all its revisions."""
        levels, pages = dict[str, RuleLevel](), dict[str, str]()
        level, page = self.level, self.page
        for revision in all_revisions():
            change = self.since.get(revision, _Change())
            level, page = change.level or level, change.page or page
            if self.begin <= revision <= (self.until or revision):
                levels[revision], pages[revision] = level, page
        return Rule(code, levels, pages, self.rows, self.text)


_FILE: Final = TypeAdapter(dict[str, _Entry])


@cache
def rules() -> Mapping[str, Rule]:
    """Return all rules, by code."""
    return read_rules((_HERE / "rules.json").read_bytes())


def read_rules(content: bytes) -> Mapping[str, Rule]:
    """Return the rules of a file; raise `ValueError` if it is invalid."""
    entries = _FILE.validate_json(content)
    return MappingProxyType({code: entry.rule(code) for code, entry in entries.items()})


SEVERITIES: Final[Mapping[str, SeverityRow]] = severity_table(_HERE / "severities.md")
"""The severities of broken rules, by code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A rule that a server breaks at one item, with an example and all connections that show it.

    `level` is the strictest level on these. The example is from the first of `transcripts`,
    judged by the rules of `revision`.
    """

    rule: Rule
    level: RuleLevel
    example: Fault
    revision: str
    number: int
    transcripts: tuple[str, ...]

    @property
    def page(self) -> str:
        """The address of the page with the rule."""
        return self.rule.page(self.revision)

    @property
    def shown_by(self) -> str:
        """The connections with the violation, in short."""
        first, *more = self.transcripts
        return f"{first} and {len(more)} more" if more else first


def judge(transcripts: Iterable[Transcript]) -> tuple[Violation, ...]:
    """Return all violations, the strictest level first, in the order of the rules."""
    transcripts = tuple(transcripts)
    faults: dict[tuple[str, str], list[tuple[Transcript, Fault]]] = {}
    # The example comes from the newest revision, at which a server aims.
    for transcript in sorted(transcripts, key=lambda found: found.revision, reverse=True):
        for fault in _faults(transcript, transcripts):
            faults.setdefault((fault.code, fault.item), []).append((transcript, fault))
    order, levels = list(rules()), list(RuleLevel)

    def rank(violation: Violation) -> tuple[int, int, str]:
        level, code = levels.index(violation.level), order.index(violation.rule.code)
        return level, code, violation.example.item

    return tuple(sorted(map(_violation, faults.values()), key=rank))


def _faults(transcript: Transcript, transcripts: tuple[Transcript, ...]) -> Iterator[Fault]:
    """Yield the faults of a transcript that break a rule of its revision."""
    spoken = {
        known.revision
        for known in transcripts
        if known.is_spoken and known.revision != transcript.revision
    }
    transcript.others = tuple(sorted(spoken))
    tried = {known.revision for known in transcripts if known.transport == transcript.transport}
    transcript.refused = tuple(sorted(tried - spoken - {transcript.revision, UNKNOWN_REVISION}))
    for check in CHECKS:
        for fault in check(transcript):
            if rules_revision(transcript.revision) in rules()[fault.code].levels:
                yield fault


def _violation(faults: Sequence[tuple[Transcript, Fault]]) -> Violation:
    """Return the violation of one rule at one item, from its faults in all transcripts."""
    rule = rules()[faults[0][1].code]
    levels = [rule.levels[rules_revision(transcript.revision)] for transcript, _ in faults]
    level = min(levels, key=list(RuleLevel).index)
    first, example = faults[levels.index(level)]
    return Violation(
        rule=rule,
        level=level,
        example=example,
        revision=rules_revision(first.revision),
        number=len(faults),
        transcripts=tuple(
            dict.fromkeys(transcript.label for transcript in (first, *(s for s, _ in faults)))
        ),
    )
