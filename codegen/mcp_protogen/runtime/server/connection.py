"""A server on one connection, in one revision.

The runtime answers some methods itself, unless the server does. It always keeps the log level and
the subscriptions of a client; a handler only decides whether to accept them.
"""

from asyncio import current_task
from collections import ChainMap
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import count
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from ..connection import INITIALIZED, Connection, Refusal
from ..core.connection_errors import Disconnected
from ..core.errors import InvalidParams, InvalidRequest, MethodNotFound, RequestId
from ..core.json import JSONObject, json_text
from ..core.middleware import (
    MethodCall,
    Middleware,
    Network,
    note_ids,
    report_session_end,
    session_hooks,
    through,
)
from ..core.options import Options
from ..core.spec import SET_LEVEL
from ..core.tasks import Tasks
from ..messages.codec import Notification, Request
from ..messages.envelope import SERVER_INFO, SUBSCRIPTION_ID, client_envelope, members
from ..messages.jsonrpc import Call
from ..messages.method_table import MethodTable
from ..rpc.endpoint import Endpoint, OnNotification
from ..rpc.jobs import Job, Reply, Serve
from ..rpc.send_queue import MessageSink
from ..rules.capabilities import Declared, unmet
from ..rules.handlers import Handler
from ..rules.lifecycle import OpenNeeds, State
from ..translation.revision_view import RevisionView, RevisionViews
from .base import ServerBase
from .context import Relay, RequestContext, SessionSwitches
from .layers import Host, Layer

if TYPE_CHECKING:
    from ..core.subscriptions import Listeners
    from .listen_streams import ListenStreams
    from .sealed_state import StateSeal
    from .strategies import Strategy


class BoundServer:
    """One server in one revision: its handlers, and the state shared by its connections."""

    def __init__(self, view: RevisionView[ServerBase[Any]], *, tells_apart: bool = True) -> None:
        server = view.handlers
        runtime, revision = server.__mcp_runtime__, view.table.revision
        self.view = view
        self.server = server
        self.runtime: Final = runtime
        self.handlers: Mapping[str, Handler] = runtime.handlers_for(revision)
        declaration = view.declaration()
        self.layer: Layer | None = runtime.layer(view.table, tells_apart)
        if self.layer is not None:
            self.handlers = _with_layer(self.handlers, self.layer, view.table)
            self.view = view._replace(declared=self.layer.extend_capabilities(view.declared))
            declaration = self.layer.extend_capabilities(declaration)
        self.middleware = runtime.middleware()
        self.session_hooks = session_hooks(self.middleware)
        self.changes: Final = runtime.changes
        self.strategies: Mapping[str, Strategy] = _strategies(server.TABLE, view.table)
        self.class_id = f"{type(server).__module__}.{type(server).__qualname__} {revision}"
        self.declared: Declared = {"server": declaration, "client": {}}
        self.needs = OpenNeeds("server", self.declared["server"])
        self.signature = members({SERVER_INFO: view.identity})

    def connection(self, state: State = State.OPEN) -> Connection:
        connection = Connection(self.view.table, "server", self.declared, state=state)
        connection.needs = self.needs
        if self.view.table.era.signs_results:
            connection.signature = self.signature
        return connection

    def introduction(self, result: Any, **members: Any) -> Any:
        if self.view.table.carries:
            return vars(self.server)["introduction"]
        instructions = getattr(self.server, "instructions", None)
        return result(instructions=instructions, **members, **self.view.introduction(result))

    def initialize(self, call: Call, options: Options) -> tuple[Connection, bytes | None]:
        """Return the connection that `initialize` begins, and its answer; raise `RemoteError`."""
        connection, table = self.connection(State.NEW), self.view.table
        event = connection.take(call)
        if not isinstance(event, Request):
            raise event.error if isinstance(event, Refusal) else InvalidRequest("no handshake")
        params = {name: event.raw[name] for name in ("capabilities", "clientInfo")}
        if problems := options.of_client.problems("/params", params):
            raise InvalidParams(problems[0].message, problems, id=event.id)
        declared = table.inward("ClientCapabilities", params["capabilities"])
        self.remember(connection, declared, table.inward("Implementation", params["clientInfo"]))
        result = self.introduction(event.spec.results[0], protocol_version=table.revision)
        answer = connection.answer(event, result)
        connection.enter(State.OPEN_PENDING)
        return connection, answer

    def remember(self, connection: Connection, declared: JSONObject, info: JSONObject) -> None:
        """Store the client's capabilities and name, as the server's revision writes them."""
        table = self.server.TABLE
        connection.declared["client"] = json_text(declared)
        connection.identity["client"] = json_text(info)
        if not table.era.remembers_client:
            # Handlers of the stateless era find them in each request.
            stored, identity = connection.declared, connection.identity
            connection.table = self.view.table.presuming(
                lambda: client_envelope(table.revision, stored["client"], identity["client"])
            )


