"""The part of a comparison that is about an extension, where the other side is of another revision.

A feature moves from the core into an extension, or back. What changes with it has its name: the
methods before the first `/`, types that are called after it, capabilities, members. A first part
that methods of the revision have, too, such as `resources`, is no name of the extension.
"""

import re
from collections.abc import Iterable
from dataclasses import replace

from mcp_protogen.instep.compare.revisions import ComparedRevision, ExtensionPart
from mcp_protogen.pipeline.derive.model_modules import feature_of
from mcp_protogen.pipeline.reports.change import Comparison, Matrix, ReportedChange

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


class MovedPart:
    """What an extension on one side is about."""

    def __init__(self, side: ComparedRevision, part: ExtensionPart) -> None:
        self._own = part.types | part.methods
        self._identifier = part.identifier
        features, others = set[str](), set[str]()
        for method in side.ir.methods:
            (features if method.method in part.methods else others).add(feature_of(method))
        names = {part.name, *features - others}
        self._words = names | {name.removesuffix("s") for name in names}

    def narrow(self, found: Comparison) -> Comparison:
        """Return a comparison without what is about something else."""
        changes = tuple(change for change in found.changes if self._concerns(change))
        came, went = (tuple(filter(self._is_named, names)) for names in (found.came, found.went))
        return replace(found, changes=changes, came=came, went=went)

    def rows(self, matrix: Matrix) -> Matrix:
        """Return a matrix without the methods and types of something else."""
        rows = (row for row in matrix.rows if row.name in self._own or self._is_named(row.name))
        return replace(matrix, rows=tuple(rows))

    def _concerns(self, change: ReportedChange) -> bool:
        own = {change.item, change.item.partition(".")[0]} & self._own
        if own or self._identifier in change.item:
            return True
        return any(map(self._is_named, (change.feature, change.item, change.before, change.after)))

    def _is_named(self, text: str) -> bool:
        return not self._words.isdisjoint(word.lower() for word in _WORD.findall(text))


def moved_part(sides: Iterable[ComparedRevision]) -> MovedPart | None:
    """Return what a comparison is about, if it is between an extension and something else.

    None if both are the same revision but for the extension: then all that differs is about it.
    """
    sides = tuple(sides)
    revisions = {side.extension.revision if side.extension else side.ir.id for side in sides}
    having = [(side, side.extension) for side in sides if side.extension]
    return MovedPart(*having[0]) if having and len(revisions) > 1 else None
