"""Requests that stand by themselves: each is a POST, and each POST is checked in one order.

The order is that of table SS of the decision tables: the most specific fault is named first
(2026-07-28, basic/transports/streamable-http; basic, "_meta"; basic/versioning).
"""

from copy import copy
from dataclasses import replace
from functools import partial
from typing import Final

from ...connection.events import Event, Refusal
from ...core.errors import HEADER_MISMATCH, InvalidAnswer, InvalidRequest, MethodNotFound, RequestId
from ...messages.envelope import PROTOCOL_VERSION
from ...messages.jsonrpc import Answer, Batch, Call, Malformed, Parsed
from ...messages.parsed import Request
from ...rpc.endpoint import Endpoint
from ...rpc.incoming import Job, Work
from ...rpc.send_queue import NullSink
from ...rules import server_negotiation
from ...server.connection import ServerConnection
from .. import headers
from ..headers import NAMED, decoded
from .asgi import HttpRefusal, respond
from .request import HttpRequest
from .response import STATELESS, HttpResponse
from .send import ResponseSender
from .state import HttpState
from .steps import resumed
from .watch import Watch

_METHOD: Final = headers.METHOD.encode()
_NAME: Final = headers.NAME.encode()
_CALL: Final = "tools/call"
_LISTEN: Final = "subscriptions/listen"


class StatelessHttp:
    """The server of the revisions without a handshake."""

    def __init__(self, service: HttpState) -> None:
        self._service = service
        # Requests have nothing in common, so the limit is that of all there are.
        self._shared = copy(service.shared)
        self._shared.options = replace(service.options, max_in_flight=service.http.max_requests)
        self._sides: dict[str, ServerConnection] = {}

    async def post(
        self,
        request: HttpRequest,
        message: Parsed | Batch,
        send: ResponseSender,
        principal: str | None,
    ) -> None:
        """Serve one message; raise `HttpRefusal`, and `RemoteError` for what is no message."""
        if not isinstance(message, Call):
            raise _not_a_call(message)
        version = request.version
        if version is None:
            raise self._mismatch("MCP-Protocol-Version is missing", message.id)
        if message.id is None:
            # There are none over HTTP that would mean anything (page, "Sending Messages").
            server_negotiation.check_offered(version, self._service.offer, None)
            await respond(send, 202)
            return
        side = self._checked(request, message, message.id, version)
        if message.method == _LISTEN:
            await self._listen(side, request, message, send, principal)
            return
        self._service.begin()
        try:
            await self._answer(side, request, message, send, principal)
        finally:
            self._service.end()

    def _checked(
        self, request: HttpRequest, call: Call, id: RequestId, version: str
    ) -> ServerConnection:
        """Return what serves a request; raise `HttpRefusal` and `RemoteError`."""
        method, offer = call.method, self._service.offer
        if method == server_negotiation.INITIALIZE and PROTOCOL_VERSION not in call.meta:
            raise server_negotiation.no_handshake(call, offer)
        named = server_negotiation.named(call)
        if version != named:
            raise self._mismatch("MCP-Protocol-Version is not the version in _meta", id)
        side = self._sides.get(named)
        if side is None:
            server_negotiation.check_offered(named, offer, id)
            side = self._sides[named] = self._side(named)
        if request.field(_METHOD) != method:
            raise self._mismatch("Mcp-Method is not the method of the message", id)
        if not side.answers(method):
            raise HttpRefusal.because(MethodNotFound(method, id=id), 404)
        member = NAMED.get(method)
        if member is not None:
            self._check_name(request, call.params.get(member), id)
        return side

    def _side(self, revision: str) -> ServerConnection:
        """Return what serves all requests of a revision: nothing is remembered between them."""
        bound_server = self._service.bound_server(revision)
        connection = bound_server.connection()
        connection.shared = True
        return ServerConnection(bound_server, connection, self._shared, NullSink())

    def _check_name(self, request: HttpRequest, name: object, id: RequestId) -> None:
        value = request.field(_NAME)
        if value is None or (isinstance(name, str) and decoded(value) != name):
            raise self._mismatch("Mcp-Name is not the name in the message", id)

    def _mismatch(self, reason: str, id: RequestId | None) -> HttpRefusal:
        supported = list(self._service.offer.all)
        message, data = f"Header mismatch: {reason}", {"supported": supported}
        return HttpRefusal(400, message, code=HEADER_MISMATCH, id=id, data=data)

    async def _answer(
        self,
        side: ServerConnection,
        request: HttpRequest,
        call: Call,
        send: ResponseSender,
        principal: str | None,
    ) -> None:
        service, endpoint = self._service, side.endpoint
        event = endpoint.take(call)
        if not isinstance(event, Request):
            await _refuse(side, event, send)
            return
        exchange = HttpResponse(send, service, STATELESS, None, principal)
        job = Job(event, exchange)
        checks = call.method == _CALL
        check = service.tool_headers.check(side, job, request) if checks else None
        try:
            await _watched(endpoint.run(job, check), request, endpoint, job)
            if exchange.unfinished:
                await exchange.close()
        except BaseException:
            exchange.abort()
            raise

    async def _listen(
        self,
        side: ServerConnection,
        request: HttpRequest,
        call: Call,
        send: ResponseSender,
        principal: str | None,
    ) -> None:
        """Serve a listen stream, which hears by itself of what the server publishes."""
        service = self._service
        service.check_streams()
        # Such a request lasts long, so all that its message says has a limit of its own.
        problems = service.options.of_stream.problems("", {"the message": call.message})
        if problems:
            raise HttpRefusal(413, problems[0].message, id=call.id)
        service.bodies.done(request)
        connection = side.bound_server.connection()
        exchange = HttpResponse(send, service, STATELESS, connection.is_open, principal)
        own = ServerConnection(side.bound_server, connection, service.shared, exchange)
        own.endpoint.principal = principal
        event = own.endpoint.take(call)
        if not isinstance(event, Request):
            await _refuse(own, event, send)
            return
        job = Job(event, exchange)
        service.listening[own] = None
        watch = Watch(request, partial(own.endpoint.jobs.cancel, job), side.endpoint.log)
        try:
            await own.endpoint.run(job)
            watch.cancel()
            await exchange.close()
        except BaseException:
            exchange.abort()
            raise
        finally:
            watch.cancel()
            own.unregister()
            # Whoever stops the server waits until the last word is written.
            del service.listening[own]
            service.note_end()
        own.endpoint.break_cycle()


