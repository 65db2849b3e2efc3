"""A server on one connection, in one revision: what serves requests, and what is kept of them.

Some methods the runtime answers itself, unless the server does. The log level and the subscriptions
of a client are kept whoever answers: what a handler adds is its own decision to accept or refuse.
"""

from asyncio import Future, get_running_loop
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from ..connection.connection import INITIALIZED, Connection
from ..core.connection_errors import Disconnected
from ..core.errors import InvalidParams, McpError, MethodNotFound, RequestId
from ..core.models.base import WireModel
from ..core.subscriptions import Filter, Listeners
from ..messages.envelope import SUBSCRIPTION_ID, client_capabilities, members
from ..messages.method_table import Notification, Request
from ..rpc.endpoint import Endpoint
from ..rpc.incoming import Job
from ..rpc.send_queue import MessageSink
from ..rules.lifecycle import State
from .context import RequestContext
from .input_required.inputs import Asking
from .input_required.sealed_state import Bearer, digest_of
from .state import BoundServer, ServerState


class ServerConnection:
    """One server, one connection, one revision."""

    __slots__ = (
        "_handlers",
        "_listeners",
        "_streams",
        "bound_server",
        "endpoint",
        "level",
        "server",
        "state",
    )

    def __init__(
        self,
        bound_server: BoundServer,
        connection: Connection,
        state: ServerState,
        sink: MessageSink,
    ) -> None:
        self.server = bound_server.server
        self.bound_server = bound_server
        self.state = state
        connection.ids = state.ids
        self.endpoint = Endpoint(
            connection, sink, state.tasks, state.options, self.serve, self._on_notification
        )
        self.level: str = "debug"
        """The least severe log entries that the client wants, in the handshake era."""
        self._handlers = bound_server.handlers
        # Most connections, of which there may be many, need neither.
        self._listeners: Listeners | None = None
        self._streams: ListenStreams | None = None

    def register(self) -> None:
        """Hear of what the server publishes."""
        self.server.__mcp_runtime__.connections[self] = None

    def unregister(self) -> None:
        self.server.__mcp_runtime__.connections.pop(self, None)

    def answers(self, method: str) -> bool:
        if method in self._handlers:
            return True
        table = self.endpoint.connection.table
        return method in _BUILT_IN and table.request(method, "client") is not None

    def handles_notification(self, method: str) -> bool:
        return method in self._handlers

    @property
    def listeners(self) -> Listeners:
        if self._listeners is None:
            self._listeners = Listeners(self.state.options)
        return self._listeners

    @property
    def streams(self) -> "ListenStreams":
        if self._streams is None:
            self._streams = ListenStreams(self)
        return self._streams

    @property
    def subscriptions(self) -> frozenset[str]:
        return frozenset() if self._listeners is None else self._listeners.uris

    def session(self) -> Any:
        return RequestContext(self).session()

    async def serve(self, job: Job) -> Any:
        request = job.request
        method = request.spec.method
        built_in = _BUILT_IN.get(method)
        if built_in and built_in.check:
            built_in.check(self, request)
        handler = self._handlers.get(method)
        if handler is not None:
            context = RequestContext(self, request, job.reply)
            strategy = self.bound_server.strategies.get(method)
            try:
                if strategy is None:
                    result = await handler(context.session(), request.params)
                else:
                    result = await strategy(handler, context, request)
            finally:
                if context.reports is not None:
                    await context.report()
        elif built_in is not None:
            result = await built_in.answer(self, request)
        else:
            raise MethodNotFound(method)
        if built_in and built_in.keep:
            built_in.keep(self, request)
        return result

    def _on_notification(self, notification: Notification[Any]) -> Awaitable[None] | None:
        method = notification.spec.method
        if method == INITIALIZED:
            connection = self.endpoint.connection
            if connection.state is State.OPEN_PENDING:
                connection.enter(State.OPEN)
        handler = self._handlers.get(method)
        if handler is None:
            return None
        return handler(RequestContext(self, meta=notification.meta).session(), notification.params)

    async def listed(self, method: str, cursor: str | None, call: Job) -> Mapping[str, Any]:
        """Return a page of what the server lists to the sender of a call, as a JSON object."""
        handler = self._handlers.get(method)
        if handler is None:
            return {}
        context = RequestContext(self, None, call.reply, call.request.meta)
        params = self.server.TABLE.requests[method].params
        page: WireModel = await handler(context.session(), params(cursor=cursor))
        return page.to_wire()

    def asking(self, request: Request[Any], principal: str | None) -> Asking:
        table, declared = self.endpoint.connection.table, self.endpoint.connection.declared
        # Where servers have requests of their own, their questions are of their own revision.
        specs = self.server.TABLE if table.rules.server_requests else table
        remembered = table.era.remembers_client
        return Asking(
            self.state.seal,
            Bearer(
                request.spec.method, digest_of(request.raw), principal, self.bound_server.audience
            ),
            specs.input_requests,
            declared["client"] if remembered else client_capabilities(request.meta),
        )

    async def publish(self, method: str, uri: str | None) -> None:
        connection = self.endpoint.connection
        spec = connection.table.notification(method, "server")
        if spec is None:
            return
        if self.endpoint.sink.full:
            # Whoever publishes tells many, and is not held up by one who does not read.
            self.endpoint.log.warning("a client does not read: %s was not sent to it", method)
            return
        params = None if uri is None else spec.params(uri=uri)
        if connection.table.era.has_listen_streams:
            for id in self.listeners.matching(method, uri):
                await self.endpoint.notify(spec, params, meta=members({SUBSCRIPTION_ID: id}))
        elif connection.state is State.OPEN and (
            uri is None or (self._listeners is not None and self._listeners.wants(uri))
        ):
            await self.endpoint.notify(spec, params)

    def abort(self, error: Disconnected) -> None:
        """Begin to end: calls fail with `error`, and listen streams are told that it is over."""
        self.unregister()
        self.endpoint.abort(error)
        if self._streams is not None:
            self._streams.close()


_ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
_SUBSCRIBE: Final = "resources/subscribe"
_UNSUBSCRIBE: Final = "resources/unsubscribe"


class _Resource(NamedTuple):
    """Params that name a resource, where the server's revision has none that do."""

    uri: str


class ListenStreams:
    """The open listen streams of a connection, and the resources that they stand for.

    A stream is acknowledged first, with what of its filter is honoured; its answer comes when it
    ends (2026-07-28, basic/patterns/subscriptions). A server of single subscriptions hears of
    each resource, and what it refuses is left out.
    """

    __slots__ = ("_connection", "_ends", "_watched")

    def __init__(self, connection: ServerConnection) -> None:
        self._connection = connection
        self._watched: set[str] = set()
        self._ends: dict[RequestId, Future[None]] = {}

    async def serve(self, request: Request[Any]) -> Any:
        """Keep a stream open until either side ends it, and return its result.

        Raise `McpError` or `InvalidParams` for one too many, or too large.
        """
        id, endpoint = request.id, self._connection.endpoint
        self._connection.register()
        listeners = self._connection.listeners
        declared = endpoint.connection.declared["server"]
        wanted = Filter.of(request.params.notifications.to_wire()).honoured(declared)
        listeners.add(id, wanted)
        end = self._ends[id] = get_running_loop().create_future()
        meta = {SUBSCRIPTION_ID: id}
        try:
            wanted = await self._watch(wanted)
            listeners.narrow(id, wanted)
            spec = endpoint.connection.table.notifications[_ACKNOWLEDGED]
            honoured = {"notifications": wanted.to_wire(), "_meta": meta}
            params = spec.params.model_validate(honoured)
            await endpoint.notify(spec, params, meta=members(meta))
            await end
        finally:
            listeners.remove(id)
            del self._ends[id]
            if self._watched:
                endpoint.tasks.start(self._unwatch())
        result: type[WireModel] = request.spec.results[0]
        return result.from_wire({"resultType": "complete", "_meta": meta})

    async def _watch(self, wanted: Filter) -> Filter:
        handled = _SUBSCRIBE in self._connection.bound_server.handlers
        refused: set[str] = set()
        for uri in sorted(wanted.uris - self._watched) if handled else ():
            self._watched.add(uri)
            try:
                await self._tell(_SUBSCRIBE, uri)
            except McpError:
                self._watched.discard(uri)
                refused.add(uri)
        return replace(wanted, uris=wanted.uris - refused)

    async def _unwatch(self) -> None:
        for uri in sorted(self._watched - self._connection.listeners.uris):
            self._watched.discard(uri)
            await self._tell(_UNSUBSCRIBE, uri)

    async def _tell(self, method: str, uri: str) -> None:
        bound_server = self._connection.bound_server
        handler = bound_server.handlers.get(method)
        if handler is not None:
            spec = bound_server.server.TABLE.requests.get(method)
            params: Callable[..., Any] = _Resource if spec is None else spec.params
            await handler(self._connection.session(), params(uri=uri))

    def close(self) -> None:
        endpoint = self._connection.endpoint
        for id, end in self._ends.items():
            data = endpoint.connection.end(id, "the server is shutting down")
            if data is not None:
                endpoint.sink.put(data)
            if not end.done():
                end.set_result(None)


# The methods that the runtime answers.


async def _empty(connection: ServerConnection, request: Request[Any]) -> Any:
    return request.spec.results[0]()


async def _discover(connection: ServerConnection, request: Request[Any]) -> Any:
    supported = list(connection.state.offer.all)
    result = request.spec.results[0]
    return connection.bound_server.introduction(result, supported_versions=supported)


def _check_stream(connection: ServerConnection, request: Request[Any]) -> None:
    problems = connection.state.options.of_stream.problems("", {"params": request.raw})
    if problems:
        raise InvalidParams(problems[0].message, problems)


def _keep_level(connection: ServerConnection, request: Request[Any]) -> None:
    connection.level = request.params.level


@dataclass(frozen=True, slots=True)
class _BuiltIn:
    """The answer to a request, its check before, and what is kept of it afterwards."""

    answer: Callable[[ServerConnection, Request[Any]], Awaitable[Any]] = _empty
    check: Callable[[ServerConnection, Request[Any]], None] | None = None
    keep: Callable[[ServerConnection, Request[Any]], None] | None = None


_BUILT_IN: Final[Mapping[str, _BuiltIn]] = {
    "logging/setLevel": _BuiltIn(keep=_keep_level),
    "ping": _BuiltIn(),
    "resources/subscribe": _BuiltIn(
        check=lambda connection, request: connection.listeners.check(request.params.uri),
        keep=lambda connection, request: connection.listeners.subscribe(request.params.uri),
    ),
    "resources/unsubscribe": _BuiltIn(
        keep=lambda connection, request: connection.listeners.unsubscribe(request.params.uri)
    ),
    "server/discover": _BuiltIn(_discover),
    "subscriptions/listen": _BuiltIn(
        lambda connection, request: connection.streams.serve(request), _check_stream
    ),
}
