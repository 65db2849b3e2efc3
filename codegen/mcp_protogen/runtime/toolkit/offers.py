"""What a server of a toolkit offers: its own items, and those of the servers mounted in it."""

from asyncio import gather
from collections.abc import Awaitable, Callable, Collection, Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from operator import itemgetter
from threading import Lock
from typing import Any, Final, cast

from ..core.errors import InvalidParams, LocalError
from ..core.http_request import id_of
from ..core.json import JSONObject
from ..core.oauth_scopes import NO_SCOPES
from ..core.pagination import page
from ..messages.method_table import MethodTable
from ..rules.handlers import Handlers, merged
from ..server.base import ServerBase, ServerRuntime, SessionBase, package_of
from ..server.context import OpenConnection, Relay, RequestContext, SessionSwitches
from ..server.layers import Layer
from ..translation.revision_view import RevisionViews
from .decorators import Marked, marks_of, new_mark
from .functions import closest
from .items import COMPLETE, FIELDS, Item, Lists, check, check_name, not_found, register
from .links import MountedConnection
from .mounts import (
    SUBSCRIPTIONS,
    LocalMount,
    Offered,
    Prefix,
    asked,
    is_private,
    name_of,
    named_in,
)
from .remote_mounts import RemoteMount
from .revision_models import LISTS, revision_models
from .threads import Threads
from .visibility import Selection, Switches, Visibility

OFFERED: Final = "_toolkit_lists"
THREADS: Final = "_toolkit_threads"
"""The attributes of a class that hold its items and its threads."""

_READS_MARKS: Final = "__mcp_reads_marks__"
_CALL: Final = "tools/call"
_LOG: Final = "notifications/message"
_UPDATED: Final = "notifications/resources/updated"

# Changes are seldom, and one may concern several servers.
_LOCK: Final = Lock()


