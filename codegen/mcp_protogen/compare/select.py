"""A comparison as far as somebody wants to see it."""

from dataclasses import replace

from mcp_protogen.compare.change import Change, Comparison, Reader, Severity


def level(change: Change, reader: Reader | None) -> Severity:
    """How much a change matters to a reader, or to whom it matters most."""
    return change.worst if reader is None else change.severity[reader]


def narrowed(
    comparison: Comparison, reader: Reader | None, least: Severity | None = None
) -> Comparison:
    """Without what is no business of the reader, or matters less than `least`; the worst first."""
    lowest = Severity.INFO if least is None else least
    kept = [one for one in comparison.changes if level(one, reader).rank <= lowest.rank]
    left_out = comparison.left_out + len(comparison.changes) - len(kept)
    changes = tuple(sorted(kept, key=lambda one: level(one, reader).rank))
    return replace(comparison, changes=changes, left_out=left_out)


def reaches(comparison: Comparison, reader: Reader | None, severity: Severity) -> bool:
    """Whether a change matters at least as much as `severity` to the reader."""
    return any(level(one, reader).rank <= severity.rank for one in comparison.changes)
