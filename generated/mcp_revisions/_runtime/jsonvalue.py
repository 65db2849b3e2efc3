"""Decoded JSON: plain dictionaries, lists and scalars."""

from typing import Any, TypeAlias, TypeGuard

from pydantic_core import from_json, to_json

JSONObject: TypeAlias = dict[str, Any]


def is_object(value: object) -> TypeGuard[JSONObject]:
    """Whether `value` is a JSON object."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[Any]]:
    """Whether `value` is a JSON array."""
    return isinstance(value, list)


def read_json(data: bytes | str) -> Any:
    """Read one JSON text; raises `ValueError`.

    NaN, infinities, invalid UTF-8, lone surrogates and nesting deeper than 200 are refused. Of a
    member that occurs twice the last one counts, as in most readers (RFC 8259, section 4).
    """
    try:
        return from_json(data, allow_inf_nan=False, cache_strings="keys")
    except TypeError:
        # Said of text with a lone surrogate, which has no UTF-8 form to read.
        if isinstance(data, str):
            raise ValueError("not Unicode text") from None
        raise


def json_text(value: object) -> bytes:
    """A value as JSON text.

    NaN and infinities, such as a number becomes that is too large to be held, are null there, as in
    JavaScript. Raises `pydantic_core.PydanticSerializationError` for what has no JSON form.
    """
    return to_json(value, inf_nan_mode="null")
