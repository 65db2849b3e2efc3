"""Mounted servers: their items are offered under a prefix, and they answer the requests."""

import re
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Collection, Iterable, Mapping
from contextlib import AbstractContextManager
from copy import copy
from dataclasses import dataclass
from functools import cache, partial
from operator import is_
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ..core.errors import McpError
from ..core.json import JSONObject, is_array
from ..core.json_pointers import value_at
from ..core.models.base import WireModel, declared_member, member_at, places_of
from ..core.oauth_scopes import NO_SCOPES
from ..core.options import Options
from ..core.pagination import Page, items
from ..messages.method_table import MethodTable
from ..rules.handlers import Handler
from ..server.base import ServerBase, SessionBase, package_of
from ..server.context import OpenConnection, RequestContext, SessionSwitches
from ..server.listen_streams import change_subscription
from ..translation.revision_view import adapters_of
from .items import is_private, requested_item
from .links import Link, MountedConnection, Work
from .revision_models import LISTS

if TYPE_CHECKING:
    from .task_options import TaskMode

_PREFIX: Final = re.compile(r"[A-Za-z0-9_.-]+")
_SCHEME: Final = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:(?:///?)?)?")
_MEMBERS: Final = {"resources": "uri", "resource_templates": "uri_template"}


@dataclass(frozen=True, slots=True)
class Prefix:
    """The text before the names of a mounted server and within its URIs; may be empty."""

    text: str
    separator: str

    def key(self, kind: str, own: str) -> str:
        """Return the name or URI with the prefix: `scheme://prefix/rest`, `scheme:prefix/rest`."""
        if not self.text:
            return own
        at, start = self._start(kind, own)
        return f"{own[:at]}{start}{own[at:]}"

    def strip(self, kind: str, key: str) -> str | None:
        """Return the name or URI without the prefix; None if `key` lacks it."""
        if not self.text:
            return key
        at, start = self._start(kind, key)
        own = key[:at] + key[at + len(start) :]
        # Without the prefix, `a:prefix///b` would be `a://b`, whose prefix follows the slashes.
        return own if key.startswith(start, at) and self.key(kind, own) == key else None

    def _start(self, kind: str, key: str) -> tuple[int, str]:
        scheme = _SCHEME.match(key) if kind.startswith("resource") else None
        if scheme is None:
            return 0, f"{self.text}{self.separator}"
        return scheme.end(), f"{self.text}/"

    def check(self) -> None:
        for part in filter(None, (self.text, self.separator)):
            if not _PREFIX.fullmatch(part):
                allowed = "ASCII letters and digits, underscores, hyphens and dots"
                wrong = f"{part!r} must only contain {allowed}"
                raise ValueError(f"mount({self.text!r}): {wrong}")
        if self.text and not self.separator:
            raise ValueError(f"mount({self.text!r}): the separator must not be empty: write '_'")

    def overlaps(self, other: "Prefix") -> bool:
        # In URIs, a slash follows the text, whatever the separator is.
        a, b = f"{self.text}{self.separator}", f"{other.text}{other.separator}"
        both = self.text and other.text
        return bool(both) and (self.text == other.text or a.startswith(b) or b.startswith(a))


Entries: TypeAlias = list[tuple["MountedItem", Any]]
"""Items with their entries in a list."""


@dataclass(frozen=True, slots=True)
class MountedItem:
    """An item of a mounted server, by the name or URI that clients use."""

    mount: "Mount"
    key: str
    tags: Collection[str] = ()
    enabled: bool = True
    scopes: frozenset[str] = NO_SCOPES
    task: "TaskMode | None" = None

    async def answer(self, _: object, session: SessionBase, method: str, params: Any) -> Any:
        return await self.mount.answer(method, session, params)


class Mount(ABC):
    """A server mounted in `above`; until it is asked, it may have any item."""

    def __init__(self, above: ServerBase[Any], prefix: Prefix) -> None:
        prefix.check()
        self.above = above
        self.prefix = prefix
        self.full_uri = partial(prefix.key, "resources")
        self._tables: dict[str, MethodTable] = {}

    @property
    def wants_scopes(self) -> bool:
        return False

    @property
    def subscribes(self) -> bool:
        return True

    @property
    def only_before_serving(self) -> bool:
        return True

    def names(self, field: str) -> Mapping[str, str]:
        """Return the names that clients use, each with the name of its server."""
        return {}

    def may_have(self, kind: str, key: str) -> bool:
        """Return whether there may be an item outside `names`."""
        return self.prefix.strip(kind, key) is not None

    def parts(self) -> Iterable[ServerBase[Any]]:
        """Return the servers whose lifespans belong to the server above."""
        return ()

    def tool_schemas(self) -> Iterable[tuple[MountedItem, JSONObject]]:
        return ()

    def has_items(self, field: str) -> bool:
        return True

    def has_completions(self) -> bool:
        return True

    def owns(self, uri: str) -> bool:
        return is_private(uri)

    def client_uri(self, uri: str) -> str:
        """Return the URI by which clients read a resource of its server."""
        return self.full_uri(uri) if self.owns(uri) else uri

    def tags(self, field: str, own: str) -> Collection[str]:
        return ()

    def item(self, field: str, own: str) -> MountedItem:
        return MountedItem(self, self.prefix.key(field, own), self.tags(field, own))

    def has_tasks(self) -> bool:
        return False

    @abstractmethod
    def use(self, outer: RequestContext, work: Work) -> Awaitable[Any]:
        """Return the outcome of `work` with the server for a request; it may raise `McpError`."""

    def table_of(self, own: MethodTable, options: Options) -> MethodTable:
        """Return the messages of a mounted server as the server above writes them."""
        above, table = self.above.TABLE, self._tables.get(own.revision, own)
        if own.revision != above.revision and table is own:
            links = self._translated_links(own)
            translating: Any = links.translating_table(own, self.above, options)
            translating.client_uri = self.client_uri
            table = self._tables[own.revision] = translating
        return table

    def _translated_links(self, own: MethodTable) -> Any:
        package = package_of(type(self.above))
        return adapters_of(package, own.revision, self.above.TABLE.revision).translated_links()

    def new_link(
        self, server: ServerBase[Any], outer: OpenConnection, handlers: Mapping[str, Handler]
    ) -> Link:
        given, own = (server, outer, self.publish), server.TABLE
        table = self.table_of(own, outer.endpoint.options)
        if table is own:
            return Link(MountedConnection(*given), handlers)
        links = self._translated_links(own)
        link: Link = links.TranslatedLink(links.TranslatedConnection(*given, table), handlers)
        return link

    def add_connection(self, connection: OpenConnection) -> None:  # noqa: B027
        """Note a client, which may never use the server."""

    @abstractmethod
    def remove_connection(self, connection: OpenConnection) -> None: ...

    @abstractmethod
    def listening(self, context: RequestContext) -> AbstractContextManager[object]: ...

    async def publish(self, to: OpenConnection, method: str, uri: str | None) -> None:
        """Publish a change of its server to a client."""
        await to.publish(method, None if uri is None else self.full_uri(uri))

    def switches_of(self, connection: OpenConnection) -> SessionSwitches:
        return ()

    def resume(self, connection: OpenConnection, switched: SessionSwitches) -> None:  # noqa: B027
        """Go on with what a session chose elsewhere."""

    async def set_level(self, session: SessionBase, level: str) -> None:  # noqa: B027
        """Note the level of log entries that a client has asked for."""

    async def find(
        self, method: str, kind: str, key: str, session: SessionBase
    ) -> MountedItem | None:
        return MountedItem(self, key) if self.may_have(kind, key) else None

    async def list_known(self, field: str, session: SessionBase) -> list[MountedItem]:
        """Return its items for a session, as far as known without asking it."""
        return []

    def entries(self, field: str, session: SessionBase) -> Awaitable[Entries]:
        outer = session.__mcp_runtime__
        return self.use(outer, partial(self._list_entries, field, outer))

    async def _list_entries(self, field: str, outer: RequestContext, link: Link) -> Entries:
        rules, member = outer.table.rules, _MEMBERS.get(field, "name")
        spec = outer.table.spec_of(LISTS[field])
        result: Entries = []

        async def page(cursor: str | None) -> Page[Any]:
            given = {} if cursor is None else {rules.cursor: cursor}
            listed = await link.handle(LISTS[field], outer, spec.params(**given))
            return Page(member_at(listed, (spec.items,)), member_at(listed, (rules.next_cursor,)))

        most = outer.endpoint.options.max_pages
        async for entry in items(page, lambda: most):
            own: str = getattr(entry, member)
            item = self.item(field, own)
            copy = entry.model_copy(update={member: item.key})
            result.append((item, self._with_full_ui(copy)))
        return result

    def _with_full_ui(self, entry: Any) -> Any:
        """Return an entry whose interface has the URI that clients use (extension apps)."""
        meta = declared_member(entry, "meta")
        uri: object = value_at(meta, ("ui", "resourceUri"))
        if not isinstance(uri, str) or not self.owns(uri):
            return entry
        full = {**meta["ui"], "resourceUri": self.full_uri(uri)}
        return entry.model_copy(update={"meta": {**meta, "ui": full}})

    async def answer(self, method: str, session: SessionBase, params: Any) -> Any:
        kind, key = requested_item(method, params)
        inner_key = self.prefix.strip(kind, key)
        assert inner_key is not None
        sent, outer = params, session.__mcp_runtime__
        if inner_key != key:
            about = declared_member(params, "ref") or params
            sent = copy(about)
            vars(sent)[_MEMBERS.get(kind, "name")] = inner_key
            if about is not params:
                sent = params.model_copy(update={"ref": sent})
        try:
            result: WireModel = await self.use(outer, lambda link: link.handle(method, outer, sent))
        except McpError as error:
            if value_at(error.data, ("uri",)) != inner_key:
                raise
            raise error.with_code(error.code, {**error.data, "uri": key}) from error
        return result if inner_key == key else self._with_full_uris(result, type(result))

    def _with_full_uris(self, value: Any, result: type) -> Any:
        """Return a result, list or block with the URIs that clients use."""
        if is_array(value):
            copies = [self._with_full_uris(entry, result) for entry in value]
            return value if all(map(is_, copies, value)) else copies
        changed: JSONObject = {}
        for member, name in _members_with_uris(value.__class__, result).items():
            part: Any = value.__dict__[name]
            if part is not None:
                full = (
                    self.client_uri(part) if name == "uri" else self._with_full_uris(part, result)
                )
                if full is not part:
                    changed[member] = full
        return value.model_copy(update=changed) if changed else value

    async def change_subscription(self, method: str, session: SessionBase, own: str) -> None:
        outer = session.__mcp_runtime__

        def change(link: Link) -> Awaitable[None]:
            inner = link.connection.context(outer).session()
            return change_subscription(link.handlers, method, inner, uri=own)

        await self.use(outer, change)


@cache
def _members_with_uris(value: type, result: type) -> dict[str, str]:
    """Return the members of a class in a result that may have URIs, with their Python names."""
    path = places_of(result).content or ()
    members: set[Any] = {"contents", "content", "messages", "resource", "uri", *path}
    fields: JSONObject = getattr(value, "__pydantic_fields__", {})
    names = {field.alias or name: name for name, field in fields.items()}
    return {member: names[member] for member in members & names.keys()}
