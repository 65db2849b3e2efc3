"""What a user may choose: limits and waiting times of a connection, and of a single call."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypedDict

from .kept import Bound
from .spec import RequestSpec
from .translation.notice import Lost

TIMEOUTS: Final[Mapping[str, float]] = MappingProxyType(
    {
        "ping": 5.0,
        "tools/call": 60.0,
        "sampling/createMessage": 120.0,
        # A person answers these.
        "elicitation/create": 300.0,
    }
)
"""Seconds to wait for an answer, by method, where neither call nor connection says otherwise."""


class Progress(NamedTuple):
    """How far a request has come; what `done` and `total` count is the peer's business."""

    done: float
    total: float | None = None
    message: str | None = None


class CallOptions(TypedDict, total=False):
    """What a single call may be given besides its params.

    `timeout` and `max_timeout` are seconds. With `reset_on_progress` the first starts anew whenever
    progress is reported; the second never does. `on_progress` asks for progress to be reported; if
    it returns an awaitable, that is awaited in a task of its own.
    """

    timeout: float
    max_timeout: float
    reset_on_progress: bool
    on_progress: Callable[[Progress], object]


class Patience(NamedTuple):
    """How long to wait for one answer, in seconds."""

    timeout: float
    max_timeout: float
    renewed_by_progress: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Limits of one connection. Times are in seconds.

    The pages ask for a timeout on every request, for a maximum that progress does not extend, and
    for both to be configurable (2025-11-25, basic/lifecycle, "Timeouts"); they give no numbers.
    """

    timeout: float = 30.0
    """For an answer, where `timeouts` names no other for the method."""
    timeouts: Mapping[str, float] = field(default_factory=lambda: TIMEOUTS)
    """By method."""
    max_timeout: float = 600.0
    """For an answer, however much progress is reported."""
    initialize_timeout: float = 30.0
    """For the answer to `initialize`, for which a server may have to start first."""
    probe_timeout: float = 5.0
    """For the answer to `server/discover`; a server that is silent for longer is taken as old.

    Over HTTP, and where no revision with a handshake is allowed, `timeout` holds instead.
    """
    max_in_flight: int = 100
    """Requests of the peer that are handled at the same time."""
    max_waiting: int = 1000
    """Requests of the peer that wait to be handled; when they are as many, reading pauses."""
    max_outgoing: int = 1000
    """Messages that wait to be written; when they are as many, senders wait."""
    max_subscriptions: int = 100
    """Listen streams, or subscribed resources, of one connection."""
    max_uri: int = 8 * 1024
    """Bytes of the URI of a resource that is subscribed to."""
    max_uris: int = 64 * 1024
    """Bytes of all of them together, of one connection."""
    max_client: int = 32 * 1024
    """Bytes of JSON that a client may say of itself when it begins: `capabilities`, `clientInfo`.

    The request of a listen stream may have as many beside its URIs.
    """
    max_server: int = 1024 * 1024
    """Bytes of JSON that a server may say of itself when it is asked, `instructions` included."""
    max_values: int = 2000
    """Values in any of these, each object and each array being one, too."""
    max_rounds: int = 10
    """Rounds of questions that one request may take, on either side."""
    max_pages: int = 1000
    """Pages of one list that are asked for. A client that walks a list raises if there are more.

    A server that checks header fields against its own tools uses its last complete list instead.
    A client that corrects header fields stops at the default, with what it has seen.
    """
    progress_interval: float = 0.05
    """At least this much time lies between two reports of progress on one request."""
    drain: float = 3.0
    """For handlers to finish once the peer is gone or the server is told to stop."""
    state_key: bytes | None = None
    """Signs the state a client carries between rounds; a random one per process if not given.

    Several processes that answer rounds of the same request need the same key.
    """
    state_lifetime: float = 3600.0
    """For a client to come back with the state."""
    on_loss: Callable[[Lost], object] | None = None
    """Is told what a translation between revisions could not carry, of each kind once."""

    @property
    def of_client(self) -> Bound:
        """How much is kept of what a client says of itself."""
        return Bound(self.max_client, self.max_values)

    @property
    def of_server(self) -> Bound:
        """How much is kept of what a server says of itself."""
        return Bound(self.max_server, self.max_values)

    @property
    def of_stream(self) -> Bound:
        """How much is kept of what a client says for as long as a listen stream is open."""
        return Bound(self.max_client + self.max_uris, self.max_values + self.max_subscriptions)

    def patience(self, spec: RequestSpec[Any, Any], call: CallOptions) -> Patience:
        """How long to wait for the answer to one request."""
        if "long_lived" in spec.traits and "timeout" not in call:
            return FOREVER
        usual = self.timeouts.get(spec.method, self.timeout)
        return Patience(
            call.get("timeout", usual),
            call.get("max_timeout", self.max_timeout),
            call.get("reset_on_progress", False),
        )


FOREVER: Final = Patience(float("inf"), float("inf"))
"""For requests that are answered when they end, such as a listen stream."""
