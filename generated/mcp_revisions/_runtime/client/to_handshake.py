"""A client of the stateless era that speaks to a server which began with a handshake.

What its era says with each request, the runtime says once to the server, or remembers; streams of
changes are made of single subscriptions.
"""

from asyncio import Lock
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import count
from typing import Any, Final

from ..core.errors import Disconnected, ProtocolError
from ..core.json import JSONObject
from ..core.models.base import WireModel, declared
from ..core.options import CallOptions
from ..core.spec import RequestSpec
from ..core.subscriptions import LEVELS, RESOURCE_UPDATED, Filter, passes
from ..messages.envelope import SERVER_INFO, SUBSCRIPTION_ID
from ..messages.method_table import MethodTable
from ..messages.parsed import Notification
from ..rpc.endpoint import Endpoint
from .base import ClientBase

_ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
_LOG: Final = "notifications/message"
_SET_LEVEL: Final = "logging/setLevel"


class ToHandshake:
    """What carries the messages of one connection; `instructions` came in the handshake."""

    def __init__(
        self,
        client: ClientBase,
        endpoint: Endpoint,
        table: MethodTable,
        instructions: str | None,
    ) -> None:
        self._client = client
        self._endpoint = endpoint
        self._table = table
        self._instructions = instructions
        self._handlers = client.__mcp_runtime__.bound(table.revision)
        self._levels: Counter[str] = Counter()
        self._level_set: str | None = None
        self._setting, self._subscribing = Lock(), Lock()
        self._streams: dict[int, Filter] = {}
        self._subscribed: set[str] = set()
        self._ids = count(1)
        self.hears_all = False
        """Whether the client also gets log entries and changes that it has not asked for."""

    async def open(self) -> None:
        """Do nothing: there is nothing to say for the whole connection."""

    def _declared(self) -> Mapping[str, Any]:
        return self._endpoint.connection.declared["server"]

    async def request(self, spec: RequestSpec[Any, Any], params: Any, options: CallOptions) -> Any:
        stand_in = _STAND_INS.get(spec.method)
        if stand_in is not None:
            return await stand_in(self, spec, params)
        level: str | None = declared(declared(params, "meta"), "log_level")
        if level is None or "logging" not in self._declared():
            return await self._endpoint.request(spec, params, options)
        self._levels[level] += 1
        try:
            await self._set_level()
            return await self._endpoint.request(spec, params, options)
        finally:
            self._levels[level] -= 1

    def _wanted_level(self) -> str | None:
        """Return the least severe level that a request under way wants entries of."""
        return next((level for level in LEVELS if self._levels[level] > 0), None)

    async def _set_level(self) -> None:
        async with self._setting:
            level = self._wanted_level()
            if level is not None and level != self._level_set:
                spec = self._table.wire.requests[_SET_LEVEL]
                # Until there is an answer nobody knows.
                self._level_set = None
                await self._endpoint.request(spec, spec.params(level=level), CallOptions())
                self._level_set = level

    # What the server has no words for.

    async def discover(self, spec: RequestSpec[Any, Any], params: Any) -> Any:
        """Return what the server said in the handshake."""
        connection = self._endpoint.connection
        info = connection.identity.get("server")
        said: JSONObject = {"instructions": self._instructions} if self._instructions else {}
        if info is not None:
            said["meta"] = {SERVER_INFO: dict(info)}
        return spec.results[0](
            supported_versions=[self._table.revision], capabilities=dict(self._declared()), **said
        )

    async def listen(self, spec: RequestSpec[Any, Any], params: Any) -> Any:
        """Keep a stream of changes open until the call is cancelled, or the connection ends."""
        asked = Filter.of(params.notifications.to_wire())
        wanted = asked.honoured(self._declared())
        id = next(self._ids)
        # Some servers tell of lists although they do not say that they do.
        self._streams[id] = replace(wanted, lists=asked.lists)
        try:
            await self._settle()
            await self._acknowledge(id, wanted)
            await self._endpoint.until_aborted()
        finally:
            del self._streams[id]
            # Whoever gives a stream up does not wait for what the server says to that.
            self._endpoint.tasks.start(self._settled_somehow())
        raise Disconnected("the server closed the connection")

    async def _settle(self) -> None:
        """Have the server tell of exactly the resources that some stream wants to know of."""
        async with self._subscribing:
            wanted = frozenset[str]().union(*(one.uris for one in self._streams.values()))
            for uri in sorted(wanted - self._subscribed):
                self._subscribed.add(uri)
                try:
                    await self.subscription("resources/subscribe", uri)
                except ProtocolError:
                    self._subscribed.discard(uri)
                    raise
            for uri in sorted(self._subscribed - wanted):
                self._subscribed.discard(uri)
                await self.subscription("resources/unsubscribe", uri)

    async def _settled_somehow(self) -> None:
        with suppress(Disconnected, ProtocolError):
            await self._settle()

    async def subscription(self, method: str, uri: str) -> None:
        """Ask the server to subscribe to a resource, or to unsubscribe from it."""
        spec = self._table.wire.requests[method]
        await self._endpoint.request(spec, spec.params(uri=uri), CallOptions())

    async def _acknowledge(self, id: int, wanted: Filter) -> None:
        handler = self._handlers.get(_ACKNOWLEDGED)
        if handler is not None:
            meta = {SUBSCRIPTION_ID: id}
            said = {"notifications": wanted.to_wire(), "_meta": meta}
            spec = self._client.TABLE.notifications[_ACKNOWLEDGED]
            await handler(spec.params.from_wire(said))

    def on_notification(
        self, notification: Notification[Any], meta: Mapping[str, Any]
    ) -> Awaitable[None] | None:
        method, params = notification.spec.method, notification.params
        handler = self._handlers.get(method)
        if handler is None:
            return None
        if self.hears_all:
            return handler(params)
        if method == _LOG:
            level = self._wanted_level()
            wanted = level is not None and passes(params.level, level)
            return handler(params) if wanted else None
        if method != RESOURCE_UPDATED and not method.endswith("/list_changed"):
            return handler(params)
        return self._tell(handler, params, self._wanting(method, declared(params, "uri")))

    def _wanting(self, method: str, uri: str | None) -> list[int]:
        return [id for id, wanted in self._streams.items() if wanted.wants(method, uri)]

    @staticmethod
    async def _tell(
        handler: Callable[[Any], Awaitable[None]], params: WireModel, streams: list[int]
    ) -> None:
        """Tell the client of a change, once for each stream that wants it."""
        said = params.to_wire()
        for id in streams:
            meta = {**said.get("_meta", {}), SUBSCRIPTION_ID: id}
            await handler(type(params).from_wire({**said, "_meta": meta}))


_StandIn = Callable[[ToHandshake, RequestSpec[Any, Any], Any], Awaitable[Any]]

_STAND_INS: Final[Mapping[str, _StandIn]] = {
    "server/discover": ToHandshake.discover,
    "subscriptions/listen": ToHandshake.listen,
}
