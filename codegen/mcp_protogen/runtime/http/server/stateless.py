"""Stateless requests: each is a POST, checked in a fixed order.

The order is table SS of the decision tables: the most specific fault first (2026-07-28,
basic/transports/streamable-http; basic, "_meta"; basic/versioning).
"""

from copy import copy
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, TypeAlias, cast

from ...connection import Refusal
from ...core.connection_errors import Disconnected
from ...core.errors import METHOD_NOT_FOUND, InvalidRequest, MethodNotFound, escape_step
from ...core.json_pointers import value_at
from ...core.spec import CALL_TOOL, HeaderField
from ...core.subscriptions import LISTEN
from ...messages.codec import Request
from ...messages.envelope import PROTOCOL_VERSION
from ...messages.jsonrpc import Call, Malformed, Parsed, Response
from ...messages.reading import Batch
from ...rpc.jobs import Job, Work
from ...rpc.null_sink import NullSink
from ...rules import server_negotiation
from ...server.connection import BoundServer, ServerConnection, ServerState
from ..headers import HttpFacts, decode_value, facts_of, is_ours
from .asgi import HttpExchange, HttpRefusal, fields_of
from .http_state import HttpState
from .param_header_check import mismatch
from .response import HttpResponse, single_request

_Known: TypeAlias = tuple[ServerConnection, HttpFacts, tuple[tuple[bytes, HeaderField], ...]]
"""A connection, and the header fields that repeat parts of a call, by their names in requests."""


@lru_cache(maxsize=128)
def _decode(value: bytes, encoded: bool) -> str | None:
    text = value.decode("latin-1").strip(" \t")
    return decode_value(text) if encoded else text


