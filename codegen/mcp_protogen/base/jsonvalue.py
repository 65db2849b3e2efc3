"""Type guards for decoded JSON values, which type checkers follow."""

from typing import Any, TypeGuard


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    """Return whether `value` is a JSON object."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[Any]]:
    """Return whether `value` is a JSON array."""
    return isinstance(value, list)
