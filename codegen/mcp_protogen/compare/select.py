"""The selection of the changes that a user wants to see."""

from dataclasses import replace

from mcp_protogen.findings.change import Change, Comparison, Reader, Severity


def level(change: Change, reader: Reader | None) -> Severity:
    """Return the severity of a change for a reader, or the worst one."""
    return change.worst if reader is None else change.severity[reader]


def narrowed(
    comparison: Comparison, reader: Reader | None, least: Severity | None = None
) -> Comparison:
    """Return the comparison with the changes of at least `least` for the reader, worst first."""
    lowest = Severity.INFO if least is None else least
    kept = [one for one in comparison.changes if level(one, reader).rank <= lowest.rank]
    left_out = comparison.left_out + len(comparison.changes) - len(kept)
    changes = tuple(sorted(kept, key=lambda one: level(one, reader).rank))
    return replace(comparison, changes=changes, left_out=left_out)


def reaches(comparison: Comparison, reader: Reader | None, severity: Severity) -> bool:
    """Return whether a change is at least as severe as `severity` for the reader."""
    return any(level(one, reader).rank <= severity.rank for one in comparison.changes)
