"""Servers behind a gateway, mounted in the servers that clients see."""

import re
from asyncio import Task, get_running_loop, sleep, wait
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from logging import getLogger
from typing import Any, Final, TypeAlias, cast

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
from mcp_protogen.runtime.toolkit.remote_settings import RemoteSettings
from mcp_protogen.servers.gateway.access_log import LoggedMount
from mcp_protogen.servers.gateway.lists import (
    NOTHING,
    GatewayServer,
    ListMark,
    ListWalk,
    ServerList,
)
from mcp_protogen.servers.gateway.names import is_uri

_log: Final = getLogger("mcp_protogen.gateway")

_Client: TypeAlias = tuple[OpenConnection | None, str | None, bytes]
"""A client of a list: its connection, principal and capabilities; `_EVERYONE` for all."""

_EVERYONE: Final[_Client] = (None, None, b"")


@dataclass(slots=True)
class _Asking:
    """A list that a server was asked for."""

    began: float
    work: Task[None]
    served: ServerList | None = None
    """What clients have got in its place, because it took too long."""


class GatewayMount(LoggedMount):
    """A server for the clients of one revision, with its lists."""

    def __init__(
        self,
        above: ServerBase[Any],
        upstream: GatewayServer,
        proxy: Proxy,
        settings: RemoteSettings,
        publish_soon: Callable[[OpenConnection, str], None],
    ) -> None:
        super().__init__(above, upstream.names, proxy, upstream.settings.opener, settings)
        self.upstream = upstream
        self.server_name = upstream.settings.name
        self._list_timeout, self._keep = settings.list_timeout, settings.keep_lists
        self._most = settings.max_connections
        self._publish_soon = publish_soon
        self._lists: dict[tuple[_Client, str], ServerList] = {}
        self._last: dict[tuple[str | None, str], ServerList] = {}
        """The last lists of each principal, whatever connection they came from."""
        self._down: dict[tuple[str | None, str], float] = {}
        """The times since which they cannot be had."""
        self._asking: dict[tuple[_Client, str], _Asking] = {}

    def owns(self, uri: str) -> bool:
        # Its names tell which URIs change.
        return True

    async def publish(self, to: OpenConnection, method: str, uri: str | None) -> None:
        if uri is None:
            self._publish_soon(to, method)
        elif self.prefix.strip("resources", key := self.full_uri(uri)) is not None:
            await to.publish(method, key)

    def remove_connection(self, connection: OpenConnection) -> None:
        super().remove_connection(connection)
        for key in [key for key in self._lists if key[0][0] is connection]:
            del self._lists[key]

    async def find(
        self, method: str, kind: str, key: str, session: SessionBase
    ) -> MountedItem | None:
        rivals = [mount for mount in self._siblings() if mount.may_have(kind, key)]
        if self not in rivals:
            return None
        if len(rivals) > 1 and not await self._lists_one(kind, key, session):
            return None
        return MountedItem(self, key)

    def _siblings(self) -> Sequence["GatewayMount"]:
        runtime: Any = self.above.__mcp_runtime__
        return cast(Sequence[GatewayMount], runtime.catalogue.mounts)

    async def _lists_one(self, kind: str, key: str, session: SessionBase) -> bool:
        """Return whether its lists have an item, or a template of its URI."""
        for name in FIELDS[kind]:
            keys = (await self.list_of(name, session)).keys
            if key in keys or (
                name == "resource_templates" and any(_may_make(template, key) for template in keys)
            ):
                return True
        return False

    async def change_subscription(self, method: str, session: SessionBase, own: str) -> None:
        key = self.full_uri(own)
        for mount in self._siblings():
            if await mount.find("resources/read", "resources", key, session) is not None:
                await super(GatewayMount, mount).change_subscription(method, session, own)
                return

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
            asking.served = asking.served or listed
        return listed

    def _client_of(self, outer: RequestContext) -> _Client:
        if self.upstream.settings.catalogue == "shared":
            return _EVERYONE
        capabilities = b""
        if not outer.spoken.era.remembers_client:
            capabilities = json_text(outer.peer_capabilities())
        return outer.connection, outer.principal_id, capabilities

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
            async with self.link(outer) as link:
                listed = await self._walk(link, name, outer)
        except (ProtocolError, Disconnected, TimeoutError) as error:
            _log.warning(
                "%s: its %s cannot be listed: %s", self.upstream.settings.name, name, error
            )
            if about not in self._down:
                self._down[about] = get_running_loop().time()
                outer.endpoint.tasks.start(self._forget_later(about, outer.connection))
            return
        self._down.pop(about, None)
        self._lists[client, name] = listed
        self._last.pop(about, None)
        self._last[about] = listed
        for lists in (self._lists, self._last):
            if len(lists) > self._most * len(FIELDS) * 2:
                del cast(dict[Any, ServerList], lists)[next(iter(lists))]
        self.upstream.last_keys[name] = listed.keys
        asking = self._asking[client, name]
        if asking.served is not None and asking.served.entries != listed.entries:
            self._publish_change(name, outer.connection)

    async def _forget_later(self, about: tuple[str | None, str], to: OpenConnection) -> None:
        since = self._down[about]
        await sleep(self._keep)
        if self._down.get(about) == since and about in self._last:
            self._publish_change(about[1], to)

    def _publish_change(self, name: str, to: OpenConnection) -> None:
        kind = "resources" if is_uri(name) else name
        self._publish_soon(to, f"notifications/{kind}/list_changed")

    async def _walk(self, link: Link, name: str, outer: RequestContext) -> ServerList:
        mark = ListMark(link.connection.server, name)
        walk = ListWalk(link.connection, link.handlers, link, self.upstream, name)
        try:
            found = await self._list_entries(walk, name, outer)
        except ProtocolError as error:
            if error.code != METHOD_NOT_FOUND:
                raise
            found = []  # Many servers with resources do not know the method for templates.
        entries: dict[str, Any] = {}
        for item, entry in found:
            entries.setdefault(item.key, entry)
        return ServerList(entries, frozenset(entries), walk.until, walk.is_public, mark)


def _may_make(template: str, uri: str) -> bool:
    """Return whether a URI may come from a template, of any level of RFC 6570."""
    literals, _ = parse_uri_template(template)
    return re.fullmatch(".*".join(map(re.escape, literals)), uri, re.DOTALL) is not None
