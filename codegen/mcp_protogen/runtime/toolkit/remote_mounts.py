"""Mounted servers reached by a connection: one for each client.

Over HTTP, requests of the stateless era share a connection if they have the same principal and
capabilities. It is opened on demand, and again after it has broken.
"""

from asyncio import CancelledError, Event, Future, Task, create_task, get_running_loop, shield, wait
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
)
from logging import getLogger
from typing import Any, Final, TypeAlias

from ..core.errors import INTERNAL_ERROR, McpError, ProtocolError
from ..core.json import JSONObject, json_text
from ..core.models.base import declared_member
from ..core.options import Options
from ..server.base import ServerBase, SessionBase, package_of
from ..server.context import OpenConnection, RequestContext
from ..transports.base import Opener
from .links import Link
from .mounts import Entries, Mount, Prefix
from .remote_settings import USUAL_REMOTE, RemoteSettings

_log: Final = getLogger(__name__)

_GONE: Final = "The client has gone"

_Key: TypeAlias = tuple[str | None, bytes]
"""The id of the principal, and the capabilities of its client."""


Proxy: TypeAlias = Callable[
    [str, JSONObject, JSONObject | None, Opener, Options, RemoteSettings],
    AbstractAsyncContextManager[Any],
]
"""Connects to a server, and returns one of a revision in its place; `Bridge.proxy`."""


class _Remote:
    __slots__ = ("over", "ready", "used", "work")

    work: Task[None]

    def __init__(self) -> None:
        self.ready: Future[Link] = get_running_loop().create_future()
        # asyncio would log a failure without a listener.
        self.ready.add_done_callback(lambda ready: ready.cancelled() or ready.exception())
        self.over = Event()
        self.used = 0

    def end(self) -> None:
        self.over.set()
        if not self.ready.done():
            # A task cancelled before its first step runs nothing, not even `finally`.
            self.ready.set_exception(McpError(INTERNAL_ERROR, _GONE))
            self.work.cancel()


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
        self._remotes: dict[OpenConnection, dict[_Key, _Remote]] = {}

    def add_connection(self, connection: OpenConnection) -> None:
        pass

    def remove_connection(self, connection: OpenConnection) -> None:
        for remote in self._remotes.pop(connection, {}).values():
            remote.end()

    def listening(self, context: RequestContext) -> AbstractContextManager[object]:
        # From now on, its notifications reach the client.
        return self._use_remote(context)

    @asynccontextmanager
    async def link(self, outer: RequestContext) -> AsyncGenerator[Link, None]:
        with self._use_remote(outer) as remote:
            yield await shield(remote.ready)

    @contextmanager
    def _use_remote(self, outer: RequestContext) -> Generator[_Remote, None, None]:
        remote = self._remote(outer)
        remote.used += 1
        try:
            yield remote
        finally:
            remote.used -= 1

    def _remote(self, outer: RequestContext) -> _Remote:
        connection = outer.connection
        known = self._remotes.get(connection, {})
        # A closed one may take long to end.
        remotes = {key: opened for key, opened in known.items() if not opened.over.is_set()}
        if remotes and not outer.meta and not connection.endpoint.connection.shared:
            return next(reversed(remotes.values()))
        key: _Key = (None, b"")
        if not outer.spoken.era.remembers_client:
            key = outer.principal_id, json_text(outer.peer_capabilities())
        remote = remotes.pop(key, None)
        if remote is None:
            if connection.endpoint.broken is not None:
                # Nothing would close a new connection.
                raise McpError(INTERNAL_ERROR, _GONE)
            idle = (other_key for other_key, remote in remotes.items() if not remote.used)
            if (
                len(remotes) >= self._settings.max_connections
                and (oldest := next(idle, None)) is not None
            ):
                remotes.pop(oldest).end()
            remote = _Remote()
            remote.work = create_task(self._connect(remote, outer))
            connection.endpoint.tasks.start(self._watch(connection, key, remote))
        remotes[key] = remote
        self._remotes[connection] = remotes
        return remote

    async def _watch(self, connection: OpenConnection, key: _Key, remote: _Remote) -> None:
        try:
            await wait([remote.work])
        except CancelledError:
            remote.end()
            await wait([remote.work])
            raise
        finally:
            if self._remotes.get(connection, {}).get(key) is remote:
                del self._remotes[connection][key]

    async def _connect(self, remote: _Remote, outer: RequestContext) -> None:
        name, connection, options = self.prefix.text, outer.connection, outer.endpoint.options
        client: Any = package_of(type(self.above)).load(outer.spoken.revision)
        table = self.table_of(client.methods.TABLE, options)
        capabilities, info = dict(outer.peer_capabilities()), outer.peer_info()
        own = None if info is None else table.inward("Implementation", dict(info))
        capabilities = table.inward("ClientCapabilities", capabilities)
        try:
            given = (outer.spoken.revision, capabilities, own, self._opener, options)
            async with self._proxy(*given, self._settings) as server:
                runtime = server.__mcp_runtime__
                handlers = runtime.handlers_for(outer.spoken.revision)
                link = self.new_link(server, connection, handlers)
                runtime.add_connection(link.connection)
                gone = create_task(runtime.until_gone())
                gone.add_done_callback(lambda _: remote.over.set())
                remote.ready.set_result(link)
                try:
                    await remote.over.wait()
                finally:
                    gone.cancel()
        except Exception as error:
            what = "cannot be reached" if not remote.ready.done() else "has failed"
            _log.warning("the server mounted as %s %s: %s", name, what, error)
        finally:
            if not remote.ready.done():
                why = f"The server of {name} cannot be reached"
                remote.ready.set_exception(McpError(INTERNAL_ERROR, why))

    async def answer(self, method: str, session: SessionBase, params: Any) -> Any:
        outer, meta = session.__mcp_runtime__, declared_member(params, "meta")
        if outer.spoken.era.remembers_client and not self.above.TABLE.era.remembers_client:
            # There, the level that the client has set is part of each request.
            meta = meta.model_copy(update={"log_level": outer.connection.level})
            params = params.model_copy(update={"meta": meta})
        return await super().answer(method, session, params)

    async def entries(self, field: str, session: SessionBase) -> Entries:
        try:
            return await super().entries(field, session)
        except ProtocolError as error:
            _log.warning(
                "the items of the server mounted as %s are not listed: %s", self.prefix.text, error
            )
            return []

    async def _list_entries(self, link: Link, field: str, outer: RequestContext) -> Entries:
        kind = "resources" if field.startswith("resource") else field
        if kind not in link.connection.server.__mcp_runtime__.declaration():
            return []
        return await super()._list_entries(link, field, outer)
