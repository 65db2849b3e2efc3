"""Text from schemas and packages of others, made safe to show on one line.

A name or a default may hold anything: escape sequences of a terminal, line breaks that would start
a new command of a log, or marks that turn the reading direction round.
"""

import re
from dataclasses import replace

from mcp_protogen.compare.change import Change, Comparison
from mcp_protogen.problems import Problem

_BREAKS = re.compile(r"[\t\n\v\f\r\x85\u2028\u2029]+")


def one_line(text: str) -> str:
    """The text on one line, with everything that cannot be printed written as an escape."""
    flat = _BREAKS.sub(" ", text)
    if flat.isprintable():
        return flat
    return "".join(char if char.isprintable() else _escape(char) for char in flat)


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def made_safe(comparison: Comparison) -> Comparison:
    """The comparison with every text of it on one line and printable."""
    return replace(
        comparison,
        before=one_line(comparison.before),
        after=one_line(comparison.after),
        changes=tuple(map(_safe_change, comparison.changes)),
        notes=tuple(map(_safe_note, comparison.notes)),
    )


def _safe_change(change: Change) -> Change:
    return replace(
        change,
        item=one_line(change.item),
        message=one_line(change.message),
        pointer=one_line(change.pointer),
        before=one_line(change.before),
        after=one_line(change.after),
        why=one_line(change.why),
    )


def _safe_note(note: Problem) -> Problem:
    return replace(
        note,
        message=one_line(note.message),
        place=one_line(note.place),
        pointer=one_line(note.pointer),
        hint=one_line(note.hint),
    )
