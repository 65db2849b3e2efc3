"""Schema text as Python: it is printed only as literals and docstrings."""

import re
import textwrap
from collections.abc import Iterable
from typing import Any, TypeGuard

from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.base.printable import INVISIBLE
from mcp_protogen.runtime.core.value_paths import PathEntry

WIDTH = 100

# Characters that would end a docstring early, or would join its closing quotes.
_CLOSING = re.compile(r'\\|"""|"\Z')

_WIDEST = 50
_QUOTE = '"'

_INVISIBLE = re.compile(f"[{INVISIBLE}]")


def literal(value: Any) -> str:
    """Return a Python expression for JSON or a path, in the quotes that black prefers."""
    if isinstance(value, str):
        text = repr(str(value))
        if text[0] == _QUOTE or value.count(_QUOTE) > value.count("'"):
            return text
        # Single quotes only where they save escapes.
        inside = text[1:-1].replace("\\'", "'").replace(_QUOTE, '\\"')
        return f'"{inside}"'
    if isinstance(value, float):
        return repr(value).replace("e+", "e")
    if isinstance(value, PathEntry):
        key = f", {literal(value.key)}" if value.key else ""
        return f"PathEntry({literal(dict(value.constants))}{key})"
    if _is_tuple(value):
        return tuple_of(map(literal, value))
    if is_array(value):
        return f"[{', '.join(map(literal, value))}]"
    if is_object(value):
        return f"{{{', '.join(f'{literal(key)}: {literal(item)}' for key, item in value.items())}}}"
    return repr(value)


def _is_tuple(value: object) -> TypeGuard[tuple[Any, ...]]:
    return isinstance(value, tuple)


def union_of(hints: Iterable[str]) -> str:
    """Return alternatives as one annotation.

    Many are in groups, because Python nests `A | B | C`, and its parser limits the depth.
    """
    arms = list(hints)
    while len(arms) > _WIDEST:
        groups = (arms[start : start + _WIDEST] for start in range(0, len(arms), _WIDEST))
        arms = [f"({' | '.join(group)})" if group[1:] else group[0] for group in groups]
    return " | ".join(arms)


def tuple_of(expressions: Iterable[str]) -> str:
    """Return a tuple of Python expressions.

    Only a tuple of one element has a trailing comma, because black splits any other that has one.
    """
    items = list(expressions)
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"


def set_of(values: Iterable[str]) -> str:
    """Return a set of strings, in the order given."""
    items = ", ".join(literal(value) for value in values)
    return f"{{{items}}}" if items else "()"


def docstring(text: str, indent: int, *, of_member: bool = False) -> str:
    """Return `text` as a docstring literal; later lines are indented by `indent` columns.

    A single line of text of a class or function stays on one line, as in black; one of a constant,
    at no indent, or of a member ends on the next line if it is too long. Backslashes and triple
    quotes are escaped, so that the text stays inside the quotes; invisible characters are dropped.
    """
    clean = re.sub(r"[^\S\n]+", " ", _INVISIBLE.sub("", text)).strip()
    safe = _CLOSING.sub(lambda part: "".join("\\" + char for char in part[0]), clean)
    # Blanks keep quotes at the ends of the text from those around it.
    first, last = " " * safe.startswith(_QUOTE), " " * safe.endswith(_QUOTE)
    margin = " " * indent
    if "\n" not in safe and len(first + safe + last) + indent + 6 <= WIDTH:
        return f'"""{first}{safe}{last}"""'
    lines = [
        line
        for paragraph in safe.split("\n")
        for line in _wrap(paragraph.strip(), WIDTH - indent) or [""]
    ]
    if len(lines[0]) + indent + 3 > WIDTH:
        lines = _wrap(lines[0], WIDTH - indent - 3) + lines[1:]
    if len(lines) == 1 and indent and not of_member:
        return f'"""{first}{lines[0]}{last}"""'
    body = "\n".join(
        (margin + line).rstrip() if number else line for number, line in enumerate(lines)
    )
    return f'"""{first}{body}\n{margin}"""'


def _wrap(paragraph: str, width: int) -> list[str]:
    # A URL stays whole, even if it is longer than a line.
    return textwrap.wrap(paragraph, width, break_long_words=False, break_on_hyphens=False)
