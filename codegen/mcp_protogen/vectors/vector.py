"""A test vector, and the vectors of one revision, as values.

`schema/formats/vectors.schema.json` describes them as JSON.
"""

from dataclasses import dataclass
from typing import Any

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
    """All vectors of a revision, types before methods; `schema` is the digest of their schema."""

    revision: str
    schema: str
    vectors: tuple[Vector, ...]
