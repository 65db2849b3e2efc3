"""JSON values for type checkers: the kind of a decoded value."""

from typing import Any, TypeGuard

Json = dict[str, Any]


def is_object(value: Any) -> TypeGuard[Json]:
    return isinstance(value, dict)


def is_array(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)
