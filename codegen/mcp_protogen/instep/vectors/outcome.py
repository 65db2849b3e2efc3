"""The answers of an implementation to vectors, and the changes by a round trip.

Values are compared as JSON: the order of members does not matter, 1 and 1.0 are the same number,
and true is not a number.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from mcp_protogen.base.jsonpointer import escape
from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.instep.vectors.vector import Vector


class Verdict(StrEnum):
    """The verdict of an implementation on a value."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    UNKNOWN = "unknown"
    """The implementation has no such type or method."""
    CRASHED = "crashed"
    """The implementation ended at this value."""
    HUNG = "hung"
    """The implementation did not answer in time."""

    @property
    def is_failure(self) -> bool:
        """Return whether no answer came."""
        return self in (Verdict.CRASHED, Verdict.HUNG)


class Harm(StrEnum):
    """The change of a part of a value that was read and written again."""

    LOST = "lost"
    ADDED = "added"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class RoundTripLoss:
    """One difference between the value that was read and the written one.

    `pointer` is a JSON Pointer into the value; `before` or `after` is None if there is nothing.
    """

    harm: Harm
    pointer: str
    before: Any = None
    after: Any = None


@dataclass(frozen=True, slots=True)
class ResponderAnswer:
    """The answer of an implementation; `written` has its value, or is empty."""

    verdict: Verdict
    error: str = ""
    written: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class VectorResult:
    """One vector and the answer to it; `losses` are the changes of a valid value by a round trip.

    `error` is the reason of a refusal, or how the program failed.
    """

    vector: Vector
    verdict: Verdict
    error: str = ""
    losses: tuple[RoundTripLoss, ...] = ()

    @property
    def verdict_is_wrong(self) -> bool:
        """Return whether a valid value was refused, or an invalid one wrongly accepted."""
        match self.verdict:
            case Verdict.ACCEPTED:
                return not self.vector.valid and not self.vector.tolerated
            case Verdict.REFUSED:
                return self.vector.valid
            case Verdict.UNKNOWN | Verdict.CRASHED | Verdict.HUNG:
                return False


@dataclass(frozen=True, slots=True)
class VectorRun:
    """The answers to the vectors of a revision, in their order, by an implementation."""

    revision: str
    implementation: str
    results: tuple[VectorResult, ...]


def losses(before: Any, after: Any, pointer: str = "") -> Iterator[RoundTripLoss]:
    """Yield every difference, outermost first."""
    if is_object(before) and is_object(after):
        for name in before.keys() - after.keys():
            yield RoundTripLoss(Harm.LOST, f"{pointer}/{escape(name)}", before=before[name])
        for name in after.keys() - before.keys():
            yield RoundTripLoss(Harm.ADDED, f"{pointer}/{escape(name)}", after=after[name])
        for name in before:
            if name in after:
                yield from losses(before[name], after[name], f"{pointer}/{escape(name)}")
    elif is_array(before) and is_array(after) and len(before) == len(after):
        for index, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from losses(old, new, f"{pointer}/{index}")
    elif not _is_same(before, after):
        yield RoundTripLoss(Harm.CHANGED, pointer, before, after)


def _is_same(before: Any, after: Any) -> bool:
    if isinstance(before, bool) or isinstance(after, bool):
        return before is after
    alike = type(before) is type(after) or _are_numbers(before, after)
    return alike and bool(before == after)


def _are_numbers(*values: Any) -> bool:
    return all(isinstance(value, (int, float)) for value in values)