class ToolkitRuntime(ServerRuntime):
    """The runtime's part of a toolkit: what is on offer."""

    def __init__(self, owner: Handlers) -> None:
        super().__init__(owner)
        self.registered: Lists = getattr(owner, OFFERED)
        """All items of its own."""
        self.mounts: tuple[LocalMount | RemoteMount, ...] = ()
        self.mounted_in: tuple[ToolkitRuntime, ...] = ()
        self.visibility = Visibility()
        self.lists = self._for_everybody()
        """Those that are there for everybody, whoever asks."""
        self.threads: Threads = getattr(owner, THREADS)
        self.models = revision_models(owner.TABLE)
        self._served = False
        self._declared = frozenset[str]()
        self._lock = Lock()
        self.wants_scopes = _any_scopes(self.registered)

    # Changes.

    def add(self, kind: str, function: Callable[..., Any], options: Mapping[str, Any]) -> None:
        """Add a function as `options` say, or else as its own marks do."""
        marks = [one for one in marks_of(function) if one.kind == kind]
        if options or not marks:
            if kind == "resources" and "uri" not in options:
                raise TypeError("a resource needs a URI: add_resource(function, uri=…)")
            marks = [new_mark(kind, options)]
        with self._changing(kind) as lists:
            for one in marks:
                marked = Marked(function, one)
                check(marked)
                register(marked, lists, self.models)

    def remove(self, kind: str, key: str) -> None:
        with self._changing(kind) as lists:
            if not any(lists[field].pop(key, None) for field in FIELDS[kind]):
                raise LookupError(f"there is no {kind.removesuffix('s')} {key}")

    @contextmanager
    def _changing(self, kind: str) -> Generator[Lists, None, None]:
        # Registering may take long, or import modules: other servers do not wait for it.
        with self._lock:
            before = self.registered
            lists = {field: dict(items) for field, items in before.items()}
            yield lists
            with _LOCK:
                self.registered = lists
                try:
                    self._check_names()
                    if self._served:
                        self._check_offered()
                except ValueError:
                    self.registered = before
                    raise
                if _any_scopes(lists):
                    self._note_scopes()
                self.lists = self._for_everybody()
        self._announce_changes([kind])

    def mount(self, prefix: Prefix, server: Any, target: Any) -> None:
        """Mount a server, or what is to be connected to; see `Toolkit.mount`."""
        mount = self._mounted(prefix, server, target)
        with _LOCK:
            for other in self.mounts:
                if prefix.overlaps(other.prefix):
                    both = f"{prefix.text!r} and {other.prefix.text!r}"
                    wrong = f"what is mounted as {both} could have the same names"
                    raise ValueError(f"{wrong}: give another prefix or separator")
            if mount.only_before_serving and self._is_served():
                why = "it has to be entered, or connected to, with the server that it is mounted in"
                raise RuntimeError(f"mount({prefix.text!r}): {why}: mount it before that is served")
            before, self.mounts = self.mounts, (*self.mounts, mount)
            try:
                self._check_names()
            except ValueError:
                self.mounts = before
                raise
            if isinstance(mount, LocalMount):
                mount.runtime.mounted_in += (self,)
                if mount.runtime.wants_scopes:
                    self._note_scopes()
        for connection in list(self.connections):
            mount.connected(connection)
        self._announce_changes(
            kind for kind, fields in FIELDS.items() if any(map(mount.offers, fields))
        )

    def _note_scopes(self) -> None:
        self.wants_scopes = True
        for above in self.mounted_in:
            above._note_scopes()

    def _mounted(self, prefix: Prefix, server: Any, target: Any) -> LocalMount | RemoteMount:
        own, package = cast(ServerBase[Any], self.owner), package_of(type(self.owner))
        if server is None:
            # Where the package was made without the part, this says so.
            return RemoteMount(own, prefix, package.Bridge.proxy, package.connect.opener(target))
        where, called = f"mount({prefix.text!r})", name_of(server)
        if isinstance(server, type):
            raise TypeError(f"{where}: {called} is a class, and a server is mounted: {called}()")
        runtime = getattr(server, "__mcp_runtime__", None)
        if not isinstance(runtime, ToolkitRuntime):
            advice = "what else there is can be connected to: connect_to=…"
            raise TypeError(f"{where}: {called} is no server of a toolkit; {advice}")
        if package_of(type(runtime.owner)) != package:
            raise TypeError(f"{where}: {called} is of another package: write connect_to=…")
        if own in runtime.parts():
            raise ValueError(f"{where}: {name_of(own)} and {called} would be in each other")
        kinds = frozenset(filter(runtime.is_open, FIELDS))
        if kinds and not prefix.text:
            why = f"it lists {', '.join(sorted(kinds))} by handlers of its own"
            raise ValueError(f"{where}: {called} needs a prefix, because {why}")
        return LocalMount(own, prefix, cast(ServerBase[Any], server), kinds)

    def _check_names(self) -> None:
        """Raise `ValueError` if a name is there twice, here or where this server is mounted."""
        for field in LISTS if self.mounts or self.mounted_in else ():
            for root in self._roots():
                root.names(field)

    def _check_offered(self) -> None:
        """Raise `ValueError` if something needs a resource that is not there."""
        for items in self.registered.values():
            for item in items.values():
                item.check_offered(self.owns)

    def _roots(self) -> "Iterator[ToolkitRuntime]":
        if not self.mounted_in:
            yield self
        for above in self.mounted_in:
            yield from above._roots()

    def names(self, field: str) -> dict[str, str]:
        """Return the known names or URIs, each with the name of the server that has it."""
        found = dict.fromkeys(self.registered[field], name_of(self.owner))
        for mount in self.mounts:
            for key, whose in mount.names(field).items():
                if key in found:
                    what = field.removesuffix("s").replace("_", " ")
                    both = f"that of {found[key]} and that of {whose}"
                    advice = "mount one of them under another prefix"
                    raise ValueError(f"the {what} {key} would be there twice, {both}: {advice}")
                if field == "tools":
                    check_name(key)
                found[key] = whose
        return found

    def switch(self, on: bool, selection: Selection) -> None:
        """Enable or disable items; see `Toolkit.enable`."""
        selection.check()
        session, principal_id = selection.session, selection.principal_id
        to: Collection[OpenConnection] | None = None
        with _LOCK:
            known = {key for field in LISTS for key in self.names(field)}
            for name in selection.names:
                if name not in known and not self._may_have(name):
                    raise LookupError(f"there is nothing called {name}{closest(name, known)}")
            switches = self.visibility.everybody
            if session is not None:
                connection = session.__mcp_runtime__.connection
                while connection not in self.connections:
                    if not isinstance(connection, MountedConnection):
                        why = "requests of this client have nothing in common: say principal_id=…"
                        raise LocalError(f"session: {why}")
                    connection = connection.outer
                to = [connection]
                switches = self.visibility.sessions.setdefault(connection, Switches())
            elif principal_id:
                held = self.connections
                to = [one for one in held if id_of(one.endpoint.principal) == principal_id]
                switches = self.visibility.principals.setdefault(principal_id, Switches())
            switches.set(selection, on)
            self.lists = self._for_everybody()
        self._announce_changes(self._kinds_of(selection, known), to)

    def _may_have(self, key: str) -> bool:
        return any(
            self.is_open(kind) or any(mount.may_have(kind, key) for mount in self.mounts)
            for kind in FIELDS
        )

    def _kinds_of(self, selection: Selection, known: set[str]) -> Iterator[str]:
        """Yield the kinds that selected items are of, or may be if no list has them."""
        for kind, fields in FIELDS.items():
            if not known.issuperset(selection.names) or any(
                selection.has(key, self.tags(field, key))
                for field in fields
                for key in self.names(field)
            ):
                yield kind

    def _for_everybody(self) -> Lists:
        registered, fixed = self.registered, self.visibility.fixed
        lists = {
            field: {key: item for key, item in items.items() if fixed(item)}
            for field, items in registered.items()
        }
        if all(len(lists[field]) == len(registered[field]) for field in LISTS):
            return registered
        # A URI may belong to several resources: the first one that a client may see answers.
        return lists | {field: {} for field in FIELDS["resources"]}

    def _announce_changes(
        self, kinds: Iterable[str], to: Collection[OpenConnection] | None = None
    ) -> None:
        for method in map(_changed, kinds):
            if self._served and method not in self._declared:
                self.warn_undeclared(method)
            self.announce(method, to)

    def carriers(self) -> Mapping[Relay, str | None]:
        # What is mounted may be in the servers of several sessions, and is none of one alone.
        above = {relay: None for one in self.mounted_in for relay in one.carriers()}
        return {**above, **self.relays}

    def count(self, method: str) -> None:
        super().count(method)
        for above in self.mounted_in:
            above.count(method)

    # Requests.

    async def page(self, field: str, session: SessionBase, params: Any) -> Any:
        if self.lists is self.registered and not self.mounts:
            entries = [item.listed_for(session) for item in self.lists[field].values()]
        else:
            entries = await self._entries(field, session)
        cut = page(entries, params.cursor, cast(Any, self.owner).page_size)
        result = self.models.result(LISTS[field])
        return result(**{field: cut.items}, next_cursor=cut.next_cursor)

    def tool_schemas(self, revision: str | None) -> list[JSONObject]:
        """Return the tools as JSON; see `Toolkit.tool_schemas`."""
        owner, own, listing = self.owner, self.owner.TABLE.revision, LISTS["tools"]
        entries = [tool.listed for tool in self.lists["tools"].values()]
        listed: JSONObject = self.models.result(listing)(tools=entries).to_wire()
        found: list[JSONObject] = listed["tools"]
        for mount in self.mounts:
            for tool in mount.runtime.tool_schemas(own) if isinstance(mount, LocalMount) else ():
                name = mount.prefix.key("tools", tool["name"])
                item = Offered(mount, name, mount.tags("tools", tool["name"]))
                if self.visibility.fixed(item):
                    found.append({**tool, "name": name})
        found.sort(key=itemgetter("name"))
        if revision not in (None, own):
            package = package_of(type(owner))
            package.load(revision)  # which says which there are
            views = RevisionViews({own: owner}, package.REVISIONS)
            found = views[revision].table.carry_out(listing, "result", listed)["tools"]
        return found

    async def _entries(self, field: str, session: SessionBase) -> list[Any]:
        """Return the list for a session, with the entries of mounted servers."""
        shows = self.visibility.shows
        items = self.registered[field]
        entries = [one.listed_for(session) for one in items.values() if await shows(one, session)]
        taken = set(items)
        for listed in await gather(*(one.entries(field, session) for one in self.mounts)):
            for item, entry in listed:
                # A remote server may add a name that is taken.
                if item.key not in taken and await shows(item, session):
                    taken.add(item.key)
                    entries.append(entry)
        return entries

    async def keys(self, field: str, session: SessionBase) -> list[str]:
        """Return the known names or URIs of what a session has."""
        shows, items = self.visibility.shows, self.registered[field].values()
        found = [item.key for item in items if await shows(item, session)]
        for mount in self.mounts:
            for key in await mount.keys(field, session):
                if await shows(Offered(mount, key, self.tags(field, key)), session):
                    found.append(key)
        return found

    # As calls are frequent, what answers them is awaited without a step in between.
    def call(self, session: SessionBase, params: Any) -> Any:
        """Call a tool, by name; the result may be `Written`."""
        tool = self.lists["tools"].get(params.name)
        if tool is None:
            return self.answer(_CALL, session, params)
        return tool.answer(self.owner, session, _CALL, params)

    async def answer(self, method: str, session: SessionBase, params: Any) -> Any:
        """Answer a request about an item; raise `McpError` if the session has no such item."""
        kind, key = asked(method, params)
        found = self.lists[kind].get(key) or await self.find(method, kind, key, session)
        if found is not None:
            if method == COMPLETE and found.scopes:
                # Which is no run of the item, that would ask for them.
                session.require_scopes(*found.scopes)
            return await found.answer(self.owner, session, method, params)
        if method == "resources/read":
            known = [uri for field in FIELDS[kind] for uri in await self.keys(field, session)]
            # URIs that have nothing to do with each other begin alike.
            raise not_found(key, self.models, closest(key, known, likeness=0.8))
        if method == COMPLETE:
            raise InvalidParams(f"Unknown reference: {key}")
        meant = closest(key, await self.keys(kind, session))
        raise InvalidParams(f"Unknown {kind.removesuffix('s')}: {key}{meant}")

    async def find(
        self, method: str, kind: str, key: str, session: SessionBase
    ) -> Item | Offered | None:
        """Return the item that a request is about; None if the session has none."""
        shows = self.visibility.shows
        for item in self._own(method, kind, key):
            if await shows(item, session):
                return item
        is_taken = any(key in self.registered[field] for field in FIELDS[kind])
        # As in the list, a name of its own hides that of a remote server.
        for mount in () if is_taken else self.mounts:
            found = await mount.find(method, kind, key, session)
            if found is not None and await shows(found, session):
                return found
        return None

    async def scopes_of(
        self, method: str, params: Mapping[str, Any], session: SessionBase
    ) -> frozenset[str]:
        found = NO_SCOPES
        for kind, key in named_in(method, params):
            item = self.lists[kind].get(key) or await self.find(method, kind, key, session)
            if item is not None:
                found |= item.scopes
        return found

    def _own(self, method: str, kind: str, key: str) -> Iterator[Item]:
        """Yield the items of its own that a request may be about, the best one first."""
        fixed, *patterns = (self.registered[field] for field in FIELDS[kind])
        if key in fixed:
            yield fixed[key]
        for templates in patterns:
            # A completion names the template, and a request to read a URI of it.
            if method == COMPLETE and key in templates:
                yield templates[key]
            elif method != COMPLETE:
                yield from (one for one in templates.values() if one.values(key) is not None)

    async def _subscription(
        self, method: str, own: Callable[..., Any] | None, session: SessionBase, params: Any
    ) -> Any:
        uri: str = params.uri
        is_own = any(self._own("resources/read", "resources", uri))
        for mount in self.mounts if not is_own else ():
            inner = mount.prefix.own("resources", uri)
            if inner is not None and mount.owns(inner):
                await mount.subscription(method, session, inner)
                break
        else:
            if own is not None:
                return await own(session, params)
        # The client's revision may have the method when that of this class has not.
        spec = session.__mcp_runtime__.spoken.requests.get(method)
        return None if spec is None else spec.results[0]()

    # The server together with those mounted in it.

    def parts(self) -> Iterator[ServerBase[Any]]:
        yield from super().parts()
        for mount in self.mounts:
            yield from mount.parts()

    def connected(self, connection: OpenConnection) -> None:
        super().connected(connection)
        for mount in self.mounts:
            mount.connected(connection)

    def disconnected(self, connection: OpenConnection) -> None:
        super().disconnected(connection)
        for mount in self.mounts:
            mount.disconnected(connection)
        with _LOCK:
            if self.visibility.sessions.pop(connection, None) is not None:
                self.lists = self._for_everybody()

    def switched(self, connection: OpenConnection) -> SessionSwitches:
        own = self.visibility.sessions.get(connection, ())
        return (
            *(("", text, is_tag, on) for text, is_tag, on in own),
            *(one for mount in self.mounts for one in mount.switched(connection)),
        )

    def switch_all(self, connection: OpenConnection, switched: SessionSwitches) -> None:
        own = Switches()
        for place, text, is_tag, on in switched:
            if not place:
                own.add(text, is_tag, on)
        with _LOCK:
            self.visibility.sessions[connection] = own
            self.lists = self._for_everybody()
        for mount in self.mounts:
            mount.switch_all(connection, switched)

    @contextmanager
    def listening(self, context: RequestContext) -> Generator[None, None, None]:
        with ExitStack() as stack:
            for mount in self.mounts:
                stack.enter_context(mount.listening(context))
            yield

    # Tasks.

    def has_tasks(self) -> bool:
        """Return whether a call of a tool may be worked on as a task."""
        return self.makes_tasks() or any(mount.has_tasks() for mount in self.mounts)

    def makes_tasks(self) -> bool:
        return any(tool.task for tool in self.registered["tools"].values())

    def wire_feature(self) -> Any:
        """Return what the package has for tools with tasks, if there are any.

        Where it was made without the part, this says so.
        """
        if not self.has_tasks():
            return None
        return package_of(type(self.owner)).__mcp_tool_tasks__(self)

    def layer(self, table: MethodTable, tells_apart: bool) -> Layer | None:
        tasks = self.wire_feature()
        return None if tasks is None else cast(Layer, tasks.layer(table, tells_apart))

    def begin(self, state: Any) -> None:
        for part in self.parts():
            # Those of remote servers are none of ours.
            if isinstance(part.__mcp_runtime__, ToolkitRuntime):
                part.__mcp_runtime__._check_offered()
        if tasks := self.wire_feature():
            tasks.begin(state)

    async def called(
        self, params: Mapping[str, Any], session: SessionBase
    ) -> Item | Offered | None:
        """Return the tool that a call names, if the session has it; `params` are as they came."""
        for kind, key in named_in(_CALL, params):
            return self.lists[kind].get(key) or await self.find(_CALL, kind, key, session)
        return None

    def declaration(self) -> JSONObject:
        declared, tasks = super().declaration(), self.wire_feature()
        return declared if tasks is None else merged(tasks.declaration(), declared)

    def answered(self, revision: str | None = None) -> frozenset[str]:
        found, tasks = super().answered(revision), self.wire_feature()
        return found if tasks is None else found | tasks.methods

    def offers(self, field: str) -> bool:
        return bool(self.registered[field]) or any(mount.offers(field) for mount in self.mounts)

    def completes(self) -> bool:
        lists = self.registered
        completing = (*lists["prompts"].values(), *lists["resource_templates"].values())
        return any(item.completers for item in completing) or any(
            mount.completes() for mount in self.mounts
        )

    def owns(self, uri: str) -> bool:
        """Return whether there is a resource of a URI, or may be one."""
        if self.is_open("resources"):
            return is_private(uri)
        if any(self._own("resources/read", "resources", uri)):
            return True
        inner = ((mount, mount.prefix.own("resources", uri)) for mount in self.mounts)
        return any(own is not None and mount.owns(own) for mount, own in inner)

    def tags(self, field: str, key: str) -> Collection[str]:
        item: Item | None = self.registered[field].get(key)
        if item is not None:
            return item.tags
        for mount in self.mounts:
            own = mount.prefix.own(field, key)
            if own is not None and (found := mount.tags(field, own)):
                return found
        return ()

    def is_open(self, kind: str) -> bool:
        """Return whether handlers of the user's class may know items that are not listed here."""
        users = self.owner.REQUESTS.keys() - self._plain() - {*SUBSCRIPTIONS}
        return any(method.startswith(f"{kind}/") for method in users)

    def _plain(self) -> frozenset[str]:
        """Return the methods whose handlers are those of the toolkit, and not the user's."""
        toolkit = next(one for one in type(self.owner).__mro__ if vars(one).get(_READS_MARKS))
        return frozenset(
            method
            for method, (_, name) in self.owner.REQUESTS.items()
            if getattr(getattr(self.owner, name), "__func__", 0) is vars(toolkit).get(name)
        )

    def _is_served(self) -> bool:
        return self._served or any(above._is_served() for above in self.mounted_in)

    def unused(self) -> frozenset[str]:
        owner = self.owner
        idle = [
            f"{kind}/"
            for kind, fields in FIELDS.items()
            if not any(map(self.offers, fields)) and _changed(kind) not in owner.SENDS
        ]
        if not self.completes():
            idle.append(COMPLETE)
        # A handler of the user's class is used even if nothing is on offer.
        return frozenset(method for method in self._plain() if method.startswith(tuple(idle)))

    def bound(self, revision: str) -> Mapping[str, Callable[..., Any]]:
        # From now on, clients know what is on offer.
        self._served = True
        self._declared |= self.sends()
        handlers, owner = super().bound(revision), cast(Any, self.owner)
        is_plain = _CALL in self._plain() and handlers.get(_CALL) == owner.on_call_tool
        if not is_plain or revision != owner.TABLE.revision or self.middleware():
            return handlers
        # Nobody else sees what answers a call, so it may be text.
        return {**handlers, _CALL: self.call}

    def handlers(
        self, revision: str, methods: Collection[str]
    ) -> Mapping[str, Callable[..., Awaitable[Any]]]:
        found = super().handlers(revision, methods)
        if not any(mount.subscribes for mount in self.mounts):
            return found
        return {
            **found,
            **{one: partial(self._subscription, one, found.get(one)) for one in SUBSCRIPTIONS},
        }

    def sends(self) -> frozenset[str]:
        offered = [kind for kind, fields in FIELDS.items() if any(map(self.offers, fields))]
        found = {_LOG, *map(_changed, offered), *([_UPDATED] if "resources" in offered else ())}
        # Some revisions may have no such notification.
        return self.owner.SENDS | (found & self.owner.TABLE.notifications.keys())


def _any_scopes(lists: Lists) -> bool:
    return any(item.scopes for items in lists.values() for item in items.values())


def _changed(kind: str) -> str:
    return f"notifications/{kind}/list_changed"
