"""The servers that clients see: one for each revision, with all upstream servers mounted.

The messages of a client reach an upstream server in the client's own revision, which loses nothing
if the upstream speaks it.
"""

from asyncio import gather, get_running_loop
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from math import inf
from types import ModuleType
from typing import Any, Final, cast

from mcp_protogen import __version__
from mcp_protogen.runtime.core.json import JSONObject
from mcp_protogen.runtime.core.models.base import WireModel
from mcp_protogen.runtime.core.revision import Revision
from mcp_protogen.runtime.messages.extended_table import table_with
from mcp_protogen.runtime.messages.method_table import MethodTable
from mcp_protogen.runtime.rules.handlers import Handlers, merge_objects
from mcp_protogen.runtime.rules.task_kinds import task_kind
from mcp_protogen.runtime.server.base import ServerBase, SessionBase
from mcp_protogen.runtime.server.context import OpenConnection
from mcp_protogen.runtime.server.layers import Layer
from mcp_protogen.runtime.toolkit.items import requested_item
from mcp_protogen.runtime.toolkit.mounting import add_mount
from mcp_protogen.runtime.toolkit.mounts import Mount
from mcp_protogen.runtime.toolkit.toolkit_runtime import ToolkitRuntime
from mcp_protogen.servers.gateway.lists import ServerList
from mcp_protogen.servers.gateway.mounts import GatewayMount, MountSettings
from mcp_protogen.servers.gateway.names import MOST_CHARACTERS, MOST_KNOWN
from mcp_protogen.servers.gateway.proxies import proxy_for
from mcp_protogen.servers.gateway.settings import GatewaySettings, ServerSettings
from mcp_protogen.servers.gateway.tasks.layer import TasksOfServers, declare_tasks
from mcp_protogen.servers.gateway.tracing import make_telemetry, trace_requests
from mcp_protogen.servers.gateway.upstream import Upstream

_PAGE: Final = 1000
"""The items on a page: many clients read only the first one."""

_PAUSE: Final = 0.1
"""The time in which the changes of a list are one for its clients."""


class GatewayRuntime(ToolkitRuntime):
    """The runtime's part of a front, which merges the lists of its servers."""

    def __init__(self, owner: Handlers) -> None:
        super().__init__(owner)
        self._changed: set[tuple[OpenConnection, str]] = set()
        self._known_owners = lru_cache(maxsize=MOST_KNOWN)(self._find_owners)

    @property
    def wants_scopes(self) -> bool:
        # Its servers check those of their items.
        return False

    def declaration(self) -> JSONObject:
        # Clients may come before any server is known.
        return merge_objects(super().declaration(), declare_tasks(self.owner.TABLE))

    def layer(self, table: MethodTable, tells_apart: bool) -> Layer | None:
        return None if task_kind(table) is None else TasksOfServers(self, table, tells_apart)

    async def answer(self, method: str, session: SessionBase, params: Any) -> Any:
        kind, key = requested_item(method, params)
        # Clients may send any text.
        find = self._known_owners if len(key) <= MOST_CHARACTERS else self._find_owners
        owners = find(kind, key)
        if len(owners) == 1:
            return await owners[0].answer(method, session, params)
        return await super().answer(method, session, params)

    def _find_owners(self, kind: str, key: str) -> Sequence[Mount]:
        return [mount for mount in self.catalogue.mounts if mount.may_have(kind, key)]

    async def page(self, field: str, session: SessionBase, params: Any) -> Any:
        mounts = cast(Sequence[GatewayMount], self.catalogue.mounts)
        lists = await gather(*(mount.list_of(field, session) for mount in mounts))
        entries: list[Any] = []
        owners: dict[str, str] = {}
        for mount, listed in zip(mounts, lists, strict=True):
            name = mount.upstream.settings.name
            for key, entry in listed.entries.items():
                if key not in owners:
                    entries.append(entry)
                else:
                    whose = f"{owners[key]} has an item of that name, too, and comes first"
                    mount.upstream.say_once(f"{key!r} of its {field} is hidden: {whose}")
            for key in listed.keys:
                owners.setdefault(key, name)
        page: WireModel = self.page_of(field, entries, params)
        if "ttl_ms" not in type(page).__pydantic_fields__:
            return page
        is_public = bool(lists) and all(listed.is_public for listed in lists)
        scope = "public" if is_public else "private"
        return page.model_copy(update={"ttl_ms": _ttl(lists), "cache_scope": scope})

    def publish_soon(self, to: OpenConnection, method: str) -> None:
        """Tell a client of a changed list; further changes until then are the same."""
        if (to, method) not in self._changed:
            self._changed.add((to, method))
            get_running_loop().call_later(_PAUSE, self._publish_now, to, method)

    def _publish_now(self, to: OpenConnection, method: str) -> None:
        self._changed.discard((to, method))
        self.send(method, None, [to])


def _ttl(lists: Iterable[ServerList]) -> int:
    """Return the time for which all lists are fresh, in milliseconds."""
    now = get_running_loop().time()
    least = min((listed.until if listed.is_fresh(now) else now for listed in lists), default=now)
    return 0 if least == inf else max(0, int((least - now) * 1000))


def make_front(
    settings: GatewaySettings,
    upstreams: Iterable[Upstream],
    package: ModuleType,
    revision: Revision,
) -> ServerBase[Any]:
    """Return the server for clients of one revision."""
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
    if settings.telemetry:
        front.middleware = (make_telemetry(package),)
    runtime = cast(GatewayRuntime, front.__mcp_runtime__)
    for upstream in upstreams:
        server = upstream.settings
        proxy = proxy_for(package, server)
        if settings.telemetry:
            proxy = trace_requests(proxy, make_telemetry(package, server.name))
        mount, soon = _mount_settings(settings, server), runtime.publish_soon
        add_mount(runtime, GatewayMount(front, upstream, proxy, mount, soon))
    return front


def _mount_settings(settings: GatewaySettings, server: ServerSettings) -> MountSettings:
    return MountSettings(
        name=server.name,
        list_timeout=settings.list_timeout,
        timeout=server.timeout,
        max_timeout=server.max_timeout,
        max_connections=server.max_connections,
    )
