"""Who wants to know of which changes, on one connection.

In the handshake era a client subscribes to resources one by one and hears of changed lists anyway;
from 2026-07-28 on it opens streams, and each says what it wants
(2026-07-28, basic/patterns/subscriptions, "Notification Filter").
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from .errors import INTERNAL_ERROR, McpError, RequestId
from .jsonvalue import JSONObject, is_array
from .spec import Capability

RESOURCE_UPDATED: Final = "notifications/resources/updated"

# Member of a filter → what it asks for, and what the server has to have declared for it.
_LISTS: Final[Mapping[str, tuple[str, Capability]]] = {
    f"{feature}ListChanged": (
        f"notifications/{feature}/list_changed",
        Capability("server", (feature, "listChanged"), flag=True),
    )
    for feature in ("tools", "prompts", "resources")
}
_RESOURCES: Final = "resourceSubscriptions"
_RESOURCES_NEED: Final = Capability("server", ("resources", "subscribe"), flag=True)


@dataclass(frozen=True, slots=True)
class Filter:
    """What a listen stream carries: changes of lists, by method, and of resources, by URI."""

    lists: frozenset[str] = frozenset()
    uris: frozenset[str] = frozenset()

    @staticmethod
    def of(wanted: Mapping[str, Any]) -> "Filter":
        """The filter that the `notifications` of a listen request describe."""
        lists = {method for member, (method, _) in _LISTS.items() if wanted.get(member) is True}
        uris = wanted.get(_RESOURCES)
        return Filter(frozenset(lists), frozenset(uris if is_array(uris) else ()))

    def honoured(self, declared: Mapping[str, Any]) -> "Filter":
        """As much of it as a server does that declared these capabilities."""
        offered = {method for method, need in _LISTS.values() if need.declared_in(declared)}
        uris = self.uris if _RESOURCES_NEED.declared_in(declared) else frozenset[str]()
        return Filter(self.lists & offered, uris)

    def to_wire(self) -> JSONObject:
        """The filter as the JSON object that describes it."""
        wire: JSONObject = {
            member: True for member, (method, _) in _LISTS.items() if method in self.lists
        }
        if self.uris:
            wire[_RESOURCES] = sorted(self.uris)
        return wire

    def wants(self, method: str, uri: str | None) -> bool:
        """Whether a notification is one of those asked for."""
        return uri in self.uris if method == RESOURCE_UPDATED else method in self.lists


class Listeners:
    """The subscriptions of one connection, `limit` of them at most."""

    __slots__ = ("_limit", "_streams", "_uris")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._streams: dict[RequestId, Filter] = {}
        self._uris: set[str] = set()

    def add(self, id: RequestId, wanted: Filter) -> None:
        """A listen stream begins; raises `McpError` if there are too many, or of resources."""
        self._check(len(self._streams))
        self._check(len(wanted.uris - self.uris) + len(self.uris) - 1)
        self._streams[id] = wanted

    def narrow(self, id: RequestId, wanted: Filter) -> None:
        """A listen stream carries no more than this."""
        self._streams[id] = wanted

    def remove(self, id: RequestId) -> None:
        """A listen stream is over."""
        self._streams.pop(id, None)

    def subscribe(self, uri: str) -> None:
        """The client wants to know of a resource; raises `McpError` if there are too many."""
        if uri not in self._uris:
            self._check(len(self._uris))
            self._uris.add(uri)

    def unsubscribe(self, uri: str) -> None:
        """It does not any more."""
        self._uris.discard(uri)

    def _check(self, size: int) -> None:
        if size >= self._limit:
            raise McpError(INTERNAL_ERROR, f"No more than {self._limit} subscriptions at once")

    @property
    def uris(self) -> frozenset[str]:
        """The resources that someone wants to know of."""
        return frozenset(self._uris).union(*(wanted.uris for wanted in self._streams.values()))

    def matching(self, method: str, uri: str | None) -> list[RequestId]:
        """The streams that carry a notification."""
        return [id for id, wanted in self._streams.items() if wanted.wants(method, uri)]

    def wants(self, uri: str | None) -> bool:
        """Whether a client of the handshake era is told: of lists always, of resources it named."""
        return uri is None or uri in self._uris