def _with_layer(
    below: Mapping[str, Handler], layer: Layer, table: MethodTable
) -> Mapping[str, Handler]:
    above = {table.name_of(method): run for method, run in layer.handlers.items()}
    if not isinstance(below, dict):
        # A bridge handles more than it lists, and hides nothing.
        return ChainMap(above, cast(Any, below))
    hidden = {*map(table.name_of, layer.hidden)}
    both: dict[str, Handler] = {**below, **above}
    return {method: run for method, run in both.items() if method not in hidden}


def _strategies(native: MethodTable, table: MethodTable) -> "Mapping[str, Strategy]":
    if table.carries or (
        native is table
        and not any("may_require_input" in spec.traits for spec in native.requests.values())
    ):
        return {}
    if not table.rules.server_requests:
        from .strategies import asking_methods, in_rounds

        return dict.fromkeys(asking_methods(table), in_rounds)
    from .waiting_strategies import in_tasks

    return in_tasks(native, table)


ServerViews: TypeAlias = RevisionViews[ServerBase[Any]]


class ServerState:
    """The servers in all spoken revisions, and the state shared by their connections."""

    def __init__(self, views: ServerViews, tasks: Tasks, options: Options) -> None:
        self.offer = views.offer
        self.tasks = tasks
        self.options = options
        self.ids: Iterator[RequestId] = count(1)
        self.network: Network | None = None
        self.relay: Relay | None = None
        self.host = Host()
        self.tells_apart = True
        """Whether requests come from one client, or name their sender."""
        self._seal: StateSeal | None = None
        self._views = views
        self._bound_servers: dict[str, BoundServer] = {}

    @property
    def seal(self) -> "StateSeal":
        if self._seal is None:
            from .sealed_state import StateSeal

            self._seal = StateSeal(self.options.state_keys, lifetime=self.options.state_lifetime)
        return self._seal

    def bound_server(self, revision: str) -> BoundServer:
        if revision not in self._bound_servers:
            self._bound_servers[revision] = BoundServer(
                self._views[revision], tells_apart=self.tells_apart
            )
        return self._bound_servers[revision]

    @property
    def error_id_optional(self) -> bool:
        return any(server.TABLE.rules.error_id_optional for server in self._views.handlers)


