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

from ...serve import serve_faces
from ...transport import Received
from .. import fields
from ..sse import written
from .asgi import Refused, respond
from .channel import Channel
from .outlet import Outlet
from .request import HttpRequest, accepts, is_json
from .service import Service

_ID_BYTES: Final = 32
_QUERY: Final = "session_id"

# Messages that a client has posted and nobody has taken in yet.
_MOST: Final = 1000
_LARGEST: Final = 16 * 1024 * 1024


class OldSse:
    """The old transport, which serves the handshake revisions alone."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._open: dict[str, _Connection] = {}

    async def open(self, request: HttpRequest, send: Outlet, principal: str | None) -> None:
        """Serve one client until it closes its stream; raise `Refused`."""
        if not accepts(request.fields.get(b"accept", b""), fields.EVENTS):
            raise Refused(406, "Accept has to list text/event-stream")
        service = self._service
        service.check_streams()
        faces = service.handshake_faces()
        id = token_urlsafe(_ID_BYTES)
        connection = self._open[id] = _Connection(service.channel(send), principal)
        where = f"{request.root}{service.http.old_messages_path}"
        endpoint = f"{quote(where)}?{_QUERY}={id}".encode()
        gone = create_task(request.gone())
        try:
            await connection.channel.write(written(endpoint, event="endpoint"))
            work = serve_faces(faces, connection, service.options, principal)
            serving = service.tasks.start(work)
            await wait([gone, connection.channel.ended, serving], return_when=FIRST_COMPLETED)
            await connection.close()
            await wait([serving])
        finally:
            # Whoever has cancelled this does not wait for it; then it ends by itself.
            connection.abort()
            gone.cancel()
            del self._open[id]

    async def post(self, request: HttpRequest, send: Outlet, principal: str | None) -> None:
        """Take in one message; raise `Refused`."""
        if not is_json(request.fields.get(b"content-type", b"")):
            raise Refused(415, "Content-Type has to be application/json")
        (id,) = parse_qs(request.query).get(_QUERY, [""])[:1]
        connection = self._open.get(id)
        if connection is None or connection.principal != principal:
            raise Refused(404, "There is no such session; open a stream first")
        bodies = self._service.bodies
        try:
            connection.take(await bodies.read(request))
        finally:
            bodies.done(request)
        await respond(send, 202)


class _Connection:
    """The transport of one client, for `serve`."""

    def __init__(self, channel: Channel, principal: str | None) -> None:
        self.channel = channel
        self.principal = principal
        self._messages: list[bytes] = []
        self._waiting = 0
        self._changed = Event()
        self._closed = False

    def take(self, message: bytes) -> None:
        """Take in a message that was posted; raise `Refused` if too much waits already."""
        if len(self._messages) >= _MOST or self._waiting + len(message) > _LARGEST:
            raise Refused(503, "Too many messages at once", fields=[(b"retry-after", b"1")])
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
