"""The listen streams of one connection, on the server's side.

A stream is acknowledged first, with what of its filter is honoured; its answer comes when it ends
(2026-07-28, basic/patterns/subscriptions).
"""

from asyncio import Future, get_running_loop
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, NamedTuple

from ..core.errors import McpError, RequestId
from ..core.models.base import WireModel
from ..core.subscriptions import Filter, Listeners
from ..messages.envelope import SUBSCRIPTION_ID, members
from ..messages.parsed import Request
from ..rpc.endpoint import Endpoint
from .state import BoundServer

_ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
_SUBSCRIBE: Final = "resources/subscribe"
_UNSUBSCRIBE: Final = "resources/unsubscribe"


class _Resource(NamedTuple):
    """Params that name a resource, where the server's revision has none that do."""

    uri: str


class ListenStreams:
    """The open listen streams of a connection, and the resources that they stand for.

    A server of a revision with single subscriptions is told of those that the streams stand for,
    in sessions that `new_session` makes. What it refuses is left out of the stream.
    """

    __slots__ = ("_bound_server", "_endpoint", "_ends", "_listeners", "_watched")

    def __init__(self, endpoint: Endpoint, bound_server: BoundServer, listeners: Listeners) -> None:
        self._endpoint = endpoint
        self._bound_server = bound_server
        self._listeners = listeners
        self._watched: set[str] = set()
        self._ends: dict[RequestId, Future[None]] = {}

    async def serve(self, request: Request[Any], new_session: Callable[[], Any]) -> Any:
        """Keep a stream open until either side ends it, and return its result.

        Raise what answers a stream that is one too many, or too large.
        """
        id, endpoint, listeners = request.id, self._endpoint, self._listeners
        declared = endpoint.connection.declared["server"]
        wanted = Filter.of(request.params.notifications.to_wire()).honoured(declared)
        listeners.add(id, wanted)
        end = self._ends[id] = get_running_loop().create_future()
        try:
            wanted = await self._watch(wanted, new_session)
            listeners.narrow(id, wanted)
            await self._acknowledge(id, wanted)
            await end
        finally:
            listeners.remove(id)
            del self._ends[id]
            if self._watched:
                endpoint.tasks.start(self._unwatch(new_session))
        result: type[WireModel] = request.spec.results[0]
        return result.from_wire({"resultType": "complete", "_meta": {SUBSCRIPTION_ID: id}})

    async def _acknowledge(self, id: RequestId, wanted: Filter) -> None:
        spec = self._endpoint.connection.table.notifications[_ACKNOWLEDGED]
        honoured = spec.params.model_validate(
            {"notifications": wanted.to_wire(), "_meta": {SUBSCRIPTION_ID: id}}
        )
        await self._endpoint.notify(spec, honoured, meta=members({SUBSCRIPTION_ID: id}))

    async def _watch(self, wanted: Filter, new_session: Callable[[], Any]) -> Filter:
        handler = self._bound_server.handlers.get(_SUBSCRIBE)
        if handler is None:
            return wanted
        params = self._params(_SUBSCRIBE)
        refused: set[str] = set()
        for uri in sorted(wanted.uris - self._watched):
            self._watched.add(uri)
            try:
                await handler(new_session(), params(uri=uri))
            except McpError:
                self._watched.discard(uri)
                refused.add(uri)
        return replace(wanted, uris=wanted.uris - refused)

    async def _unwatch(self, new_session: Callable[[], Any]) -> None:
        handler = self._bound_server.handlers.get(_UNSUBSCRIBE)
        for uri in sorted(self._watched - self._listeners.uris):
            self._watched.discard(uri)
            if handler is not None:
                await handler(new_session(), self._params(_UNSUBSCRIBE)(uri=uri))

    def _params(self, method: str) -> Callable[..., Any]:
        spec = self._bound_server.server.TABLE.requests.get(method)
        return _Resource if spec is None else spec.params

    def close(self) -> None:
        for id, end in self._ends.items():
            data = self._endpoint.connection.end(id, "the server is shutting down")
            if data is not None:
                self._endpoint.sink.put(data)
            if not end.done():
                end.set_result(None)
