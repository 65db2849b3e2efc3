"""Requests that stand by themselves: each is a POST, and each POST is checked in one order.

The order is that of table SS of the decision tables: the most specific fault is named first
(2026-07-28, basic/transports/streamable-http; basic, "_meta"; basic/versioning).
"""

from asyncio import CancelledError
from collections.abc import Coroutine, Mapping
from typing import Any, Final

from ... import jsonrpc, negotiate
from ...answering import Answer, answer_to
from ...envelope import PROTOCOL_VERSION, meta_in, params_of
from ...errors import HEADER_MISMATCH, InvalidRequest, MethodNotFound, RemoteError, RequestId
from ...jobs import Job
from ...jsonvalue import JSONObject, is_object
from ...outbox import NullSink
from ...side import Side
from ...throttle import Throttle
from .. import fields
from ..fields import NAMED, decoded
from .asgi import Refused, respond
from .exchange import STATELESS, Exchange
from .outlet import Outlet
from .request import HttpRequest
from .service import Service
from .solo import Solo
from .steps import resumed
from .watch import Watch

_VERSION: Final = fields.PROTOCOL_VERSION.encode()
_METHOD: Final = fields.METHOD.encode()
_NAME: Final = fields.NAME.encode()
_CALL: Final = "tools/call"
_LISTEN: Final = "subscriptions/listen"


