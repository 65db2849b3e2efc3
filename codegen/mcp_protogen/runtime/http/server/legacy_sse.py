"""HTTP with SSE, the deprecated transport; off by default.

A GET opens a stream, whose first event names where to post; all messages of the server come over
the stream (2024-11-05, basic/transports, "HTTP with SSE").
"""

from asyncio import wait
from collections.abc import Iterable, Sequence
from typing import Any, Final
from urllib.parse import quote

from ...connection import INITIALIZED
from ...core.http_request import Principal, id_of
from ...core.middleware import OVER_HTTP
from ...messages.reading import read_messages
from ...rules import server_negotiation
from ...server.base import ServerBase
from ...server.connection import ServerConnection
from ...server.serve import Router
from ...transports.base import Inbox
from .. import headers
from ..sse import write_event
from .asgi import HttpExchange, HttpRefusal, check_accept, check_json
from .event_stream import EventResponse
from .http_state import HttpState, calls_in
from .sessions.registry import new_id

_BEFORE: Final = (server_negotiation.INITIALIZE, INITIALIZED, "ping")

_QUERY: Final = "session_id"

# The most bytes of posted messages that wait.
_LARGEST: Final = 16 * 1024 * 1024


class LegacySse:
    def __init__(self, state: HttpState) -> None:
        self._state = state
        self._transports: dict[str, _SseTransport] = {}

    async def open(self, exchange: HttpExchange) -> None:
        """Serve one client until it closes its stream; raise `HttpRefusal`."""
        check_accept(exchange.fields.get(b"accept"), headers.EVENTS)
        state = self._state
        state.take_place(state.streams, exchange)
        views = state.handshake_views()
        response = EventResponse(exchange, state.keep_alive)
        id, principal = new_id(), exchange.principal
        transport = self._transports[id] = _SseTransport(response, principal, views.handlers)
        path = quote(exchange.scope.get("root_path", "") + state.http.old_messages_path)
        try:
            await response.write(write_event(f"{path}?{_QUERY}={id}".encode(), event="endpoint"))
            serving = state.tasks.start(state.serve_alone(views, transport, transport.begin))
            await response.until_over(serving)
            await transport.close()
            await wait([serving])
        finally:
            # If this was cancelled, nothing waits for the serving task; it ends by itself.
            transport.abort()
            del self._transports[id]

    async def post(self, exchange: HttpExchange) -> None:
        check_json(exchange.fields.get(b"content-type", b""))
        id, *_ = exchange.request.query.get(_QUERY, [""])
        transport = self._transports.get(id)
        if transport is None or id_of(transport.principal) != exchange.principal_id:
            raise HttpRefusal(404, "Unknown session: open a stream first")
        await self._state.bodies.read(exchange)
        await self._check_scopes(transport, exchange)
        transport.take(exchange.body)
        await exchange.respond(202)

    async def _check_scopes(self, transport: "_SseTransport", exchange: HttpExchange) -> None:
        transport.set_principal(exchange.principal)
        scopes, connection = self._state.scopes, transport.handshaken
        if connection is not None and not scopes.asks(connection):
            return
        calls = calls_in(read_messages(exchange.body), self._state.options.max_waiting)
        if connection is None:
            # Items are known only after the handshake.
            wants = any(server.__mcp_runtime__.wants_scopes for server in transport.servers)
            if wants and any(call.method not in _BEFORE for call in calls):
                raise HttpRefusal(400, "The handshake is not complete: send initialize first")
            scopes.check_methods(calls, exchange)
        else:
            await scopes.check(connection, calls, exchange, None)


class _SseTransport:
    network: Final = OVER_HTTP

    def __init__(
        self,
        response: EventResponse,
        principal: Principal | None,
        servers: Iterable[ServerBase[Any]],
    ) -> None:
        self.principal = principal
        self.servers = tuple(servers)
        self._router: Router | None = None
        self._response = response
        self._inbox = Inbox()
        self.receive = self._inbox.receive

    @property
    def handshaken(self) -> ServerConnection | None:
        return None if self._router is None else self._router.handshaken

    def begin(self, router: Router) -> None:
        self._router = router
        router.set_principal(self.principal)

    def set_principal(self, principal: Principal | None) -> None:
        """Note the principal of the latest POST, whose scopes may have changed."""
        self.principal = principal
        if self._router is not None:
            self._router.set_principal(principal)

    def take(self, message: bytes) -> None:
        if self._inbox.full or self._inbox.size + len(message) > _LARGEST:
            raise HttpRefusal.for_now("Too many messages at once")
        self._inbox.put(message)

    async def send(self, messages: Sequence[bytes]) -> None:
        await self._response.write(b"".join(write_event(m, event="message") for m in messages))

    async def close(self) -> None:
        self._inbox.end()
        await self._response.close()

    def abort(self) -> None:
        self._inbox.end()
        self._response.abort()
