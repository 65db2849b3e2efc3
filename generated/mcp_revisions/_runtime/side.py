"""A server on one connection, in one revision: what the runtime itself answers and remembers.

The runtime answers `ping`, `logging/setLevel`, `server/discover` and `subscriptions/listen` unless
a subclass does. It keeps the log level and the subscriptions in either case: what a subclass adds
is its own decision to accept or refuse.
"""

from asyncio import Future, get_running_loop
from collections.abc import Awaitable, Callable, Mapping
from logging import getLogger
from typing import TYPE_CHECKING, Any, Final

from . import inputs
from .connection import INITIALIZED, Connection
from .dispatch import Notification, Request
from .endpoint import Endpoint
from .envelope import SUBSCRIPTION_ID, client_capabilities, members
from .errors import Disconnected, MethodNotFound, RequestId
from .lifecycle import Event as Step
from .lifecycle import State
from .model import WireModel
from .options import Options
from .outbox import Outbox
from .request_state import Bearer, StateSeal, digest_of
from .subscriptions import Filter, Listeners
from .tasks import Tasks

if TYPE_CHECKING:
    from .server import ServerBase


_log: Final = getLogger(__name__)


class Shared:
    """What the sides of one connection have in common."""

    __slots__ = ("options", "outbox", "seal", "supported", "tasks")

    def __init__(
        self,
        outbox: Outbox,
        tasks: Tasks,
        options: Options,
        seal: StateSeal,
        supported: tuple[str, ...],
    ) -> None:
        self.outbox = outbox
        self.tasks = tasks
        self.options = options
        self.seal = seal
        self.supported = supported
        """What `server/discover` names: revisions of the stateless era, newest first."""


class Side:
    """One server, one connection, one revision."""

    __slots__ = ("_ends", "_handlers", "_shared", "endpoint", "level", "listeners", "server")

    def __init__(self, server: "ServerBase[Any]", connection: Connection, shared: Shared) -> None:
        self.server = server
        self.endpoint = Endpoint(
            connection, shared.outbox, shared.tasks, shared.options, self._serve, self._heed
        )
        self.level: str = "debug"
        """The least severe log entries that the client wants, in the handshake era."""
        self.listeners = Listeners(shared.options.max_subscriptions)
        self._shared = shared
        self._handlers = server.bound()
        self._ends: dict[RequestId, Future[None]] = {}
        server.sides.append(self)

    async def _serve(self, request: Request[Any], meta: Mapping[str, Any]) -> Any:
        method = request.spec.method
        handler = self._handlers.get(method)
        if handler is None:
            built_in = _BUILT_IN.get(method)
            if built_in is None:
                raise MethodNotFound(method)
            return await built_in(self, request)
        session = self.server.SESSION(self, request, meta)
        if "may_require_input" in request.spec.traits and request.params.request_state is not None:
            session.inputs = inputs.read(request.params, self.asking(request, meta))
        result = await handler(session, request.params)
        noted = _NOTED.get(method)
        if noted is not None:
            noted(self, request)
        return result

    def _heed(
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
        return handler(self.server.SESSION(self, None, meta), notification.params)

    # Questions inside results.

    def asking(self, request: Request[Any], meta: Mapping[str, Any]) -> inputs.Asking:
        """Who asks on behalf of a request, which came with `meta`."""
        digest = digest_of(request.params.to_wire())
        return inputs.Asking(
            self._shared.seal,
            Bearer(request.spec.method, digest, self.endpoint.principal),
            self.endpoint.connection.table.input_requests,
            client_capabilities(meta),
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
        server = self.server
        return request.spec.results[0](
            supported_versions=list(self._shared.supported),
            capabilities=server.declaration(),
            instructions=getattr(server, "instructions", None),
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
        tag = members({SUBSCRIPTION_ID: id})
        spec = endpoint.connection.table.notifications[_ACKNOWLEDGED]
        honoured = spec.params.model_validate(
            {"notifications": wanted.to_wire(), "_meta": {SUBSCRIPTION_ID: id}}
        )
        self.listeners.add(id, wanted)
        end: Future[None] = get_running_loop().create_future()
        self._ends[id] = end
        try:
            await endpoint.notify(spec, honoured, meta=tag)
            await end
        finally:
            self.listeners.remove(id)
            del self._ends[id]
        result: type[WireModel] = request.spec.results[0]
        return result.from_wire({"resultType": "complete", "_meta": {SUBSCRIPTION_ID: id}})

    # What is remembered, whoever answered.

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
        if self._shared.outbox.full:
            # Whoever publishes tells many, and is not held up by one who does not read.
            _log.warning("a client does not read: %s was not sent to it", method)
            return
        params = None if uri is None else spec.params(uri=uri)
        if connection.table.rules.era == "stateless":
            for id in self.listeners.matching(method, uri):
                await self.endpoint.notify(spec, params, meta=members({SUBSCRIPTION_ID: id}))
        elif connection.state is State.OPEN and self.listeners.wants(uri):
            await self.endpoint.notify(spec, params)

    def close(self, error: Disconnected) -> None:
        """Begin to end: calls fail with `error`, and listen streams are told that it is over."""
        if self in self.server.sides:
            self.server.sides.remove(self)
        self.endpoint.abandon(error)
        for id, end in self._ends.items():
            data = self.endpoint.connection.end(id, "the server is shutting down")
            if data is not None:
                self._shared.outbox.put(data)
            if not end.done():
                end.set_result(None)


_ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"

_BUILT_IN: Final[Mapping[str, Callable[[Side, Request[Any]], Awaitable[Any]]]] = {
    "logging/setLevel": Side.set_level,
    "ping": Side.ping,
    "resources/subscribe": Side.subscribe,
    "resources/unsubscribe": Side.unsubscribe,
    "server/discover": Side.discover,
    "subscriptions/listen": Side.listen,
}
_NOTED: Final[Mapping[str, Callable[[Side, Request[Any]], None]]] = {
    "logging/setLevel": Side.note_level,
    "resources/subscribe": Side.note_subscription,
    "resources/unsubscribe": Side.note_end_of_subscription,
}
