"""Data and descriptions as TypeScript: they are printed only as literals and comments."""

import json
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from mcp_protogen.base.printable import INVISIBLE

WIDTH = 100

_COMMENT_OR_STRING = re.compile(r'/\*.*?\*/|//[^\n]*|"((?:[^"\\\n]|\\.)*)"', re.DOTALL)
_IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_INVISIBLE = re.compile(f"[{INVISIBLE}]")


def literal(value: str | float | bool | None) -> str:
    """Return the literal of a scalar, in ASCII."""
    return json.dumps(value)


def single_quoted(module: str) -> str:
    """Return a module with single quotes around its strings; comments stay."""
    return _COMMENT_OR_STRING.sub(_single_quoted, module)


def _single_quoted(match: re.Match[str]) -> str:
    inside: str | None = match[1]
    if inside is None:
        return match[0]
    return "'" + inside.replace("'", "\\'").replace('\\"', '"') + "'"


def key(name: str) -> str:
    """Return the name of a member for a type."""
    return name if _IDENTIFIER.fullmatch(name) else literal(name)


def property_name(name: str) -> str:
    """Return the name of a property for an expression."""
    # Only a computed name defines a property with this name.
    return f"[{literal(name)}]" if name == "__proto__" else key(name)


def comment(text: str, indent: int = 0, *, deprecated: bool = False) -> str:
    """Return a description as a TSDoc comment with its line break; empty without a text."""
    clean = re.sub(r"[^\S\n]+", " ", _INVISIBLE.sub("", text)).replace("*/", "*\\/").strip()
    if deprecated:
        # The tag replaces the word; editors strike through its subject.
        clean = f"{clean.removesuffix('Deprecated.').strip()}\n\n@deprecated".strip()
    if not clean:
        return ""
    margin = " " * indent
    if "\n" not in clean and len(clean) + indent + 7 <= WIDTH:
        return f"{margin}/** {clean} */\n"
    room = WIDTH - indent - 3
    wrapped = (
        textwrap.wrap(paragraph, room, break_long_words=False) or [""]
        for paragraph in clean.split("\n")
    )
    body = "".join(f"{margin} * {line}".rstrip() + "\n" for lines in wrapped for line in lines)
    return f"{margin}/**\n{body}{margin} */\n"


def data(value: Any, indent: int = 0, before: int = 0) -> str:
    """Return JSON-like data as an expression, on one line if it fits after `before` columns."""
    line = _on_one_line(value)
    if len(line) + indent + before + 1 <= WIDTH or not isinstance(value, Mapping | Sequence):
        return line
    inner, margin = indent + 2, " " * (indent + 2)
    opening, closing = "{}" if isinstance(value, Mapping) else "[]"
    items = "".join(
        f"{margin}{name}{data(item, inner, len(name))},\n"
        for name, item in _items(cast(Any, value))
    )
    return f"{opening}\n{items}{' ' * indent}{closing}"


def _on_one_line(value: Any) -> str:
    if isinstance(value, str) or not isinstance(value, Mapping | Sequence):
        return literal(value)
    items = ", ".join(name + _on_one_line(item) for name, item in _items(cast(Any, value)))
    if isinstance(value, Mapping):
        return f"{{ {items} }}" if items else "{}"
    return f"[{items}]"


def _items(value: Mapping[str, Any] | Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """Yield each item with the text before it."""
    if isinstance(value, Mapping):
        yield from ((f"{property_name(name)}: ", item) for name, item in value.items())
    else:
        yield from (("", item) for item in value)
