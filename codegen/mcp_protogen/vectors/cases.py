"""What a vector shows, before it is known whether it holds."""

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Case:
    """One variation of a place.

    `label` tells it from the other cases of the place, `value` is what is at the place. `within`
    leads from there to what is varied, if that is a member of it. `open_kind` says that the only
    fault is a kind of content that the revision does not have.
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
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}
"""The kinds of JSON value in words."""


def spelled(value: Any) -> str:
    """A value in a sentence, as JSON: vectors are read in all languages."""
    return json.dumps(value, ensure_ascii=False)
