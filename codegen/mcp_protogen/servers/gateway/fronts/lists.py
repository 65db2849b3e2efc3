"""One list of a server, as a client of the gateway sees it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any, Final
from weakref import ref

from mcp_protogen.runtime.core.models.base import declared_member, member_at
from mcp_protogen.runtime.server.base import ServerBase
from mcp_protogen.runtime.server.context import RequestContext
from mcp_protogen.runtime.toolkit.links import Link
from mcp_protogen.servers.gateway.access.access_log import revision_of
from mcp_protogen.servers.gateway.settings.names import LONGEST, is_uri
from mcp_protogen.servers.gateway.upstreams.item_lock import ItemLock
from mcp_protogen.servers.gateway.upstreams.upstream import MOST_ITEMS, UpstreamServer

_LONG: Final = 64
"""Names of more characters are refused by some clients and models."""


@dataclass(frozen=True, slots=True)
class ServerList:
    """The items of one list, by the names or URIs that clients use.

    `keys` also has those of accepted items that are not listed now, because they have changed, or
    because the server cannot be reached. `hidden` has those that the lock hides.
    """

    entries: Mapping[str, Any]
    keys: frozenset[str]
    until: float = 0.0
    """The time until which the server calls it fresh."""
    is_public: bool = False
    mark: "ListMark | None" = None
    hidden: frozenset[str] = frozenset()
    lock: ItemLock | None = None

    def is_latest(self, lock: ItemLock) -> bool:
        """Return whether the lock is the same, and the server has announced no change since."""
        return self.lock is lock and self.mark is not None and self.mark.is_latest

    def is_fresh(self, now: float) -> bool:
        """Return whether the server would list the same again, as far as it says so."""
        mark = self.mark
        return mark is not None and mark.is_connected and (now < self.until or mark.is_unchanged)


NOTHING: Final = ServerList({}, frozenset())


class ListMark:
    """A connection to a server, and the number of changes of a list that it had announced."""

    def __init__(self, server: ServerBase[Any], name: str) -> None:
        kind = "resources" if is_uri(name) else name
        runtime: Any = server.__mcp_runtime__
        self._server = ref(server)
        self._method = f"notifications/{kind}/list_changed"
        self._number: int = runtime.changes.get(self._method, 0)
        self._is_told = runtime.declaration().get(kind, {}).get("listChanged") is True
        self._stream = _stream_of(runtime.client, self._method)

    @property
    def is_connected(self) -> bool:
        server: Any = self._server()
        return server is not None and server.__mcp_runtime__.client.endpoint.broken is None

    @property
    def is_latest(self) -> bool:
        """Return whether the connection is open, and no change was announced."""
        server: Any = self._server()
        if server is None or not self.is_connected:
            return False
        return bool(server.__mcp_runtime__.changes.get(self._method, 0) == self._number)

    @property
    def is_unchanged(self) -> bool:
        """Return whether a change would have been announced, and was not."""
        server: Any = self._server()
        if server is None or not self._is_told or self._stream is None:
            return False
        same = _stream_of(server.__mcp_runtime__.client, self._method) is self._stream
        return same and self.is_latest


def _stream_of(client: Any, method: str) -> object:
    """Identify the stream of a server's notifications.

    It is True if none can be missed, and None if the server has no stream now.
    """
    connection = client.connection
    listening = client.stream or getattr(connection, "stream", None)
    if listening is not None:
        return True if listening.hears(method) else None
    return getattr(connection.endpoint.sink.writer, "stream", True)


@dataclass(frozen=True, slots=True, eq=False)
class ListWalk(Link):
    """A server while the pages of a list are read, which leaves out what clients do not see."""

    link: Link
    upstream: UpstreamServer
    name: str
    hints: list[tuple[float, bool]] = field(default_factory=list[tuple[float, bool]])
    """The time until which each page is fresh, and whether it is public."""
    numbers: list[int] = field(default_factory=list[int])
    """The number of items on each page."""
    unaccepted: set[str] = field(default_factory=set[str])
    """The own names of the items that the lock has not, or not so."""

    @property
    def until(self) -> float:
        return min((until for until, _ in self.hints), default=inf)

    @property
    def is_public(self) -> bool:
        return all(public for _, public in self.hints)

    async def handle(self, known_as: str, outer: RequestContext, params: Any) -> Any:
        now = outer.endpoint.jobs.loop.time()
        page = await self.link.handle(known_as, outer, params)
        self.hints.append(
            (
                now + (declared_member(page, "ttl_ms") or 0) / 1000,
                declared_member(page, "cache_scope") == "public",
            )
        )
        member, rules = outer.table.spec_of(known_as).items, outer.table.rules
        listed = member_at(page, (member,))
        room = MOST_ITEMS - sum(self.numbers)
        self.numbers.append(len(listed))
        revisions = revision_of(self.link.connection.server), outer.spoken.revision
        offered = [*self._offered_entries(listed[:room], revisions)]
        changed: dict[str, Any] = {member: offered}
        most = outer.endpoint.options.max_pages
        if member_at(page, (rules.next_cursor,)) and (
            len(listed) >= room or len(self.numbers) >= most
        ):
            changed[rules.next_cursor] = None
            text = f"its {self.name} were cut short after {sum(self.numbers)} items"
            self.upstream.say_once(f"{text} on {len(self.numbers)} pages")
        elif len(listed) > room:
            text = f"{len(listed) - room} of its {self.name} are left out"
            self.upstream.say_once(f"{text}: a server may have {MOST_ITEMS}")
        return page.model_copy(update=changed)

    def _offered_entries(self, entries: Iterable[Any], revisions: tuple[str, str]) -> Iterator[Any]:
        member = {"resources": "uri", "resource_templates": "uri_template"}.get(self.name, "name")
        for entry in entries:
            own: str = getattr(entry, member)
            if not self._has_name(own):
                continue
            objection = self.upstream.lock.objection(self.name, own, entry, revisions)
            if objection:
                self.unaccepted.add(own)
                self.upstream.say_once(objection)
            if not objection or not self.upstream.lock.enforces:
                yield entry

    def _has_name(self, own: str) -> bool:
        """Return whether clients can name an item; log why not, unless a pattern hides it."""
        upstream, name = self.upstream, self.name
        key = upstream.names.key(name, own)
        found = upstream.names.strip(name, key)
        if found != own:
            if found is not None:
                renamed = f"{found!r:.99} has the name {key!r:.99}"
                upstream.say_once(f"{own!r:.99} of its {name} is hidden: {renamed}")
            return False
        if is_uri(name) or len(key) <= _LONG:
            return True
        if len(key) > LONGEST:
            length = f"its name is {key!r:.199}, of {len(key)} characters"
            upstream.say_once(f"{own!r:.199} is left out, because {length}: use `rename`")
            return False
        length = f"the name {key!r} has {len(key)} characters"
        upstream.say_once(f"{length}; some clients allow {_LONG}: use `rename`")
        return True
