"""A comparison as JSON, for programs.

The format is public: `schema/formats/comparison.schema.json` describes it. It has all changes for
every reader, and its texts are not escaped for a terminal.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from mcp_protogen.base.canonical import as_document
from mcp_protogen.pipeline.reports.change import Comparison, Reader, Severity
from mcp_protogen.pipeline.reports.pages.headline import headline
from mcp_protogen.pipeline.reports.pages.ranking import RankedChange, counts, rank_changes

FORMAT = 1


def render(comparison: Comparison, *, reader: Reader | None) -> str:
    """Return the document, with the worst change for `reader`, or for any reader, first."""
    return as_document(as_json(comparison, reader))


def as_json(comparison: Comparison, reader: Reader | None) -> dict[str, Any]:
    """Return the comparison as a JSON value in the public format."""
    return {
        "format": FORMAT,
        "before": comparison.before,
        "after": comparison.after,
        "reader": reader,
        "summary": headline(comparison, reader),
        "counts": {
            judged_reader: _counts(comparison, judged_reader)
            for judged_reader in comparison.readers
        },
        "changes": [
            _change(entry, comparison.readers) for entry in rank_changes(comparison, reader)
        ],
        "notes": [note._asdict() for note in comparison.notes],
    }


def _counts(comparison: Comparison, reader: Reader) -> Mapping[Severity, int]:
    return counts(change.severity_for(reader) for change in comparison.changes)


def _change(entry: RankedChange, readers: Sequence[Reader]) -> dict[str, Any]:
    change = entry.change
    return {
        "code": change.code,
        "category": change.category,
        "item": change.item,
        "message": change.message,
        "severity": {reader: change.severity_for(reader) for reader in readers},
        "worst": change.worst,
        "pointer": change.pointer,
        "before": change.before,
        "after": change.after,
        "why": change.why,
        "feature": change.feature,
        **({"places": list(change.places)} if change.places else {}),
    }
