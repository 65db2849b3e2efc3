"""Pages of lists: a server cuts a list into pages, a client walks through them.

Only the server can interpret a cursor (server/utilities/pagination, "Pagination Model").
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from hashlib import sha256
from logging import getLogger
from typing import Final, Generic, NamedTuple, TypeVar

from pydantic_core import to_json

from .base64url import base64url, base64url_bytes
from .errors import InvalidParams, RemoteError

T = TypeVar("T")

_log: Final = getLogger(__name__)

_MARK: Final = b"at:"


class Page(NamedTuple, Generic[T]):
    """Some items of a list, and the cursor of the next page, if any."""

    items: list[T]
    next_cursor: str | None


def page(items: Sequence[T], cursor: str | None, size: int = 50) -> Page[T]:
    """Return the page for a cursor that a client sent; the first page for None.

    Raise `InvalidParams` for a cursor that does not belong to this list
    (server/utilities/pagination, "Error Handling"), and `ValueError` if `size` is not positive.
    """
    if size < 1:
        raise ValueError("the size of a page must be at least 1")
    start = 0 if cursor is None else _place(cursor)
    if cursor is not None and not 0 < start <= len(items):
        raise InvalidParams("Invalid cursor", [("/params/cursor", "Not a cursor of this list")])
    end = start + size
    return Page(list(items[start:end]), _cursor(end) if end < len(items) else None)


def _cursor(place: int) -> str:
    return base64url(b"%b%d" % (_MARK, place))


def _place(cursor: str) -> int:
    try:
        place = int(base64url_bytes(cursor).removeprefix(_MARK))
    except ValueError:
        return 0
    return place if _cursor(place) == cursor else 0


async def items(
    fetch: Callable[[str | None], Awaitable[Page[T]]], limit: Callable[[], int]
) -> AsyncGenerator[T, None]:
    """Yield the items of all pages; `fetch` gets the page of a cursor.

    An empty or repeated cursor ends the iteration with a warning in the log; the items of a
    repeated page are left out. Raise `RemoteError` if there are more than `limit` pages.
    """
    # Digests, because cursors and pages may be long, and a list may have many.
    cursors: set[bytes] = set()
    pages: set[bytes] = set()
    cursor: str | None = None
    while True:
        if len(cursors) >= limit():
            raise RemoteError(
                f"a list has more than {limit()} pages; raise Options.max_pages to read more"
            )
        listed, cursor = await fetch(cursor)
        if cursor is None:
            mark = content = b""
        else:
            mark = sha256(cursor.encode()).digest()
            content = sha256(to_json(listed, serialize_unknown=True)).digest()
        is_last = not cursor or mark in cursors
        if not (is_last and content in pages):
            for item in listed:
                yield item
        if is_last:
            if cursor is not None:
                _log.warning("a list was cut short: the cursor %.100r is empty or repeated", cursor)
            return
        cursors.add(mark)
        pages.add(content)
