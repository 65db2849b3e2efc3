"""One HTTP request as it came: its fields, each known once, and its body, up to a limit."""

from asyncio import timeout
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from ..fields import media_type
from .asgi import Message, Receive, Refused, Scope
from .steps import has_steps, resumed

# Where a second value could mean something else to whoever looks at the first.
_SINGLE: Final = frozenset(
    {
        b"authorization",
        b"content-length",
        b"content-type",
        b"host",
        b"last-event-id",
        b"origin",
    }
)
_OURS: Final = b"mcp-"
_MOST: Final = 200
_DIGITS: Final = 20


class HttpRequest:
    """A request; raises `Refused` where its header is none that can be relied on."""

    __slots__ = ("_receive", "fields", "method", "path", "query", "root", "size")

    def __init__(self, scope: Scope, receive: Receive, max_headers: int) -> None:
        self.method: str = scope["method"]
        self.root: str = scope.get("root_path", "")
        """The path of the place where the application is mounted."""
        path: str = scope["path"]
        self.path = (path.removeprefix(self.root) if self.root else path) or "/"
        """The path below it."""
        self.query: str = scope.get("query_string", b"").decode("latin-1")
        self._receive = receive
        self.size = 0
        """Of the body that was read, in bytes."""
        listed: list[tuple[bytes, bytes]] = scope["headers"]
        self.fields: Mapping[bytes, bytes] = dict(listed)
        """By name, in lower case."""
        if len(self.fields) != len(listed):
            self.fields = _joined(listed)
        if len(listed) > _MOST or sum(map(len, self.fields.values())) > max_headers:
            raise Refused(431, "The header of the request is too large")

    def field(self, name: bytes) -> str | None:
        """The value of a field, without the space around it; None if there is none."""
        value = self.fields.get(name)
        return None if value is None else value.decode("latin-1").strip(" \t")

    async def body(self, limit: int, seconds: float) -> bytes:
        """The whole body; raises `Refused` if it is too large or too slow, or never ends."""
        length = self.field(b"content-length")
        if length is not None:
            if not (length.isascii() and length.isdigit()):
                raise Refused(400, "Content-Length has to be a number")
            if len(length) > _DIGITS or int(length) > limit:
                raise _too_large(limit)
        work = self._receive()
        if has_steps(work):
            try:
                waiting = work.send(None)
            except StopIteration as done:
                # Mostly all of it is there.
                message: Message = done.value
                if not message.get("more_body"):
                    return self._checked(message, limit)
                work = _given(message)
            else:
                work = resumed(work, waiting)
        try:
            async with timeout(seconds):
                return await self._pieces(await work, limit)
        except TimeoutError:
            raise Refused(408, "The body of the request did not come in time") from None

    async def _pieces(self, message: Mapping[str, Any], limit: int) -> bytes:
        body = bytearray(self._checked(message, limit))
        while message.get("more_body"):
            message = await self._receive()
            body += self._checked(message, limit - len(body))
        return bytes(body)

    def _checked(self, message: Mapping[str, Any], limit: int) -> bytes:
        if message["type"] == "http.disconnect":
            raise Refused(400, "The request was not sent to its end")
        piece: bytes = message.get("body", b"")
        if len(piece) > limit:
            raise _too_large(limit)
        self.size += len(piece)
        return piece

    async def gone(self) -> None:
        """Wait until the client has closed the connection, once the body was read."""
        while (await self._receive())["type"] != "http.disconnect":
            pass


async def _given(message: Message) -> Message:
    return message


def _too_large(limit: int) -> Refused:
    return Refused(413, f"The body of the request is larger than {limit} bytes")


def _joined(listed: list[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    fields: dict[bytes, bytes] = {}
    for name, value in listed:
        if name not in fields:
            fields[name] = value
        elif name in _SINGLE or name.startswith(_OURS):
            raise Refused(400, f"The header field {name.decode('latin-1')} may come once only")
        else:
            # RFC 9110, section 5.3: lists may be spread over several fields.
            fields[name] += b", " + value
    return fields


@lru_cache(maxsize=128)
def is_json(content_type: bytes) -> bool:
    """Whether a `Content-Type` is that of a JSON text in UTF-8."""
    kind = content_type.decode("latin-1").lower()
    _, _, charset = kind.partition("charset=")
    return media_type(kind) == "application/json" and charset.strip(' "') in ("", "utf-8")


@lru_cache(maxsize=128)
def accepts(accept: bytes, *kinds: str) -> bool:
    """Whether an `Accept` lists all of some media types, by name or by a range."""
    ranges = {media_type(one) for one in accept.decode("latin-1").split(",") if _wanted(one)}
    return all(
        not ranges.isdisjoint({kind, f"{kind.partition('/')[0]}/*", "*/*"}) for kind in kinds
    )


def _wanted(one: str) -> bool:
    """Whether a part of an `Accept` does not say `q=0` (RFC 9110, section 12.4.2)."""
    return one.replace(" ", "").lower().partition(";q=")[2] not in ("0", "0.0", "0.00", "0.000")
