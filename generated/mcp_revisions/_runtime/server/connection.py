"""A server on one connection, in one revision: what serves requests, and what is kept of them."""

from collections.abc import Awaitable, Mapping
from typing import Any

from ..connection.connection import INITIALIZED, Connection
from ..core.errors import Disconnected, MethodNotFound
from ..core.models.base import WireModel
from ..core.subscriptions import Listeners
from ..messages.envelope import SUBSCRIPTION_ID, client_capabilities, members
from ..messages.parsed import Notification, Request
from ..rpc.endpoint import Endpoint
from ..rpc.incoming import Job
from ..rpc.send_queue import MessageSink
from ..rules.lifecycle import Event as Step
from ..rules.lifecycle import State
from .bound_server import BoundServer
from .builtin_methods import BUILT_IN, KEPT, NOTHING
from .context import RequestContext
from .input_required.inputs import Asking
from .input_required.sealed_state import Bearer, digest_of
from .listen_stream import ListenStreams
from .shared import ServerState


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
        "shared",
    )

    def __init__(
        self,
        bound_server: BoundServer,
        connection: Connection,
        shared: ServerState,
        outbox: MessageSink,
    ) -> None:
        self.server = bound_server.server
        self.bound_server = bound_server
        self.shared = shared
        connection.ids = shared.ids
        self.endpoint = Endpoint(
            connection, outbox, shared.tasks, shared.options, self.serve, self._on_notification
        )
        self.level: str = "debug"
        """The least severe log entries that the client wants, in the handshake era."""
        self._handlers = bound_server.handlers
        # Most connections, of which there may be many, need neither.
        self._listeners: Listeners | None = None
        self._streams: ListenStreams | None = None

    def register(self) -> None:
        """Hear of what the server publishes from now on."""
        self.server.__mcp_runtime__.connections[self] = None

    def unregister(self) -> None:
        """Stop hearing of what the server publishes."""
        self.server.__mcp_runtime__.connections.pop(self, None)

    def answers(self, method: str) -> bool:
        """Return whether there is an answer to a method other than that it is not known."""
        if method in self._handlers:
            return True
        table = self.endpoint.connection.table
        return method in BUILT_IN and table.request(method, "client") is not None

    def handles_notification(self, method: object) -> bool:
        """Return whether the server has a handler for a notification of that method."""
        return isinstance(method, str) and method in self._handlers

    @property
    def listeners(self) -> Listeners:
        """The subscriptions of the client."""
        if self._listeners is None:
            self._listeners = Listeners(self.shared.options)
        return self._listeners

    @property
    def streams(self) -> ListenStreams:
        """The listen streams."""
        if self._streams is None:
            self._streams = ListenStreams(self.endpoint, self.bound_server, self.listeners)
        return self._streams

    @property
    def subscriptions(self) -> frozenset[str]:
        """The resources that the client wants to hear of."""
        return frozenset() if self._listeners is None else self._listeners.uris

    def session(self) -> Any:
        """Return a new session for the connection as a whole."""
        return RequestContext(self).session()

    async def serve(self, job: Job) -> Any:
        """Return the result of a request."""
        request = job.request
        method = request.spec.method
        kept = KEPT.get(method, NOTHING)
        if kept.check is not None:
            kept.check(self, job)
        handler = self._handlers.get(method)
        if handler is None:
            built_in = BUILT_IN.get(method)
            if built_in is None:
                raise MethodNotFound(method)
            return await built_in(self, request)
        context = RequestContext(self, request, job.reply)
        way = self.bound_server.ways.get(method)
        try:
            if way is None:
                result = await handler(context.session(), request.params)
            else:
                result = await way(handler, context, request)
        finally:
            await context.report()
        if kept.keep is not None:
            kept.keep(self, request)
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
        context = RequestContext(self, meta=meta)
        return handler(context.session(), notification.params)

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
        """Return on whose behalf a request asks questions in its result."""
        table, declared = self.endpoint.connection.table, self.endpoint.connection.declared
        # Where servers have requests of their own, their questions are of their own revision.
        specs = self.server.TABLE if table.rules.server_requests else table
        remembered = table.era.remembers_client
        return Asking(
            self.shared.seal,
            Bearer(
                request.spec.method, digest_of(request.raw), principal, self.bound_server.audience
            ),
            specs.input_requests,
            declared["client"] if remembered else client_capabilities(request.meta),
        )

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
        if connection.table.era.has_listen_streams:
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
        if self._streams is not None:
            self._streams.close()
