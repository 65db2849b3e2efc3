"""Serving one connection until the client has gone and everything has ended."""

from asyncio import FIRST_COMPLETED, CancelledError, Task, create_task, get_running_loop, wait
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from logging import getLogger
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypedDict, cast

from ..connection import CANCELLED, Connection
from ..core.connection_errors import Disconnected
from ..core.errors import InvalidRequest, RemoteError, RequestId
from ..core.options import USUAL, Options
from ..core.revision import Revision
from ..core.tasks import Tasks, together
from ..core.throttle import Throttle
from ..messages import jsonrpc
from ..messages.jsonrpc import Call, Malformed, Response
from ..messages.reading import Batch, messages_in
from ..rpc.send_queue import MessageSink, SendQueue
from ..rules import server_negotiation
from ..translation.revision_view import RevisionViews
from ..transports.base import Received, Transport, read
from .base import ServerBase
from .connection import BoundServer, ServerConnection, ServerState, ServerViews

if TYPE_CHECKING:
    from ..core.http_request import Principal

_log: Final = getLogger(__name__)

Server: TypeAlias = ServerBase[Any] | type[ServerBase[Any]]
"""A server shared by its connections, or a class instantiated for each connection."""


class ServeOptions(TypedDict, total=False):
    revisions: Iterable[Revision] | None
    options: Options


async def serve(
    servers: Server | Iterable[Server],
    transport: Transport,
    *,
    revisions: Iterable[Revision] | None = None,
    options: Options = USUAL,
) -> None:
    """Serve one connection until the client has gone; each of `servers` has one revision.

    `revisions`, such as the `REVISIONS` of the package, are those spoken; the default are those of
    the servers. Messages of a revision without a server are translated for the server of the next
    newer one, or the newest; `options.on_loss` gets the losses. The client's offer decides: a
    handshake gets the revision it asks for, or the newest; from 2026-07-28 on, each request names
    its revision. When the client has gone, or this call is cancelled, handlers get `options.drain`
    seconds to finish; open requests are then answered with an error. No task is left running, and
    `transport` is closed. Raise `ValueError` for no server or two of the same revision, and
    `LifespanError` if a lifespan fails.
    """
    try:
        by_id = by_revision(servers)
        views = RevisionViews(by_id, revisions_spoken(by_id.values(), revisions), options.on_loss)
        await serve_views(views, transport, options)
    finally:
        await transport.close()


async def serve_views(
    views: ServerViews,
    transport: Transport,
    options: Options,
    on_begin: Callable[["Router"], None] | None = None,
) -> None:
    """Serve one connection without closing it; `on_begin` gets its router."""
    state, queue = ServerState(views, Tasks(), options), SendQueue(transport, options.max_outgoing)
    router = Router(state, queue)
    if on_begin is not None:
        on_begin(router)
    state.network = getattr(transport, "network", None)
    async with enter_lifespans(views.handlers):
        for server in views.handlers:
            server.__mcp_runtime__.begin(state)
        writer = create_task(queue.run())
        try:
            await _read_client(router, transport, writer)
        finally:
            await _close(router, state, queue, writer)


def has_lifespan(server: Server) -> bool:
    parts = (server,) if isinstance(server, type) else server.__mcp_runtime__.parts()
    return any(map(_has_own_lifespan, parts))


def _has_own_lifespan(server: Server) -> bool:
    own = cast(Any, server).lifespan
    return getattr(own, "__func__", own) is not cast(Any, ServerBase).lifespan


@asynccontextmanager
async def enter_lifespans(servers: Iterable[ServerBase[Any]]) -> AsyncGenerator[None, None]:
    """Enter the lifespans of servers, if not yet entered, and leave them after their last use."""
    async with AsyncExitStack() as stack:
        for server in [part for outer in servers for part in outer.__mcp_runtime__.parts()]:
            if _has_own_lifespan(server):
                runtime = server.__mcp_runtime__
                entry = runtime.lifespan
                from .lifespan import Lifespan

                # A lifespan of another event loop cannot be used in this one.
                if entry is None or not entry.users or entry.loop is not get_running_loop():
                    name = runtime.identity()["name"]
                    entry = runtime.lifespan = Lifespan(name, server.lifespan)
                await stack.enter_async_context(entry.use())
        yield


def revisions_spoken(
    servers: Iterable[Server], revisions: Iterable[Revision] | None
) -> Iterable[Revision] | None:
    if revisions is not None:
        return revisions
    return {
        revision.id: revision for server in servers for revision in server.REVISIONS or ()
    }.values() or None


def by_revision(servers: Server | Iterable[Server]) -> dict[str, ServerBase[Any]]:
    items = servers if isinstance(servers, Iterable) else [servers]
    objects = [server() if isinstance(server, type) else server for server in items]
    # Revisions are named by dates: their names sort as they were published.
    result = {server.TABLE.revision: server for server in objects}
    if len(result) < len(objects) or not objects:
        raise ValueError("serve needs at least one server, and at most one for each revision")
    return dict(sorted(result.items()))


