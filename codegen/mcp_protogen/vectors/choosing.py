"""Some of the vectors: those of a type, of a method, or only the right or the wrong ones."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from mcp_protogen.problems import Problem, ProblemError
from mcp_protogen.suggest import did_you_mean
from mcp_protogen.vectors.vector import Vector, VectorSet


class Only(StrEnum):
    """Which verdict the schema gives."""

    VALID = "valid"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class Choice:
    """What is wanted; what is empty or None leaves everything in."""

    types: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    only: Only | None = None

    def of(self, vectors: VectorSet) -> VectorSet:
        """The vectors that are wanted; raises `ProblemError` (`unknown-subject`)."""
        subjects = {vector.subject for vector in vectors.vectors}
        _require(self.types, {subject.type for subject in subjects}, vectors.revision)
        _require(self.methods, {subject.method for subject in subjects}, vectors.revision)
        return replace(vectors, vectors=tuple(v for v in vectors.vectors if self._wants(v)))

    def _wants(self, vector: Vector) -> bool:
        named = not (self.types or self.methods) or (
            vector.subject.type in self.types or vector.subject.method in self.methods
        )
        return named and (self.only is None or vector.valid == (self.only is Only.VALID))


def _require(names: Iterable[str], known: set[str], revision: str) -> None:
    known.discard("")
    for name in names:
        if name not in known:
            message = f"{revision} has no {name!r:.200} that there are vectors of"
            hint = did_you_mean(name, known)
            raise ProblemError(Problem("unknown-subject", message, hint=hint))
