"""The log entries and change notifications requested by the client of one connection.

In the handshake era a client subscribes to single resources. From 2026-07-28 on it opens streams
with filters (basic/patterns/subscriptions, "Notification Filter"). The log levels are those of
syslog (RFC 5424, section 6.2.1).
"""

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, get_args

from .errors import INTERNAL_ERROR, InvalidParams, McpError, RequestId
from .json import JSONObject, is_array
from .options import Options
from .spec import NotificationSpec

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

Filter: TypeAlias = frozenset[tuple[str, str | None]]
"""The content of a listen stream: methods, each with the key of one thing, or None for all."""


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


def is_list_change(method: str) -> bool:
    return method.endswith("/list_changed")


def is_change(method: str) -> bool:
    return method == RESOURCE_UPDATED or is_list_change(method)


def offers(spec: NotificationSpec[Any], declared: Mapping[str, Any]) -> bool:
    """Return whether a server with these capabilities sends a notification."""
    needs = (need.capability for need in spec.requires if need.capability.role == "server")
    return all(need.declared_in(declared) for need in needs)


def passes(level: str, threshold: str) -> bool:
    return LEVELS.index(level) >= LEVELS.index(threshold or "debug")


class Selectors(dict[str, NotificationSpec[Any]]):
    """Notifications of listen streams, by the member of a filter that selects them."""

    def __init__(self, notifications: Mapping[str, NotificationSpec[Any]]) -> None:
        placed = ((spec.stream, spec) for spec in notifications.values())
        super().__init__({place.member: spec for place, spec in placed if place and place.member})

    def read(self, wanted: Mapping[str, Any]) -> Filter:
        keys = ((spec.known_as, _keys(wanted.get(member))) for member, spec in self.items())
        return frozenset((method, key) for method, found in keys for key in found)

    def write(self, filter: Filter) -> JSONObject:
        return {
            member: sorted(keys_in(filter, spec.known_as)) or True
            for member, spec in self.items()
            if any(spec.known_as == method for method, _ in filter)
        }

    def narrow(self, filter: Filter, declared: Mapping[str, Any]) -> Filter:
        """Return the part that a server with these capabilities offers, and others."""
        offered = {spec.known_as for spec in self.values() if offers(spec, declared)}
        return frozenset(
            entry for entry in filter if entry[0] in offered or not is_change(entry[0])
        )


def keys_in(filter: Filter, method: str) -> frozenset[str]:
    return frozenset(key for name, key in filter if name == method and key is not None)


class Listeners:
    """The subscriptions of one connection, limited by `options`."""

    __slots__ = ("_options", "_streams", "_uris")

    def __init__(self, options: Options) -> None:
        self._options = options
        self._streams: dict[RequestId, Filter] = {}
        self._uris: set[str] = set()

    def add(self, id: RequestId, filter: Filter, at: str = "") -> None:
        """Register a listen stream, with URIs at `at`; raise for too many, or a too large one."""
        others = [name for stream in (filter, *self._streams.values()) for name, _ in stream]
        ids = sum(not is_change(name) for name in others)
        uris = keys_in(filter, RESOURCE_UPDATED)
        self._check(max(len(self._streams) + 1, len(self.uris | uris), ids), uris, at)
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
        kept = (self._uris, new, *self._uris_of_streams())
        if sum(_size(uri) for uris in kept for uri in uris) > options.max_uris:
            raise McpError(INTERNAL_ERROR, f"No more than {options.max_uris} bytes of URIs at once")

    @property
    def uris(self) -> frozenset[str]:
        return frozenset(self._uris).union(*self._uris_of_streams())

    def _uris_of_streams(self) -> Iterator[frozenset[str]]:
        return (keys_in(filter, RESOURCE_UPDATED) for filter in self._streams.values())

    def matching(self, method: str, uri: str | None) -> list[RequestId]:
        return [id for id, filter in self._streams.items() if (method, uri) in filter]

    def wants(self, uri: str | None) -> bool:
        """Return whether a client of the handshake era gets a notification."""
        return uri is None or uri in self._uris


def _keys(value: object) -> Iterator[str | None]:
    if value is True:
        yield None
    for item in value if is_array(value) else ():
        if isinstance(item, str):
            yield item


def _size(uri: str) -> int:
    return len(uri.encode())
