"""Mounted servers reached by a connection: one for each client.

Over HTTP, requests of the stateless era share a connection if they have the same principal and
client. It is opened on demand, and again after it has broken.
"""

from asyncio import CancelledError, create_task, get_running_loop, shield, wait
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import replace
from functools import partial
from logging import getLogger
from typing import Any, Final, TypeAlias, TypeVar

from ..core.connection_errors import RevisionLost, Unsent
from ..core.errors import METHOD_NOT_FOUND, LocalError, McpError, ProtocolError
from ..core.json import JSONObject
from ..core.options import Options
from ..core.spec import CALL_TOOL, SET_LEVEL
from ..core.subscriptions import RESOURCE_UPDATED, SUBSCRIBE, UNSUBSCRIBE, is_list_change, offers
from ..server.base import ServerBase, SessionBase, package_of
from ..server.context import OpenConnection, RequestContext
from ..server.listen_streams import change_subscription
from ..server.upstream import client_gone
from ..transports.base import Opener, wait_within
from .items import COMPLETE, requested_item
from .links import Link, Work
from .lookup import unknown_item
from .mounts import Entries, Mount, Prefix
from .remotes import (
    PAUSE,
    USUAL_REMOTE,
    Attachment,
    Remote,
    RemoteKey,
    RemoteSettings,
    cause_of,
    failure,
    reason_of,
    remote_key,
)

T = TypeVar("T")

_log: Final = getLogger(__name__)

_LASTING: Final = 10.0
"""The time after which a connection has lasted."""

Proxy: TypeAlias = Callable[
    [str, JSONObject, JSONObject | None, Opener, Options], AbstractAsyncContextManager[Any]
]
"""Connects to a server, and returns one of a revision in its place; `Bridge.proxy`."""


