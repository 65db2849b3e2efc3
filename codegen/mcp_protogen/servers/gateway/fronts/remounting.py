"""A front whose servers change while it serves."""

from asyncio import get_running_loop
from collections.abc import Awaitable, Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import lru_cache, partial
from typing import Any, Final, TypeVar, cast

from mcp_protogen.runtime.rules.handlers import Handler, Handlers
from mcp_protogen.runtime.server.context import OpenConnection, RequestContext, SessionSwitches
from mcp_protogen.runtime.toolkit.catalogue import FIELDS, SUBSCRIPTIONS
from mcp_protogen.runtime.toolkit.toolkit_runtime import ToolkitRuntime
from mcp_protogen.servers.gateway.fronts.mounts import GatewayMount
from mcp_protogen.servers.gateway.settings.names import MOST_KNOWN
from mcp_protogen.servers.gateway.upstreams.leaving import ServerLeft

T = TypeVar("T")

_PAUSE: Final = 0.1
"""The time in which the changes of a list are one for its clients."""


class RemountingRuntime(ToolkitRuntime):
    """The runtime's part of a front, which tells clients of changes."""

    def __init__(self, owner: Handlers) -> None:
        super().__init__(owner)
        self._changed: set[tuple[OpenConnection, str]] = set()
        self._streams: dict[RequestContext, dict[GatewayMount, ExitStack]] = {}
        """The open listen streams, with their use of each server."""
        self._left: Sequence[GatewayMount] = ()
        """Servers that have left, and may still have requests."""
        self.known_owners = lru_cache(maxsize=MOST_KNOWN)(self.find_owners)

    @property
    def mounts(self) -> Sequence[GatewayMount]:
        """The servers, in the order of the file."""
        return cast(Sequence[GatewayMount], self.catalogue.mounts)

    @property
    def mounts_with_requests(self) -> Sequence[GatewayMount]:
        """The servers, and those that have left, but may still have requests or tasks."""
        return [*self.mounts, *self._left]

    def find_owners(self, kind: str, key: str) -> Sequence[GatewayMount]:
        """Return the servers that may have an item."""
        return _owners_in(self.mounts, kind, key)

    def find_asking(self, kind: str, key: str, outer: RequestContext) -> GatewayMount | None:
        """Return the server that has left, but waits for this answer of a client."""
        asking = (mount for mount in self._left if mount.may_have(kind, key))
        permitted = (mount for mount in asking if mount.permits(kind, key, outer))
        return next((mount for mount in permitted if mount.awaits(outer)), None)

    def remount(self, mounts: Iterable[GatewayMount]) -> None:
        """Replace all servers, and tell clients; those that are no longer there leave."""
        before, after = self.mounts, tuple(mounts)
        if before == after:
            return
        self.catalogue.mounts = after
        self.known_owners.cache_clear()
        left = [mount for mount in before if mount not in after]
        self._left = [*filter(GatewayMount.is_used, self._left), *left]
        for mount in left:
            mount.leave()
            for used in self._streams.values():
                used.pop(mount).close()
        for mount in after:
            if mount not in before:
                mount.take_levels(before)
                for context in self._streams:
                    self._listen(mount, context)
        self.announce_lists()
        for connection in [*self.connections]:
            self._move_subscriptions(connection, before)

    def announce_lists(self, principal: str | None = None) -> None:
        """Tell clients, or only those of a principal, that all lists may have changed."""
        for connection in [*self.connections]:
            owner = connection.session().__mcp_runtime__.principal_id
            for kind in FIELDS if principal in (None, owner) else ():
                self.publish_soon(connection, f"notifications/{kind}/list_changed")

    def _listen(self, mount: GatewayMount, context: RequestContext) -> None:
        # A client that has gone uses no more servers.
        stack = self._streams[context][mount] = ExitStack()
        if context.connection.endpoint.broken is None:
            stack.enter_context(mount.listening(context))

    @contextmanager
    def listening(self, context: RequestContext) -> Generator[None, None, None]:
        self._streams[context] = {}
        try:
            for mount in self.mounts:
                self._listen(mount, context)
            yield
        finally:
            for stack in self._streams.pop(context).values():
                stack.close()

    def resume(self, connection: OpenConnection, switched: SessionSwitches) -> None:
        super().resume(connection, switched)
        served: Any = connection
        if connection.is_owner:
            for uri in served.subscriptions:
                self._follow_soon(connection, uri)

    def _move_subscriptions(
        self, connection: OpenConnection, before: Sequence[GatewayMount]
    ) -> None:
        served: Any = connection
        for uri in served.subscriptions:
            if self.find_owners("resources", uri) != _owners_in(before, "resources", uri):
                self._follow_soon(connection, uri)

    def _follow_soon(self, connection: OpenConnection, uri: str) -> None:
        follow = partial(self._follow_again, connection, uri)
        connection.endpoint.tasks.start(self.repeat(follow))

    async def _follow_again(self, connection: OpenConnection, uri: str) -> None:
        if owners := self.find_owners("resources", uri):
            await owners[0].follow_again(connection.session(), uri)

    def handlers(self, revision: str, methods: Collection[str]) -> Mapping[str, Handler]:
        found = super().handlers(revision, methods)
        change = found.keys() & {*SUBSCRIPTIONS}
        return {**found, **{method: partial(self._handle, found[method]) for method in change}}

    def _handle(self, handler: Handler, session: Any, params: Any) -> Awaitable[Any]:
        return self.repeat(partial(handler, session, params))

    async def repeat(self, work: Callable[[], Awaitable[T]]) -> T:
        """Return the outcome of a request, which is a new one if its server has not got it."""
        while True:
            mounts = self.mounts
            try:
                return await work()
            except ServerLeft:
                if self.mounts is mounts:
                    raise

    def publish_soon(self, to: OpenConnection, method: str) -> None:
        """Tell a client of a changed list; further changes until then are the same."""
        if (to, method) not in self._changed:
            self._changed.add((to, method))
            get_running_loop().call_later(_PAUSE, self._publish_now, to, method)

    def _publish_now(self, to: OpenConnection, method: str) -> None:
        self._changed.discard((to, method))
        if to in self.connections:
            # Else the client has left meanwhile.
            self.send(method, None, [to])


def _owners_in(mounts: Iterable[GatewayMount], kind: str, key: str) -> Sequence[GatewayMount]:
    return [mount for mount in mounts if mount.may_have(kind, key)]
