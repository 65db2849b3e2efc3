"""The order, counts and words of changes on all pages."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from mcp_protogen.pipeline.reports.change import (
    Category,
    Comparison,
    Reader,
    ReportedChange,
    Severity,
)

HEADINGS: Mapping[Severity, str] = {
    Severity.BREAKING: "Breaking",
    Severity.WARNING: "Warnings",
    Severity.INFO: "Info",
    Severity.NONE: "No concern",
}
CATEGORIES: Mapping[Category, str] = {
    Category.METHOD: "methods",
    Category.TYPE: "types",
    Category.FIELD: "fields",
    Category.UNION: "unions",
    Category.ENUM: "enums",
    Category.CAPABILITY: "capabilities",
    Category.ERROR: "error codes",
    Category.META_KEY: "_meta keys",
    Category.HEADER: "HTTP headers",
    Category.TRANSPORT: "transports",
    Category.RULE: "rules",
    Category.BEHAVIOUR: "behaviour",
    Category.SERVER: "server",
    Category.TOOL: "tools",
    Category.PROMPT: "prompts",
    Category.RESOURCE: "resources",
    Category.TEMPLATE: "resource templates",
    Category.ANNOTATION: "annotations",
    Category.ARGUMENT: "arguments",
    Category.RESULT: "results",
}
POSITION = {category: position for position, category in enumerate(Category)}


@dataclass(frozen=True, slots=True)
class RankedChange:
    """A change with its shown severity, and the readers with that severity."""

    change: ReportedChange
    severity: Severity
    readers: tuple[Reader, ...]

    @property
    def concerns(self) -> str:
        """The readers with that severity, in words."""
        everybody = {*self.readers} >= self.change.severity.keys()
        return "everybody" if everybody else ", ".join(self.readers)


def rank_changes(comparison: Comparison, reader: Reader | None) -> tuple[RankedChange, ...]:
    """Return all changes, the worst first, then by category, item and code."""
    found = [_rank_change(change, reader) for change in comparison.changes]
    return tuple(sorted(found, key=_order))


def concerning(comparison: Comparison, reader: Reader | None) -> tuple[RankedChange, ...]:
    """Return the changes that concern this reader; without a reader, all of them."""
    entries = rank_changes(comparison, reader)
    if reader is None:
        return entries
    return tuple(entry for entry in entries if entry.severity is not Severity.NONE)


def counts(severities: Iterable[Severity]) -> Mapping[Severity, int]:
    """Return the number of changes of each severity, the worst first, with zeros."""
    result = Counter(severities)
    return {severity: result[severity] for severity in Severity}


def describe_counts(numbers: Mapping[Severity, int]) -> str:
    """Return counts in words, such as `3 breaking, 1 warning, 40 info`, without `none`."""
    parts = [
        f"{number} {noun(severity, number)}"
        for severity, number in numbers.items()
        if number and severity is not Severity.NONE
    ]
    return ", ".join(parts) or "no changes"


def summary(comparison: Comparison, reader: Reader | None) -> str:
    """Return one line: the number of changes, the reader, and the number of omissions."""
    found = counts(entry.severity for entry in rank_changes(comparison, reader))
    line = describe_counts(found)
    if reader is not None and comparison.changes:
        others = found[Severity.NONE]
        line = f"{line} for {reader}" + (f" ({others} for others)" if others else "")
    if comparison.left_out and not comparison.changes:
        number = comparison.left_out
        return f"{number} changes, all of them left out" if number > 1 else "1 change, left out"
    return f"{line}, {comparison.left_out} left out" if comparison.left_out else line


def _rank_change(change: ReportedChange, reader: Reader | None) -> RankedChange:
    severity = change.severity_for(reader)
    concerned = tuple(
        candidate for candidate in Reader if change.severity.get(candidate) is severity
    )
    return RankedChange(change, severity, (reader,) if reader else concerned)


def _order(entry: RankedChange) -> tuple[int, int, str, str, str]:
    change = entry.change
    return entry.severity.rank, POSITION[change.category], change.item, change.code, change.pointer


def noun(severity: Severity, number: int) -> str:
    """Return a severity in words, after a number."""
    return "warnings" if severity is Severity.WARNING and number != 1 else severity
