"""Who wants to know of which changes, on one connection.

In the handshake era a client subscribes to resources one by one and hears of changed lists anyway;
from 2026-07-28 on it opens streams, and each says what it wants
(2026-07-28, basic/patterns/subscriptions, "Notification Filter").
"""

from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Any, Final

from .errors import INTERNAL_ERROR, InvalidParams, McpError, RequestId
from .jsonvalue import JSONObject, is_array
from .options import Options
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
    """The subscriptions of one connection, as many and as large as `options` allow."""

    __slots__ = ("_options", "_streams", "_uris")

    def __init__(self, options: Options) -> None:
        self._options = options
        self._streams: dict[RequestId, Filter] = {}
        self._uris: set[str] = set()

    def add(self, id: RequestId, wanted: Filter) -> None:
        """A listen stream begins; raises what answers one that is too many, or too large."""
        self._check_number(len(self._streams) + 1)
        self._check_number(len(self.uris | wanted.uris))
        self._check_size(wanted.uris, f"/params/notifications/{_RESOURCES}")
        self._streams[id] = wanted

    def narrow(self, id: RequestId, wanted: Filter) -> None:
        """A listen stream carries no more than this."""
        self._streams[id] = wanted

    def remove(self, id: RequestId) -> None:
        """A listen stream is over."""
        self._streams.pop(id, None)

    def subscribe(self, uri: str) -> None:
        """The client wants to know of a resource; raises as `check` does."""
        self.check(uri)
        self._uris.add(uri)

    def check(self, uri: str) -> None:
        """Raise what answers a client that subscribes to one resource too many, or by a long URI.

        That is `InvalidParams` if the URI is too long, and `McpError` if there are too many
        subscriptions, or too many bytes in all their URIs.
        """
        if uri not in self._uris:
            self._check_number(len(self._uris) + 1)
            self._check_size({uri}, "/params/uri")

    def unsubscribe(self, uri: str) -> None:
        """It does not any more."""
        self._uris.discard(uri)

    def _check_number(self, number: int) -> None:
        most = self._options.max_subscriptions
        if number > most:
            raise McpError(INTERNAL_ERROR, f"No more than {most} subscriptions at once")

    def _check_size(self, new: Set[str], at: str) -> None:
        """Streams that want to know of the same resource each have its URI."""
        longest, most = self._options.max_uri, self._options.max_uris
        if max(map(_size, new), default=0) > longest:
            raise InvalidParams("A URI is too long", [(at, f"A URI may have {longest} bytes")])
        kept = (self._uris, new, *(wanted.uris for wanted in self._streams.values()))
        if sum(_size(uri) for uris in kept for uri in uris) > most:
            raise McpError(INTERNAL_ERROR, f"No more than {most} bytes of URIs at once")

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


def _size(uri: str) -> int:
    return len(uri.encode())
