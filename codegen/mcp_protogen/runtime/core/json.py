"""Decoded JSON: plain dictionaries, lists and scalars."""

from typing import Any, TypeAlias, TypeGuard

from pydantic_core import from_json, to_json

JSONObject: TypeAlias = dict[str, Any]


def is_object(value: object) -> TypeGuard[JSONObject]:
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def read_json(data: bytes | str) -> Any:
    """Read one JSON text; raise `ValueError`.

    NaN, infinities, invalid UTF-8, lone surrogates and nesting deeper than 200 are refused. If a
    member occurs twice, the last one counts, as in most readers (RFC 8259, section 4).
    """
    try:
        return from_json(data, allow_inf_nan=False, cache_strings="keys")
    except TypeError:
        # Text with a lone surrogate has no UTF-8 form, which is a TypeError here.
        if isinstance(data, str):
            raise ValueError("not Unicode text") from None
        raise


def json_text(value: object) -> bytes:
    """Return a value as JSON text.

    NaN and infinities become null, as in JavaScript; a number that is too large becomes an
    infinity. Raises `pydantic_core.PydanticSerializationError` for a value without a JSON form.
    """
    return to_json(value, inf_nan_mode="null")