class ServerConnection:
    __slots__ = (
        *("_begun", "_listeners", "_streams", "answer_to", "bound_server", "class_id", "endpoint"),
        *("handlers", "is_owner", "level", "save", "server", "state", "strategies"),
    )

    def __init__(
        self, bound: BoundServer, connection: Connection, state: ServerState, sink: MessageSink
    ) -> None:
        self.server = bound.server
        self.bound_server = bound
        self.state = state
        self.class_id = bound.class_id
        connection.ids = state.ids
        self.strategies = bound.strategies
        self.answer_to: Serve = self.serve
        """Returns the result of a request, inside the layer."""
        on_notification: OnNotification = self._on_notification
        if bound.middleware:
            self.answer_to, on_notification = self._serve_through, self._notify_through
            connection.ids = note_ids(state.ids)
        # Only sessions begin with a handshake.
        measured = bound.session_hooks and connection.state is State.OPEN_PENDING
        self._begun = monotonic() if measured else None
        self.endpoint = Endpoint(
            connection, sink, state.tasks, state.options, self.outermost(), on_notification
        )
        self.level: str = ""
        self.is_owner = True
        self.save: Callable[[], Awaitable[None]] | None = None
        """Awaited before a client is notified: it may ask another process."""
        self.handlers = bound.handlers
        # Most connections need neither, and there may be many.
        self._listeners: Listeners | None = None
        self._streams: ListenStreams | None = None

    def outermost(self) -> Serve:
        layer = self.bound_server.layer
        return self.answer_to if layer is None else partial(layer.serve, self)

    def context(self, request: Request[Any], reply: Reply) -> RequestContext:
        return RequestContext(self, request, reply)

    def register(self) -> None:
        self.server.__mcp_runtime__.add_connection(self)

    def unregister(self) -> None:
        self.server.__mcp_runtime__.remove_connection(self)

    def answers(self, method: str) -> bool:
        table = self.endpoint.connection.table
        name = table.own_name(method)
        return name in self.handlers or (
            name in BUILT_IN and table.request(name, "client") is not None
        )

    @property
    def listeners(self) -> "Listeners":
        if self._listeners is None:
            from ..core.subscriptions import Listeners

            self._listeners = Listeners(self.state.options)
        return self._listeners

    @property
    def streams(self) -> "ListenStreams":
        if self._streams is None:
            from .listen_streams import ListenStreams

            self._streams = ListenStreams(self)
        return self._streams

    @property
    def subscriptions(self) -> frozenset[str]:
        return frozenset() if self._listeners is None else self._listeners.uris

    @property
    def switched(self) -> SessionSwitches:
        return self.server.__mcp_runtime__.switches_of(self)

    @property
    def middleware(self) -> tuple[Middleware, ...]:
        return self.bound_server.middleware

    def session(self) -> Any:
        return RequestContext(self).session()

    async def _serve_through(self, job: Job) -> Any:
        request = job.request
        context = self.context(request, job.reply)

        async def answer(call: MethodCall) -> Any:
            changed = request
            if call.params is not request.params:
                changed = request._replace(params=call.params)
            # Middleware may continue in another task.
            inner = Job(changed, job.reply, task=current_task())
            return await self.serve(inner, context)

        call = self._call(request, context)
        try:
            return await through(self.bound_server.middleware, answer, call)
        finally:
            if context.reports_so_far is not None:
                await context.reports_so_far.send_held()
            context.questions_so_far = context.reports_so_far = None

    def _call(
        self, message: Request[Any] | Notification[Any], context: RequestContext
    ) -> MethodCall:
        return context.method_call(
            message.spec.method,
            params=message.params,
            meta=message.meta,
            request_id=context.request_id,
            is_request=isinstance(message, Request),
        )

    async def serve(self, job: Job, context: RequestContext | None = None) -> Any:
        request = job.request
        method = request.spec.method
        handler, built_in = self.handlers.get(method), BUILT_IN.get(method)
        if built_in and handler is not None and self.endpoint.connection.table.carries:
            built_in = None
        if built_in and built_in.check:
            built_in.check(self, request)
        if handler is not None:
            given = context
            context = given or self.context(request, job.reply)
            strategy = self.strategies.get(method)
            try:
                if strategy is None:
                    result = await handler(self.server.SESSION(context), request.params)
                else:
                    result = await strategy(handler, context, job)
            finally:
                if context.reports_so_far is not None:
                    await context.reports_so_far.send_held()
                if given is None:
                    # They refer to the context, and reference cycles wait for the collector.
                    context.questions_so_far = context.reports_so_far = None
        elif built_in is not None:
            result = await built_in.answer(self, request)
        else:
            raise MethodNotFound(method)
        if built_in and built_in.keep:
            built_in.keep(self, request)
        return result

    def _notify_through(self, notification: Notification[Any]) -> Awaitable[None]:
        if notification.spec.method == INITIALIZED:
            self.enter_open()

        async def handle(call: MethodCall) -> None:
            work = self._on_notification(notification._replace(params=call.params))
            if work is not None:
                await work

        context = RequestContext(self, meta=notification.meta)
        return through(self.bound_server.middleware, handle, self._call(notification, context))

    def _on_notification(self, notification: Notification[Any]) -> Awaitable[None] | None:
        method = notification.spec.method
        if method == INITIALIZED:
            self.enter_open()
        if (handler := self.handlers.get(method)) is None:
            return None
        return handler(RequestContext(self, meta=notification.meta).session(), notification.params)

    def enter_open(self) -> None:
        connection = self.endpoint.connection
        if connection.state is State.OPEN_PENDING:
            connection.enter(State.OPEN)

    async def publish(self, method: str, uri: str | None) -> None:
        connection = self.endpoint.connection
        if (spec := connection.table.spec_of(method)) is None:
            return
        if unmet(self.bound_server.needs[spec], "server", None, connection.declared):
            self.server.__mcp_runtime__.warn_undeclared(spec.method)
            return
        if self.endpoint.sink.full:
            # Publishing reaches many clients; one that does not read must not delay it.
            self.endpoint.log.warning("a client does not read: %s was not sent to it", method)
            return
        if self.save is not None:
            await self.save()
        params = None if uri is None else spec.params(uri=uri)
        if connection.table.era.has_listen_streams:
            for id in self.listeners.matching(method, uri):
                await self.endpoint.notify(spec, params, meta=members({SUBSCRIPTION_ID: id}))
        elif connection.state is State.OPEN and (
            uri is None or (self._listeners is not None and self._listeners.wants(uri))
        ):
            await self.endpoint.notify(spec, params)

    async def send_all_changes(self) -> None:
        """Notify the client that all lists and resources it follows may have changed."""
        from ..core.subscriptions import RESOURCE_UPDATED, is_change, is_list_change, offers

        connection = self.endpoint.connection
        declared, known = connection.declared["server"], connection.table.first_names
        with suppress(Disconnected):
            # Lists first.
            for method in sorted(filter(is_change, known), key=RESOURCE_UPDATED.__eq__):
                if offers(known[method], declared):
                    for uri in (None,) if is_list_change(method) else sorted(self.subscriptions):
                        await self.publish(method, uri)

    def abort(self, error: Disconnected) -> None:
        """Begin to close: calls fail with `error`, and listen streams get their results."""
        self.unregister()
        if self._begun is not None:
            seconds, self._begun = monotonic() - self._begun, None
            revision = self.endpoint.connection.table.revision
            fields = {"revision": revision, "seconds": seconds, "network": self.state.network}
            report_session_end(self.bound_server.session_hooks, role="server", **fields)
        self.endpoint.abort(error)
        if self._streams is not None:
            self._streams.close()


async def _empty(connection: ServerConnection, request: Request[Any]) -> Any:
    return request.spec.results[0]()


async def _discover(connection: ServerConnection, request: Request[Any]) -> Any:
    supported = list(connection.state.offer.all)
    result = request.spec.results[0]
    return connection.bound_server.introduction(result, supported_versions=supported)


def _check_stream(connection: ServerConnection, request: Request[Any]) -> None:
    if problems := connection.state.options.of_stream.problems("", {"params": request.raw}):
        raise InvalidParams(problems[0].message, problems)


def _keep_level(connection: ServerConnection, request: Request[Any]) -> None:
    connection.level = request.params.level


@dataclass(frozen=True)
class _BuiltIn:
    answer: Callable[[ServerConnection, Request[Any]], Awaitable[Any]] = _empty
    check: Callable[[ServerConnection, Request[Any]], None] | None = None
    keep: Callable[[ServerConnection, Request[Any]], None] | None = None


BUILT_IN: Final[Mapping[str, _BuiltIn]] = {
    SET_LEVEL: _BuiltIn(keep=_keep_level),
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
