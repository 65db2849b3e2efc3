"""The facts about an SDK that its types have shown, so that trials do not report them again."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mcp_protogen.base.jsonpointer import split
from mcp_protogen.instep.audit.expected import ExpectedTypes
from mcp_protogen.instep.audit.fitting import members_of
from mcp_protogen.instep.audit.severities import AuditFinding
from mcp_protogen.instep.vectors.envelope import ENVELOPE_PREFIX
from mcp_protogen.instep.vectors.vector import Subject, Vector
from mcp_protogen.pipeline.ir import ObjectIR

Steps = tuple[str, ...]

_UNSEEN = frozenset(
    {"field-missing", "field-missing-required", "field-lost", "field-untyped", "field-optional"}
)
"""The findings that imply that wrong values are accepted."""
_ENVELOPE_CONTENTS = tuple(
    (f"{ENVELOPE_PREFIX}{name}", member)
    for name, member in (
        ("Request", "params"),
        ("Notification", "params"),
        ("Response", "result"),
        ("ResultResponse", "result"),
    )
)
"""The contents of envelopes, which another reader checks."""


@dataclass(frozen=True, slots=True)
class KnownGaps:
    """The facts that are known before the first trial.

    `unseen` are places whose values are not checked: a type, and the steps from there. `choices`
    are subjects whose alternatives have their own vectors, and `refusing` those of them that lack
    an alternative. `wanted` has the types of the values.
    """

    unseen: tuple[Steps, ...]
    choices: frozenset[str]
    refusing: frozenset[str]
    wanted: ExpectedTypes

    def leniency(self, vector: Vector) -> bool:
        """Return whether accepting an invalid value is known already."""
        if str(vector.subject) in self.choices:
            return vector.code != "union" or vector.pointer not in ("", "/result")
        return self.is_unseen(vector.subject, vector.pointer)

    def is_unseen(self, subject: Subject, pointer: str) -> bool:
        """Return whether a place in values of a subject is not checked, or not kept."""
        trail = [(name, *steps) for name, steps in self._trail(subject, pointer)]
        return any(_begins(path, place) for path in trail for place in self.unseen)

    def needs(self, subject: Subject, pointer: str) -> bool:
        """Return whether a place in values of a subject is a required member."""
        return any(
            len(steps) == 1 and members_of(name, self.wanted).get(steps[0], False)
            for name, steps in self._trail(subject, pointer)
        )

    def _trail(self, subject: Subject, pointer: str) -> Iterator[tuple[str, Steps]]:
        """Yield the types around a place in values of a subject, with the steps from each."""
        steps = tuple(split(pointer))
        if subject.type:
            names = {wire: name for name, wire in self.wanted.wire_names.items()}
            yield from self.wanted.trail(names[subject.type], steps)
            return
        method = next(m for m in self.wanted.ir.methods if m.method == subject.method)
        if subject.kind != "result":
            yield from self.wanted.trail(str(method.message), steps)
        elif steps[:1] == ("result",):
            for name in method.results:
                yield from self.wanted.trail(str(name), steps[1:])


def find_gaps(
    found: Sequence[AuditFinding], choices: frozenset[str], wanted: ExpectedTypes
) -> KnownGaps:
    """Return the facts about vectors that follow from findings and from choices of results."""
    unions = {
        wire_name
        for name, wire_name in wanted.wire_names.items()
        if not isinstance(wanted.types.get(name), ObjectIR) and len(wanted.objects(name)) > 1
    }
    missing = {finding.place[0] for finding in found if finding.code == "union-arm-missing"}
    return KnownGaps(
        unseen=(
            *_ENVELOPE_CONTENTS,
            *(finding.place for finding in found if finding.code in _UNSEEN),
        ),
        choices=choices | unions,
        refusing=frozenset(missing & unions),
        wanted=wanted,
    )


def _begins(path: Steps, place: Steps) -> bool:
    """Return whether a path leads through a place; `*` stands for any step."""
    return len(path) >= len(place) and all(
        wanted in ("*", step) for step, wanted in zip(path, place, strict=False)
    )
