"""Decoded JSON values: their types, and patches of one value by another."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeGuard

_TYPES: Final[Mapping[type, str]] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    type(None): "null",
    list: "array",
    dict: "object",
}


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    """Return whether `value` is a JSON object."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[Any]]:
    """Return whether `value` is a JSON array."""
    return isinstance(value, list)


def json_type(value: object) -> str:
    """Return the type of a value, by its name in JSON Schema."""
    return _TYPES[type(value)]


def is_of_type(value: object, kind: object) -> bool:
    """Return whether a value is of a type of JSON Schema; whole numbers are numbers, too."""
    return kind == json_type(value) or (kind == "number" and type(value) is int)


def is_deeper(value: object, levels: int) -> bool:
    """Return whether values are nested more than so many levels deep in objects and arrays."""
    found = [value]
    for _ in range(levels):
        found = [inner for outer in found for inner in _inside(outer)]
    return bool(found)


def _inside(value: object) -> Iterable[object]:
    if is_object(value):
        return value.values()
    return value if is_array(value) else ()


def merge_patch(target: Any, patch: Any) -> Any:
    """Return `target` after the JSON Merge Patch `patch` (RFC 7396, section 2)."""
    if not is_object(patch):
        return patch
    merged = dict(target) if is_object(target) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged
