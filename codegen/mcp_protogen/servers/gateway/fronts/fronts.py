"""The servers that clients see: one for each revision, with all upstream servers mounted.

The messages of a client reach an upstream server in the client's own revision, which loses nothing
if the upstream speaks it.
"""

from asyncio import gather, get_running_loop
from collections.abc import Iterable, Sequence
from functools import cached_property, partial
from math import inf
from typing import Any, Final, cast

from mcp_protogen import __version__
from mcp_protogen.runtime.core.json import JSONObject
from mcp_protogen.runtime.core.models.base import WireModel
from mcp_protogen.runtime.core.revision import Revision
from mcp_protogen.runtime.messages.extended_table import table_with
from mcp_protogen.runtime.messages.method_table import MethodTable
from mcp_protogen.runtime.rules.handlers import merge_objects
from mcp_protogen.runtime.rules.task_kinds import task_kind
from mcp_protogen.runtime.server.base import ServerBase, SessionBase
from mcp_protogen.runtime.server.layers import Layer
from mcp_protogen.runtime.toolkit.items import requested_item
from mcp_protogen.servers.gateway.fronts.lists import ServerList
from mcp_protogen.servers.gateway.fronts.mounts import GatewayMount, MountSettings
from mcp_protogen.servers.gateway.fronts.proxies import proxy_for
from mcp_protogen.servers.gateway.fronts.remounting import RemountingRuntime
from mcp_protogen.servers.gateway.operating.tracing import Recordings
from mcp_protogen.servers.gateway.settings.names import MOST_CHARACTERS
from mcp_protogen.servers.gateway.settings.settings import GatewaySettings, ServerSettings
from mcp_protogen.servers.gateway.tasks.layer import TasksOfServers, declare_tasks
from mcp_protogen.servers.gateway.upstreams.counts import count_events
from mcp_protogen.servers.gateway.upstreams.upstream import UpstreamServer

_PAGE: Final = 1000
"""The items on a page: many clients read only the first one."""


class GatewayRuntime(RemountingRuntime):
    """The runtime's part of a front, which merges the lists of its servers."""

    @property
    def wants_scopes(self) -> bool:
        # Its servers check those of their items.
        return False

    def declaration(self) -> JSONObject:
        # Clients may come before any server is known.
        return merge_objects(super().declaration(), declare_tasks(self.owner.TABLE))

    def layer(self, table: MethodTable, tells_apart: bool) -> Layer | None:
        if task_kind(table) is None:
            return None
        return TasksOfServers(self, table, tells_apart, lambda: self.mounts_with_requests)

    async def answer(self, method: str, session: SessionBase, params: Any) -> Any:
        return await self.repeat(partial(self._answer, method, session, params))

    async def _answer(self, method: str, session: SessionBase, params: Any) -> Any:
        kind, key = requested_item(method, params)
        asking = self.find_asking(kind, key, session.__mcp_runtime__)
        if asking is not None:
            return await asking.answer(method, session, params)
        # Clients may send any text.
        find = self.known_owners if len(key) <= MOST_CHARACTERS else self.find_owners
        owners = find(kind, key)
        if len(owners) == 1 and await owners[0].offers(kind, key, session):
            return await owners[0].answer(method, session, params)
        return await super().answer(method, session, params)

    async def _lists(
        self, field: str, session: SessionBase
    ) -> tuple[Sequence[GatewayMount], Sequence[ServerList]]:
        while True:
            mounts = self.mounts
            lists = await gather(*(mount.list_of(field, session) for mount in mounts))
            if self.mounts is mounts:
                return mounts, lists

    async def page(self, field: str, session: SessionBase, params: Any) -> Any:
        mounts, lists = await self._lists(field, session)
        context = session.__mcp_runtime__
        entries: list[Any] = []
        owners: dict[str, str] = {}
        for mount, listed in zip(mounts, lists, strict=True):
            name = mount.upstream.settings.name
            for key, entry in listed.entries.items():
                if key not in owners:
                    if mount.permits(field, key, context):
                        entries.append(entry)
                else:
                    whose = f"{owners[key]} has an item of that name, too, and comes first"
                    mount.upstream.say_once(f"{key!r:.199} of its {field} is hidden: {whose}")
            for key in listed.keys:
                owners.setdefault(key, name)
        page: WireModel = self.page_of(field, entries, params)
        if "ttl_ms" not in type(page).__pydantic_fields__:
            return page
        is_public = bool(lists) and all(listed.is_public for listed in lists)
        is_public = is_public and not any(mount.upstream.rules for mount in mounts)
        scope = "public" if is_public else "private"
        return page.model_copy(update={"ttl_ms": _ttl(lists), "cache_scope": scope})


def _ttl(lists: Iterable[ServerList]) -> int:
    """Return the time for which all lists are fresh, in milliseconds."""
    now = get_running_loop().time()
    least = min((listed.until if listed.is_fresh(now) else now for listed in lists), default=now)
    return 0 if least == inf else max(0, int((least - now) * 1000))


def make_front(
    settings: GatewaySettings, revision: Revision, recordings: Recordings
) -> ServerBase[Any]:
    """Return the server for clients of one revision, still without upstream servers."""
    app: Any = revision.load().App
    members = {
        "__mcp_runtime__": cached_property(GatewayRuntime),
        "page_size": _PAGE,
        "TABLE": table_with(revision, {"tasks"}),
    }
    about = {"title": settings.title, "instructions": settings.instructions}
    front: ServerBase[Any] = type("Front", (app,), members)(
        settings.name, version=__version__, **about
    )
    front.middleware = recordings.of_front()
    return front


def mounts_for(
    front: ServerBase[Any],
    settings: GatewaySettings,
    upstreams: Iterable[UpstreamServer],
    recordings: Recordings,
) -> list[GatewayMount]:
    """Return a mount for each upstream server: that of the front, or a new one."""
    runtime = cast(GatewayRuntime, front.__mcp_runtime__)
    known = {mount.upstream: mount for mount in runtime.mounts}
    mounts: list[GatewayMount] = []
    for upstream in upstreams:
        if (mount := known.get(upstream)) is None:
            server = upstream.settings
            proxy = count_events(proxy_for(recordings.package, server), upstream.counts)
            proxy = recordings.of_server(proxy, server.name)
            mounted = _mount_settings(settings, server)
            mount = GatewayMount(front, upstream, proxy, mounted, runtime.publish_soon)
        mounts.append(mount)
    return mounts


def change_front(
    front: ServerBase[Any], settings: GatewaySettings, mounts: Iterable[GatewayMount]
) -> None:
    """Put other settings and mounts into effect."""
    mounted = tuple(mounts)
    for mount in mounted:
        mount.list_timeout = settings.list_timeout
    # New sessions read it.
    vars(front)["instructions"] = settings.instructions
    cast(GatewayRuntime, front.__mcp_runtime__).remount(mounted)


def announce_lists(front: ServerBase[Any], principal: str | None = None) -> None:
    """Tell clients, or only those of a principal, that all lists may have changed."""
    cast(GatewayRuntime, front.__mcp_runtime__).announce_lists(principal)


def _mount_settings(settings: GatewaySettings, server: ServerSettings) -> MountSettings:
    return MountSettings(
        name=server.name,
        list_timeout=settings.list_timeout,
        timeout=server.timeout,
        max_timeout=server.max_timeout,
        max_connections=server.max_connections,
    )
