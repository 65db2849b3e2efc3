"""What a test vector is, and the vectors of one revision. Values only.

`schema/formats/vectors.schema.json` describes them as JSON.
"""

from dataclasses import dataclass
from typing import Any

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Subject:
    """What a vector is a value of: a definition of the schema, or a whole message of a method.

    For a message, `kind` is request, notification or result, and `sender` is who sends it, which
    for a result is the side that was asked.
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

    `code` is what is wrong with it, or what it shows, as a word; `reason` says the same in a
    sentence. `pointer` leads to the place in `value` that is at fault or varied, `rule` to the
    keyword in the patched schema that says so. Both are RFC 6901 JSON Pointers. `tolerated` says
    why a reader may accept an invalid value all the same, and is empty where it may not.
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
    """All vectors of a revision, types before methods; `schema` is the digest of what they obey."""

    revision: str
    schema: str
    vectors: tuple[Vector, ...]