class RemoteMount(Mount):
    """A server reached by a connection, which is asked for its items."""

    def __init__(
        self,
        above: ServerBase[Any],
        prefix: Prefix,
        proxy: Proxy,
        opener: Opener,
        settings: RemoteSettings = USUAL_REMOTE,
    ) -> None:
        super().__init__(above, prefix)
        self._proxy, self._opener, self._settings = proxy, opener, settings
        self._name = settings.name or prefix.text
        self._remotes: dict[RemoteKey, Remote] = {}
        """The longest idle one is first."""
        self._levels: dict[OpenConnection, str] = {}

    def remove_connection(self, connection: OpenConnection) -> None:
        self._levels.pop(connection, None)
        for key, remote in list(self._remotes.items()):
            attachment = remote.attached.pop(connection, None)
            if attachment is not None and not self.keeps(remote):
                del self._remotes[key]
                remote.end()
            elif attachment is not None and attachment.link is not None:
                remote.server.__mcp_runtime__.remove_connection(attachment.link.connection)
                unused = attachment.uris - remote.uris
                connection.endpoint.tasks.start(self._subscribe(remote, UNSUBSCRIBE, unused))

    def keeps(self, remote: Remote) -> bool:
        return bool(remote.attached)

    @contextmanager
    def listening(self, context: RequestContext) -> Generator[None, None, None]:
        # From now on, its notifications reach the client.
        remote = self._begin_use(context)
        streams = remote.attached[context.connection].streams
        streams.append(context)
        try:
            yield
        finally:
            streams.remove(context)
            self._end_use(remote, context)

    async def use(self, outer: RequestContext, work: Work) -> Any:
        remote = self._begin_use(outer)
        try:
            if not remote.ready.done():
                await shield(remote.ready)
            return await work(remote.link(outer.connection))
        except McpError as error:
            if isinstance(cause_of(error), RevisionLost):
                # The next attempt needs a new connection.
                runtime: Any = remote.server.__mcp_runtime__
                await runtime.until_gone()
            raise
        finally:
            self._end_use(remote, outer)

    def _begin_use(self, outer: RequestContext) -> Remote:
        remote = self._remote(self._key(outer), outer)
        remote.users.append(outer.connection)
        return remote

    def _end_use(self, remote: Remote, outer: RequestContext) -> None:
        remote.users.remove(outer.connection)
        if self._remotes.get(remote.key) is remote:
            self._remotes[remote.key] = self._remotes.pop(remote.key)

    def _key(self, outer: RequestContext) -> RemoteKey:
        connection = outer.connection
        if not outer.meta and not outer.spoken.era.remembers_client:
            # Not a request of the client, which would say who it is.
            for key, remote in reversed(self._remotes.items()):
                if connection in remote.attached:
                    return key
        return remote_key(outer)

    def _remote(self, key: RemoteKey, outer: RequestContext) -> Remote:
        remote, connection = self._remotes.get(key), outer.connection
        # A closed one may take long to end.
        if remote is None or remote.is_over:
            if connection.endpoint.broken is not None:
                # Nothing would close a new connection.
                raise client_gone()
            self._make_room()
            remote = self._remotes[key] = Remote(key, remote)
            remote.work = create_task(remote.run(self._connect(remote, outer)))
            connection.endpoint.tasks.start(self._watch(remote))
        if connection not in remote.attached:
            remote.attached[connection] = Attachment([], set())
            if remote.is_open:
                self._attach(remote)
        return remote

    def _make_room(self) -> None:
        idle = [key for key, remote in self._remotes.items() if remote.is_idle]
        if len(self._remotes) >= self._settings.max_connections and idle:
            # Those that have broken go first.
            longest = min(idle, key=lambda key: not self._remotes[key].is_over)
            self._remotes.pop(longest).end()

    async def _watch(self, remote: Remote) -> None:
        try:
            await wait([remote.work])
        except CancelledError:
            remote.end()
            await wait([remote.work])
            raise
        finally:
            if remote.follower is not None and self._remotes.get(remote.key) is remote:
                get_running_loop().call_later(remote.pause, self._reopen, remote)

    def _reopen(self, remote: Remote) -> None:
        """Connect again for clients that follow changes, unless a request has done so."""
        follower = remote.follower
        if follower is not None and self._remotes.get(remote.key) is remote:
            self._remote(remote.key, follower)

    def _attach(self, remote: Remote) -> None:
        for connection, attachment in remote.attached.items():
            if attachment.link is None:
                link = attachment.link = self.new_link(remote.server, connection, remote.handlers)
                remote.server.__mcp_runtime__.add_connection(link.connection)

    @asynccontextmanager
    async def _connect(
        self, remote: Remote, outer: RequestContext
    ) -> AsyncGenerator[ServerBase[Any], None]:
        start = outer.connection.endpoint.tasks.start
        limit = get_running_loop().call_later(
            self._settings.open_timeout, remote.fail, failure(self._name, "timeout")
        )
        try:
            async with self._open(outer) as server:
                runtime: Any = server.__mcp_runtime__
                runtime.client.name = self._settings.name
                if not runtime.client.same_revision:
                    runtime.client.connection.view.table.client_uri = self.client_uri
                remote.server, remote.handlers = server, runtime.handlers_for(server.TABLE.revision)
                self._attach(remote)
                await self._send_levels(remote)
                # Others may have come meanwhile.
                self._attach(remote)
                limit.cancel()
                runtime.client.connection.on_renewal = lambda: start(self._restore(remote))
                if remote.again:
                    start(self._restore(remote))
                began = get_running_loop().time()
                try:
                    yield server
                finally:
                    if get_running_loop().time() - began >= _LASTING:
                        remote.pause = PAUSE
        except Exception as error:
            what = "cannot be reached" if not remote.ready.done() else "has failed"
            _log.warning("the server mounted as %s %s: %s", self._name, what, error)
            reason = reason_of(cause_of(error))
            known = reason if reason in ("timeout", "unauthorized") else "unreachable"
            raise failure(self._name, known) from None
        finally:
            limit.cancel()

    def _open(self, outer: RequestContext) -> AbstractAsyncContextManager[Any]:
        revision, settings = outer.spoken.revision, self._settings
        options = replace(
            outer.endpoint.options,
            timeout=settings.timeout,
            timeouts={},
            max_timeout=settings.max_timeout,
            initialize_timeout=settings.open_timeout,
        )
        client: Any = package_of(type(self.above)).load(revision)
        table = self.table_of(client.methods.TABLE, options)
        info = outer.peer_info()
        own = None if info is None else table.inward("Implementation", dict(info))
        declared = table.inward("ClientCapabilities", dict(outer.peer_capabilities()))
        return self._proxy(revision, declared, own, self.opener_for(outer), options)

    def opener_for(self, outer: RequestContext) -> Opener:
        return self._opener

    async def _restore(self, remote: Remote) -> None:
        """Tell clients, after a break, that all that they follow may have changed."""
        uris, runtime = remote.uris, remote.server.__mcp_runtime__
        await self._send_levels(remote)
        await self._subscribe(remote, SUBSCRIBE, uris)
        declared = runtime.declaration()
        for method in filter(is_list_change, runtime.owner.TABLE.first_names):
            if method.split("/")[1] in declared:
                await runtime.publish(method)
        for uri in sorted(uris):
            await runtime.publish(RESOURCE_UPDATED, uri)

    async def _subscribe(self, remote: Remote, method: str, uris: Iterable[str]) -> None:
        links = (attachment.link for attachment in remote.attached.values())
        link = next(filter(None, links), None)
        for uri in sorted(uris):
            # Clients may have come or gone meanwhile.
            if link is not None and (uri in remote.uris) == (method == SUBSCRIBE):
                await self._tell(link, method, uri=uri)

    async def _tell(self, link: Link, method: str, **params: str) -> None:
        try:
            session = link.connection.session()
            await change_subscription(link.handlers, method, session, **params)
        except ProtocolError as error:
            _log.warning("the server mounted as %s refuses %s: %s", self._name, method, error)

    async def set_level(self, session: SessionBase, level: str) -> None:
        outer = session.__mcp_runtime__
        self._levels[connection := outer.connection] = level
        remote = self._remotes.get(self._key(outer))
        attachment = remote and remote.attached.get(connection)
        # While it opens, it may have been told of an earlier level already.
        if remote and attachment and attachment.link and not remote.is_over:
            # A server that hangs does not keep the level from the others.
            telling = connection.endpoint.tasks.start(self._send_levels(remote))
            await wait([telling], timeout=self._settings.list_timeout)

    async def _send_levels(self, remote: Remote) -> None:
        declared = remote.server.__mcp_runtime__.declaration()
        for connection, attachment in list(remote.attached.items()):
            level = self._levels.get(connection)
            if level and attachment.link and "logging" in declared:
                await self._tell(attachment.link, SET_LEVEL, level=level)

    async def repeat(self, repeats: bool, work: Callable[[], Awaitable[T]]) -> T:
        """Return the outcome of a request, which is repeated once if that does no harm.

        `repeats` is whether it has no effects; others are repeated only if they were not sent.
        """
        is_last = False
        while True:
            try:
                return await work()
            except ProtocolError as error:
                cause = cause_of(error)
                reason = reason_of(cause)
                if reason is None:
                    raise
                harmless = isinstance(cause, Unsent) or (repeats and reason == "interrupted")
                if is_last or not harmless:
                    raise failure(self._name, reason, not repeats) from error
            is_last = True

    async def answer(self, method: str, session: SessionBase, params: Any) -> Any:
        work = partial(super().answer, method, session, params)
        try:
            return await self.repeat(method != CALL_TOOL, work)
        except McpError as error:
            if error.code != METHOD_NOT_FOUND:
                raise
            if method == COMPLETE:
                spec = self.above.TABLE.spec_of(COMPLETE)
                return spec.results[0](completion={"values": []})
            if isinstance(cause_of(error), LocalError):
                # It has no items of this kind.
                runtime: Any = self.above.__mcp_runtime__
                raise unknown_item(runtime.catalogue, *requested_item(method, params)) from error
            raise

    async def change_subscription(self, method: str, session: SessionBase, own: str) -> None:
        outer = session.__mcp_runtime__
        if method == SUBSCRIBE:
            following = self.repeat(True, partial(self._follow, session, own))
            # What a listen stream accepts does not wait for a server that hangs.
            limit = self._settings.list_timeout if outer.request_id is None else None
            if not await wait_within(limit, following):
                raise failure(self._name, "timeout")
            return
        remote = self._remotes.get(self._key(outer))
        attachment = remote and remote.attached.get(outer.connection)
        if remote and attachment and own in attachment.uris:
            attachment.uris.remove(own)
            await self._subscribe(remote, method, {own} - remote.uris)

    async def _follow(self, session: SessionBase, own: str) -> None:
        outer = session.__mcp_runtime__
        remote = self._begin_use(outer)
        try:
            await shield(remote.ready)
            runtime = remote.server.__mcp_runtime__
            updated = runtime.owner.TABLE.spec_of(RESOURCE_UPDATED)
            if not offers(updated, runtime.declaration()):
                return
            remote.link(outer.connection)
            # If another client leaves meanwhile, this one needs it.
            (uris := remote.attached[outer.connection].uris).add(own)
            try:
                await super().change_subscription(SUBSCRIBE, session, own)
            except BaseException as error:
                uris.discard(own)
                if not isinstance(error, McpError) or error.code != METHOD_NOT_FOUND:
                    raise
        finally:
            self._end_use(remote, outer)

    async def entries(self, field: str, session: SessionBase) -> Entries:
        try:
            return await self.repeat(True, partial(super().entries, field, session))
        except ProtocolError as error:
            _log.warning(
                "the items of the server mounted as %s are not listed: %s", self.prefix.text, error
            )
            return []

    async def _list_entries(self, field: str, outer: RequestContext, link: Link) -> Entries:
        kind = "resources" if field.startswith("resource") else field
        if kind not in link.connection.server.__mcp_runtime__.declaration():
            return []
        return await super()._list_entries(field, outer, link)
