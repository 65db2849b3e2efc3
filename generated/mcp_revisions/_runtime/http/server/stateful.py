"""The handshake revisions over HTTP: sessions, and requests that belong to them.

2025-03-26 to 2025-11-25, basic/transports, "Streamable HTTP".
"""

from typing import Final, TypeGuard

from ...connection.connection import CANCELLED
from ...core.errors import InvalidRequest
from ...messages.jsonrpc import Batch, Call, Parsed
from ...rpc.endpoint import Endpoint
from ...rules import server_negotiation
from ...server.connection import ServerConnection
from .. import headers
from .asgi import HttpRefusal, respond
from .get_stream import Reading
from .request import HttpRequest, accepts
from .response import HANDSHAKE, HttpResponse, SessionExchange
from .send import ResponseSender
from .session_store import SessionRecord
from .sessions import HttpSession, new_id, revived
from .state import HttpState

_SESSION: Final = headers.SESSION_ID.encode()
_LAST_EVENT: Final = headers.LAST_EVENT_ID.encode()

# What a server assumes that is told nothing (2025-06-18, basic/transports, "Protocol Version
# Header").
_ASSUMED: Final = "2025-03-26"


class StatefulHttp:
    """The server of the revisions with a handshake."""

    def __init__(self, service: HttpState) -> None:
        self._service = service
        self._reading = Reading(service.http.retry)

    async def post(
        self,
        request: HttpRequest,
        message: Parsed | Batch,
        send: ResponseSender,
        principal: str | None,
    ) -> None:
        """Serve one message, or a batch; raise `HttpRefusal`, or `RemoteError` if it is neither."""
        if not self._service.http.sessions:
            await self._alone(request, message, send, principal)
            return
        if _SESSION not in request.fields and _begins(message):
            self._check_version(request, None)
            await self._begin(message, send, principal)
            return
        session = await self._session(request, principal)
        if _begins(message):
            raise InvalidRequest("the handshake was made already", id=message.id)
        if isinstance(message, Batch):
            self._check_batch(message)
        session.under_way += 1
        try:
            # Answers and cancellations take no place: they are what others wait for.
            if asks(message):
                await self._answer(session, request, message, send)
            else:
                await self._take_in(session.side, request, message, send)
            if self._service.sessions.saved:
                await self._service.sessions.save(session)
        finally:
            self._service.sessions.note_end(session)

    async def get(self, request: HttpRequest, send: ResponseSender, principal: str | None) -> None:
        """Open the stream of a session, or go on with one that broke; raise `HttpRefusal`."""
        if not accepts(request.fields.get(b"accept", b""), headers.EVENTS):
            raise HttpRefusal(406, "Accept has to list text/event-stream")
        session = await self._session(request, principal)
        self._service.check_streams()
        last = request.field(_LAST_EVENT)
        session.under_way += 1
        try:
            await self._service.sessions.save(session)
            await self._reading.read(session, request, self._service.channel(send), last)
        finally:
            self._service.sessions.note_end(session)

    async def delete(
        self, request: HttpRequest, send: ResponseSender, principal: str | None
    ) -> None:
        """End a session; raise `HttpRefusal`."""
        session = await self._session(request, principal)
        await self._service.sessions.delete(session)
        await respond(send, 204)

    # Sessions.

    async def _begin(self, call: Call, send: ResponseSender, principal: str | None) -> None:
        service = self._service
        revision = server_negotiation.answer_initialize(call.params, service.offer, call.id)
        bound_server = service.bound_server(revision, own=True)
        connection, answer = bound_server.initialize(call, service.options)
        service.sessions.make_room()
        session = HttpSession(new_id(), bound_server, connection, service.shared, service.events)
        session.side.endpoint.principal = principal
        service.sessions.add(session)
        await self._service.sessions.save(session)
        await respond(send, 200, answer or b"", [(_SESSION, session.id.encode())])

    async def _session(self, request: HttpRequest, principal: str | None) -> HttpSession:
        id = request.field(_SESSION)
        if id is None:
            raise HttpRefusal(400, "Mcp-Session-Id is missing; begin with initialize")
        sessions = self._service.sessions
        session = await sessions.get(id, self._revived)
        # Who is somebody else learns no more than who knows no session.
        if session is None or session.principal != principal:
            raise HttpRefusal(404, "There is no such session; begin anew with initialize")
        self._check_version(request, session.revision)
        sessions.note_use(session)
        return session

    def _revived(self, id: str, record: SessionRecord) -> HttpSession | None:
        service = self._service
        if record.revision not in service.offer.handshake:
            return None
        bound_server = service.bound_server(record.revision, own=True)
        service.sessions.make_room()
        session = revived(id, record, bound_server, service.shared, service.events)
        service.sessions.add(session)
        return session

    def _check_version(self, request: HttpRequest, agreed: str | None) -> None:
        """Raise `HttpRefusal` if the header names another revision than the one agreed on.

        Rows VH01 to VH07 of the decision tables.
        """
        version = request.version
        if version is None or version == agreed:
            return
        offered = self._service.offer.handshake
        if version not in offered:
            data = {"supported": list(self._service.offer.all), "requested": version}
            raise HttpRefusal(400, "Unsupported protocol version", data=data)
        if agreed is not None:
            raise HttpRefusal(400, f"MCP-Protocol-Version is not {agreed}, which was agreed on")

    # Requests.

    def _check_batch(self, batch: Batch) -> None:
        if len(batch.values) > self._service.options.max_waiting:
            raise InvalidRequest(f"a batch of more than {self._service.options.max_waiting}")
        members = batch.members
        if any(
            isinstance(one, Call) and one.method == server_negotiation.INITIALIZE for one in members
        ):
            raise InvalidRequest("initialize cannot be part of a batch")

    async def _answer(
        self,
        session: HttpSession,
        request: HttpRequest,
        message: Parsed | Batch,
        send: ResponseSender,
    ) -> None:
        """Answer a request, or a batch with one; raise `HttpRefusal`."""
        service, endpoint = self._service, session.side.endpoint
        if endpoint.jobs.busy:
            raise HttpRefusal(503, "Too many requests at once", fields=[(b"retry-after", b"1")])
        exchange = SessionExchange(send, service, session)
        try:
            await self._work(endpoint, request, message, exchange)
        finally:
            if exchange.stream is not None:
                session.remove(exchange.stream)

    async def _alone(
        self,
        request: HttpRequest,
        message: Parsed | Batch,
        send: ResponseSender,
        principal: str | None,
    ) -> None:
        """Serve a message without a session: all that is known is the revision."""
        service = self._service
        self._check_version(request, None)
        if _begins(message):
            revision = server_negotiation.answer_initialize(
                message.params, service.offer, message.id
            )
            bound_server = service.bound_server(revision)
            _, answer = bound_server.initialize(message, service.options)
            await respond(send, 200, answer or b"")
            return
        if isinstance(message, Batch):
            self._check_batch(message)
        revision = request.version or _ASSUMED
        if revision not in service.offer.handshake:
            raise HttpRefusal(400, "MCP-Protocol-Version is missing")
        bound_server = service.bound_server(revision)
        connection = bound_server.connection()
        exchange = HttpResponse(send, service, HANDSHAKE, connection.is_open)
        side = ServerConnection(bound_server, connection, service.shared, exchange)
        side.endpoint.principal = principal
        if not asks(message):
            await self._take_in(side, request, message, send)
            return
        await self._work(side.endpoint, request, message, exchange)
        side.endpoint.break_cycle()

    async def _work(
        self,
        endpoint: Endpoint,
        request: HttpRequest,
        message: Parsed | Batch,
        exchange: HttpResponse,
    ) -> None:
        """Answer a request, or a batch with one."""
        self._service.begin()
        try:
            if isinstance(message, Batch):
                await self._attend(endpoint, request, message, exchange)
            else:
                await endpoint.attend(message, exchange)
            if exchange.unfinished:
                await exchange.close()
        except BaseException:
            exchange.abort()
            raise
        finally:
            self._service.end()

    async def _take_in(
        self,
        side: ServerConnection,
        request: HttpRequest,
        message: Parsed | Batch,
        send: ResponseSender,
    ) -> None:
        """Take in what is not to be answered; raise `HttpRefusal`."""
        if _tells(side, message):
            self._service.check_room()
        is_open = side.endpoint.connection.is_open
        exchange = HttpResponse(send, self._service, HANDSHAKE, is_open)
        await self._attend(side.endpoint, request, message, exchange)
        await exchange.accept()

    async def _attend(
        self,
        endpoint: Endpoint,
        request: HttpRequest,
        message: Parsed | Batch,
        exchange: HttpResponse,
    ) -> None:
        before = endpoint.jobs.notification_tasks
        try:
            await endpoint.attend(message, exchange)
        finally:
            # Handlers of notifications, which nobody waits for, hold on to what came.
            handlers = endpoint.jobs.notification_tasks - before
            if handlers:
                self._service.go_on(request, handlers)


def _begins(message: Parsed | Batch) -> TypeGuard[Call]:
    """Return whether a message is the request that begins a handshake."""
    return (
        isinstance(message, Call)
        and message.method == server_negotiation.INITIALIZE
        and message.id is not None
    )


def _tells(side: ServerConnection, message: Parsed | Batch) -> bool:
    """Return whether a message, or one of a batch, begins work that nobody waits for."""
    if isinstance(message, Batch):
        return any(_tells(side, member) for member in message.members)
    if not isinstance(message, Call) or message.method == CANCELLED:
        return False
    return side.handles_notification(message.method)


def asks(message: Parsed | Batch) -> bool:
    """Return whether a message, or one of a batch, is to be answered."""
    if isinstance(message, Batch):
        return any(asks(member) for member in message.members)
    return isinstance(message, Call) and message.id is not None
