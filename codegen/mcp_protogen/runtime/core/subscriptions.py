"""The log entries and change notifications requested by the client of one connection.

In the handshake era a client subscribes to single resources. From 2026-07-28 on it opens streams
with filters (basic/patterns/subscriptions, "Notification Filter"). The log levels are those of
syslog (RFC 5424, section 6.2.1).
"""

from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, TypeAlias, get_args

from .errors import INTERNAL_ERROR, InvalidParams, McpError, RequestId
from .json import JSONObject, is_array
from .options import Options
from .spec import Capability

Level: TypeAlias = Literal[
    "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"
]

LEVELS: Final[tuple[str, ...]] = get_args(Level)
"""The log levels, from least to most severe."""

ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
LISTEN: Final = "subscriptions/listen"
LOG: Final = "notifications/message"
RESOURCE_UPDATED: Final = "notifications/resources/updated"
SUBSCRIBE: Final = "resources/subscribe"
UNSUBSCRIBE: Final = "resources/unsubscribe"

# Member of a filter → its notification, and the capability that the server needs.
_LISTS: Final[Mapping[str, tuple[str, Capability]]] = {
    f"{feature}ListChanged": (
        f"notifications/{feature}/list_changed",
        Capability("server", (feature, "listChanged"), flag=True),
    )
    for feature in ("tools", "prompts", "resources")
}
_RESOURCES: Final = "resourceSubscriptions"
_RESOURCES_NEED: Final = Capability("server", ("resources", "subscribe"), flag=True)

LIST_CHANGES: Final = tuple(method for method, _ in _LISTS.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedChange:
    """A change, as workers that share an engine announce it to each other."""

    method: str | None = None
    """The method of the notification; None if anything may have changed."""
    uri: str | None = None
    server: str | None = None
    """The name of the changed server, if it serves all clients."""
    revision: str | None = None
    """The revision of its class, since several may have that name."""
    session: str | None = None
    """The key of the session, if the changed server belongs to one."""

    def __post_init__(self) -> None:
        if self.method is not None and not is_change(self.method):
            raise ValueError(f"{self.method} is not the notification of a change")
        if (self.method == RESOURCE_UPDATED) != (self.uri is not None):
            raise ValueError("`uri` must be given for a resource, and only for a resource")


def is_change(method: str) -> bool:
    return method == RESOURCE_UPDATED or method.endswith("/list_changed")


def passes(level: str, threshold: str) -> bool:
    return LEVELS.index(level) >= LEVELS.index(threshold)


class Filter(NamedTuple):
    """The content of a listen stream: changed lists, by method, changed resources, and others.

    `ids` are those of a feature, from the filter's member `ids_member`.
    """

    lists: frozenset[str] = frozenset()
    uris: frozenset[str] = frozenset()
    ids: frozenset[str] = frozenset()
    ids_member: str = ""

    @staticmethod
    def of(wanted: Mapping[str, Any], ids_member: str = "") -> "Filter":
        lists = {method for member, (method, _) in _LISTS.items() if wanted.get(member) is True}
        uris, ids = (_strings(wanted.get(member)) for member in (_RESOURCES, ids_member))
        return Filter(frozenset(lists), uris, ids, ids_member)

    def supported_by(self, declared: Mapping[str, Any]) -> "Filter":
        """Return the part that a server with these capabilities supports, with all `ids`."""
        offered = {method for method, need in _LISTS.values() if need.declared_in(declared)}
        uris = self.uris if _RESOURCES_NEED.declared_in(declared) else frozenset[str]()
        return self._replace(lists=self.lists & offered, uris=uris)

    def to_wire(self) -> JSONObject:
        wire: JSONObject = {
            member: True for member, (method, _) in _LISTS.items() if method in self.lists
        }
        if self.uris:
            wire[_RESOURCES] = sorted(self.uris)
        if self.ids:
            wire[self.ids_member] = sorted(self.ids)
        return wire

    def wants(self, method: str, uri: str | None) -> bool:
        return uri in self.uris if method == RESOURCE_UPDATED else method in self.lists


class Listeners:
    """The subscriptions of one connection, limited by `options`."""

    __slots__ = ("_options", "_streams", "_uris")

    def __init__(self, options: Options) -> None:
        self._options = options
        self._streams: dict[RequestId, Filter] = {}
        self._uris: set[str] = set()

    def add(self, id: RequestId, filter: Filter) -> None:
        """Register a listen stream; raise if there are too many, or it is too large."""
        ids = sum(len(stream.ids) for stream in self._streams.values()) + len(filter.ids)
        number = max(len(self._streams) + 1, len(self.uris | filter.uris), ids)
        self._check(number, filter.uris, f"/params/notifications/{_RESOURCES}")
        self.narrow(id, filter)

    def narrow(self, id: RequestId, filter: Filter) -> None:
        self._streams[id] = filter

    def remove(self, id: RequestId) -> None:
        self._streams.pop(id, None)

    def subscribe(self, uri: str) -> None:
        self.check(uri)
        self._uris.add(uri)

    def check(self, uri: str) -> None:
        """Raise `InvalidParams` if a URI is too long, `McpError` if there are too many."""
        if uri not in self._uris:
            self._check(len(self._uris) + 1, {uri}, "/params/uri")

    def unsubscribe(self, uri: str) -> None:
        self._uris.discard(uri)

    def _check(self, number: int, new: Set[str], at: str) -> None:
        options = self._options
        if number > options.max_subscriptions:
            most = f"{options.max_subscriptions} subscriptions"
            raise McpError(INTERNAL_ERROR, f"No more than {most} at once")
        if max(map(_size, new), default=0) > options.max_uri:
            may = f"A URI may have at most {options.max_uri} bytes"
            raise InvalidParams("A URI is too long", [(at, may)])
        # Streams count separately.
        kept = (self._uris, new, *(filter.uris for filter in self._streams.values()))
        if sum(_size(uri) for uris in kept for uri in uris) > options.max_uris:
            raise McpError(INTERNAL_ERROR, f"No more than {options.max_uris} bytes of URIs at once")

    @property
    def uris(self) -> frozenset[str]:
        return frozenset(self._uris).union(*(filter.uris for filter in self._streams.values()))

    def matching(self, method: str, uri: str | None) -> list[RequestId]:
        return [id for id, filter in self._streams.items() if filter.wants(method, uri)]

    def wants(self, uri: str | None) -> bool:
        """Return whether a client of the handshake era gets a notification."""
        return uri is None or uri in self._uris


def _strings(value: object) -> frozenset[str]:
    items = value if is_array(value) else ()
    return frozenset(item for item in items if isinstance(item, str))


def _size(uri: str) -> int:
    return len(uri.encode())
