"""The parts of ASGI 3 that are needed, and responses in one piece.

https://asgi.readthedocs.io/en/latest/specs/www.html
"""

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, Final, TypeAlias

from ...core.errors import INVALID_REQUEST, RemoteError, RequestId
from ...messages import jsonrpc

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Field: TypeAlias = tuple[bytes, bytes]

JSON: Final[Field] = (b"content-type", b"application/json")
EVENTS: Final[tuple[Field, ...]] = (
    (b"content-type", b"text/event-stream"),
    # Neither caches nor proxies may hold events back
    # (2026-07-28, basic/transports/streamable-http, "Receiving Messages").
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
)


async def respond(send: Send, status: int, body: bytes = b"", fields: Iterable[Field] = ()) -> None:
    """Send a whole response; its body is JSON."""
    length = b"content-length", b"%d" % len(body)
    headers = [length, JSON, *fields] if body else [length, *fields]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class HttpRefusal(Exception):
    """The refusal of an HTTP request: its status, and a JSON-RPC error with the reason."""

    def __init__(
        self,
        status: int,
        reason: str,
        *,
        code: int = INVALID_REQUEST,
        id: RequestId | None = None,
        data: Any = None,
        fields: Iterable[Field] = (),
    ) -> None:
        super().__init__(reason)
        self.status: Final = status
        self.body: Final = jsonrpc.write_error(id, code, reason, data)
        self.fields: Final = tuple(fields)

    @staticmethod
    def because(error: RemoteError, status: int = 400) -> "HttpRefusal":
        """Return the refusal of a message for the error that it has."""
        return HttpRefusal(status, error.message, code=error.code, id=error.id, data=error.data)
