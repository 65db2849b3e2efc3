"""The whole comparison of two sides."""

from collections.abc import Iterator

from mcp_protogen.instep.compare import definitions, errors, methods, protocol
from mcp_protogen.instep.compare.definitions import Types
from mcp_protogen.instep.compare.features import Features
from mcp_protogen.instep.compare.known_values import changes as known_values
from mcp_protogen.instep.compare.moved_parts import moved_part
from mcp_protogen.instep.compare.revisions import ComparedRevision
from mcp_protogen.pipeline.reports.change import Comparison, ReportedChange
from mcp_protogen.pipeline.reports.severities import Difference, rate


def compare_revisions(before: ComparedRevision, after: ComparedRevision) -> Comparison:
    """Return everything that differs between two sides, the worst first.

    Between an extension and another revision, only differences about the extension count.
    """
    types = Types(before, after)
    features = Features(types)
    # A schema and its facts may say the same, for example that a member is deprecated.
    found = map(rate, dict.fromkeys(_find_changes(types)))
    changes = tuple(sorted(features.add_features(found), key=_order))
    notes = tuple(dict.fromkeys((*before.notes, *after.notes)))
    whole = Comparison(
        before.title, after.title, changes, notes, came=features.came, went=features.went
    )
    part = moved_part((before, after))
    return part.narrow(whole) if part else whole


def _find_changes(types: Types) -> Iterator[Difference]:
    before, after = types.before, types.after
    yield from methods.changes(before, after)
    yield from definitions.changes(types)
    yield from known_values(types)
    yield from errors.changes(types)
    yield from protocol.changes(before, after)


def _order(change: ReportedChange) -> tuple[int, str, str, str, str]:
    return (change.worst.rank, change.category, change.item, change.code, change.after)
