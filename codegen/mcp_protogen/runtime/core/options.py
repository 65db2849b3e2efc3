"""Options of a connection and of a single call: limits and timeouts."""

from collections.abc import Callable, Mapping, Sequence
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
        "elicitation/create": 300.0,  # a person answers these
    }
)


MANY: Final = 10_000
"""The most errors about one value that are built, and so the most values that may all be wrong."""

# The size of all names in the errors, if each value were wrong.
_PATHS: Final = 64 * 1024 * 1024


class Progress(NamedTuple):
    """The progress of a request; only the peer knows the unit of `done` and `total`."""

    done: float
    total: float | None = None
    message: str | None = None


class CallOptions(TypedDict, total=False):
    """Options of a single call. Times are in seconds.

    With `reset_on_progress`, each report of progress restarts `timeout`, but never `max_timeout`.
    `on_progress` asks the peer to report progress; if it returns an awaitable, that is awaited in a
    task of its own.
    """

    timeout: float
    max_timeout: float
    reset_on_progress: bool
    on_progress: Callable[[Progress], object]


class Patience(NamedTuple):
    """The timeouts of one request, in seconds."""

    timeout: float
    max_timeout: float
    renewed_by_progress: bool = False


class TaskLimits(Protocol):
    """The limits of tasks, and what keeps them: `TaskOptions`. Times are in seconds."""

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


def count_values(value: object, most: int) -> int:
    """Return the number of JSON values in `value`, with objects and arrays, or more than `most`."""
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
    left, total = [(value, 0)], 0
    while left and total <= _PATHS:
        inner, length = left.pop()
        total += len(inner) * length
        items = inner.items() if is_object(inner) else (("", item) for item in inner)
        left += [
            (item, length + len(name)) for name, item in items if isinstance(item, dict | list)
        ]
    return total > _PATHS


class SizeLimit(NamedTuple):
    """A limit in bytes of JSON and in values."""

    size: int
    values: int

    def problems(self, at: str, declared: Mapping[str, Any]) -> list[Problem]:
        """Return the problem of an object whose members exceed the limit, at the largest one."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Limits of one connection. Times are in seconds.

    The pages ask for a timeout on every request, and for a maximum that progress does not extend
    (2025-11-25, basic/lifecycle, "Timeouts"); they give no numbers.
    """

    timeout: float = 30.0
    """Timeout of a request, if `timeouts` has none for its method."""
    timeouts: Mapping[str, float] = field(default_factory=lambda: _TIMEOUTS)
    """Timeouts by method."""
    max_timeout: float = 600.0
    """Longest time for an answer, whatever progress is reported."""
    initialize_timeout: float = 30.0
    """Timeout of `initialize`; the server may have to start first."""
    probe_timeout: float = 5.0
    """Timeout of `server/discover`; a server that is silent for longer gets a handshake.

    If it is a program that the client has started, it is started afresh for that.
    Over HTTP, and where no revision with a handshake is allowed, `timeout` applies instead.
    """
    max_in_flight: int = 100
    """Requests of the peer that are handled at the same time."""
    max_waiting: int = 1000
    """Requests of the peer that wait to be handled; when there are so many, reading pauses."""
    max_outgoing: int = 1000
    """Messages that wait to be written; when there are so many, senders wait."""
    max_subscriptions: int = 100
    """Listen streams and subscribed resources of one connection."""
    max_uri: int = 8 * 1024
    """Bytes of one URI in a subscription."""
    max_uris: int = 64 * 1024
    """Bytes of all URIs in the subscriptions of one connection."""
    max_client: int = 32 * 1024
    """Bytes of JSON of a client's `capabilities` and `clientInfo`.

    The request of a listen stream, which is kept while it is open, may have as many besides its
    URIs.
    """
    max_server: int = 1024 * 1024
    """Bytes of JSON of a server's capabilities, information and `instructions`."""
    max_values: int = 2000
    """JSON values in each of these, where every object and array counts too."""
    max_rounds: int = 10
    """Input rounds of one request, on either side."""
    max_pages: int = 1000
    """Pages of one list that are requested. A client that walks a list raises if there are more.

    A server that checks header fields against its own tools uses its last complete list instead; a
    client that corrects header fields stops at the default, with the pages it has.
    """
    progress_interval: float = 0.05
    """Least time between two reports of progress on one request."""
    drain: float = 3.0
    """Time for handlers to finish after the peer is gone or the server is stopped."""
    state_keys: Sequence[bytes] = ()
    """Keys that sign the state of input rounds: the first signs, and all are accepted.

    The default is a random one per process. Several processes that answer rounds of the same
    request need the same keys. A new key is added at the end first, and then put at the beginning,
    so that every process accepts what another has signed.
    """
    state_lifetime: float = 3600.0
    """Lifetime of that state, in which the client has to come back."""
    tasks: TaskLimits | None = None
    """Limits of tasks, and what keeps them: `TaskOptions`."""
    on_loss: "Callable[[Loss], object] | None" = None
    """Callback for what a translation between revisions could not keep, once for each kind.

    It also gets what a `lenient` client has mended.
    """
    lenient: bool = False
    """Whether a client mends what a server sends against the schema, where it can.

    Null in an optional member then counts as absent, an entry of a list that breaks the schema is
    left out, and a malformed name or version of the server is `unknown`. The log warns of each.
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
        return Patience(
            call.get("timeout", self.timeouts.get(spec.method, self.timeout)),
            call.get("max_timeout", self.max_timeout),
            call.get("reset_on_progress", False),
        )


FOREVER: Final = Patience(float("inf"), float("inf"))
"""For requests that are answered when they end, such as a listen stream."""

NO_END: Final[CallOptions] = {"timeout": FOREVER.timeout, "max_timeout": FOREVER.max_timeout}
"""The options of a call for the same."""
