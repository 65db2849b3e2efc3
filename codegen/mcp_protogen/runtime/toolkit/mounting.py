"""Mounting a server in another one; see `Toolkit.mount`."""

from collections.abc import Awaitable, Collection, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any, cast

from ..core.json import JSONObject
from ..rules.handlers import Handler, Handlers
from ..server.base import ServerBase, SessionBase, package_of
from ..server.context import OpenConnection, RequestContext, SessionSwitches
from ..server.serve import has_lifespan
from . import lookup
from .catalogue import FIELDS, LOCK, SUBSCRIPTIONS, Catalogue, kinds_with
from .items import name_of
from .links import Link, MountedContext, Work
from .mounts import Mount, MountedItem, Prefix
from .toolkit_runtime import ToolkitRuntime


class LocalMount(Mount):
    """A toolkit of the same package; handlers may have further items of the kinds in `open`."""

    def __init__(
        self, above: ServerBase[Any], prefix: Prefix, runtime: ToolkitRuntime, open: Collection[str]
    ) -> None:
        super().__init__(above, prefix)
        self.server = cast(ServerBase[Any], runtime.owner)
        self._open = open
        self.runtime = runtime
        self.catalogue = runtime.catalogue
        self._links: dict[OpenConnection, Link] = {}
        self._handlers: dict[str, Mapping[str, Handler]] = {}

    def parts(self) -> Iterable[ServerBase[Any]]:
        return self.runtime.parts()

    def tool_schemas(self) -> Iterable[tuple[MountedItem, JSONObject]]:
        for tool in lookup.tool_schemas(self.catalogue, self.above.TABLE.revision):
            yield self.item("tools", tool["name"]), tool

    def has_items(self, field: str) -> bool:
        kind = "resources" if field.startswith("resource") else field
        return kind in self._open or self.catalogue.has_items(field)

    def has_completions(self) -> bool:
        return self.catalogue.has_completions()

    def owns(self, uri: str) -> bool:
        return self.catalogue.owns(uri)

    def has_tasks(self) -> bool:
        return self.catalogue.has_tasks()

    def tags(self, field: str, own: str) -> Collection[str]:
        return lookup.tags_of(self.catalogue, field, own)

    @property
    def wants_scopes(self) -> bool:
        return self.catalogue.wants_scopes

    @property
    def subscribes(self) -> bool:
        handled = self.runtime.handled_methods()
        return any(method in handled for method in SUBSCRIPTIONS) or any(
            mount.subscribes for mount in self.catalogue.mounts
        )

    @property
    def only_before_serving(self) -> bool:
        return self.subscribes or has_lifespan(self.server)

    def names(self, field: str) -> Mapping[str, str]:
        own = self.catalogue.names(field)
        return {self.prefix.key(field, key): whose for key, whose in own.items()}

    def may_have(self, kind: str, key: str) -> bool:
        own, mounts = self.prefix.strip(kind, key), self.catalogue.mounts
        return own is not None and (
            kind in self._open or any(mount.may_have(kind, own) for mount in mounts)
        )

    def use(self, outer: RequestContext, work: Work) -> Awaitable[Any]:
        return work(self._link(outer.connection))

    def _link(self, outer: OpenConnection) -> Link:
        link = self._links.get(outer)
        if link is None:
            revision = outer.endpoint.connection.table.revision
            if revision not in self._handlers:
                handled = self.runtime.handled_methods(revision)
                self._handlers[revision] = self.runtime.handlers(revision, handled)
            link = self.new_link(self.server, outer, self._handlers[revision])
            self._links[outer] = link
        return link

    def add_connection(self, connection: OpenConnection) -> None:
        self.runtime.add_connection(self._link(connection).connection)

    def switches_of(self, connection: OpenConnection) -> SessionSwitches:
        link, start = self._links.get(connection), f"{self.prefix.text}/"
        inner: SessionSwitches = () if link is None else self.runtime.switches_of(link.connection)
        return tuple((start + place, text, is_tag, on) for place, text, is_tag, on in inner)

    def resume(self, connection: OpenConnection, switched: SessionSwitches) -> None:
        own, start = self._link(connection).connection, f"{self.prefix.text}/"
        inner = tuple(
            (place.removeprefix(start), text, is_tag, on)
            for place, text, is_tag, on in switched
            if place.startswith(start)
        )
        if inner != self.runtime.switches_of(own):
            self.runtime.resume(own, inner)

    async def set_level(self, session: SessionBase, level: str) -> None:
        inner = self._context(session.__mcp_runtime__).session()
        for mount in self.catalogue.mounts:
            await mount.set_level(inner, level)

    def remove_connection(self, connection: OpenConnection) -> None:
        link = self._links.pop(connection, None)
        if link is not None:
            self.runtime.remove_connection(link.connection)

    def listening(self, context: RequestContext) -> AbstractContextManager[object]:
        return self.runtime.listening(self._context(context))

    def _context(self, outer: RequestContext) -> MountedContext:
        return self._link(outer.connection).connection.context(outer)

    async def find(
        self, method: str, kind: str, key: str, session: SessionBase
    ) -> MountedItem | None:
        own = self.prefix.strip(kind, key)
        if own is None:
            return None
        inner = self._context(session.__mcp_runtime__).session()
        found = await lookup.find(self.catalogue, method, kind, own, inner)
        if found is None:
            return MountedItem(self, key) if kind in self._open else None
        key = self.prefix.key(kind, found.key)
        return MountedItem(self, key, found.tags, scopes=found.scopes, task=found.task)

    async def list_known(self, field: str, session: SessionBase) -> list[MountedItem]:
        inner = self._context(session.__mcp_runtime__).session()
        keys = await lookup.keys(self.catalogue, field, inner)
        return [self.item(field, key) for key in keys]