class StatelessHttp:
    def __init__(self, state: HttpState, servers: ServerState | None = None) -> None:
        self._state = state
        # Requests share no connection, so the limit is for all.
        self._shared = copy(servers or state.shared)
        self._shared.options = replace(state.options, max_in_flight=state.http.max_requests)
        self._connections: dict[str, ServerConnection] = {}
        self._facts: dict[str | None, HttpFacts] = {}
        self._known: dict[tuple[str, str], _Known] = {}
        """What the calls of a version and method need, if they are answered."""

    async def post(self, exchange: HttpExchange, message: Parsed | Batch) -> None:
        """Serve a call; raise `HttpRefusal`, or `RemoteError` for other messages."""
        added = (self._facts.get(exchange.version) or self._facts_of(exchange.version)).added
        if added[True]:
            exchange.add(lambda start: fields_of(added[int(start["status"] >= 400)]))
        if isinstance(message, Malformed):
            raise message.error
        if isinstance(message, Batch):
            raise InvalidRequest("the body must be one message, not an array")
        if isinstance(message, Response):
            raise InvalidRequest("clients must not send answers in this revision")
        if message.id is None and exchange.version is not None:
            server_negotiation.check_offered(exchange.version, self._state.offer, None)
            self._handle_notification(exchange, message, exchange.version)
            await exchange.respond(202)
            return
        connection, facts = self._check_call(exchange, message)
        if message.method == LISTEN:
            await self._listen(connection.bound_server, exchange, message)
            return
        self._state.take_place(self._state.requests, exchange)
        await self._answer(connection, message, HttpResponse(exchange, self._state, facts))

    def _answer(self, connection: ServerConnection, call: Call, response: HttpResponse) -> Work:
        endpoint = connection.endpoint
        event = endpoint.connection.take(call)
        if not isinstance(event, Request):
            assert isinstance(event, Refusal)
            data = endpoint.connection.reject(event.id, event.error)
            return response.answer(data or b"", event.error)
        job = Job(event, response)
        if self._state.scopes.asks(connection):
            check: Work | None = self._check_scopes(connection, call, job, response)
        else:
            check = self._check_arguments(connection, job, response)
        return response.serve(endpoint.jobs.run(job, check), partial(endpoint.jobs.cancel, job))

    async def _check_scopes(
        self, connection: ServerConnection, call: Call, job: Job, response: HttpResponse
    ) -> None:
        """Check scopes first: the header check reveals how a tool is called."""
        await self._state.scopes.check(connection, [call], response.exchange, response)
        if (check := self._check_arguments(connection, job, response)) is not None:
            await check

    def _check_arguments(
        self, connection: ServerConnection, job: Job, response: HttpResponse
    ) -> Work | None:
        if job.request.spec.known_as == CALL_TOOL and response.facts.tool_list:
            return self._state.tool_headers.check(connection, job, response.exchange)
        return None

    def _check_call(self, exchange: HttpExchange, call: Call) -> tuple[ServerConnection, HttpFacts]:
        method, version, offer = call.method, exchange.version, self._state.offer
        if version is None:
            raise self._mismatch("MCP-Protocol-Version is missing", call)
        if method == server_negotiation.INITIALIZE and PROTOCOL_VERSION not in call.meta:
            if version in offer.stateless and offer.handshake:
                raise self._mismatch(f"{version} does not have initialize", call)
            raise server_negotiation.no_handshake(call, offer, version)
        if version != server_negotiation.read_revision(call):
            raise self._mismatch("MCP-Protocol-Version differs from _meta", call)
        known = self._known.get((version, method)) or self._find(version, exchange, call)
        connection, facts, fields = known
        for name, field in fields:
            value = exchange.fields.get(name)
            # Mostly they are equal as bytes.
            if value is None or value.decode("latin-1") != value_at(call.message, field.path):
                self._check_field(field, value, call)
        return connection, facts

    def _find(self, version: str, exchange: HttpExchange, call: Call) -> _Known:
        connection = self._connections.get(version)
        if connection is None:
            server_negotiation.check_offered(version, self._state.offer, call.id)
            # One for all requests of a revision, since it keeps no state.
            connection = self._new_connection(version)
            connection.endpoint.connection.shared = True
            self._state.connections[connection] = None
            self._connections[version] = connection
        facts = facts_of(connection.endpoint.connection.table.wire)
        if not connection.answers(call.method):
            for field in facts.common:
                self._check_field(field, exchange.fields.get(field.header.encode()), call)
            status, _ = facts.status_and_delay({"code": METHOD_NOT_FOUND})
            raise HttpRefusal.because(MethodNotFound(call.method, id=call.id), status)
        fields = facts.of_method(call.method)
        by_name = tuple((field.header.encode(), field) for field in fields)
        known = self._known[version, call.method] = connection, facts, by_name
        return known

    def _check_field(self, field: HeaderField, value: bytes | None, call: Call) -> None:
        """Compare a header field with the message, or take its value; raise `HttpRefusal`."""
        text = None if value is None else _decode(value, is_ours(field))
        if value is None:
            differs = field.policy == "both"
        elif field.policy == "header_wins":
            differs = text is None
            cast(dict[str, Any], call.meta)[field.path[-1]] = text
        else:
            said = value_at(call.message, field.path)
            differs = isinstance(said, str) and text != said
        if differs:
            place = "/".join(map(escape_step, field.path))
            raise self._mismatch(f"{field.header.title()} differs from /{place}", call)

    def abort(self, error: Disconnected) -> None:
        """End all calls and listen streams."""
        for connection in self._connections.values():
            connection.abort(error)
            self._state.connections.pop(connection, None)

    def _handle_notification(self, exchange: HttpExchange, call: Call, revision: str) -> None:
        """Handle a notification of an extension; the revision has none of its own over HTTP.

        2026-07-28, basic/transports/streamable-http, "Sending Messages".
        """
        table = self._shared.bound_server(revision).server.TABLE
        name = table.own_name(call.method)
        if any(name in extension.notifications for extension in table.extensions):
            # Its own connection, for its own principal.
            endpoint = self._new_connection(revision).endpoint
            endpoint.principal = exchange.principal
            endpoint.receive(call)

    def _new_connection(self, revision: str) -> ServerConnection:
        bound_server = self._shared.bound_server(revision)
        return ServerConnection(bound_server, bound_server.connection(), self._shared, NullSink())

    def _mismatch(self, reason: str, call: Call) -> HttpRefusal:
        facts, offer = self._facts_of(call.meta.get(PROTOCOL_VERSION)), self._state.offer
        return mismatch(facts, reason, call.id, {"supported": list(offer.all)})

    def _facts_of(self, version: Any) -> HttpFacts:
        offered = self._state.offer.stateless
        revision = version if version in offered else offered[0]
        facts = self._facts[revision] = facts_of(self._state.views[revision].table.wire)
        return facts

    async def _listen(self, bound_server: BoundServer, exchange: HttpExchange, call: Call) -> None:
        state = self._state
        state.take_place(state.streams, exchange)
        # The request lasts long, so its message has its own limit.
        if problems := state.options.of_stream.problems("", {"the message": call.message}):
            raise HttpRefusal(413, problems[0].message, id=call.id)
        state.bodies.release(exchange)
        state.listening += 1
        try:
            with single_request(exchange, state, bound_server) as (own, response):
                await self._answer(own, call, response)
        finally:
            state.listening -= 1
