"""A comparison as annotations of GitHub Actions, and a summary for the log."""

from collections.abc import Iterator, Mapping

from mcp_protogen.pipeline.reports.change import Comparison, Reader, Severity
from mcp_protogen.pipeline.reports.pages.harmless import make_safe
from mcp_protogen.pipeline.reports.pages.headline import headline
from mcp_protogen.pipeline.reports.pages.ranking import RankedChange, concerning, summary
from mcp_protogen.pipeline.reports.pages.workflow_commands import (
    Annotation,
    page_lines,
    problem_annotation,
)

_LEVELS: Mapping[Severity, str] = {
    Severity.BREAKING: "error",
    Severity.WARNING: "warning",
    Severity.INFO: "notice",
    Severity.NONE: "notice",
}


def render(comparison: Comparison, *, reader: Reader | None) -> str:
    """Return a line for each note, and each change that concerns `reader` (or any reader)."""
    return "".join(f"{line}\n" for line in page_lines(parts(comparison, reader)))


def parts(comparison: Comparison, reader: Reader | None) -> Iterator[Annotation | str]:
    """Yield the annotations, then a line with counts.

    A headline comes first, then the changes from the worst on.
    """
    safe = make_safe(comparison)
    title = f"{safe.before} -> {safe.after}"
    if sentence := headline(safe, reader):
        yield Annotation("notice", title, sentence)
    for entry in concerning(safe, reader):
        about = f"{entry.change.code}: {entry.change.item}"
        yield Annotation(_LEVELS[entry.severity], about, _message(entry, reader))
    yield from map(problem_annotation, safe.notes)
    yield f"{title}: {summary(safe, reader)}"


def _message(entry: RankedChange, reader: Reader | None) -> str:
    change = entry.change
    # An annotation appears alone in the list of a run, so it must name its subject.
    text = f"{change.item}: {change.message}"
    if change.before and change.after:
        text += f" ({change.before} -> {change.after})"
    elif change.before or change.after:
        text += f" ({change.before or change.after})"
    concerns = "" if reader else f" For {entry.concerns}."
    return f"{text}. {change.why}{concerns}".rstrip()
