"""Options of a connection and of a single call: limits and timeouts."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypedDict

from .errors import Problem, escape_step
from .json import is_array, is_object, json_text
from .spec import AnyRequest

if TYPE_CHECKING:
    from .losses import Loss

_TIMEOUTS: Final[Mapping[str, float]] = MappingProxyType(
    {
        "ping": 5.0,
        "tools/call": 60.0,
        "sampling/createMessage": 120.0,
        "elicitation/create": 300.0,  # answered by a person
    }
)

MANY: Final = 10_000
"""The most errors reported about one value, and so the most values that may all be wrong."""

_PATHS: Final = 64 * 1024 * 1024


class Progress(NamedTuple):
    """The progress of a request; only the peer knows the unit of `done` and `total`."""

    done: float
    total: float | None = None
    message: str | None = None


class CallOptions(TypedDict, total=False):
    """Options of a single call. Times are in seconds.

    With `reset_on_progress`, each progress report restarts `timeout`, but never `max_timeout`.
    `on_progress` asks the peer for progress reports; an awaitable result has its own task.
    """

    timeout: float
    max_timeout: float
    reset_on_progress: bool
    on_progress: Callable[[Progress], object]


class Patience(NamedTuple):
    timeout: float
    max_timeout: float
    renewed_by_progress: bool = False


class TaskLimits(Protocol):
    """The limits of tasks, and their store: `TaskOptions`. Times are in seconds."""

    @property
    def ttl(self) -> float: ...
    @property
    def max_ttl(self) -> float: ...
    @property
    def poll_interval(self) -> float: ...
    @property
    def max_tasks(self) -> int: ...
    @property
    def lease(self) -> float: ...


def string_set(strings: Collection[str], name: str) -> frozenset[str]:
    """Return strings as a set; raise `TypeError` for a single one, whose parts would pass."""
    if isinstance(strings, str):
        raise TypeError(f"{name} must be a collection, not a single string: write {{{strings!r}}}")
    return frozenset(strings)


def count_values(value: object, most: int) -> int:
    """Return the number of JSON values, including objects and arrays, or more than `most`."""
    found = [value]
    for inner in found:
        if len(found) > most:
            break
        if is_object(inner):
            found += inner.values()
        elif is_array(inner):
            found += inner
    return len(found)


def has_long_paths(value: Any) -> bool:
    """Return whether errors about all values in `value` would take far more memory than it."""
    stack, total = [(value, 0)], 0
    while stack and total <= _PATHS:
        inner, size = stack.pop()
        total += len(inner) * size
        items = inner.items() if is_object(inner) else (("", item) for item in inner)
        stack += [(item, size + len(name)) for name, item in items if isinstance(item, dict | list)]
    return total > _PATHS


class SizeLimit(NamedTuple):
    size: int
    values: int

    def problems(self, at: str, declared: Mapping[str, Any]) -> list[Problem]:
        """Return the problem of an object whose members exceed the limit, at the largest member."""
        counts = {key: count_values(value, self.values) for key, value in declared.items()}
        for most, unit, sizes in (
            (self.size, "bytes of JSON", {key: len(json_text(declared[key])) for key in declared}),
            (self.values, "values", counts),
        ):
            if sum(sizes.values()) > most:
                largest = max(sizes, key=sizes.__getitem__)
                may = f"{' and '.join(declared)} may have at most {most} {unit}"
                return [Problem(f"{at}/{escape_step(largest)}", may)]
        return []


@dataclass(frozen=True, kw_only=True)
class Options:
    """Limits of one connection. Times are in seconds.

    The specification asks for a timeout on every request, and for a maximum that progress does not
    extend (2025-11-25, basic/lifecycle, "Timeouts"); it gives no numbers.
    """

    timeout: float = 30.0
    """Timeout of a request whose method is not in `timeouts`."""
    timeouts: Mapping[str, float] = field(default_factory=lambda: _TIMEOUTS)
    """Timeouts by method."""
    max_timeout: float = 600.0
    """Longest time for an answer, even with progress reports."""
    initialize_timeout: float = 30.0
    """Timeout of `initialize`; the server may have to start first."""
    probe_timeout: float = 5.0
    """Timeout of `server/discover`; a server that stays silent gets a handshake.

    A program that the client has started is restarted for that. Over HTTP, and if no revision with
    a handshake is allowed, `timeout` applies instead.
    """
    max_in_flight: int = 100
    """Requests of the peer that are handled at the same time."""
    max_waiting: int = 1000
    """Requests of the peer that wait to be handled; beyond that, reading pauses."""
    max_outgoing: int = 1000
    """Messages that wait to be written; beyond that, senders wait."""
    max_subscriptions: int = 100
    """Listen streams and subscribed resources of one connection."""
    max_uri: int = 8 * 1024
    """Bytes of one URI in a subscription."""
    max_uris: int = 64 * 1024
    """Bytes of all URIs in the subscriptions of one connection."""
    max_client: int = 32 * 1024
    """Bytes of JSON of a client's `capabilities` and `clientInfo`.

    An open listen stream may keep as many bytes besides its URIs.
    """
    max_server: int = 1024 * 1024
    """Bytes of JSON of a server's capabilities, information and `instructions`."""
    max_values: int = 2000
    """JSON values in each of these, counting objects and arrays."""
    max_rounds: int = 10
    """Input rounds of one request, on either side."""
    max_pages: int = 1000
    """Pages of one list that are requested. A client that walks a longer list raises an error.

    A server that checks header fields against its own tools uses its last complete list instead; a
    client that corrects header fields stops at the default, with the pages it has.
    """
    progress_interval: float = 0.05
    """Least time between two progress reports of one request."""
    drain: float = 3.0
    """Time for handlers to finish after the client has gone or the server is stopped."""
    state_keys: Sequence[bytes] = ()
    """Keys that sign the state of input rounds: the first signs, all are accepted.

    The default is a random key per process. Processes that answer rounds of the same request need
    the same keys. To rotate, append the new key on every process, then move it to the front.
    """
    state_lifetime: float = 3600.0
    """Lifetime of that state: the client must return within it."""
    tasks: TaskLimits | None = None
    """Limits of tasks, and their store: `TaskOptions`."""
    on_loss: "Callable[[Loss], object] | None" = None
    """Callback for losses of translation between revisions, once for each kind.

    It also gets the repairs of a `lenient` client.
    """
    lenient: bool = False
    """Whether a client repairs messages of a server that break the schema, if it can.

    Null in an optional member then counts as absent, invalid list entries are removed, and a
    malformed server name or version becomes `unknown`. The log warns of each.
    """

    @property
    def of_client(self) -> SizeLimit:
        return SizeLimit(self.max_client, self.max_values)

    @property
    def of_server(self) -> SizeLimit:
        return SizeLimit(self.max_server, self.max_values)

    @property
    def of_stream(self) -> SizeLimit:
        return SizeLimit(self.max_client + self.max_uris, self.max_values + self.max_subscriptions)

    def patience(self, spec: AnyRequest, call: CallOptions) -> Patience:
        if "long_lived" in spec.traits and "timeout" not in call:
            return FOREVER
        usual = self.timeouts.get(spec.known_as, self.timeout)
        return Patience(
            call.get("timeout", self.timeouts.get(spec.method, usual)),
            call.get("max_timeout", self.max_timeout),
            call.get("reset_on_progress", False),
        )


USUAL: Final = Options()

FOREVER: Final = Patience(float("inf"), float("inf"))
"""For requests that are answered at their end, such as a listen stream."""

NO_END: Final[CallOptions] = {"timeout": FOREVER.timeout, "max_timeout": FOREVER.max_timeout}
"""Call options without a timeout."""
