"""Decoded JSON: plain dictionaries, lists and scalars."""

from collections.abc import Mapping
from functools import partial
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


read_json: Final = partial(from_json, allow_inf_nan=False, cache_strings="keys")
"""Read one JSON text; raise `ValueError`.

NaN, infinities, invalid UTF-8, lone surrogates and nesting deeper than 200 are invalid. The last of
duplicate members counts.
"""

json_text: Final = partial(to_json, inf_nan_mode="null")
"""Return a value as JSON text, with null for NaN and infinities.

Raise `PydanticSerializationError` for a value that JSON lacks.
"""
