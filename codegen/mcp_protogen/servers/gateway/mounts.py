"""Servers behind a gateway, mounted in the servers that clients see."""

import re
from asyncio import Task, gather, get_running_loop, sleep, wait
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from logging import getLogger
from typing import Any, Final, TypeAlias

from mcp_protogen.runtime.core.connection_errors import Disconnected
from mcp_protogen.runtime.core.errors import METHOD_NOT_FOUND, ProtocolError
from mcp_protogen.runtime.core.json import json_text
from mcp_protogen.runtime.core.uri_templates import parse_uri_template
from mcp_protogen.runtime.server.base import ServerBase, SessionBase
from mcp_protogen.runtime.server.context import OpenConnection, RequestContext
from mcp_protogen.runtime.toolkit.catalogue import FIELDS
from mcp_protogen.runtime.toolkit.links import Link
from mcp_protogen.runtime.toolkit.mounts import MountedItem
from mcp_protogen.runtime.toolkit.remote_mounts import Proxy
from mcp_protogen.runtime.toolkit.remotes import RemoteSettings
from mcp_protogen.runtime.toolkit.revision_models import LISTS
from mcp_protogen.servers.gateway.lists import (
    NOTHING,
    ListMark,
    ListWalk,
    ServerList,
)
from mcp_protogen.servers.gateway.names import is_uri
from mcp_protogen.servers.gateway.upstream import Upstream
from mcp_protogen.servers.gateway.user_mounts import UserMount

_log: Final = getLogger("mcp_protogen.gateway")

_Client: TypeAlias = tuple[OpenConnection | None, str | None, bytes]
"""A client of a list: its connection, principal and capabilities; `_EVERYONE` for all."""

_About: TypeAlias = tuple[str | None, str]
"""A list of a principal, whatever connection it comes from."""

_EVERYONE: Final[_Client] = (None, None, b"")