def mount(above: ToolkitRuntime, prefix: Prefix, server: Any, address: Any) -> None:
    add_mount(above, _build_mount(above.owner, prefix, server, address))


def add_mount(above: ToolkitRuntime, mounted: Mount) -> None:
    prefix, catalogue = mounted.prefix, above.catalogue
    with LOCK:
        for sibling in catalogue.mounts:
            if prefix.overlaps(sibling.prefix):
                both = f"{prefix.text!r} and {sibling.prefix.text!r}"
                wrong = f"servers mounted as {both} could have the same names"
                raise ValueError(f"{wrong}: give another prefix or separator")
        if mounted.only_before_serving and _is_served(catalogue):
            why = "it must be opened together with the server that it is mounted in"
            raise RuntimeError(f"mount({prefix.text!r}): {why}: mount it before serving")
        before, catalogue.mounts = catalogue.mounts, (*catalogue.mounts, mounted)
        try:
            catalogue.check_names()
        except ValueError:
            catalogue.mounts = before
            raise
        if isinstance(mounted, LocalMount):
            mounted.catalogue.mounted_in += (catalogue,)
    for connection in list(above.connections):
        mounted.add_connection(connection)
    above.announce_changes(kinds_with(mounted.has_items))


def _build_mount(owner: Handlers, prefix: Prefix, server: Any, address: Any) -> Mount:
    own, package = cast(ServerBase[Any], owner), package_of(type(owner))
    if server is None:
        # A package without the bridge reports that here.
        return cast(Mount, package.Bridge.mounted(own, prefix, package.connect.opener(address)))
    where, called = f"mount({prefix.text!r})", name_of(server)
    if isinstance(server, type):
        raise TypeError(f"{where}: {called} is a class: mount an object, {called}()")
    runtime = getattr(server, "__mcp_runtime__", None)
    if not isinstance(runtime, ToolkitRuntime):
        advice = "reach other servers by a connection: connect_to=…"
        raise TypeError(f"{where}: {called} is not a server of a toolkit; {advice}")
    if package_of(type(runtime.owner)) != package:
        raise TypeError(f"{where}: {called} is of another package: write connect_to=…")
    if own in runtime.parts():
        raise ValueError(f"{where}: {name_of(own)} and {called} would contain each other")
    kinds = frozenset(filter(runtime.catalogue.is_open, FIELDS))
    if kinds and not prefix.text:
        why = f"it lists {', '.join(sorted(kinds))} by handlers of its own"
        raise ValueError(f"{where}: {called} needs a prefix, because {why}")
    return LocalMount(own, prefix, runtime, kinds)


def _is_served(catalogue: Catalogue) -> bool:
    return catalogue.is_served or any(map(_is_served, catalogue.mounted_in))