def _not_a_call(message: Answer | Malformed | Batch) -> InvalidRequest | InvalidAnswer:
    """Return what is wrong with a message that is neither a request nor a notification."""
    if isinstance(message, Malformed):
        return message.error
    if isinstance(message, Answer):
        return InvalidRequest("a client sends no answers in this revision")
    return InvalidRequest("the body has to be one message, and no array")


async def _refuse(side: ServerConnection, event: Event, send: ResponseSender) -> None:
    """Respond to a request that was not understood, or may not be made."""
    assert isinstance(event, Refusal)
    connection, error = side.endpoint.connection, event.error
    data = connection.reject(event.id, error)
    await respond(send, STATELESS.get(error.code, 200), data or b"")


async def _watched(work: Work, request: HttpRequest, endpoint: Endpoint, job: Job) -> None:
    """Await the answer to a request, and cancel it if its client goes away before."""
    try:
        waiting = work.send(None)
    except StopIteration:
        # Most requests are answered at once, before anybody has to be watched.
        return
    watch = Watch(request, partial(endpoint.jobs.cancel, job), endpoint.log)
    try:
        await resumed(work, waiting)
    finally:
        watch.cancel()


def is_stateless(
    version: str | None, message: Parsed | Batch, offer: server_negotiation.Offer
) -> bool:
    """Return whether a POST is of the stateless era; rows DS01 to DS12 of the decision tables."""
    if not offer.stateless or not offer.handshake:
        return bool(offer.stateless)
    if isinstance(message, (Call, Malformed)) and PROTOCOL_VERSION in message.meta:
        return True
    return version is not None and version not in offer.handshake
