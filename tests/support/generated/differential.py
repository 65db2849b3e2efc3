"""One value, two verdicts: the schema's, and the generated type's in all its ways of reading.

A disagreement is a sentence about the difference; None means that all agree.
"""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.runtime.core.models.base import validator_of
from pydantic import ValidationError
from pydantic_core import from_json, to_json
from support.generated import oracle
from support.generated.golden_package import load

verdicts: Final[Counter[str]] = Counter()
"""How often this process asked for both opinions, by revision and that of the schema."""


@dataclass(frozen=True, slots=True)
class Reader:
    """How one generated type reads decoded values and text."""

    value: Callable[[Any], Any]
    text: Callable[[bytes], Any]


@cache
def reader(revision: str, name: str) -> Reader:
    """The reader of the generated type `name`: a class, or an alias through the runtime."""
    return reader_of(getattr(load(revision).models, name), validator_of)


def reader_of(kind: Any, validator_of: Callable[[Any], Callable[[Any], Any]]) -> Reader:
    """The reader of a generated type; the runtime's `validator_of` reads those without a class."""
    if isinstance(kind, type):
        model: Any = kind
        return Reader(model.from_wire, model.from_json)
    validate = validator_of(kind)
    return Reader(validate, lambda text: validate(from_json(text)))


def disagreement(revision: str, subject: oracle.Subject, value: Any, exact: bool) -> str | None:
    """How the generated type differs from the schema about `value`; see `difference`."""
    wanted = oracle.accepts(revision, subject.pointer)(value)
    verdicts[f"{revision} {'accepted' if wanted else 'refused'}"] += 1
    return difference(reader(revision, subject.name), value, wanted, exact)


def difference(read: Reader, value: Any, wanted: bool, exact: bool) -> str | None:
    """Return how a type differs from a schema that accepts `value`, or refuses it if not `wanted`.

    With `exact`, accepted values must come back with 1 and 1.0 kept apart; otherwise a number
    without a fraction may come back as an integer.
    """
    typed, refusal = _read(read.value, value)
    if wanted != (refusal is None):
        return (
            f"the schema {'accepts' if wanted else 'refuses'} {value!r:.300}, the type: {refusal}"
        )
    text = json.dumps(_reverse_members(value)).encode()
    typed_text, refusal = _read(read.text, text)
    if wanted != (refusal is None):
        return f"as text it is another matter: {value!r:.300}: {refusal}"
    if not wanted:
        return None
    for how, found in (("as a value", as_json(typed)), ("as text", json.loads(_text(typed_text)))):
        if not same(found, value, exact):
            return f"comes back differently {how}: {value!r:.300} as {found!r:.300}"
    return None


def _read(read: Callable[[Any], Any], value: Any) -> tuple[Any, ValidationError | None]:
    try:
        return read(value), None
    except ValidationError as error:
        return None, error


def as_json(typed: Any) -> Any:
    if hasattr(typed, "to_wire"):
        return typed.to_wire()
    if is_array(typed):
        return [as_json(item) for item in typed]
    if is_object(typed):
        return {key: as_json(item) for key, item in typed.items()}
    return typed


def _text(typed: Any) -> bytes:
    text: bytes = typed.to_json() if hasattr(typed, "to_json") else to_json(as_json(typed))
    return text


def _reverse_members(value: Any) -> Any:
    """The same JSON with the members of every object in the opposite order."""
    if is_object(value):
        return {key: _reverse_members(item) for key, item in reversed(value.items())}
    return [_reverse_members(item) for item in value] if is_array(value) else value


def same(found: Any, value: Any, exact: bool) -> bool:
    """Return whether two JSON values are equal: true is not 1, and with `exact` neither is 1.0."""
    if is_object(value):
        return (
            is_object(found)
            and found.keys() == value.keys()
            and all(same(found[key], item, exact) for key, item in value.items())
        )
    if is_array(value):
        return (
            is_array(found)
            and len(found) == len(value)
            and all(same(left, right, exact) for left, right in zip(found, value, strict=True))
        )
    if type(found) is type(value):
        return bool(found == value)
    return not exact and type(value) is float and type(found) is int and found == value
