"""The listen streams of one connection, and its subscriptions to resources."""

from asyncio import Future, Task, get_running_loop
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, Protocol

from ..core.errors import McpError, RequestId
from ..core.json import JSONObject
from ..core.models.base import WireModel
from ..core.subscriptions import (
    ACKNOWLEDGED,
    RESOURCE_UPDATED,
    SUBSCRIBE,
    UNSUBSCRIBE,
    Filter,
    Listeners,
    Selectors,
    is_change,
    keys_in,
)
from ..core.tasks import together
from ..messages.codec import Request
from ..messages.envelope import SUBSCRIPTION_ID, members
from ..rules.handlers import Handler
from .context import OpenConnection, RequestContext
from .layers import Following, Layer


class _Connection(OpenConnection, Protocol):
    bound_server: Any
    handlers: Mapping[str, Handler]

    @property
    def listeners(self) -> Listeners: ...
    def register(self) -> None: ...


async def change_subscription(
    handlers: Mapping[str, Handler], method: str, session: Any, **params: str
) -> None:
    if (handler := handlers.get(method)) is not None:
        spec = session.__mcp_runtime__.table.requests.get(method)
        # The server's revision may lack the method.
        kind: Callable[..., Any] = SimpleNamespace if spec is None else spec.params
        await handler(session, kind(**params))


class ListenStreams:
    """The open listen streams of a connection (2026-07-28, basic/patterns/subscriptions).

    A server with single subscriptions gets one for each resource; refused ones are left out.
    """

    __slots__ = ("_connection", "_ends", "_watched")

    def __init__(self, connection: _Connection) -> None:
        self._connection = connection
        self._watched: set[str] = set()
        self._ends: dict[RequestId, Future[None]] = {}

    async def serve(self, request: Request[Any]) -> Any:
        """Keep a stream open until its end, and return its result; raise `McpError`."""
        connection = self._connection
        connection.register()
        context = RequestContext(connection, meta=request.meta)
        runtime: Any = connection.server.__mcp_runtime__
        with runtime.listening(context):
            await self._keep_open(request)
        result: type[WireModel] = request.spec.results[0]
        meta = {SUBSCRIPTION_ID: request.id}
        return result.from_wire({"resultType": "complete", "_meta": meta})

    async def _keep_open(self, request: Request[Any]) -> None:
        id, endpoint = request.id, self._connection.endpoint
        listeners = self._connection.listeners
        declared = endpoint.connection.declared["server"]
        layer: Layer | None = self._connection.bound_server.layer
        selectors = Selectors(endpoint.connection.table.wire.notifications)
        wanted = selectors.read(request.params.notifications.to_wire())
        filter = selectors.narrow(wanted, declared)
        at = next((at for at, spec in selectors.items() if spec.known_as == RESOURCE_UPDATED), "")
        listeners.add(id, filter, f"/params/notifications/{at}")
        end = self._ends[id] = get_running_loop().create_future()
        following = list[Task[None]]()
        try:
            follows: Following = {}
            ids = {key for method, key in filter if key is not None and not is_change(method)}
            if layer is not None and ids:
                follows = await layer.find_following(self._connection, request, ids)
            known = (entry for entry in filter if is_change(entry[0]) or entry[1] in follows)
            filter = await self._watch(frozenset(known))
            listeners.narrow(id, filter)
            await self._acknowledge(id, selectors.write(filter))
            following += [endpoint.tasks.start(follow()) for follow in follows.values()]
            await end
        finally:
            for task in following:
                task.cancel()
            listeners.remove(id)
            del self._ends[id]
            if self._watched:
                endpoint.tasks.start(self._unwatch())

    async def _acknowledge(self, id: RequestId, filter: JSONObject) -> None:
        endpoint, meta = self._connection.endpoint, {SUBSCRIPTION_ID: id}
        spec = endpoint.connection.table.notifications[ACKNOWLEDGED]
        params = {"notifications": filter, "_meta": meta}
        await endpoint.notify(spec, spec.params.model_validate(params), meta=members(meta))

    async def _watch(self, filter: Filter) -> Filter:
        handled = SUBSCRIBE in self._connection.handlers
        new = sorted(keys_in(filter, RESOURCE_UPDATED) - self._watched) if handled else []
        self._watched.update(new)
        refused: set[str] = set()

        async def watch(uri: str) -> None:
            try:
                await self._call(SUBSCRIBE, uri)
            except McpError:
                self._watched.discard(uri)
                refused.add(uri)

        await together(map(watch, new))
        return filter - {(RESOURCE_UPDATED, uri) for uri in refused}

    async def _unwatch(self) -> None:
        # Other streams may have come meanwhile.
        while unused := self._watched - self._connection.listeners.uris:
            uri = min(unused)
            self._watched.discard(uri)
            await self._call(UNSUBSCRIBE, uri)

    async def _call(self, method: str, uri: str) -> None:
        connection = self._connection
        await change_subscription(connection.handlers, method, connection.session(), uri=uri)

    def close(self) -> None:
        endpoint = self._connection.endpoint
        for id, end in self._ends.items():
            if (data := endpoint.connection.end(id, "the server is shutting down")) is not None:
                endpoint.sink.put(data)
            if not end.done():
                end.set_result(None)
