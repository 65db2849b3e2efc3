"""Decoded JSON values: guards that type checkers follow, and patches of one value by another."""

from typing import Any, TypeGuard


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    """Return whether `value` is a JSON object."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[Any]]:
    """Return whether `value` is a JSON array."""
    return isinstance(value, list)


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
