"""The report of an inspection as text: server, revisions, items, findings, verdict."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from textwrap import TextWrapper
from typing import Final

from mcp_protogen.base.colours import Colour, paint
from mcp_protogen.base.printable import pluralize, safe_line
from mcp_protogen.pipeline.reports.change import Overview
from mcp_protogen.servers.inspect.profile import Profile, overview_of
from mcp_protogen.servers.inspect.rules import Rule, RuleLevel, Violation

_COLOURS: Final[Mapping[RuleLevel, Colour]] = {
    RuleLevel.MUST: Colour.BOLD_RED,
    RuleLevel.SHOULD: Colour.BOLD_YELLOW,
    RuleLevel.RECOMMENDATION: Colour.BOLD_BLUE,
}
_HEADINGS: Final[Mapping[RuleLevel, str]] = {
    RuleLevel.MUST: "What the specification requires (MUST)",
    RuleLevel.SHOULD: "What the specification asks for (SHOULD)",
    RuleLevel.RECOMMENDATION: "What clients rely on (recommendation)",
}
_LABEL: Final = 12


def render(
    server: str, profile: Profile, violations: Sequence[Violation], *, colour: bool, width: int
) -> str:
    """Return the report, in lines of at most `width` columns where words allow it."""
    page = _Page(colour, max(width, 60))
    lines = [*page.head(server, overview_of(profile)), ""]
    for level, found in groupby(violations, key=lambda one: one.level):
        lines += [*page.level(level, list(found)), ""]
    lines.append(page.paint(Colour.BOLD, verdict(profile, violations)))
    return "".join(f"{line}\n" for line in lines)


def verdict(profile: Profile, violations: Sequence[Violation]) -> str:
    """Return the result in one line."""
    spoken = sorted({support.revision for support in profile.spoken if support.spoken})
    speaks = f"It speaks {', '.join(spoken) or 'none of the revisions'}"
    if not violations:
        return f"{speaks} and breaks no rule." if spoken else f"{speaks}."
    levels = [violation.level for violation in violations]
    found = (f"{levels.count(level)} {level}" for level in RuleLevel if level in levels)
    return f"{speaks}: {pluralize(len(violations), 'finding')}, {', '.join(found)}."


class _Page:
    """The parts of the report."""

    def __init__(self, colour: bool, width: int) -> None:
        self.paint = partial(paint, on=colour)
        self._width = width

    def head(self, server: str, overview: Overview) -> Iterator[str]:
        """Yield the server, its items, and its revisions over each transport."""
        named = [text for label, text in overview.rows if label == "server"]
        yield self.paint(Colour.BOLD, safe_line(named[0] if named else server))
        rows = [row for row in overview.rows if row[0] != "server"]
        if named:
            rows.insert(0, ("server", server))
        for label, text in rows:
            yield from self._hanging(f"  {label.ljust(_LABEL)}", text)
        yield ""
        (_, *transports), *spoken = overview.table
        yield "  " + self.paint(Colour.DIM, f"{'revision':<{_LABEL}}" + "   ".join(transports))
        for revision, *cells in spoken:
            padded = (cell.ljust(len(name)) for cell, name in zip(cells, transports, strict=True))
            yield f"  {revision:<{_LABEL}}{'   '.join(padded)}".rstrip()
        for remark in overview.remarks:
            yield from self._hanging("  ", remark)

    def _hanging(self, lead: str, text: str) -> Iterator[str]:
        """Yield a text after its label; words longer than a line are not broken."""
        indent = " " * len(lead)
        wrapper = TextWrapper(self._width, indent, indent, break_long_words=False)
        wrapper.break_on_hyphens = False
        first, *more = wrapper.wrap(safe_line(text)) or [lead]
        yield self.paint(Colour.DIM, lead) + first[len(lead) :]
        yield from more

    def level(self, level: RuleLevel, violations: Sequence[Violation]) -> Iterator[str]:
        """Yield the findings of one level, grouped by rule."""
        yield self.paint(_COLOURS[level], f"{_HEADINGS[level]}: {len(violations)}")
        for rule, found in groupby(violations, key=lambda one: one.rule):
            yield ""
            yield from self._rule(rule, list(found))

    def _rule(self, rule: Rule, found: Sequence[Violation]) -> Iterator[str]:
        first = found[0]
        rows = f" ({', '.join(rule.rows)})" if rule.rows else ""
        yield from (self.paint(Colour.BOLD, line) for line in self._hanging("  ", rule.text))
        yield f"  {self.paint(Colour.DIM, f'[{rule.code}] {first.page}{rows}')}"
        for violation in found:
            yield from self._item(violation)
        yield from self._example(first)

    def _item(self, violation: Violation) -> Iterator[str]:
        fault = violation.example
        times = (
            f", {violation.number} times" if violation.number > len(violation.transcripts) else ""
        )
        seen = f"{violation.shown_by}{times}"
        yield from self._hanging("    - ", f"{fault.item}: {fault.message} ({seen})")

    def _example(self, violation: Violation) -> Iterator[str]:
        fault = violation.example
        for sign, text in (("sent", fault.sent), ("at", fault.pointer), ("got", fault.got)):
            if text:
                most = self._width * 2 - 30
                shown = text if len(text) <= most else f"{text[: most - 1]}…"
                yield from self._hanging(f"      {sign:>4}  ", shown)
