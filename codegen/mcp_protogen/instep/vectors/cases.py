"""Candidates for vectors, before the schema has confirmed them."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Case:
    """One variation of a place.

    `label` tells it from the other cases of the place, `value` is the value at the place. `within`
    leads from there to the varied member, if it is one. `open_kind` says that the only fault is a
    kind of content that the revision does not have.
    """

    label: str
    value: Any
    code: str
    reason: str
    rule: str = ""
    within: tuple[str | int, ...] = ()
    open_kind: bool = False


A = {
    "object": "an object",
    "array": "an array",
    "string": "a string",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}
"""The kinds of JSON value in words."""
