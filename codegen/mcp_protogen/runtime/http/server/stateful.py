"""The handshake revisions over HTTP: sessions, and requests that belong to them.

2025-03-26 to 2025-11-25, basic/transports, "Streamable HTTP".
"""

from functools import cached_property
from typing import Final

from ...connection import CANCELLED
from ...core.errors import InvalidRequest
from ...messages.jsonrpc import Call, Parsed
from ...messages.reading import Batch
from ...rpc.jobs import Work
from ...rules import server_negotiation
from ...server.connection import ServerConnection
from ...storage.engine import EngineUnavailable
from .. import headers
from .asgi import Field, HttpExchange, HttpRefusal, check_accept
from .event_stream import EventResponse
from .http_state import HttpState, calls_in
from .response import HttpResponse, single_request
from .sessions.registry import CHOICES, HttpSession, NewSession, new_id
from .sessions.streams import NO_SESSION

_SESSION: Final = headers.SESSION_ID.encode()
_BUSY: Final = "Too many requests at once"
_LAST_EVENT: Final = headers.LAST_EVENT_ID.encode()


class StatefulHttp:
    def __init__(self, state: HttpState) -> None:
        self._state = state

    async def post(self, exchange: HttpExchange, message: Parsed | Batch) -> None:
        """Serve a message or a batch; raise `HttpRefusal`, or `RemoteError` for other data."""
        call = message if isinstance(message, Call) and message.id is not None else None
        initialize = call if call and call.method == server_negotiation.INITIALIZE else None
        has_sessions = self._state.http.sessions
        if initialize and not (has_sessions and _SESSION in exchange.fields):
            await self._begin(exchange, initialize)
            return
        if not has_sessions:
            await self._alone(exchange, message)
            return
        session = await self._session(exchange)
        if initialize:
            raise InvalidRequest("the session is already initialized", id=initialize.id)
        session.under_way += 1
        is_open = session.connection.endpoint.connection.is_open
        if call is not None and call.method in CHOICES:
            session.require_announcement()
        try:
            response = HttpResponse(exchange, self._state, session.facts, is_open, session, message)
            await self._work(message, session.connection, response)
        finally:
            self._state.sessions.note_end(session)

    async def get(self, exchange: HttpExchange) -> None:
        """Open the stream of a session, or resume one; raise `HttpRefusal`.

        2025-11-25, basic/transports, "Listening for Messages from the Server" and "Resumability and
        Redelivery".
        """
        check_accept(exchange.fields.get(b"accept"), headers.EVENTS)
        session = await self._session(exchange)
        self._state.take_place(self._state.streams, exchange)
        response = EventResponse(exchange, self._state.keep_alive)
        session.under_way += 1
        try:
            stream = await session.streams.attach(response, exchange.field(_LAST_EVENT))
            try:
                await response.until_over()
            finally:
                await session.streams.detach(stream, response)
        finally:
            response.abort()
            self._state.sessions.note_end(session)

    async def delete(self, exchange: HttpExchange) -> None:
        await self._state.sessions.delete(await self._session(exchange))
        await exchange.respond(204)

    async def _begin(self, exchange: HttpExchange, call: Call) -> None:
        self._check_version(exchange, None)
        state, fields = self._state, list[Field]()
        state.scopes.check_methods([call], exchange)
        revision = server_negotiation.answer_initialize(call.params, state.offer, call.id)
        bound_server = await state.session_server(call, revision, exchange)
        try:
            connection, answer = bound_server.initialize(call, state.options)
            if state.http.sessions:
                id, owner = new_id(), exchange.principal
                await state.sessions.begin(NewSession(id, owner, bound_server, connection))
                fields.append((_SESSION, id.encode()))
        except EngineUnavailable:
            raise
        except BaseException:
            await state.release(bound_server)
            raise
        await exchange.respond(200, answer or b"", fields)

    async def _session(self, exchange: HttpExchange) -> HttpSession:
        id, sessions = exchange.field(_SESSION), self._state.sessions
        if id is None:
            raise HttpRefusal(400, "Mcp-Session-Id is missing: send initialize first")
        session: HttpSession | None = sessions.get(id) or await sessions.open(id)
        # Other principals get the same 404 as for unknown ids, so ids cannot be probed.
        if session is None or session.principal_id != exchange.principal_id:
            raise HttpRefusal(404, NO_SESSION)
        # The token, and its scopes, may differ per request.
        session.connection.endpoint.principal = exchange.principal
        if exchange.version != session.revision:
            self._check_version(exchange, session.revision)
        return session

    def _check_version(self, exchange: HttpExchange, agreed: str | None) -> None:
        """Raise `HttpRefusal` if the header has another revision than the agreed one.

        Rows VH01 to VH07 of the decision tables.
        """
        version, offer = exchange.version, self._state.offer
        if version is None or version == agreed:
            return
        if version not in offer.handshake:
            data = {"supported": list(offer.all), "requested": version}
            raise HttpRefusal(400, "Unsupported protocol version", data=data)
        if agreed is not None:
            raise HttpRefusal(400, f"MCP-Protocol-Version must be {agreed}, as agreed")

    @cached_property
    def _default_version(self) -> str | None:
        """The revision of requests without one (2025-06-18, "Protocol Version Header")."""
        views, offered = self._state.views, self._state.offer.handshake
        return next((id for id in offered if views[id].table.rules.unnamed_over_http), None)

    async def _alone(self, exchange: HttpExchange, message: Parsed | Batch) -> None:
        state, revision = self._state, exchange.version or self._default_version
        self._check_version(exchange, None)
        if revision is None:
            raise HttpRefusal(400, "MCP-Protocol-Version is missing")
        bound_server = state.bound_server(revision)
        with single_request(exchange, state, bound_server) as (connection, response):
            await self._work(message, connection, response)

    def _work(
        self, message: Parsed | Batch, connection: ServerConnection, response: HttpResponse
    ) -> Work:
        state, exchange, endpoint = self._state, response.exchange, connection.endpoint
        if not isinstance(message, Call) or message.id is None:
            return self._take_in(message, connection, response)
        state.take_place(state.requests, exchange)
        if endpoint.jobs.busy:
            raise HttpRefusal.for_now(_BUSY)
        check = None
        if state.scopes.asks(connection):
            check = state.scopes.check(connection, [message], exchange, response)
        return response.serve(endpoint.attend(message, response, check))

    async def _take_in(
        self, message: Parsed | Batch, connection: ServerConnection, response: HttpResponse
    ) -> None:
        """Handle anything but a single request; raise `RemoteError` for an invalid batch."""
        state, exchange, endpoint = self._state, response.exchange, connection.endpoint
        calls = calls_in([message], state.options.max_waiting)
        asks = any(call.id is not None for call in calls)
        # Answers and cancellations need no room: others wait for them.
        own_name = endpoint.connection.table.own_name
        methods = [own_name(call.method) for call in calls if call.method != CANCELLED]
        if asks or not connection.handlers.keys().isdisjoint(methods):
            state.take_place(state.requests, exchange)
        if asks and endpoint.jobs.busy:
            raise HttpRefusal.for_now(_BUSY)
        if state.scopes.asks(connection):
            await state.scopes.check(connection, calls, exchange, response)
        # This may ask the engine before anything is handled.
        session = response.session
        if session is not None and await state.sessions.share(session, message):
            await exchange.respond(202)
        elif asks:
            await response.serve(response.attend(endpoint, message))
        else:
            await response.accept(endpoint, message)
