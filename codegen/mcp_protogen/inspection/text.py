"""The report of an inspection as text: who, what is spoken, what is offered, findings, verdict."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from textwrap import TextWrapper
from typing import Final

from mcp_protogen.base.printable import counted, listed, one_line
from mcp_protogen.inspection.profile import Profile, Spoken
from mcp_protogen.inspection.rules import Breach, Rule, RuleLevel
from mcp_protogen.inspection.transcript import UNKNOWN_REVISION

_PLAIN, _BOLD, _DIM = "\x1b[0m", "\x1b[1m", "\x1b[2m"
_COLOURS: Final[Mapping[RuleLevel, str]] = {
    RuleLevel.MUST: "\x1b[1;31m",
    RuleLevel.SHOULD: "\x1b[1;33m",
    RuleLevel.RECOMMENDATION: "\x1b[1;34m",
}
_HEADINGS: Final[Mapping[RuleLevel, str]] = {
    RuleLevel.MUST: "What the specification requires (MUST)",
    RuleLevel.SHOULD: "What the specification asks for (SHOULD)",
    RuleLevel.RECOMMENDATION: "What clients rely on (recommendation)",
}
_LABEL: Final = 12
_NAMES: Final = 12


def render(
    target: str, profile: Profile, breaches: Sequence[Breach], *, colour: bool, width: int
) -> str:
    """Return the report, in lines of at most `width` columns where words allow it."""
    page = _Page(colour, max(width, 60))
    lines = [*page.head(target, profile), "", *page.spoken(profile), ""]
    for level, found in groupby(breaches, key=lambda one: one.rule.level):
        lines += [*page.level(level, list(found)), ""]
    lines.append(page.paint(_BOLD, verdict(profile, breaches)))
    return "".join(f"{line}\n" for line in lines)


def verdict(profile: Profile, breaches: Sequence[Breach]) -> str:
    """Return the result in one line."""
    spoken = sorted({one.revision for one in profile.spoken if one.spoken})
    if not spoken:
        return "It speaks none of the revisions" + _findings(breaches, ".", ": ")
    return f"It speaks {', '.join(spoken)}" + _findings(breaches, " and breaks no rule.", ": ")


def _findings(breaches: Sequence[Breach], none: str, some: str) -> str:
    if not breaches:
        return none
    levels = [one.rule.level for one in breaches]
    found = (f"{levels.count(level)} {level}" for level in RuleLevel if level in levels)
    return f"{some}{counted(len(breaches), 'finding')}, {', '.join(found)}."


class _Page:
    """The parts of the report."""

    def __init__(self, colour: bool, width: int) -> None:
        self._colour = colour
        self._width = width

    def paint(self, colour: str, text: str) -> str:
        """Return text in a colour, if there are colours."""
        return f"{colour}{text}{_PLAIN}" if self._colour else text

    def head(self, target: str, profile: Profile) -> Iterator[str]:
        """Yield who the server is and what it offers."""
        named = f"{profile.name} {profile.version}".strip()
        yield self.paint(_BOLD, one_line(named or target))
        yield from self._row("target", target if named else "")
        if profile.seconds is not None:
            yield from self._row("answers", f"after {profile.seconds:.2f} s")
        yield from self._row("declares", ", ".join(profile.capabilities) or "nothing")
        yield from self._row("extensions", ", ".join(profile.extensions))
        says = " ".join(profile.instructions.split())
        yield from self._row("says", _shortened(says, 2 * self._width))
        for noun, names in profile.offers:
            if names:
                shown = f"{counted(len(names), noun)}: {listed(names, _NAMES)}"
                yield from self._row("offers", shown)

    def _row(self, label: str, text: str) -> Iterator[str]:
        if not text:
            return
        first, *more = _wrapped(one_line(text), self._width - _LABEL - 2) or [""]
        yield f"  {self.paint(_DIM, label.ljust(_LABEL))}{first}"
        yield from (" " * (_LABEL + 2) + line for line in more)

    def spoken(self, profile: Profile) -> Iterator[str]:
        """Yield a table: revisions, and what became of each over each transport."""
        transports = list(dict.fromkeys(one.transport for one in profile.spoken))
        yield "  " + self.paint(_DIM, f"{'revision':<{_LABEL}}" + "   ".join(transports))
        rows: dict[str, list[Spoken]] = {}
        for one in profile.spoken:
            rows.setdefault(one.revision, []).append(one)
        for revision, found in rows.items():
            by = {one.transport: one for one in found}
            cells = (_cell(by.get(name), len(name)) for name in transports)
            yield f"  {revision:<{_LABEL}}{'   '.join(cells)}".rstrip()
        for one in profile.spoken:
            if not one.spoken:
                text = f"{one.revision} over {one.transport}: {' '.join(one.outcome.split())}"
                yield from (f"  {line}" for line in _wrapped(one_line(text), self._width - 2))
        if profile.unknown and profile.unknown != UNKNOWN_REVISION:
            yield f"  asked for a revision that does not exist, it offers {profile.unknown}"

    def level(self, level: RuleLevel, breaches: Sequence[Breach]) -> Iterator[str]:
        """Yield the findings of one level, grouped by rule."""
        yield self.paint(_COLOURS[level], f"{_HEADINGS[level]}: {len(breaches)}")
        for rule, found in groupby(breaches, key=lambda one: one.rule):
            yield ""
            yield from self._rule(rule, list(found))

    def _rule(self, rule: Rule, found: Sequence[Breach]) -> Iterator[str]:
        first = found[0]
        rows = f" ({', '.join(rule.rows)})" if rule.rows else ""
        yield from (f"  {self.paint(_BOLD, line)}" for line in _wrapped(rule.text, self._width - 2))
        yield f"  {self.paint(_DIM, f'[{rule.code}] {rule.page(first.revision)}{rows}')}"
        for breach in found:
            yield from self._item(breach)
        yield from self._example(first)

    def _item(self, breach: Breach) -> Iterator[str]:
        fault = breach.example
        sessions = len(breach.sessions)
        seen = breach.sessions[0] + (f" and {sessions - 1} more" if sessions > 1 else "")
        times = f", {breach.number} times" if breach.number > sessions else ""
        text = f"{fault.item}: {fault.message} ({seen}{times})"
        first, *more = _wrapped(one_line(text), self._width - 6)
        yield f"    - {first}"
        yield from (f"      {line}" for line in more)

    def _example(self, breach: Breach) -> Iterator[str]:
        fault = breach.example
        for sign, text in (("sent", fault.sent), ("at", fault.pointer), ("got", fault.got)):
            if text:
                shown = _shortened(one_line(text), self._width * 2 - 30)
                first, *more = _wrapped(shown, self._width - 13) or [""]
                yield f"      {self.paint(_DIM, f'{sign:>4}')}  {first}"
                yield from (" " * 12 + line for line in more)


def _cell(one: Spoken | None, width: int) -> str:
    return ("" if one is None else "yes" if one.spoken else "no").ljust(width)


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _wrapped(text: str, width: int) -> list[str]:
    """Return text as lines; a word that is longer than a line is not broken."""
    wrapper = TextWrapper(width, break_long_words=False, break_on_hyphens=False)
    return wrapper.wrap(text)
