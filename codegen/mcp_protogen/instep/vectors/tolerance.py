"""The invalid values that a reader may accept, and why.

Two of these are usual, but the schemas cannot express them. The others are in the specification and
in the facts of the revision.
"""

from dataclasses import dataclass

from mcp_protogen.base import jsonpointer
from mcp_protogen.instep.vectors.cases import Case
from mcp_protogen.instep.vectors.places import Place
from mcp_protogen.instep.vectors.shapes import Shapes
from mcp_protogen.pipeline.inputs.facts import Facts
from mcp_protogen.pipeline.ir import RevisionIR

_LATER_CONTENT = (
    "later revisions add kinds of content, and a reader may keep those it does not know"
)
_FOREIGN_SCHEMA = "one tool with a broken schema should not make a whole list of tools unreadable"
_KIND_OF_FAULT = {"absent": "required", "negative": "minimum"}


@dataclass(frozen=True, slots=True)
class Tolerance:
    """The values that readers of one revision may accept."""

    facts: Facts
    ir: RevisionIR
    shapes: Shapes

    def of(self, place: Place, case: Case) -> str:
        """Return why the fault of a case may be accepted, in a sentence; empty if it may not."""
        if case.open_kind and self._is_content(place):
            return _LATER_CONTENT
        if self._in_foreign_schema(place, case):
            return _FOREIGN_SCHEMA
        return self._leniency_note(place, case)

    def _is_content(self, place: Place) -> bool:
        names = {name for arm in place.shape.arms for name in self.shapes.of(arm).names}
        return len(names & self.facts.content_kinds) > 1

    def _in_foreign_schema(self, place: Place, case: Case) -> bool:
        """Return whether the fault is inside a JSON Schema of a user, which may be any object."""
        if not place.foreign:
            return False
        owner = place.member in {path.partition(".")[2] for path in self.facts.json_schemas}
        return not owner or bool(case.within)

    def _leniency_note(self, place: Place, case: Case) -> str:
        member = case.within[-1] if case.within else place.member
        for rule in self.ir.rules.leniency:
            if rule.member == member and _KIND_OF_FAULT[rule.rule] == case.code:
                return f"a receiver of a result reads this as {rule.value!r}"
        return ""


def whereabouts(place: Place, case: Case) -> str:
    """Return the JSON Pointer to the part that a case varies."""
    return place.pointer + jsonpointer.join(*case.within)
