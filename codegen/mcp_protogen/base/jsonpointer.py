"""RFC 6901 JSON Pointers over plain JSON values."""

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from mcp_protogen.base.jsonvalue import is_array, is_object

_INDEX = re.compile(r"0|[1-9][0-9]*")


class NothingThere(LookupError):
    """Raised if a pointer leads to no value."""


def escape(token: str) -> str:
    """Return one reference token, escaped."""
    return token.replace("~", "~0").replace("/", "~1")


def join(*tokens: str | int) -> str:
    """Return a pointer made of unescaped tokens."""
    return "".join("/" + escape(str(token)) for token in tokens)


def split(pointer: str) -> list[str]:
    """Return the unescaped tokens of a pointer."""
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def get(document: Any, pointer: str) -> Any:
    """Return the value at `pointer`; raise `NothingThere`."""
    for token in split(pointer):
        try:
            document = document[_index(token)] if is_array(document) else document[token]
        except (KeyError, IndexError, TypeError, ValueError):
            raise NothingThere(pointer) from None
    return document


def remove(document: Any, pointer: str) -> None:
    """Remove the value at `pointer` from `document`, if there is one."""
    *above, last = split(pointer)
    with suppress(NothingThere):
        get(document, pointer)
        parent = get(document, join(*above))
        del parent[_index(last) if is_array(parent) else last]


def _index(token: str) -> int:
    if not _INDEX.fullmatch(token):
        raise ValueError(token)
    return int(token)


def walk(value: Any, pointer: str = "") -> Iterator[tuple[str, Any]]:
    """Yield `value` and every value inside it, each with its pointer."""
    yield pointer, value
    if is_object(value):
        for key, item in value.items():
            yield from walk(item, f"{pointer}/{escape(str(key))}")
    elif is_array(value):
        for index, item in enumerate(value):
            yield from walk(item, f"{pointer}/{index}")
