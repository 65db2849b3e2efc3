"""A comparison as a changelog in Markdown, to paste into a release note.

Foreign text is escaped, so that a name with `*`, a backtick or a tag looks the same on the page as
in the source.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from mcp_protogen.base.problems import Problem
from mcp_protogen.pipeline.reports.change import Comparison, Overview, Reader, Severity
from mcp_protogen.pipeline.reports.pages.harmless import make_safe
from mcp_protogen.pipeline.reports.pages.headline import headline
from mcp_protogen.pipeline.reports.pages.ranking import (
    CATEGORIES,
    HEADINGS,
    RankedChange,
    concerning,
    summary,
)

_MEANINGFUL = re.compile(r"[\\`*_{}\[\]<>|~&$]")
# GitHub makes links to people and issues of these two, even if they are escaped.
_REFERRING = re.compile(r"(?<![\w`])[@#](?=\w)")
_TICKS = re.compile(r"`+")


def render(comparison: Comparison, *, reader: Reader | None) -> str:
    """Return the changelog, with a heading for each severity and a bullet for each change."""
    return "".join(f"{line}\n" for line in _lines(make_safe(comparison), reader))


def _lines(comparison: Comparison, reader: Reader | None) -> Iterator[str]:
    yield f"## {prose(comparison.before)} → {prose(comparison.after)}"
    yield ""
    if sentence := headline(comparison, reader):
        yield f"**{prose(sentence)}**"
        yield ""
    if comparison.overview is not None:
        yield from _overview(comparison.overview)
    yield f"{_capitalise(summary(comparison, reader))}."
    entries = concerning(comparison, reader)
    for severity, group in groupby(entries, key=lambda entry: entry.severity):
        yield ""
        yield f"### {_heading(severity)}"
        yield from _section(list(group), reader)
    reasons = dict.fromkeys((entry.change.why, entry.change.code) for entry in entries)
    if any(why for why, _ in reasons):
        yield ""
        yield "### Why"
        yield ""
        yield from (f"- {code(kind)}: {prose(why)}" for why, kind in reasons if why)
    if comparison.notes:
        yield ""
        yield "### Notes"
        yield ""
        yield from map(_note, comparison.notes)


def _overview(overview: Overview) -> Iterator[str]:
    yield from (f"- {prose(label)}: {prose(text)}" for label, text in overview.rows)
    yield ""
    for number, row in enumerate(overview.table):
        yield f"| {' | '.join(map(prose, row))} |"
        if not number:
            yield f"|{'---|' * len(row)}"
    yield ""
    for remark in overview.remarks:
        yield f"- {prose(remark)}"
    if overview.remarks:
        yield ""


def _section(entries: Sequence[RankedChange], reader: Reader | None) -> Iterator[str]:
    for category, group in groupby(entries, key=lambda entry: entry.change.category):
        yield ""
        yield f"**{_capitalise(prose(CATEGORIES[category]))}**"
        yield ""
        for entry in group:
            yield _bullet(entry, reader)


def _bullet(entry: RankedChange, reader: Reader | None) -> str:
    change = entry.change
    values = " → ".join(code(value) for value in (change.before, change.after) if value)
    text = f"- {code(change.item)}: {prose(change.message)}" + (f": {values}" if values else "")
    return text if reader else f"{text} *({entry.concerns})*"


def _note(note: Problem) -> str:
    where = f"{code(note.where)}: " if note.where else ""
    hint = f" ({prose(note.hint)})" if note.hint else ""
    return f"- {where}{prose(note.message)}{hint}"


def _heading(severity: Severity) -> str:
    return "Breaking changes" if severity is Severity.BREAKING else HEADINGS[severity]


def prose(text: str) -> str:
    """Return text with all Markdown characters escaped."""
    escaped = _MEANINGFUL.sub(r"\\\g<0>", text)
    return _REFERRING.sub(r"`\g<0>`", escaped)


def code(text: str) -> str:
    """Return a code span; its fence is longer than any run of backticks inside."""
    longest = max(map(len, _TICKS.findall(text)), default=0)
    fence = "`" * (longest + 1)
    # Markdown removes one space on either side; without it a backtick would join the fence.
    edge = " " if text[:1] in ("`", " ") or text[-1:] in ("`", " ") else ""
    return f"{fence}{edge}{text}{edge}{fence}"


def _capitalise(text: str) -> str:
    return text[:1].upper() + text[1:]