async def _read_client(router: "Router", transport: Transport, writer: Task[None]) -> None:
    reader = create_task(read(transport, router))
    try:
        await wait((reader, writer), return_when=FIRST_COMPLETED)
    finally:
        reader.cancel()
        try:
            await reader
        except CancelledError:
            pass
        except Disconnected as error:
            _log.info("the connection broke: %s", error)


async def _close(
    router: "Router", state: ServerState, queue: SendQueue, writer: Task[None]
) -> None:
    error, limit = Disconnected("the client has gone"), 0.0
    try:
        for connection in router.connections:
            connection.abort(error)
        drain = state.options.drain
        await together(
            [connection.endpoint.close(drain) for connection in router.connections]
            + [state.host.close(drain)]
        )
        limit = drain
    finally:
        await state.tasks.cancel()
        await queue.close(writer, limit)


class Router:
    """The server's end of one connection: routes messages by revision and era.

    One connection may carry both eras (2026-07-28, basic/versioning, "Backward Compatibility"). The
    rules are in `server_negotiation`.
    """

    def __init__(self, state: ServerState, sink: MessageSink) -> None:
        self._state = state
        self._sink = sink
        self._principal: Principal | None = None
        self._log = Throttle(__name__)
        self.connections: list[ServerConnection] = []
        self.handshaken: ServerConnection | None = None
        self._stateless: dict[str, ServerConnection] = {}

    def set_principal(self, principal: "Principal | None") -> None:
        self._principal = principal
        for connection in self.connections:
            connection.endpoint.principal = principal

    async def room(self) -> None:
        for connection in self.connections:
            await connection.endpoint.room()

    def take(self, received: Received) -> bool:
        for message in messages_in(received, self._log):
            try:
                if isinstance(message, Call):
                    self._route(message)
                else:
                    self._take_other(message)
            except RemoteError as error:
                self._refuse(error.with_traceback(None))
        # Called for each message, so without a generator.
        for connection in self.connections:  # noqa: SIM110
            if connection.endpoint.crowded:
                return False
        return True

    def _take_other(self, message: Response | Malformed | Batch) -> None:
        if self.handshaken is not None:
            self.handshaken.endpoint.receive(message)
        elif isinstance(message, Batch):
            raise InvalidRequest("a batch must follow the answer to initialize")
        elif isinstance(message, Malformed) and not message.error.is_answer:
            raise message.error
        else:
            # A client never answers in the stateless era (2026-07-28, basic/transports/stdio).
            self._log.info("ignored an answer: this server sent no request")

    def _route(self, call: Call) -> None:
        if call.id is None and call.method == CANCELLED:
            self._take_cancellation(call)
            return
        handshaken, offer = self.handshaken, self._state.offer
        match server_negotiation.route(call, offer, handshaken=handshaken is not None):
            case server_negotiation.Route.HANDSHAKE if handshaken is not None:
                handshaken.endpoint.receive(call)
            case str(revision):
                if (entry := self._stateless.get(revision)) is None:
                    bound = self._state.bound_server(revision)
                    entry = self._add_connection(bound, bound.connection())
                    self._stateless[revision] = entry
                entry.endpoint.receive(call)
            case server_negotiation.Route.INITIALIZE:
                revision = server_negotiation.answer_initialize(call.params, offer, call.id)
                bound = self._state.bound_server(revision)
                connection, answer = bound.initialize(call, self._state.options)
                self.handshaken = self._add_connection(bound, connection)
                if answer is not None:
                    self._sink.put(answer)
            case _:
                # A ping is answered before any handshake.
                if call.id is not None:
                    self._sink.put(jsonrpc.write_result(call.id, b"{}"))
                else:
                    self._take_notification(call)

    def _take_notification(self, call: Call) -> None:
        # It names no revision; only extensions have such.
        for connection in self._stateless.values():
            table = connection.endpoint.connection.table
            if table.notification(table.own_name(call.method), "client") is not None:
                connection.endpoint.receive(call)
                return
        self._log.info("ignored a notification unknown to all revisions in use")

    def _take_cancellation(self, call: Call) -> None:
        # It belongs to the era of the cancelled request, and has no mark.
        connection = self._find_open(jsonrpc.id_of({"id": call.params.get("requestId")}))
        if connection is not None:
            connection.endpoint.receive(call)
        else:
            self._log.info("ignored the cancellation of a request that is not open")

    def _find_open(self, id: RequestId | None) -> ServerConnection | None:
        for connection in self.connections:
            if id is not None and connection.endpoint.connection.is_open(id):
                return connection
        return None

    def _add_connection(self, bound: BoundServer, connection: Connection) -> ServerConnection:
        served = ServerConnection(bound, connection, self._state, self._sink)
        served.endpoint.principal = self._principal
        served.register()
        self.connections.append(served)
        return served

    def _refuse(self, error: RemoteError) -> None:
        self._log.info("refused a message: %r", str(error))
        # The first request of that id may be open, and no id is answered twice.
        id = None if self._find_open(error.id) else error.id
        spoken = self.handshaken
        rules = self._state if spoken is None else spoken.endpoint.connection.table.rules
        if id is None and not rules.error_id_optional:
            return
        self._sink.put(jsonrpc.write_error(id, error.code, error.message, error.data))
