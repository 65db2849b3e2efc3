"""The transport of 2024-11-05, HTTP with SSE, for clients that know no other.

A GET opens a stream, whose first event names where to post; whatever the server says comes over the
stream (2024-11-05, basic/transports, "HTTP with SSE"). Off unless asked for: later revisions call
it deprecated.
"""

from asyncio import FIRST_COMPLETED, Event, create_task, wait
from collections.abc import Sequence
from secrets import token_urlsafe
from typing import Final
from urllib.parse import parse_qs, quote

from ...server.serve import serve_views
from ...transports.base import Received
from .. import headers
from ..sse import written
from .asgi import HttpRefusal, respond
from .channel import EventResponse
from .request import HttpRequest, accepts, is_json
from .send import ResponseSender
from .state import HttpState

_ID_BYTES: Final = 32
_QUERY: Final = "session_id"

# Messages that a client has posted and nobody has taken in yet.
_MOST: Final = 1000
_LARGEST: Final = 16 * 1024 * 1024


class LegacySse:
    """The old transport, which serves the handshake revisions alone."""

    def __init__(self, service: HttpState) -> None:
        self._service = service
        self._open: dict[str, _Connection] = {}

    async def open(self, request: HttpRequest, send: ResponseSender, principal: str | None) -> None:
        """Serve one client until it closes its stream; raise `HttpRefusal`."""
        if not accepts(request.fields.get(b"accept", b""), headers.EVENTS):
            raise HttpRefusal(406, "Accept has to list text/event-stream")
        service = self._service
        service.check_streams()
        views = service.handshake_views()
        id = token_urlsafe(_ID_BYTES)
        connection = self._open[id] = _Connection(service.channel(send), principal)
        where = f"{request.root}{service.http.old_messages_path}"
        endpoint = f"{quote(where)}?{_QUERY}={id}".encode()
        gone = create_task(request.gone())
        try:
            await connection.channel.write(written(endpoint, event="endpoint"))
            work = serve_views(views, connection, service.options, principal)
            serving = service.tasks.start(work)
            await wait([gone, connection.channel.ended, serving], return_when=FIRST_COMPLETED)
            await connection.close()
            await wait([serving])
        finally:
            # Whoever has cancelled this does not wait for it; then it ends by itself.
            connection.abort()
            gone.cancel()
            del self._open[id]

    async def post(self, request: HttpRequest, send: ResponseSender, principal: str | None) -> None:
        """Take in one message; raise `HttpRefusal`."""
        if not is_json(request.fields.get(b"content-type", b"")):
            raise HttpRefusal(415, "Content-Type has to be application/json")
        (id,) = parse_qs(request.query).get(_QUERY, [""])[:1]
        connection = self._open.get(id)
        if connection is None or connection.principal != principal:
            raise HttpRefusal(404, "There is no such session; open a stream first")
        bodies = self._service.bodies
        try:
            connection.take(await bodies.read(request))
        finally:
            bodies.done(request)
        await respond(send, 202)


class _Connection:
    """The transport of one client, for `serve`."""

    def __init__(self, channel: EventResponse, principal: str | None) -> None:
        self.channel = channel
        self.principal = principal
        self._messages: list[bytes] = []
        self._waiting = 0
        self._changed = Event()
        self._closed = False

    def take(self, message: bytes) -> None:
        """Take in a message that was posted; raise `HttpRefusal` if too much waits already."""
        if len(self._messages) >= _MOST or self._waiting + len(message) > _LARGEST:
            raise HttpRefusal(503, "Too many messages at once", fields=[(b"retry-after", b"1")])
        self._messages.append(message)
        self._waiting += len(message)
        self._changed.set()

    async def receive(self) -> Sequence[Received]:
        while not self._messages and not self._closed:
            self._changed.clear()
            await self._changed.wait()
        messages, self._messages = self._messages, []
        self._waiting = 0
        return messages

    async def send(self, messages: Sequence[bytes]) -> None:
        await self.channel.write(b"".join(written(m, event="message") for m in messages))

    async def close(self) -> None:
        self._closed = True
        self._changed.set()
        await self.channel.close()

    def abort(self) -> None:
        """Serve the client no longer."""
        self._closed = True
        self._changed.set()
        self.channel.abort()
