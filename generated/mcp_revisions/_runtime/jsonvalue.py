"""Decoded JSON: plain dictionaries, lists and scalars."""

from typing import Any, TypeAlias, TypeGuard

JSONObject: TypeAlias = dict[str, Any]


def is_object(value: object) -> TypeGuard[JSONObject]:
    """Whether `value` is a JSON object."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[Any]]:
    """Whether `value` is a JSON array."""
    return isinstance(value, list)
