"""Comparisons with texts that are safe to show; they come from schemas and packages of others."""

from dataclasses import replace

from mcp_protogen.base.printable import one_line
from mcp_protogen.base.problems import Problem
from mcp_protogen.findings.change import Change, Comparison


def made_safe(comparison: Comparison) -> Comparison:
    """Return the comparison with every text on one line and printable."""
    return replace(
        comparison,
        before=one_line(comparison.before),
        after=one_line(comparison.after),
        changes=tuple(map(_safe_change, comparison.changes)),
        notes=tuple(map(_safe_note, comparison.notes)),
        came=tuple(map(one_line, comparison.came)),
        went=tuple(map(one_line, comparison.went)),
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
        feature=one_line(change.feature),
    )


def _safe_note(note: Problem) -> Problem:
    return replace(
        note,
        message=one_line(note.message),
        place=one_line(note.place),
        pointer=one_line(note.pointer),
        hint=one_line(note.hint),
    )
