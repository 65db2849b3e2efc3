"""Comparisons with printable texts; the originals come from foreign schemas and packages."""

from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar, cast

from mcp_protogen.base.printable import safe_line

Value = TypeVar("Value")


def make_safe(value: Value) -> Value:
    """Return a dataclass with all its texts, at any depth, on one line and printable."""
    shown: Any = value
    parts = {field.name: _safe(getattr(value, field.name)) for field in fields(shown)}
    safe: Value = replace(shown, **parts)
    return safe


def _safe(part: Any) -> Any:
    if isinstance(part, tuple):
        items = cast("tuple[object, ...]", part)
        return getattr(items, "_make", tuple)(map(_safe, items))  # a named tuple stays one
    if is_dataclass(part):
        return make_safe(part)
    return safe_line(part) if type(part) is str else part  # a member of an enumeration is ours
