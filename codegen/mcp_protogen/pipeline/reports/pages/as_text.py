"""A comparison as text for a terminal.

The worst changes come first. Harmless changes that differ only in name, such as forty new types,
are listed in one paragraph, so that they do not hide the others. The reason for a severity is given
once for each kind of change. Notes are left out: they are problems, which go to stderr.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby

from mcp_protogen.base.colours import Colour, paint
from mcp_protogen.pipeline.reports.change import (
    Category,
    Comparison,
    Reader,
    ReportedChange,
    Severity,
)
from mcp_protogen.pipeline.reports.pages.harmless import make_safe
from mcp_protogen.pipeline.reports.pages.headline import headline
from mcp_protogen.pipeline.reports.pages.ranking import (
    CATEGORIES,
    HEADINGS,
    RankedChange,
    concerning,
    counts,
    summary,
)

WIDTH = 100
_NARROWEST = 60
_MANY = 4
_INDENT = "    "
_PARTS = re.compile(r"[^\s|,]*[|,]*\s*")

_COLOURS: Mapping[Severity, Colour] = {
    Severity.BREAKING: Colour.BOLD_RED,
    Severity.WARNING: Colour.BOLD_YELLOW,
    Severity.INFO: Colour.BOLD_BLUE,
    Severity.NONE: Colour.BOLD,
}


def render(
    comparison: Comparison, *, reader: Reader | None, colour: bool, width: int = WIDTH
) -> str:
    """Return the comparison as lines of at most `width` columns, with the counts at the end."""
    safe = make_safe(comparison)
    page = _Page(partial(paint, on=colour), reader, max(width, _NARROWEST))
    lines = [page.paint(Colour.BOLD, f"{safe.before} -> {safe.after}"), ""]
    if sentence := headline(safe, reader):
        lines += [*_fill(sentence, page.width), ""]
    shown = concerning(safe, reader)
    for severity, entries in groupby(shown, key=lambda entry: entry.severity):
        lines += page.section(severity, list(entries))
        lines += page.reasons(severity, shown)
    if shown and reader is None:
        lines += [*_tally(safe), ""]
    lines.append(page.paint(Colour.BOLD, summary(safe, reader)))
    return "".join(f"{line}\n" for line in lines)


@dataclass(frozen=True, slots=True)
class _Page:
    """The sections of the page; without a reader, they name the readers that a change concerns."""

    paint: Callable[[Colour, str], str]
    reader: Reader | None
    width: int

    def section(self, severity: Severity, entries: Sequence[RankedChange]) -> Iterator[str]:
        yield self.paint(_COLOURS[severity], f"{HEADINGS[severity]} ({len(entries)})")
        yield ""
        for category, group in groupby(entries, key=lambda entry: entry.change.category):
            yield self.paint(Colour.BOLD, f"  {CATEGORIES[category]}")
            yield from self._group(list(group))
        yield ""

    def reasons(self, severity: Severity, shown: Sequence[RankedChange]) -> Iterator[str]:
        """Yield the reasons of the changes of one severity.

        A reason that is already given for a worse severity is left out.
        """
        given = {entry.change.why for entry in shown if entry.severity.rank < severity.rank}
        codes: dict[str, dict[str, None]] = {}
        for entry in shown:
            if entry.severity is severity and entry.change.why not in given | {""}:
                codes.setdefault(entry.change.why, {})[entry.change.code] = None
        for why, named in codes.items():
            first, *more = _fill(f"{', '.join(named)}: {why}", self.width - len(_INDENT))
            yield f"  {self.paint(Colour.DIM, first)}"
            yield from (f"{_INDENT}{self.paint(Colour.DIM, line)}" for line in more)
        if codes:
            yield ""

    def _group(self, entries: Sequence[RankedChange]) -> Iterator[str]:
        kinds = Counter(map(_kind, entries))
        listed = sorted(kind for kind, number in kinds.items() if kind and number >= _MANY)
        single = [entry for entry in entries if _kind(entry) not in listed]
        widest = self.width * 2 // 5
        column = min(max((len(entry.change.item) for entry in single), default=0), widest)
        for entry in single:
            yield from self._change(entry, column)
        for kind in listed:
            items = [entry for entry in entries if _kind(entry) == kind]
            yield from self._add_label(_INDENT, f"{kind.text} ({len(items)}):", items[0])
            names = ", ".join(entry.change.item for entry in items)
            margin = _INDENT * 2
            yield from (margin + line for line in _fill(names, self.width - len(margin)))

    def _change(self, entry: RankedChange, column: int) -> Iterator[str]:
        margin = " " * (len(_INDENT) + column + 2)
        change = entry.change
        lines = self._compact(margin, entry) or [
            *self._add_label(margin, change.message, entry),
            *self._values(change, margin),
        ]
        if len(change.item) > column:
            yield _INDENT + change.item
        else:
            lines[0] = f"{_INDENT}{change.item.ljust(column)}  {lines[0].removeprefix(margin)}"
        yield from lines

    def _compact(self, margin: str, entry: RankedChange) -> list[str]:
        """Return message and values on one line, with the label after or below it.

        Return an empty list if they do not fit.
        """
        change = entry.change
        values = _join_values(change.before, change.after)
        plain = f"{change.message}: {values}"
        if not values or len(margin) + len(plain) > self.width:
            return []
        before, after = self.paint(Colour.RED, change.before), self.paint(
            Colour.GREEN, change.after
        )
        label = self._label(entry)
        text, dim = f"{change.message}: {_join_values(before, after)}", self.paint(
            Colour.DIM, label
        )
        if len(margin) + len(plain) + 2 + len(label) <= self.width:
            return [f"{margin}{text}  {dim}"]
        return [margin + text, margin + dim]

    def _label(self, entry: RankedChange) -> str:
        """Return the code, and the concerned readers if no reader was chosen."""
        code = entry.change.code
        return f"[{code}]" if self.reader else f"[{code}: {entry.concerns}]"

    def _add_label(self, margin: str, message: str, entry: RankedChange) -> list[str]:
        """Return the message as lines, with the label after or below it."""
        available = self.width - len(margin)
        label = self._label(entry)
        lines = _fill(message, available)
        fits = bool(lines) and len(lines[-1]) + 2 + len(label) <= available
        dim = self.paint(Colour.DIM, label)
        lines = [*lines[:-1], f"{lines[-1]}  {dim}"] if fits else [*lines, dim]
        return [margin + line for line in lines]

    def _values(self, change: ReportedChange, margin: str) -> Iterator[str]:
        """Yield the values before and after, side by side if there is room."""
        available = self.width - len(margin)
        if (
            change.before
            and change.after
            and len(_join_values(change.before, change.after)) <= available
        ):
            before, after = self.paint(Colour.RED, change.before), self.paint(
                Colour.GREEN, change.after
            )
            yield margin + _join_values(before, after)
            return
        for sign, value, colour in (
            ("-", change.before, Colour.RED),
            ("+", change.after, Colour.GREEN),
        ):
            for number, line in enumerate(_fill(value, available - 2)):
                lead = " " if number else sign
                yield f"{margin}{self.paint(colour, f'{lead} {line}')}"


@dataclass(frozen=True, slots=True, order=True)
class _Kind:
    """The common part of changes that differ only in name."""

    text: str
    code: str
    concerns: str


def _kind(entry: RankedChange) -> _Kind | None:
    """Return the kind of a change that may be listed by name; None for a breaking change.

    For a type that was added or removed, its name is enough: its content matters where it is used.
    """
    change = entry.change
    if entry.severity is Severity.BREAKING:
        return None
    one_sided = not (change.before and change.after)
    bare = change.category is Category.TYPE and one_sided
    values = "" if bare else _join_values(change.before, change.after)
    text = f"{change.message}: {values}" if values else change.message
    return _Kind(text, change.code, entry.concerns)


def _join_values(before: str, after: str) -> str:
    return f"{before} -> {after}" if before and after else before or after


def _tally(comparison: Comparison) -> Iterator[str]:
    """Yield the number of changes of each severity, a line for each reader."""
    columns = [severity for severity in Severity if severity is not Severity.NONE]
    yield "for      " + "".join(f"{severity:>10}" for severity in columns)
    for reader in comparison.readers:
        found = counts(change.severity_for(reader) for change in comparison.changes)
        yield f"{reader:<9}" + "".join(f"{found[severity]:>10}" for severity in columns)


def _fill(text: str, width: int) -> list[str]:
    """Return the text as lines, broken after spaces and between the parts of a type.

    A part that is longer than a line is not broken, so that it can be found and copied.
    """
    lines: list[str] = []
    line = ""
    for part in _PARTS.findall(text):
        if line and len(line) + len(part.rstrip()) > width:
            lines.append(line.rstrip())
            line = ""
        line += part
    return [*lines, line.rstrip()] if line.strip() else lines
