"""A server on one connection, in one revision: what the runtime itself answers and remembers.

The runtime answers `ping`, `logging/setLevel`, `server/discover` and `subscriptions/listen` unless
a subclass does. It keeps the log level and the subscriptions in either case: what a subclass adds
is its own decision to accept or refuse.
"""

from asyncio import Future, get_running_loop
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple, TypeAlias

from .connection import INITIALIZED, Connection
from .dispatch import Notification, Request
from .endpoint import Endpoint
from .envelope import SUBSCRIPTION_ID, client_capabilities, members
from .errors import Disconnected, InvalidParams, McpError, MethodNotFound, RequestId
from .incoming import Job
from .inputs import Asking
from .lifecycle import Event as Step
from .lifecycle import State
from .model import WireModel
from .outbox import MessageSink
from .repertoire import Repertoire
from .request_state import Bearer, digest_of
from .shared import Shared
from .subscriptions import Filter, Listeners


class Watch(NamedTuple):
    """Names a resource where the server's revision has no params that do."""

    uri: str


class Side:
    """One server, one connection, one revision."""

    __slots__ = (
        "_ends",
        "_handlers",
        "_listeners",
        "_repertoire",
        "_shared",
        "_watching",
        "endpoint",
        "level",
        "server",
    )

    def __init__(
        self, repertoire: Repertoire, connection: Connection, shared: Shared, outbox: MessageSink
    ) -> None:
        self.server = repertoire.server
        connection.ids = shared.ids
        self.endpoint = Endpoint(
            connection, outbox, shared.tasks, shared.options, self.serve, self._on_notification
        )
        self.level: str = "debug"
        """The least severe log entries that the client wants, in the handshake era."""
        self._shared = shared
        self._repertoire = repertoire
        self._handlers = repertoire.handlers
        # Most connections, of which there may be many, need none of these.
        self._listeners: Listeners | None = None
        self._watching: set[str] | None = None
        self._ends: dict[RequestId, Future[None]] | None = None

    def register(self) -> None:
        """From now on, hear of what the server publishes."""
        self.server.sides[self] = None

    @property
    def repertoire(self) -> Repertoire:
        """What the server can do."""
        return self._repertoire

    def answers(self, method: str) -> bool:
        """Whether there is an answer to a method other than that it is not known."""
        if method in self._handlers:
            return True
        table = self.endpoint.connection.table
        return method in _BUILT_IN and table.request(method, "client") is not None

    def handles_notification(self, method: object) -> bool:
        """Whether the server has a handler for a notification of that method."""
        return isinstance(method, str) and method in self._handlers

    def unregister(self) -> None:
        """Hear of it no more."""
        self.server.sides.pop(self, None)

    @property
    def listeners(self) -> Listeners:
        """Who wants to know of which changes."""
        if self._listeners is None:
            self._listeners = Listeners(self._shared.options)
        return self._listeners

    @property
    def subscriptions(self) -> frozenset[str]:
        """The resources that the client wants to hear of."""
        return frozenset() if self._listeners is None else self._listeners.uris

    async def serve(self, job: Job) -> Any:
        """The result of a request."""
        request = job.request
        method = request.spec.method
        check, note = _KEPT.get(method, _NOTHING)
        if check is not None:
            check(self, job)
        handler = self._handlers.get(method)
        if handler is None:
            built_in = _BUILT_IN.get(method)
            if built_in is None:
                raise MethodNotFound(method)
            return await built_in(self, request)
        session = self.server.SESSION(self, request, job.reply)
        way = self._repertoire.ways.get(method)
        try:
            if way is None:
                result = await handler(session, request.params)
            else:
                result = await way(handler, session, request)
        finally:
            await session.report()
        if note is not None:
            note(self, request)
        return result

    def _on_notification(
        self, notification: Notification[Any], meta: Mapping[str, Any]
    ) -> Awaitable[None] | None:
        method = notification.spec.method
        if method == INITIALIZED:
            connection = self.endpoint.connection
            if connection.state is State.OPEN_PENDING:
                connection.step(Step.INITIALIZED)
        handler = self._handlers.get(method)
        if handler is None:
            return None
        return handler(self.server.SESSION(self, meta=meta), notification.params)

    async def listed(self, method: str, cursor: str | None, call: Job) -> Mapping[str, Any]:
        """A page of what the server lists to the sender of a call, as a JSON object."""
        handler = self._handlers.get(method)
        if handler is None:
            return {}
        session = self.server.SESSION(self, None, call.reply, call.request.meta)
        params = self.server.TABLE.requests[method].params
        page: WireModel = await handler(session, params(cursor=cursor))
        return page.to_wire()

    # Questions inside results.

    def asking(self, request: Request[Any], principal: str | None) -> Asking:
        """Who asks on behalf of a request."""
        table, declared = self.endpoint.connection.table, self.endpoint.connection.declared
        stateless = table.rules.era == "stateless"
        return Asking(
            self._shared.seal,
            Bearer(
                request.spec.method, digest_of(request.raw), principal, self._repertoire.audience
            ),
            table.input_requests if stateless else self.server.TABLE.input_requests,
            client_capabilities(request.meta) if stateless else declared["client"],
        )

    # What the runtime answers by itself.

    async def ping(self, request: Request[Any]) -> Any:
        """Nothing but an answer."""
        return request.spec.results[0]()

    async def set_level(self, request: Request[Any]) -> Any:
        """From now on, send entries of this level and above."""
        self.note_level(request)
        return request.spec.results[0]()

    async def discover(self, request: Request[Any]) -> Any:
        """What the server speaks, offers and is called (2026-07-28, server/discover)."""
        result = request.spec.results[0]
        return result(
            supported_versions=list(self._shared.supported),
            instructions=getattr(self.server, "instructions", None),
            **self._repertoire.face.introduction(result),
        )

    async def subscribe(self, request: Request[Any]) -> Any:
        """From now on, tell the client when the resource changes."""
        self.note_subscription(request)
        return request.spec.results[0]()

    async def unsubscribe(self, request: Request[Any]) -> Any:
        """Do not tell it any more."""
        self.note_end_of_subscription(request)
        return request.spec.results[0]()

    async def listen(self, request: Request[Any]) -> Any:
        """Keep a stream of changes open until either side ends it.

        It is acknowledged first, with what of the filter is honoured; the answer comes at the end
        (2026-07-28, basic/patterns/subscriptions).
        """
        endpoint, id = self.endpoint, request.id
        declared = endpoint.connection.declared["server"]
        wanted = Filter.of(request.params.notifications.to_wire()).honoured(declared)
        self.listeners.add(id, wanted)
        self.register()
        self._ends = {} if self._ends is None else self._ends
        end = self._ends[id] = get_running_loop().create_future()
        try:
            wanted = await self._watched(wanted)
            self.listeners.narrow(id, wanted)
            await self._acknowledge(id, wanted)
            await end
        finally:
            self.listeners.remove(id)
            del self._ends[id]
            if self._watching:
                endpoint.tasks.start(self._unwatched())
        result: type[WireModel] = request.spec.results[0]
        return result.from_wire({"resultType": "complete", "_meta": {SUBSCRIPTION_ID: id}})

    async def _acknowledge(self, id: RequestId, wanted: Filter) -> None:
        spec = self.endpoint.connection.table.notifications[_ACKNOWLEDGED]
        honoured = spec.params.model_validate(
            {"notifications": wanted.to_wire(), "_meta": {SUBSCRIPTION_ID: id}}
        )
        await self.endpoint.notify(spec, honoured, meta=members({SUBSCRIPTION_ID: id}))

    async def _watched(self, wanted: Filter) -> Filter:
        """Tell a server that knows single subscriptions of those that a stream stands for.

        What it refuses is left out of the stream.
        """
        handler = self._handlers.get(_SUBSCRIBE)
        if handler is None:
            return wanted
        params = self._named(_SUBSCRIBE)
        refused: set[str] = set()
        watching = self._watching = set() if self._watching is None else self._watching
        for uri in sorted(wanted.uris - watching):
            watching.add(uri)
            try:
                await handler(self.server.SESSION(self), params(uri=uri))
            except McpError:
                watching.discard(uri)
                refused.add(uri)
        return replace(wanted, uris=wanted.uris - refused)

    async def _unwatched(self) -> None:
        """Tell it of those that no stream stands for any more."""
        handler = self._handlers.get(_UNSUBSCRIBE)
        watching = self._watching or set()
        for uri in sorted(watching - self.listeners.uris):
            watching.discard(uri)
            if handler is not None:
                await handler(self.server.SESSION(self), self._named(_UNSUBSCRIBE)(uri=uri))

    def _named(self, method: str) -> Callable[..., Any]:
        spec = self.server.TABLE.requests.get(method)
        return Watch if spec is None else spec.params

    # What is remembered, whoever answered.

    def check_stream(self, job: Job) -> None:
        """Raise `InvalidParams` for a listen stream that says more than can be kept."""
        problems = self._shared.options.of_stream.problems("", {"params": job.request.raw})
        if problems:
            raise InvalidParams(problems[0].message, problems)

    def check_subscription(self, job: Job) -> None:
        """Raise what answers a subscription that is one too many, or too large."""
        self.listeners.check(job.request.params.uri)

    def note_level(self, request: Request[Any]) -> None:
        """Remember the level that `logging/setLevel` asks for."""
        self.level = request.params.level

    def note_subscription(self, request: Request[Any]) -> None:
        """Remember that the client wants to know of a resource; raises `McpError`."""
        self.listeners.subscribe(request.params.uri)

    def note_end_of_subscription(self, request: Request[Any]) -> None:
        """Remember that it does not any more."""
        self.listeners.unsubscribe(request.params.uri)

    # What the server tells.

    async def publish(self, method: str, uri: str | None) -> None:
        """Send the notification of a change to whoever wants it on this connection."""
        connection = self.endpoint.connection
        spec = connection.table.notification(method, "server")
        if spec is None:
            return
        if self.endpoint.outbox.full:
            # Whoever publishes tells many, and is not held up by one who does not read.
            self.endpoint.log.warning("a client does not read: %s was not sent to it", method)
            return
        params = None if uri is None else spec.params(uri=uri)
        if connection.table.rules.era == "stateless":
            for id in self.listeners.matching(method, uri):
                await self.endpoint.notify(spec, params, meta=members({SUBSCRIPTION_ID: id}))
        elif connection.state is State.OPEN and self._wants(uri):
            await self.endpoint.notify(spec, params)

    def _wants(self, uri: str | None) -> bool:
        return uri is None or (self._listeners is not None and self._listeners.wants(uri))

    def abort(self, error: Disconnected) -> None:
        """Begin to end: calls fail with `error`, and listen streams are told that it is over."""
        self.unregister()
        self.endpoint.abort(error)
        for id, end in (self._ends or {}).items():
            data = self.endpoint.connection.end(id, "the server is shutting down")
            if data is not None:
                self.endpoint.outbox.put(data)
            if not end.done():
                end.set_result(None)


_SUBSCRIBE: Final = "resources/subscribe"
_UNSUBSCRIBE: Final = "resources/unsubscribe"
_ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"

_BUILT_IN: Final[Mapping[str, Callable[[Side, Request[Any]], Awaitable[Any]]]] = {
    "logging/setLevel": Side.set_level,
    "ping": Side.ping,
    "resources/subscribe": Side.subscribe,
    "resources/unsubscribe": Side.unsubscribe,
    "server/discover": Side.discover,
    "subscriptions/listen": Side.listen,
}


_Check: TypeAlias = Callable[[Side, Job], None]
_Note: TypeAlias = Callable[[Side, Request[Any]], None]

# Of what is kept of a request: whether it may be, asked before it is answered, and what, after.
_NOTHING: Final[tuple[_Check | None, _Note | None]] = (None, None)
_KEPT: Final[Mapping[str, tuple[_Check | None, _Note | None]]] = {
    "logging/setLevel": (None, Side.note_level),
    "resources/subscribe": (Side.check_subscription, Side.note_subscription),
    "resources/unsubscribe": (None, Side.note_end_of_subscription),
    "subscriptions/listen": (Side.check_stream, None),
}
