"""Decoded JSON: plain dictionaries, lists and scalars."""

from collections.abc import Mapping
from typing import Any, Final, TypeAlias, TypeGuard

from pydantic_core import from_json, to_json

JSONObject: TypeAlias = dict[str, Any]

OBJECT: Final[type[JSONObject]] = dict
ARRAY: Final[type[list[Any]]] = list
"""The exact types of decoded objects and arrays, for checks on the path of every message."""


def is_object(value: object) -> TypeGuard[JSONObject]:
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def without(members: Mapping[str, Any], *names: str) -> JSONObject:
    return {name: value for name, value in members.items() if name not in names}


def is_same(one: object, other: object) -> bool:
    """Return whether two scalars are equal as JSON, in which true is not 1."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def read_json(data: bytes | str) -> Any:
    """Read one JSON text; raise `ValueError`.

    NaN, infinities, invalid UTF-8, lone surrogates and nesting deeper than 200 are invalid. The
    last of duplicate members counts.
    """
    return from_json(data, allow_inf_nan=False, cache_strings="keys")


def json_text(value: Any) -> bytes:
    """Return a value as JSON text, with null for NaN and infinities.

    Raise `PydanticSerializationError` for a value that JSON lacks.
    """
    return to_json(value, inf_nan_mode="null")
