"""Servers behind a gateway, mounted in the servers that clients see."""

import re
from asyncio import Task, gather, get_running_loop, sleep, wait
from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from logging import getLogger
from typing import Any, Final, TypeAlias

from mcp_protogen.runtime.core.connection_errors import Disconnected
from mcp_protogen.runtime.core.errors import METHOD_NOT_FOUND, ProtocolError
from mcp_protogen.runtime.core.http_request import StatusError
from mcp_protogen.runtime.core.json import json_text
from mcp_protogen.runtime.core.subscriptions import RESOURCE_UPDATED, SUBSCRIBE
from mcp_protogen.runtime.core.uri_templates import parse_uri_template
from mcp_protogen.runtime.server.base import ServerBase, SessionBase
from mcp_protogen.runtime.server.context import OpenConnection, RequestContext, SessionSwitches
from mcp_protogen.runtime.toolkit.catalogue import FIELDS
from mcp_protogen.runtime.toolkit.links import Link
from mcp_protogen.runtime.toolkit.mounts import MountedItem
from mcp_protogen.runtime.toolkit.remote_mounts import Proxy
from mcp_protogen.runtime.toolkit.remotes import RemoteSettings, failure
from mcp_protogen.runtime.toolkit.revision_models import LISTS
from mcp_protogen.servers.gateway.fronts.lists import (
    NOTHING,
    ListMark,
    ListWalk,
    ServerList,
)
from mcp_protogen.servers.gateway.settings.filters import spellings
from mcp_protogen.servers.gateway.settings.names import is_uri
from mcp_protogen.servers.gateway.tasks.task_mounts import TaskMount
from mcp_protogen.servers.gateway.upstreams.leaving import ServerLeft
from mcp_protogen.servers.gateway.upstreams.upstream import UpstreamServer

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
    outcome: ServerList | Exception | None = None

    def must_repeat(self, outer: RequestContext) -> bool:
        """Return whether the client that asked has gone, and another one needs the list."""
        is_lost = self.work.done() and self.outcome is None
        return is_lost and outer.connection.endpoint.broken is None


@dataclass(frozen=True, slots=True, kw_only=True)
class MountSettings(RemoteSettings):
    """The settings of a mounted server and of its lists."""

    keep_lists: float = 300.0
    """The time for which the items of a server that cannot be reached stay listed."""


