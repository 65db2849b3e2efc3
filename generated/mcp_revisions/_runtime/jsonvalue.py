"""Decoded JSON: plain dictionaries, lists and scalars."""

from typing import Any, TypeAlias, TypeGuard

from pydantic_core import to_json

JSONObject: TypeAlias = dict[str, Any]


def is_object(value: object) -> TypeGuard[JSONObject]:
    """Whether `value` is a JSON object."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[Any]]:
    """Whether `value` is a JSON array."""
    return isinstance(value, list)


def json_text(value: object) -> bytes:
    """A value as JSON text.

    NaN and infinities, such as a number becomes that is too large to be held, are null there, as in
    JavaScript. Raises `pydantic_core.PydanticSerializationError` for what has no JSON form.
    """
    return to_json(value, inf_nan_mode="null")
