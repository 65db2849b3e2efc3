"""Comparisons with printable texts; the originals come from foreign schemas and packages."""

from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar, cast

from mcp_protogen.base.printable import one_line

Value = TypeVar("Value")


def made_safe(value: Value) -> Value:
    """Return a dataclass with all its texts, at any depth, on one line and printable."""
    shown: Any = value
    parts = {one.name: _safe(getattr(value, one.name)) for one in fields(shown)}
    safe: Value = replace(shown, **parts)
    return safe


def _safe(part: Any) -> Any:
    if isinstance(part, tuple):
        items = cast("tuple[object, ...]", part)
        return getattr(items, "_make", tuple)(map(_safe, items))  # a named tuple stays one
    if is_dataclass(part):
        return made_safe(part)
    return one_line(part) if type(part) is str else part  # a member of an enumeration is ours
