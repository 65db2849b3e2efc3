"""Toolkit servers at run time."""

from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, Final, cast

from ..core.json import JSONObject
from ..core.models.base import member_at
from ..core.spec import CALL_TOOL, SET_LEVEL
from ..messages.method_table import MethodTable
from ..rules.handlers import Handler, Handlers, merge_objects
from ..server.base import ServerBase, ServerRuntime, SessionBase, package_of
from ..server.context import OpenConnection, Relay, RequestContext, SessionSwitches
from ..server.layers import Layer
from .catalogue import FIELDS, LOCK, SUBSCRIPTIONS, Catalogue, check_mark, kinds_with, register
from .decorators import MarkedFunction, marks_of, new_mark
from .items import COMPLETE
from .threads import Threads

OFFERED: Final = "_toolkit_lists"
THREADS: Final = "_toolkit_threads"
"""The attributes of a class for its items and its threads."""


class ToolkitRuntime(ServerRuntime):
    """The runtime's part of a toolkit server, which answers from its catalogue."""

    def __init__(self, owner: Handlers) -> None:
        super().__init__(owner)
        self.catalogue: Final = Catalogue(owner, getattr(owner, OFFERED))
        self.threads: Threads = getattr(owner, THREADS)
        self._declared = frozenset[str]()

    def add(self, kind: str, function: Callable[..., Any], options: Mapping[str, Any]) -> None:
        marks = [mark for mark in marks_of(function) if mark.kind == kind]
        if options or not marks:
            if kind == "resources" and "uri" not in options:
                raise TypeError("a resource needs a URI: add_resource(function, uri=…)")
            marks = [new_mark(kind, options)]
        with self.catalogue.changing() as lists:
            for mark in marks:
                marked = MarkedFunction(function, mark)
                check_mark(marked)
                register(marked, lists, self.catalogue.models)
        self.announce_changes([kind])

    def remove(self, kind: str, key: str) -> None:
        with self.catalogue.changing() as lists:
            if not any(lists[field].pop(key, None) for field in FIELDS[kind]):
                raise LookupError(f"there is no {kind.removesuffix('s')} {key}")
        self.announce_changes([kind])

    def announce_changes(
        self, kinds: Iterable[str], to: Collection[OpenConnection] | None = None
    ) -> None:
        for method in map(_change_method, kinds):
            own = self.owner.TABLE.name_of(method)
            if self.catalogue.is_served and own not in self._declared:
                self.warn_undeclared(own)
            self.announce(method, to)

    def all_relays(self) -> Mapping[Relay, str | None]:
        # A server mounted in those of several sessions belongs to no single session.
        above = {relay: None for runtime in self._parents() for relay in runtime.all_relays()}
        return {**above, **self.relays}

    def count(self, method: str) -> None:
        super().count(method)
        for above in self._parents():
            above.count(method)

    def _parents(self) -> Iterator["ToolkitRuntime"]:
        for catalogue in self.catalogue.mounted_in:
            yield cast(ToolkitRuntime, catalogue.owner.__mcp_runtime__)

    async def page(self, field: str, session: SessionBase, params: Any) -> Any:
        catalogue = self.catalogue
        if catalogue.lists is catalogue.registered and not catalogue.mounts:
            entries = [item.listed_for(session) for item in catalogue.lists[field].values()]
        else:
            from .lookup import entries_for

            entries = await entries_for(catalogue, field, session)
        return self.page_of(field, entries, params)

    def page_of(self, field: str, entries: list[Any], params: Any) -> Any:
        from ..core.pagination import page

        spec, rules = self.catalogue.models.list(field), self.catalogue.models.rules
        result = spec.results[0]
        if not rules.cursor or not rules.next_cursor:
            return result(**{spec.items: entries})
        cursor = member_at(params, (rules.cursor,))
        cut = page(entries, cursor, cast(Any, self.owner).page_size)
        return result(**{spec.items: cut.items, rules.next_cursor: cut.next_cursor})

    # Calls are frequent, so their answer is awaited without an intermediate step.
    def call(self, session: SessionBase, params: Any) -> Any:
        """Call a tool; the result may be `ResultText`."""
        tool = self.catalogue.lists["tools"].get(params.name)
        if tool is None:
            return self.answer(CALL_TOOL, session, params)
        return tool.answer(self.owner, session, CALL_TOOL, params)

    async def answer(self, method: str, session: SessionBase, params: Any) -> Any:
        from .lookup import answer

        return await answer(self.catalogue, method, session, params)

    async def scopes_of(
        self, method: str, params: Mapping[str, Any], session: SessionBase
    ) -> frozenset[str]:
        from .request_items import find_items

        spec = self.owner.TABLE.requests.get(method)
        known_as = method if spec is None else spec.known_as
        items = [item async for item in find_items(self.catalogue, known_as, params, session)]
        return frozenset[str]().union(*(item.scopes for item in items))

    @property
    def wants_scopes(self) -> bool:
        return self.catalogue.wants_scopes

    def parts(self) -> Iterator[ServerBase[Any]]:
        yield from super().parts()
        for mount in self.catalogue.mounts:
            yield from mount.parts()

    def add_connection(self, connection: OpenConnection) -> None:
        super().add_connection(connection)
        for mount in self.catalogue.mounts:
            mount.add_connection(connection)

    def remove_connection(self, connection: OpenConnection) -> None:
        super().remove_connection(connection)
        for mount in self.catalogue.mounts:
            mount.remove_connection(connection)
        visibility = self.catalogue.visibility
        if visibility is not None:
            with LOCK:
                if visibility.sessions.pop(connection, None) is not None:
                    self.catalogue.update_visible()

    def switches_of(self, connection: OpenConnection) -> SessionSwitches:
        visibility = self.catalogue.visibility
        sessions = {} if visibility is None else visibility.sessions
        found = [("", *switch) for switch in sessions.get(connection, ())]
        for mount in self.catalogue.mounts:
            found += mount.switches_of(connection)
        return tuple(found)

    def resume(self, connection: OpenConnection, switched: SessionSwitches) -> None:
        own = [switch[1:] for switch in switched if not switch[0]]
        if own or self.catalogue.visibility is not None:
            with LOCK:
                self.catalogue.switches().replace(connection, own)
                self.catalogue.update_visible()
        for mount in self.catalogue.mounts:
            mount.resume(connection, switched)

    @contextmanager
    def listening(self, context: RequestContext) -> Generator[None, None, None]:
        with ExitStack() as stack:
            for mount in self.catalogue.mounts:
                stack.enter_context(mount.listening(context))
            yield

    def wire_feature(self) -> Any:
        """Return the package's support for tools with tasks, if any tool has them."""
        if not self.catalogue.has_tasks():
            return None
        return package_of(type(self.owner)).__mcp_tool_tasks__(self)

    def layer(self, table: MethodTable, tells_apart: bool) -> Layer | None:
        tasks = self.wire_feature()
        return None if tasks is None else tasks.layer(table, tells_apart)

    def begin(self, state: Any) -> None:
        for part in self.parts():
            # Remote servers check their own.
            if isinstance(part.__mcp_runtime__, ToolkitRuntime):
                part.__mcp_runtime__.catalogue.check_offered()
        if tasks := self.wire_feature():
            tasks.begin(state)

    def declaration(self) -> JSONObject:
        declared, tasks = super().declaration(), self.wire_feature()
        return declared if tasks is None else merge_objects(tasks.declaration(), declared)

    def answered_methods(self, revision: str | None = None) -> frozenset[str]:
        found, tasks = super().answered_methods(revision), self.wire_feature()
        return found if tasks is None else found | tasks.methods

    def unused_methods(self) -> frozenset[str]:
        catalogue = self.catalogue
        used = kinds_with(catalogue.has_items)
        idle = [
            f"{kind}/"
            for kind in FIELDS
            if kind not in used and _change_method(kind) not in self.owner.SENDS
        ]
        if not catalogue.has_completions():
            idle.append(COMPLETE)
        # A handler of the user's class is used even without items.
        return frozenset(
            method for method in catalogue.toolkit_methods() if method.startswith(tuple(idle))
        )

    def handlers_for(self, revision: str) -> Mapping[str, Handler]:
        self.catalogue.is_served = True
        self._declared |= self.sends()
        handlers, owner = super().handlers_for(revision), cast(Any, self.owner)
        call = owner.TABLE.name_of(CALL_TOOL)
        own = handlers.get(call) == owner.on_call_tool and call in self.catalogue.toolkit_methods()
        if not own or revision != owner.TABLE.revision or self.middleware():
            return handlers
        # Without middleware the answer to a call may be text.
        return {**handlers, call: self.call}

    def handlers(self, revision: str, methods: Collection[str]) -> Mapping[str, Handler]:
        found = super().handlers(revision, methods)
        if not any(mount.subscribes for mount in self.catalogue.mounts):
            return found
        from .lookup import set_level, subscribe

        changed = dict(found)
        changed[SET_LEVEL] = partial(set_level, self.catalogue, found.get(SET_LEVEL))
        for method in SUBSCRIPTIONS:
            changed[method] = partial(subscribe, self.catalogue, method, found.get(method))
        return changed

    def sends(self) -> frozenset[str]:
        kinds, table = kinds_with(self.catalogue.has_items), self.owner.TABLE
        methods = {"notifications/message", *map(_change_method, kinds)}
        if "resources" in kinds:
            methods.add("notifications/resources/updated")
        # Some revisions may lack such a notification.
        return self.owner.SENDS | (set(map(table.name_of, methods)) & table.notifications.keys())


def _change_method(kind: str) -> str:
    return f"notifications/{kind}/list_changed"
