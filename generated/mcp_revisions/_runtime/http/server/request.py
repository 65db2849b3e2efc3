"""One HTTP request as it came: its fields, each known once, and the receiver of its body."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from ..headers import PROTOCOL_VERSION, media_type
from .asgi import HttpRefusal, Receive, Scope

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
_VERSION: Final = PROTOCOL_VERSION.encode()
_MOST: Final = 200


class HttpRequest:
    """A request; making it raises `HttpRefusal` for header fields that contradict each other."""

    __slots__ = ("fields", "method", "path", "query", "receive", "root", "taken", "version")

    def __init__(self, scope: Scope, receive: Receive, max_headers: int) -> None:
        self.method: str = scope["method"]
        self.root: str = scope.get("root_path", "")
        """The path of the place where the application is mounted."""
        path: str = scope["path"]
        self.path = (path.removeprefix(self.root) if self.root else path) or "/"
        """The path below that place."""
        self.query: str = scope.get("query_string", b"").decode("latin-1")
        self.receive = receive
        """The `receive` of ASGI: the body, piece by piece, and then the end of the connection."""
        self.taken = 0
        """The bytes that are taken for the body; see `Bodies`."""
        listed: list[tuple[bytes, bytes]] = scope["headers"]
        self.fields: Mapping[bytes, bytes] = dict(listed)
        """The header fields by name, in lower case."""
        if len(self.fields) != len(listed):
            self.fields = _joined(listed)
        self.version = self.field(_VERSION)
        """The revision that the header names, if it does."""
        if len(listed) > _MOST or sum(map(len, self.fields.values())) > max_headers:
            raise HttpRefusal(431, "The header of the request is too large")

    def field(self, name: bytes) -> str | None:
        """Return the value of a field without the space around it; None if there is none."""
        value = self.fields.get(name)
        return None if value is None else value.decode("latin-1").strip(" \t")

    async def gone(self) -> None:
        """Wait until the client has closed the connection, once the body was read."""
        while (await self.receive())["type"] != "http.disconnect":
            pass


def _joined(listed: list[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    fields: dict[bytes, bytes] = {}
    for name, value in listed:
        if name not in fields:
            fields[name] = value
        elif name in _SINGLE or name.startswith(_OURS):
            raise HttpRefusal(400, f"The header field {name.decode('latin-1')} may come once only")
        else:
            # RFC 9110, section 5.3: lists may be spread over several fields.
            fields[name] += b", " + value
    return fields


@lru_cache(maxsize=128)
def is_json(content_type: bytes) -> bool:
    """Return whether a `Content-Type` is that of a JSON text in UTF-8."""
    kind = content_type.decode("latin-1").lower()
    _, _, charset = kind.partition("charset=")
    return media_type(kind) == "application/json" and charset.strip(' "') in ("", "utf-8")


@lru_cache(maxsize=128)
def accepts(accept: bytes, *kinds: str) -> bool:
    """Return whether an `Accept` lists all of some media types, by name or by a range."""
    ranges = {media_type(one) for one in accept.decode("latin-1").split(",") if _wanted(one)}
    return all(
        not ranges.isdisjoint({kind, f"{kind.partition('/')[0]}/*", "*/*"}) for kind in kinds
    )


def _wanted(one: str) -> bool:
    """Return whether a part of an `Accept` does not say `q=0` (RFC 9110, section 12.4.2)."""
    return one.replace(" ", "").lower().partition(";q=")[2] not in ("0", "0.0", "0.00", "0.000")
