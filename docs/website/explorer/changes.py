"""Comparisons as data of the page, and which revisions have an item or changed it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, pairwise
from typing import Any, Final

from mcp_protogen.base.canonical import canonical
from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.instep.compare.compare_revisions import compare_revisions
from mcp_protogen.instep.compare.revisions import ComparedRevision
from mcp_protogen.pipeline.reports.change import PROTOCOL, ReportedChange, Severity

from website.explorer.subjects import Extension, Revision

Json = dict[str, Any]
Pair = tuple[str, str]

_LETTERS: Final[Mapping[Severity, str]] = {severity: severity.value[0] for severity in Severity}
"""Severities in one letter, as there are thousands of them."""


def comparisons(
    revisions: Sequence[Revision], extensions: Iterable[Extension]
) -> Iterator[tuple[Pair, Json]]:
    """Yield each comparison with the names of its sides, of revisions and with extensions."""
    sides = [revision.compared for revision in revisions]
    for before, after in combinations(sides, 2):
        yield (before.title, after.title), _comparison(before, after)
    newest = {extension.name: extension for extension in extensions}
    for extension in newest.values():
        for before in sides:
            if extension.core.id >= before.title:
                yield (before.title, extension.name), _comparison(before, extension.compared)


def _comparison(before: ComparedRevision, after: ComparedRevision) -> Json:
    found = compare_revisions(before, after)
    return {
        "before": before.title,
        "after": after.title,
        "came": list(found.came),
        "went": list(found.went),
        "changes": [_change(change) for change in found.changes],
        "why": {change.code: change.why for change in found.changes},
    }


def _change(change: ReportedChange) -> Json:
    said: Json = {
        "code": change.code,
        "category": change.category,
        "item": change.item,
        "message": change.message,
        "severity": "".join(_LETTERS[change.severity_for(reader)] for reader in PROTOCOL),
    }
    optional = {
        "pointer": change.pointer,
        "before": change.before,
        "after": change.after,
        "feature": change.feature,
    }
    return said | {name: text for name, text in optional.items() if text}


def marks(columns: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the marks of each item, a letter for each column.

    They are `n` for new, `s` for unchanged, `c` for changed, `g` for gone and `-` for absent. In
    the first column, an item is `s`.
    """
    names = sorted({name for column in columns for name in column})
    return {name: "".join(_marks([column.get(name) for column in columns])) for name in names}


def _marks(values: Sequence[Any]) -> Iterator[str]:
    yield "-" if values[0] is None else "s"
    for before, now in pairwise(values):
        if now is None:
            yield "-" if before is None else "g"
        elif before is None:
            yield "n"
        else:
            yield "s" if canonical(before) == canonical(now) else "c"


def without_sources(value: Any) -> Any:
    """Return data without sources and texts, which may change while the meaning stays."""
    if is_object(value):
        return {
            key: without_sources(member) for key, member in value.items() if key not in _NOT_MEANT
        }
    return [without_sources(item) for item in value] if is_array(value) else value


# The phases of methods follow from the lifecycle of their revision, which is one change.
_NOT_MEANT: Final = frozenset(
    {"source", "url", "doc", "since", "removed", "message", "params", "phase"}
)
