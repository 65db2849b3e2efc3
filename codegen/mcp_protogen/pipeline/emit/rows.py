"""Rows of a translation table as Python."""

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, cast

from mcp_protogen.pipeline.emit.text import literal
from mcp_protogen.pipeline.emit.wrapping import (
    FixedText,
    Group,
    Item,
    Text,
    UnknownStatement,
    lines,
)
from mcp_protogen.runtime.core.spec import Condition


def row(value: Any) -> str:
    """Return the expression for a row, or a part of one, on a single line."""
    return "".join(map(str, _expression(value)))


def lay_out(value: Any, before: str) -> str:
    """Return the expression on as many lines as needed, after the text `before`.

    Black must break an expression of an unknown kind, such as one with a name that fills a line.
    """
    try:
        return "\n".join(lines((FixedText(before), *_expression(value)), 0))
    except UnknownStatement:
        return f"{before}{row(value)}"


def _expression(value: Any) -> Item:
    if isinstance(value, FixedText):
        return (value,)
    if is_dataclass(value) and not isinstance(value, type):
        return (type(value).__name__, Group("(", tuple(_arguments(value))))
    if isinstance(value, Condition):
        return (Condition.__name__, Group("(", tuple(map(_expression, value))))
    if isinstance(value, Mapping):
        entries = cast("Mapping[Any, object]", value).items()
        items = tuple((FixedText(f"{row(key)}: "), *_expression(inner)) for key, inner in entries)
        return (Group("{", items, display=True),)
    if isinstance(value, tuple):
        members = cast("tuple[object, ...]", value)
        items = tuple(map(_expression, members))
        return (Group("(", items, display=True, comma=len(items) == 1),)
    return (Text(value) if isinstance(value, str) else FixedText(literal(value)),)


def _arguments(value: Any) -> Iterator[Item]:
    for field in fields(value):
        content = getattr(value, field.name)
        if content == _usual(field):
            continue
        # A field without a default is passed by position.
        required = field.default is MISSING and field.default_factory is MISSING
        by_name = () if required and not field.kw_only else (f"{field.name}=",)
        yield (*by_name, *_expression(content))


def _usual(field: Field[Any]) -> Any:
    return field.default_factory() if field.default_factory is not MISSING else field.default


def classes_in(value: Any) -> set[str]:
    """Return the classes in the expression of `row`."""
    if is_dataclass(value) and not isinstance(value, type):
        parts = (getattr(value, field.name) for field in fields(value))
        return {type(value).__name__}.union(*map(classes_in, parts))
    inner: Iterator[object]
    if isinstance(value, Condition):
        return {Condition.__name__}
    if isinstance(value, Mapping):
        inner = iter(cast("Mapping[Any, object]", value).values())
    elif isinstance(value, tuple):
        inner = iter(cast("tuple[object, ...]", value))
    else:
        return set()
    return set[str]().union(*map(classes_in, inner))
