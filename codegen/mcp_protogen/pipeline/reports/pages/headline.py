"""A comparison in one sentence: the number of changes for each reader, and their features."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mcp_protogen.pipeline.reports.change import Category, Comparison, Reader, Severity
from mcp_protogen.pipeline.reports.pages.ranking import RankedChange, concerning, noun

# The rest of a longer list is counted.
_FEATURES = 8
_NAMES = 3
_READERS: Mapping[Reader, str] = {
    Reader.CLIENT: "clients",
    Reader.SERVER: "servers",
    Reader.SDK: "libraries",
    Reader.GATEWAY: "gateways",
    Reader.CALLER: "callers",
    Reader.MODEL: "models",
    Reader.HOST: "hosts",
}


def headline(comparison: Comparison, reader: Reader | None) -> str:
    """Return a sentence about the worst changes; empty without known features."""
    entries = [entry for entry in concerning(comparison, reader) if entry.change.feature]
    if not entries or entries[0].severity is Severity.NONE:
        return ""
    worst = entries[0].severity
    counts = ", ".join(_counts(entries, worst, (reader,) if reader else comparison.readers))
    found = sorted(_features(comparison, [entry for entry in entries if entry.severity is worst]))
    listed = _list_names([statement.text for statement in found], _FEATURES)
    new = [name for name in comparison.came if any(e.change.feature == name for e in entries)]
    also = f"; new: {_list_names(new, _FEATURES)}" if new else ""
    features = f": {listed}" if listed else ""
    return f"{comparison.after} against {comparison.before}: {counts}{features}{also}."


def _counts(
    entries: Sequence[RankedChange], severity: Severity, judged: Sequence[Reader]
) -> Iterator[str]:
    """Yield the number of changes of this severity for clients and servers, or for all readers."""
    found = Counter(
        reader
        for entry in entries
        for reader in judged
        if entry.change.severity_for(reader) is severity
    )
    first = [reader for reader in (Reader.CLIENT, Reader.SERVER) if found[reader]]
    readers = first or [reader for reader in judged if found[reader]]
    for position, reader in enumerate(readers):
        what = "" if position else f"{noun(severity, found[reader])} "
        yield f"{found[reader]} {what}for {_READERS[reader]}"


@dataclass(frozen=True, slots=True, order=True)
class _Statement:
    """The text about a feature; removed features come first, then named changes."""

    rank: int
    number: int
    text: str


def _features(comparison: Comparison, entries: Sequence[RankedChange]) -> Iterator[_Statement]:
    by_feature: dict[str, list[RankedChange]] = {}
    for entry in entries:
        by_feature.setdefault(entry.change.feature, []).append(entry)
    for name, found in by_feature.items():
        if name in comparison.went:
            yield _Statement(0, -len(found), f"{name} removed")
        elif name not in comparison.came:
            yield _describe_changes(name, found)


def _describe_changes(name: str, entries: Sequence[RankedChange]) -> _Statement:
    removed = [entry.change.item for entry in entries if entry.change.code == "method-removed"]
    rules = [entry.change.item for entry in entries if entry.change.category is Category.RULE]
    parts = [
        f"{_list_names(names, _NAMES)} {what}"
        for names, what in ((removed, "removed"), (rules, "changed"))
        if names
    ]
    if more := len(entries) - len(removed) - len(rules):
        parts.append(f"{more} more" if parts else f"{more}")
    return _Statement(1 if removed or rules else 2, -len(entries), f"{name} ({'; '.join(parts)})")


def _list_names(names: Sequence[str], most: int) -> str:
    # The count of one omitted name would be as long as the name.
    shown = names if len(names) <= most + 1 else names[:most]
    more = [f"{len(names) - len(shown)} more"] if len(shown) < len(names) else []
    *others, last = [*shown, *more] or [""]
    return f"{', '.join(others)} and {last}" if others else last
