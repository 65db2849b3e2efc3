"""What an implementation did with vectors. Values only."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from mcp_protogen.vectors.vector import Vector


class Verdict(StrEnum):
    """What an implementation says of a value."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    UNKNOWN = "unknown"
    """It has no such type or method."""
    CRASHED = "crashed"
    """It says nothing, because it ended over the value."""
    HUNG = "hung"
    """It says nothing in the time that it has."""

    @property
    def is_failure(self) -> bool:
        """Whether there was no answer at all."""
        return self in (Verdict.CRASHED, Verdict.HUNG)


class Harm(StrEnum):
    """What became of a part of a value that was read and written again."""

    LOST = "lost"
    ADDED = "added"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class Loss:
    """One difference between what was read and what was written.

    `pointer` is a JSON Pointer into the value; `before` or `after` is None where there is nothing.
    """

    harm: Harm
    pointer: str
    before: Any = None
    after: Any = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What an implementation answered; `written` is a value in brackets, or empty without one."""

    verdict: Verdict
    error: str = ""
    written: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """One vector and the answer to it; `losses` are what a round trip did to a valid value.

    `error` is why it was refused, or how the program failed over it.
    """

    vector: Vector
    verdict: Verdict
    error: str = ""
    losses: tuple[Loss, ...] = ()

    @property
    def verdict_is_wrong(self) -> bool:
        """Whether what is valid was refused, or what is invalid and not tolerated accepted."""
        match self.verdict:
            case Verdict.ACCEPTED:
                return not self.vector.valid and not self.vector.tolerated
            case Verdict.REFUSED:
                return self.vector.valid
            case Verdict.UNKNOWN | Verdict.CRASHED | Verdict.HUNG:
                return False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What `target`, as it calls itself, did with the vectors of a revision, in their order."""

    revision: str
    target: str
    results: tuple[Result, ...]
