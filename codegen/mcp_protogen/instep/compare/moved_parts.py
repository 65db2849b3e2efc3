"""The part of a comparison that belongs to an extension, if the other side is another revision.

A feature moves from the core into an extension, or back. The moved parts have its name: methods
before the first `/`, types named after it, capabilities, members. A first part that methods of the
revision have, too, such as `resources`, does not count.
"""

import re
from collections.abc import Iterable
from dataclasses import replace

from mcp_protogen.instep.compare.revisions import ComparedRevision, ExtensionPart
from mcp_protogen.pipeline.derive.model_modules import feature_of
from mcp_protogen.pipeline.reports.change import Comparison, Matrix, ReportedChange

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


class MovedPart:
    """The names that belong to an extension on one side."""

    def __init__(self, side: ComparedRevision, part: ExtensionPart) -> None:
        self._own = part.types | part.methods
        self._identifier = part.identifier
        features, others = set[str](), set[str]()
        for method in side.ir.methods:
            (features if method.method in part.methods else others).add(feature_of(method))
        names = {part.name, *features - others}
        self._words = names | {name.removesuffix("s") for name in names}

    def narrow(self, found: Comparison) -> Comparison:
        """Return only the changes of a comparison that belong to the extension."""
        changes = tuple(change for change in found.changes if self._concerns(change))
        came, went = (tuple(filter(self._is_named, names)) for names in (found.came, found.went))
        return replace(found, changes=changes, came=came, went=went)

    def rows(self, matrix: Matrix) -> Matrix:
        """Return only the methods and types that belong to the extension."""
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
    """Return the names to compare, between an extension and another revision.

    None if both sides are the same revision apart from the extension: then all differences belong
    to it.
    """
    sides = tuple(sides)
    revisions = {side.extension.revision if side.extension else side.ir.id for side in sides}
    having = [(side, side.extension) for side in sides if side.extension]
    return MovedPart(*having[0]) if having and len(revisions) > 1 else None
