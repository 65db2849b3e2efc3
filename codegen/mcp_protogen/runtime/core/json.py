"""Decoded JSON: plain dictionaries, lists and scalars."""

from typing import Any, Final, TypeAlias, TypeGuard

from pydantic_core import from_json, to_json

JSONObject: TypeAlias = dict[str, Any]

OBJECT: Final[type[JSONObject]] = dict
"""The exact type of a decoded object, for the tests that every message meets."""


def is_object(value: object) -> TypeGuard[JSONObject]:
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def read_json(data: bytes | str) -> Any:
    """Read one JSON text; raise `ValueError`.

    NaN, infinities, invalid UTF-8, lone surrogates and nesting deeper than 200 are refused. If a
    member occurs twice, the last one counts, as in most readers (RFC 8259, section 4).
    """
    text = data.encode() if isinstance(data, str) else data
    return from_json(text, allow_inf_nan=False, cache_strings="keys")


def json_text(value: Any) -> bytes:
    """Return a value as JSON text.

    NaN and infinities become null, as in JavaScript; a number that is too large becomes an
    infinity. Raises `pydantic_core.PydanticSerializationError` for a value without a JSON form.
    """
    return to_json(value, inf_nan_mode="null")