class GatewayMount(TaskMount):
    """A server for the clients of one revision, with its lists."""

    def __init__(
        self,
        above: ServerBase[Any],
        upstream: UpstreamServer,
        proxy: Proxy,
        settings: MountSettings,
        publish_soon: Callable[[OpenConnection, str], None],
    ) -> None:
        super().__init__(above, upstream, proxy, settings)
        self.server_name, self.health = upstream.settings.name, upstream.health
        self.circuit = upstream.circuit
        self.connects_for_requests = upstream.settings.transport == "HTTP"
        self._keep = settings.keep_lists
        self._most = settings.max_connections
        self._publish_soon = publish_soon
        self._lists: dict[tuple[_Client, str], ServerList] = {}
        self._last: dict[_About, ServerList] = {}
        self._down: dict[_About, float] = {}
        """The times since which they cannot be had."""
        self._asking: dict[tuple[_Client, str], _Asking] = {}

    @property
    def list_timeout(self) -> float:
        """The time that a list or listen stream waits for the server."""
        return self._settings.list_timeout

    @list_timeout.setter
    def list_timeout(self, seconds: float) -> None:
        self._settings = replace(self._settings, list_timeout=seconds)

    def take_levels(self, mounts: Iterable["GatewayMount"]) -> None:
        """Note the levels of log entries that clients have asked other servers for."""
        for mount in mounts:
            self._levels |= mount._levels

    def resume(self, connection: OpenConnection, switched: SessionSwitches) -> None:
        if connection.level:
            self._levels[connection] = connection.level
        for remote in self._remotes.values():
            attachment = remote.attached.get(connection)
            if attachment and attachment.link and not remote.is_over:
                connection.endpoint.tasks.start(self._send_levels(remote))

    def owns(self, uri: str) -> bool:
        # Its names tell which URIs change.
        return True

    @property
    def _runtime(self) -> Any:
        return self.above.__mcp_runtime__

    async def publish(self, to: OpenConnection, method: str, uri: str | None) -> None:
        if self.has_left:
            return
        if uri is None:
            is_shared = self.upstream.settings.catalogue == "shared"
            for connection in [*self._runtime.connections] if is_shared else [to]:
                self._publish_soon(connection, method)
            return
        key, context = self.full_uri(uri), to.session().__mcp_runtime__
        # The process with the client's stream follows, too, and tells it.
        is_told = to.is_owner and self.may_have("resources", key)
        if is_told and self.permits("resources", key, context):
            await to.publish(method, key)

    @contextmanager
    def listening(self, context: RequestContext) -> Generator[None, None, None]:
        permits = self.upstream.rules.permit_any(context.principal)
        with super().listening(context) if permits else nullcontext():
            yield

    def remove_connection(self, connection: OpenConnection) -> None:
        super().remove_connection(connection)
        for key in [key for key in self._lists if key[0][0] is connection]:
            del self._lists[key]

    async def find(
        self, method: str, kind: str, key: str, session: SessionBase
    ) -> MountedItem | None:
        owner = await self._find_owner(kind, key, session) if self.may_have(kind, key) else None
        context = session.__mcp_runtime__
        if owner is None:
            return None
        if not owner.permits(kind, key, context):
            owner.upstream.note_refusal(context, "denied")
            return None
        return MountedItem(owner, key) if await owner.accepts(kind, key, session) else None

    async def offers(self, kind: str, key: str, session: SessionBase) -> bool:
        """Return whether a client may use an item; raise `McpError` if the server cannot list."""
        return self.permits(kind, key, session.__mcp_runtime__) and await self.accepts(
            kind, key, session
        )

    async def answer(self, method: str, session: SessionBase, params: Any) -> Any:
        context, limits = session.__mcp_runtime__, self.upstream.limits
        work = partial(super().answer, method, session, params)
        if not limits.is_set:
            return await work()
        given = {"params": params, "meta": context.meta, "request_id": context.request_id}
        try:
            return await limits.run(context.method_call(method, **given), work)
        except StatusError:
            self.upstream.note_refusal(context, "limited")
            raise

    async def accepts(self, kind: str, key: str, session: SessionBase) -> bool:
        """Return whether clients may use an item: with a lock, whether their last list has it.

        Raise `McpError` if the server cannot list.
        """
        if not self.upstream.lock.enforces:
            return True
        lists = await gather(*(self._latest_list(name, session) for name in FIELDS[kind]))
        spelled = spellings(key) if is_uri(kind) else (key,)
        if not all(listed.hidden.isdisjoint(spelled) for listed in lists):
            return False
        found = zip(FIELDS[kind], lists, strict=True)
        return any(_has(listed.entries, name, key) for name, listed in found)

    async def _find_owner(self, kind: str, key: str, session: SessionBase) -> "GatewayMount | None":
        """Return the first server in the file that lists an item, if it may have several owners."""
        if self.has_left:
            raise ServerLeft(self.server_name)
        mounts = self._runtime.mounts
        rivals: Sequence[GatewayMount] = self._runtime.find_owners(kind, key)
        if rivals[0] is not self:
            return None  # The first one has already looked for it.
        if len(rivals) == 1:
            return self
        asked = [(mount, name) for mount in rivals for name in FIELDS[kind]]
        lists = await gather(*(mount.list_of(name, session) for mount, name in asked))
        if self._runtime.mounts is not mounts:
            raise ServerLeft(self.server_name)  # Or another one has come.
        found = zip(asked, lists, strict=True)
        owners = (mount for (mount, name), listed in found if _has(listed.keys, name, key))
        return next(owners, None)

    async def change_subscription(self, method: str, session: SessionBase, own: str) -> None:
        uri = self.full_uri(own)
        owner = await self._find_owner("resources", uri, session)
        # A client may end a subscription that it can no longer begin.
        if owner and (method != SUBSCRIBE or await owner.offers("resources", uri, session)):
            await super(GatewayMount, owner).change_subscription(method, session, own)

    async def follow_again(self, session: SessionBase, uri: str) -> None:
        """Subscribe its owner to a resource that another server had, and that may differ here."""
        owner = await self._find_owner("resources", uri, session)
        own = None if owner is None else owner.prefix.strip("resources", uri)
        if owner and own is not None and await owner.offers("resources", uri, session):
            await owner._follow_later(session.__mcp_runtime__, own)

    async def _follow_later(self, outer: RequestContext, own: str) -> None:
        remote = self._remote(self._key(outer), outer)
        uris = remote.attached[outer.connection].uris
        if own not in uris:
            uris.add(own)
            if remote.is_open:
                await self._subscribe(remote, SUBSCRIBE, (own,))
                await self.publish(outer.connection, RESOURCE_UPDATED, own)
            else:
                # It subscribes and tells its clients once it is open, also after further failures.
                remote.again = True

    async def list_of(self, name: str, session: SessionBase) -> ServerList:
        """Return a list of the server for a client: as it is, or else the last one."""
        outer, now = session.__mcp_runtime__, get_running_loop().time()
        has_keys = name in self.upstream.last_keys
        if has_keys and not self.upstream.rules.permit_any(outer.principal):
            # The keys say what other servers do not own.
            return self._unknown_list(name)
        client = self._client_of(outer)
        kept, lock = self._lists.get((client, name)), self.upstream.lock
        if kept is not None and kept.lock is lock and kept.is_fresh(now):
            return kept
        asking = self._ask(client, name, outer)
        left = asking.began + self.list_timeout - now
        if left > 0:
            await wait([asking.work], timeout=left)
        if asking.must_repeat(outer):
            await sleep(0)
            return await self.list_of(name, session)
        listed = self._best_list(client, name)
        if name == "tools" and not listed.entries:
            listed = replace(listed, entries=self.login_tools(outer))
        if not asking.work.done():
            asking.served = listed
        return listed

    async def _latest_list(self, name: str, session: SessionBase) -> ServerList:
        """Return the last list for a client, or a new one if that has changed or is missing."""
        outer = session.__mcp_runtime__
        client = self._client_of(outer)
        kept = self._lists.get((client, name))
        if kept is not None and kept.is_latest(self.upstream.lock):
            return kept
        asking = self._ask(client, name, outer)
        await wait([asking.work], timeout=self.list_timeout)
        outcome = asking.outcome
        if isinstance(outcome, ServerList):
            if outcome.lock is self.upstream.lock:
                return outcome
        elif not asking.must_repeat(outer):
            raise outcome or failure(self.server_name, "timeout")
        # Or the lock was read again meanwhile.
        await sleep(0)
        return await self._latest_list(name, session)

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
            return self._unknown_list(name)
        own = self._lists.get((client, name), listed)
        is_over = since is not None and get_running_loop().time() - since >= self._keep
        return replace(own, entries={}) if is_over or own.lock is not self.upstream.lock else own

    def _unknown_list(self, name: str) -> ServerList:
        return replace(NOTHING, keys=self.upstream.last_keys.get(name, NOTHING.keys))

    def _ask(self, client: _Client, name: str, outer: RequestContext) -> _Asking:
        if (client, name) in self._asking:
            return self._asking[client, name]
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
            if outer.connection.endpoint.broken is not None:
                return
            self._asking[client, name].outcome = error
            self._note_failure(about, error, outer)
            return
        self._down.pop(about, None)
        self._lists[client, name] = self._last[about] = listed
        self._drop_oldest(self._lists)
        self._drop_oldest(self._last)
        self.upstream.last_keys[name] = listed.keys
        asking = self._asking[client, name]
        asking.outcome = listed
        if asking.served is not None and asking.served.entries != listed.entries:
            self._publish_change(name, outer)

    def _note_failure(self, about: _About, error: Exception, outer: RequestContext) -> None:
        if self.has_left or about in self._down:
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
        if self.has_left:
            return
        kind, remote = "resources" if is_uri(name) else name, self._remotes.get(self._key(outer))
        connections = [outer.connection]
        if remote is not None:
            connections = [*remote.attached]
        elif not outer.spoken.era.remembers_client:
            connections = [*self._runtime.connections]
        for connection in connections:
            self._publish_soon(connection, f"notifications/{kind}/list_changed")

    async def _walk(self, name: str, outer: RequestContext, link: Link) -> ServerList:
        lock = self.upstream.lock
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
        lock.note_violations(name, frozenset(walk.unaccepted))
        hidden = {self.prefix.key(name, own): lock.knows(name, own) for own in walk.unaccepted}
        # Two items of a server may have one name, and one of them may be accepted.
        hidden = {key: known for key, known in hidden.items() if key not in entries}
        keys = {*entries, *(key for key, known in hidden.items() if known)}
        told = walk.until, walk.is_public, mark
        if is_uri(name):
            hidden = {uri: True for key in hidden for uri in spellings(key)}
        return ServerList(entries, frozenset(keys), *told, frozenset(hidden), lock)


def _has(keys: Collection[str], name: str, key: str) -> bool:
    """Return whether a list has an item, or a template that its URI may come from."""
    return key in keys or (
        name == "resource_templates" and any(_may_make(template, key) for template in keys)
    )


def _may_make(template: str, uri: str) -> bool:
    """Return whether a URI may come from a template, of any level of RFC 6570."""
    literals, _ = parse_uri_template(template)
    return re.fullmatch(".*".join(map(re.escape, literals)), uri, re.DOTALL) is not None