@dataclass(slots=True)
class _Asking:
    """A list that a server was asked for."""

    began: float
    work: Task[None]
    served: ServerList | None = None
    """What clients have got in its place, because it took too long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MountSettings(RemoteSettings):
    """The settings of a mounted server and of its lists."""

    keep_lists: float = 300.0
    """The time for which the items of a server that cannot be reached stay listed."""


class GatewayMount(UserMount):
    """A server for the clients of one revision, with its lists."""

    def __init__(
        self,
        above: ServerBase[Any],
        upstream: Upstream,
        proxy: Proxy,
        settings: MountSettings,
        publish_soon: Callable[[OpenConnection, str], None],
    ) -> None:
        super().__init__(above, upstream, proxy, settings)
        self.server_name = upstream.settings.name
        self._list_timeout, self._keep = settings.list_timeout, settings.keep_lists
        self._most = settings.max_connections
        self._publish_soon = publish_soon
        self._lists: dict[tuple[_Client, str], ServerList] = {}
        self._last: dict[_About, ServerList] = {}
        self._down: dict[_About, float] = {}
        """The times since which they cannot be had."""
        self._asking: dict[tuple[_Client, str], _Asking] = {}

    def owns(self, uri: str) -> bool:
        # Its names tell which URIs change.
        return True

    @property
    def _runtime(self) -> Any:
        return self.above.__mcp_runtime__

    async def publish(self, to: OpenConnection, method: str, uri: str | None) -> None:
        if uri is None:
            is_shared = self.upstream.settings.catalogue == "shared"
            for connection in [*self._runtime.connections] if is_shared else [to]:
                self._publish_soon(connection, method)
        elif self.prefix.strip("resources", key := self.full_uri(uri)) is not None:
            await to.publish(method, key)

    def remove_connection(self, connection: OpenConnection) -> None:
        super().remove_connection(connection)
        for key in [key for key in self._lists if key[0][0] is connection]:
            del self._lists[key]

    async def find(
        self, method: str, kind: str, key: str, session: SessionBase
    ) -> MountedItem | None:
        owner = await self._find_owner(kind, key, session) if self.may_have(kind, key) else None
        return None if owner is None else MountedItem(owner, key)

    async def _find_owner(self, kind: str, key: str, session: SessionBase) -> "GatewayMount | None":
        """Return the first server in the file that lists an item, if it may have several owners."""
        mounts: Sequence[GatewayMount] = self._runtime.catalogue.mounts
        rivals = [mount for mount in mounts if mount.may_have(kind, key)]
        if rivals[0] is not self:
            return None  # The first one has already looked for it.
        if len(rivals) == 1:
            return self
        asked = [(mount, name) for mount in rivals for name in FIELDS[kind]]
        lists = await gather(*(mount.list_of(name, session) for mount, name in asked))
        found = zip(asked, lists, strict=True)
        owners = (mount for (mount, name), listed in found if _has(listed.keys, name, key))
        return next(owners, None)

    async def change_subscription(self, method: str, session: SessionBase, own: str) -> None:
        owner = await self._find_owner("resources", self.full_uri(own), session)
        if owner is not None:
            await super(GatewayMount, owner).change_subscription(method, session, own)

    async def list_of(self, name: str, session: SessionBase) -> ServerList:
        """Return a list of the server for a client: as it is, or else the last one."""
        outer, now = session.__mcp_runtime__, get_running_loop().time()
        client = self._client_of(outer)
        kept = self._lists.get((client, name))
        if kept is not None and kept.is_fresh(now):
            return kept
        asking = self._asking.get((client, name))
        if asking is None:
            asking = self._ask(client, name, outer)
        left = asking.began + self._list_timeout - now
        if left > 0:
            await wait([asking.work], timeout=left)
        listed = self._best_list(client, name)
        if not asking.work.done():
            asking.served = listed
        return listed

    def _client_of(self, outer: RequestContext) -> _Client:
        if self.upstream.settings.catalogue == "shared":
            return _EVERYONE
        capabilities = b""
        if not outer.spoken.era.remembers_client:
            capabilities = json_text(outer.peer_capabilities())
        return outer.connection, self.owner_of(outer), capabilities

    def _best_list(self, client: _Client, name: str) -> ServerList:
        """Return the newest list, without items if the server was gone for too long."""
        listed, since = self._last.get((client[1], name)), self._down.get((client[1], name))
        if listed is None:
            return replace(NOTHING, keys=self.upstream.last_keys.get(name, NOTHING.keys))
        own = self._lists.get((client, name), listed)
        is_over = since is not None and get_running_loop().time() - since >= self._keep
        return replace(own, entries={}) if is_over else own

    def _ask(self, client: _Client, name: str, outer: RequestContext) -> _Asking:
        # A list goes on if its client no longer waits for it.
        work = outer.endpoint.tasks.start(self._renew(client, name, outer))
        asking = self._asking[client, name] = _Asking(get_running_loop().time(), work)
        work.add_done_callback(lambda _: self._asking.pop((client, name)))
        return asking

    async def _renew(self, client: _Client, name: str, outer: RequestContext) -> None:
        about = client[1], name
        try:
            walk = partial(self._walk, name, outer)
            listed = await self.repeat(True, partial(self.use, outer, walk))
        except (ProtocolError, Disconnected, TimeoutError) as error:
            self._note_failure(about, error, outer)
            return
        self._down.pop(about, None)
        self._lists[client, name] = self._last[about] = listed
        self._drop_oldest(self._lists)
        self._drop_oldest(self._last)
        self.upstream.last_keys[name] = listed.keys
        asking = self._asking[client, name]
        if asking.served is not None and asking.served.entries != listed.entries:
            self._publish_change(name, outer)

    def _note_failure(self, about: _About, error: Exception, outer: RequestContext) -> None:
        if about in self._down:
            return
        server, name = self.upstream.settings.name, about[1]
        _log.warning("%s: its %s cannot be listed: %s", server, name, error)
        self._down[about] = since = get_running_loop().time()
        self._drop_oldest(self._down)
        if about in self._last:
            outer.endpoint.tasks.start(self._forget_later(about, since, outer))

    async def _forget_later(self, about: _About, since: float, outer: RequestContext) -> None:
        await sleep(self._keep)
        if self._down.get(about) == since:
            self._publish_change(about[1], outer)

    def _drop_oldest(self, by_list: dict[Any, Any]) -> None:
        if len(by_list) > self._most * len(LISTS):
            del by_list[next(iter(by_list))]

    def _publish_change(self, name: str, outer: RequestContext) -> None:
        """Tell the client of a list, also on its listen streams, which have connections."""
        kind, remote = "resources" if is_uri(name) else name, self._remotes.get(self._key(outer))
        connections = [outer.connection]
        if remote is not None:
            connections = [*remote.attached]
        elif not outer.spoken.era.remembers_client:
            connections = [*self._runtime.connections]
        for connection in connections:
            self._publish_soon(connection, f"notifications/{kind}/list_changed")

    async def _walk(self, name: str, outer: RequestContext, link: Link) -> ServerList:
        mark = ListMark(link.connection.server, name)
        walk = ListWalk(link.connection, link.handlers, link, self.upstream, name)
        try:
            found = await self._list_entries(name, outer, walk)
        except ProtocolError as error:
            if error.code != METHOD_NOT_FOUND:
                raise
            found = []  # Many servers with resources do not know the method for templates.
        entries: dict[str, Any] = {}
        for item, entry in found:
            entries.setdefault(item.key, entry)
        return ServerList(entries, frozenset(entries), walk.until, walk.is_public, mark)


def _has(keys: Collection[str], name: str, key: str) -> bool:
    """Return whether a list has an item, or a template that its URI may come from."""
    return key in keys or (
        name == "resource_templates" and any(_may_make(template, key) for template in keys)
    )


def _may_make(template: str, uri: str) -> bool:
    """Return whether a URI may come from a template, of any level of RFC 6570."""
    literals, _ = parse_uri_template(template)
    return re.fullmatch(".*".join(map(re.escape, literals)), uri, re.DOTALL) is not None
