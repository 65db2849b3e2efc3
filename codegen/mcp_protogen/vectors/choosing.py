"""A selection of vectors: those of a type, of a method, or only valid or invalid ones."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.base.suggest import did_you_mean
from mcp_protogen.vectors.vector import Vector, VectorSet


class Only(StrEnum):
    """The verdict of the schema."""

    VALID = "valid"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class Choice:
    """The wanted vectors; an empty field or None excludes nothing."""

    types: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    only: Only | None = None

    def of(self, vectors: VectorSet) -> VectorSet:
        """Return the wanted vectors; raise `ProblemError` (`unknown-subject`)."""
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
            message = f"there are no vectors of {name!r:.200} in {revision}"
            hint = did_you_mean(name, known)
            raise ProblemError(Problem("unknown-subject", message, hint=hint))