class Stateless:
    """Serves the revisions without a handshake."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._sides: dict[str, Side] = {}

    async def post(
        self, request: HttpRequest, message: object, send: Outlet, principal: str | None
    ) -> None:
        """Serve one message; raises `Refused`, and `RemoteError` for what is no message."""
        if not is_object(message):
            raise InvalidRequest("the body has to be one message, and no array")
        kind = jsonrpc.kind_of(message)
        id: RequestId | None = message.get("id")
        if kind in ("result", "error"):
            raise InvalidRequest("a client sends no answers in this revision")
        version = request.field(_VERSION)
        if version is None:
            raise self._mismatch("MCP-Protocol-Version is missing", id)
        if kind == "notification":
            # There are none over HTTP that would mean anything (page, "Sending Messages").
            negotiate.check_offered(version, self._service.offer, None)
            await respond(send, 202)
            return
        side = self._checked(request, message, version)
        if message["method"] == _LISTEN:
            await self._listen(side, request, message, send, principal)
            return
        self._service.begin()
        try:
            await self._answer(side, request, message, send, principal)
        finally:
            self._service.end()

    def _checked(self, request: HttpRequest, message: JSONObject, version: str) -> Side:
        """What serves a request; raises `Refused` and `RemoteError`."""
        id, method, params = message["id"], message["method"], params_of(message)
        meta = meta_in(params)
        if method == negotiate.INITIALIZE and PROTOCOL_VERSION not in meta:
            raise negotiate.no_handshake(message, self._service.offer)
        named = negotiate.named(meta, id)
        if version != named:
            raise self._mismatch("MCP-Protocol-Version is not the version in _meta", id)
        side = self._sides.get(named)
        if side is None:
            negotiate.check_offered(named, self._service.offer, id)
            side = self._sides[named] = self._side(named)
        if request.field(_METHOD) != method:
            raise self._mismatch("Mcp-Method is not the method of the message", id)
        if not side.answers(method):
            raise Refused.because(MethodNotFound(method, id=id), 404)
        member = NAMED.get(method)
        if member is not None:
            self._check_name(request, params.get(member), id)
        return side

    def _side(self, revision: str) -> Side:
        """What serves all requests of a revision: they have nothing of their own to remember."""
        service = self._service
        repertoire = service.repertoire(revision)
        return Side(repertoire, repertoire.connection(), service.shared, NullSink())

    def _check_name(self, request: HttpRequest, name: object, id: RequestId) -> None:
        value = request.field(_NAME)
        if value is None or (isinstance(name, str) and decoded(value) != name):
            raise self._mismatch("Mcp-Name is not the name in the message", id)

    def _mismatch(self, reason: str, id: RequestId | None) -> Refused:
        supported = list(self._service.offer.all)
        message, data = f"Header mismatch: {reason}", {"supported": supported}
        return Refused(400, message, code=HEADER_MISMATCH, id=id, data=data)

    async def _answer(
        self,
        side: Side,
        request: HttpRequest,
        message: JSONObject,
        send: Outlet,
        principal: str | None,
    ) -> None:
        service, connection = self._service, side.endpoint.connection
        try:
            read = connection.read(message)
        except RemoteError as error:
            data = connection.table.refusal(message["method"], error.id, error)
            await respond(send, STATELESS.get(error.code, 200), data or b"")
            return
        solo = Solo(connection, read)
        exchange = Exchange(send, service, STATELESS, solo.is_open, principal)
        job = Job(read, params_of(message), exchange)
        if message["method"] == _CALL:
            work = self._checked_answer(side, job, solo, request)
        else:
            work = answer_to(job, side.serve, solo, side.endpoint.log)
        try:
            answer = await _watched(work, request, solo, side.endpoint.log)
            if answer.data is not None:
                await exchange.answer(answer.data, answer.code)
            if exchange.unfinished:
                await exchange.close()
        except BaseException:
            exchange.abort()
            raise

    async def _checked_answer(
        self, side: Side, job: Job, solo: Solo, request: HttpRequest
    ) -> Answer:
        """The answer to a call of a tool; raises `Refused` for header fields that are not right."""
        await self._service.tool_headers.check(side, job, request)
        return await answer_to(job, side.serve, solo, side.endpoint.log)

    async def _listen(
        self,
        side: Side,
        request: HttpRequest,
        message: JSONObject,
        send: Outlet,
        principal: str | None,
    ) -> None:
        """Serve a listen stream, which hears by itself of what the server publishes."""
        service = self._service
        service.check_streams()
        # Such a request lasts long, so all that its message says has a limit of its own.
        problems = service.options.of_stream.problems("", {"the message": message})
        if problems:
            raise Refused(413, problems[0].message, id=message["id"])
        service.bodies.done(request)
        connection = side.repertoire.connection()
        exchange = Exchange(send, service, STATELESS, connection.is_open, principal)
        own = Side(side.repertoire, connection, service.shared, exchange)
        own.endpoint.principal = principal
        service.listening[own] = None
        watch = Watch(request, side.endpoint.log)
        try:
            await own.endpoint.attend(message, exchange)
            watch.cancel()
            await exchange.close()
        except CancelledError:
            if not watch.take_back():
                exchange.abort()
                raise
            await exchange.close()
        finally:
            watch.cancel()
            own.unregister()
            # Whoever stops the server waits until the last word is written.
            del service.listening[own]
            service.note_end()
        own.endpoint.break_cycle()


async def _watched(
    work: Coroutine[Any, Any, Answer], request: HttpRequest, solo: Solo, log: Throttle
) -> Answer:
    """The answer to a request, none if its client goes away before."""
    try:
        waiting = work.send(None)
    except StopIteration as done:
        # Most requests are answered at once, before anybody has to be watched.
        answer: Answer = done.value
        return answer
    watch = Watch(request, log)
    try:
        return await resumed(work, waiting)
    except CancelledError:
        if not watch.take_back():
            raise
        solo.close()
        return Answer(None)
    finally:
        watch.cancel()


def is_stateless(version: str | None, message: object, offer: negotiate.Offer) -> bool:
    """Whether a POST belongs to the stateless era; rows DS01 to DS12 of the decision tables."""
    if not offer.stateless or not offer.handshake:
        return bool(offer.stateless)
    meta: Mapping[str, Any] = meta_in(params_of(message)) if is_object(message) else {}
    if PROTOCOL_VERSION in meta:
        return True
    return version is not None and version not in offer.handshake
