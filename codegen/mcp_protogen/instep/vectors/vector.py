"""A test vector, and the vectors of one revision, as values.

`schema/formats/vectors.schema.json` describes them as JSON.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from mcp_protogen.base.problems import Problem, ProblemError, did_you_mean

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Subject:
    """The subject of a vector: a definition of the schema, or a whole message of a method.

    For a message, `kind` is request, notification or result. `sender` is the side that sends it;
    for a result, that is the side that was asked.
    """

    type: str = ""
    method: str = ""
    kind: str = ""
    sender: str = ""

    def __str__(self) -> str:
        return self.type or f"{self.method}:{self.kind}:{self.sender}"


@dataclass(frozen=True, slots=True)
class Vector:
    """One value, whether the schema accepts it, and why it is here.

    `code` names the fault or what the value shows, in a word; `reason` does so in a sentence.
    `pointer` leads to the place in `value` that is wrong or varied, `rule` to the keyword in the
    patched schema that decides it. Both are RFC 6901 JSON Pointers. `tolerated` says why a reader
    may accept the invalid value, and is empty if it may not.
    """

    id: str
    subject: Subject
    valid: bool
    value: Any
    code: str
    reason: str
    pointer: str
    rule: str
    tolerated: str = ""


@dataclass(frozen=True, slots=True)
class VectorSet:
    """All vectors of a revision, types before methods; `schema` is the digest of their schema.

    With an `extension`, they are its vectors in that revision.
    """

    revision: str
    schema: str
    vectors: tuple[Vector, ...]
    extension: str = ""

    @property
    def title(self) -> str:
        """Return the revision and extension: `2026-07-28`, or `2026-07-28+tasks`."""
        return title(self.revision, self.extension)


def title(revision: str, extension: str) -> str:
    """Return the name of a revision, or of an extension in it."""
    return f"{revision}+{extension}" if extension else revision


class Validity(StrEnum):
    """The kinds of vectors that a user can ask for."""

    VALID = "valid"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class VectorFilter:
    """The wanted vectors; an empty field or None excludes nothing."""

    types: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    only: Validity | None = None

    def of(self, vectors: VectorSet) -> VectorSet:
        """Return the wanted vectors; raise `ProblemError` (`unknown-subject`)."""
        subjects = {vector.subject for vector in vectors.vectors}
        _require(self.types, {subject.type for subject in subjects}, vectors.title)
        _require(self.methods, {subject.method for subject in subjects}, vectors.title)
        return replace(vectors, vectors=tuple(v for v in vectors.vectors if self._matches(v)))

    def _matches(self, vector: Vector) -> bool:
        named = not (self.types or self.methods) or (
            vector.subject.type in self.types or vector.subject.method in self.methods
        )
        return named and (self.only is None or vector.valid == (self.only is Validity.VALID))


def _require(names: Iterable[str], known: set[str], revision: str) -> None:
    known.discard("")
    for name in names:
        if name not in known:
            message = f"there are no vectors of {name!r:.200} in {revision}"
            hint = did_you_mean(name, known)
            raise ProblemError(Problem("unknown-subject", message, hint=hint))
