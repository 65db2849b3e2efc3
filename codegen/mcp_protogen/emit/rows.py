"""Rows of a translation table as Python, in the layout of black.

The tables are long and of one simple shape. With black, they would take most of the time of writing
a package; a test compares the result with black.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from typing import Any, Literal, TypeAlias, cast

from mcp_protogen.emit.text import WIDTH, literal


@dataclass(frozen=True, slots=True)
class Name:
    """An expression that is printed as it is."""

    text: str


@dataclass(frozen=True, slots=True)
class _Group:
    """Something in brackets: items, each with the text before it, such as the key of a member."""

    kind: Literal["call", "display"]
    open: str
    items: tuple[tuple[str, "_Part"], ...]
    close: str

    @property
    def one_tuple(self) -> bool:
        """Return whether it is a tuple of one item, which needs a comma."""
        return self.kind == "display" and self.open == "(" and len(self.items) == 1


@dataclass(frozen=True, slots=True)
class _Text:
    """A string, which is split into several pieces if it does not fit on a line."""

    text: str


_Part: TypeAlias = str | _Text | _Group


def row(value: Any) -> str:
    """Return the expression for a row, or a part of one, on a single line."""
    return _inline(_part(value))


def laid_out(value: Any, before: str, after: str = "") -> str:
    """Return the expression on as many lines as needed, with the given text around it."""
    return "\n".join(_lines(_part(value), 0, before, after))


def _part(value: Any) -> _Part:
    if isinstance(value, Name):
        return value.text
    if is_dataclass(value) and not isinstance(value, type):
        return _Group("call", f"{type(value).__name__}(", tuple(_arguments(value)), ")")
    if isinstance(value, Mapping):
        entries = cast("Mapping[Any, object]", value).items()
        items = tuple((f"{row(key)}: ", _part(inner)) for key, inner in entries)
        return _Group("display", "{", items, "}")
    if isinstance(value, tuple):
        members = cast("tuple[object, ...]", value)
        return _Group("display", "(", tuple(("", _part(one)) for one in members), ")")
    return _Text(value) if isinstance(value, str) else literal(value)


def _arguments(value: Any) -> Iterator[tuple[str, _Part]]:
    for one in fields(value):
        given = getattr(value, one.name)
        if given == _usual(one):
            continue
        # A field without a default is passed by position.
        required = one.default is MISSING and one.default_factory is MISSING
        yield "" if required and not one.kw_only else f"{one.name}=", _part(given)


def _usual(one: Field[Any]) -> Any:
    return one.default_factory() if one.default_factory is not MISSING else one.default


def _inline(part: _Part) -> str:
    if isinstance(part, _Group):
        return f"{part.open}{_body(part)}{part.close}"
    return literal(part.text) if isinstance(part, _Text) else part


def _body(group: _Group) -> str:
    body = ", ".join(before + _inline(item) for before, item in group.items)
    return f"{body}," if group.one_tuple else body


def _lines(part: _Part, indent: int, before: str, after: str) -> Iterator[str]:
    whole = f"{before}{_inline(part)}{after}"
    if isinstance(part, str) or indent + len(whole) <= WIDTH:
        yield " " * indent + whole
        return
    if isinstance(part, _Text):
        yield from _pieces(part.text, indent, before, after)
        return
    yield " " * indent + before + part.open
    body = _body(part)
    # Black keeps the arguments of a call together if it can, but never the items of a display.
    together = part.kind == "call" and len(part.items) > 1
    if together and indent + 4 + len(body) <= WIDTH:
        yield " " * (indent + 4) + body
    else:
        alone = len(part.items) == 1 and not part.one_tuple
        comma = "" if alone else ","
        for name, item in part.items:
            yield from _lines(item, indent + 4, name, comma)
    yield " " * indent + part.close + after


def _pieces(text: str, indent: int, before: str, after: str) -> Iterator[str]:
    """Yield a string in brackets: whole if it fits now, or else one piece on each line."""
    inner = " " * (indent + 4)
    lines = [text]
    if len(inner) + len(literal(text)) > WIDTH:
        lines = [""]
        for word in re.findall(r"\S*\s*", text):
            if lines[-1] and len(inner) + len(literal(lines[-1] + word)) > WIDTH:
                lines.append("")
            lines[-1] += word
    yield f"{' ' * indent}{before}("
    yield from (inner + literal(line) for line in lines)
    yield f"{' ' * indent}){after}"


def classes_in(value: Any) -> set[str]:
    """Return the classes that the expression of `row` names."""
    if is_dataclass(value) and not isinstance(value, type):
        parts = (getattr(value, one.name) for one in fields(value))
        return {type(value).__name__}.union(*map(classes_in, parts))
    inner: Iterator[object]
    if isinstance(value, Mapping):
        inner = iter(cast("Mapping[Any, object]", value).values())
    elif isinstance(value, tuple):
        inner = iter(cast("tuple[object, ...]", value))
    else:
        return set()
    return set[str]().union(*map(classes_in, inner))
