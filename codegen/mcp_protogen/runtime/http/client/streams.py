"""Streams of events: where one broke off, how long to wait, and how to go on from there.

Pages: 2025-11-25, basic/transports, "Resumability and Redelivery". Streams of the stateless era
cannot be resumed (2026-07-28, basic/transports/streamable-http, "Receiving Messages").
"""

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Final

from ..sse import Event

# Until a server says otherwise; and at most, where attempts fail repeatedly. Seconds.
_USUAL_WAIT: Final = 1.0
_LONGEST_GROWN: Final = 30.0

# A connection that lasted as long is no burden to anybody, even if it brought nothing; seconds.
_LASTING: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconnection:
    """How a client comes back to a stream that broke. Times are in seconds.

    It waits as long as the server asks it to (2025-11-25, basic/transports, "Sending Messages to
    the Server"), or else a second, and twice as long after each connection in a row that broke
    within 10 s without a message, up to 30 s. An event with only an id is no message.
    """

    min_wait: float = 0.1
    """Also for a server that asks for less."""
    max_wait: float = 600.0
    """Also for a server that asks for more, and after any number of failures."""
    max_attempts: int = 10
    """Such connections in a row, until a call fails; the stream of a session is always retried."""

    def __post_init__(self) -> None:
        """Raise `ValueError` for what would never wait, or never connect."""
        if not 0 < self.min_wait <= self.max_wait:
            raise ValueError("min_wait has to be more than 0, and no more than max_wait")
        if self.max_attempts < 0:
            raise ValueError("max_attempts cannot be less than 0")


class Cursor:
    """How far one stream has been read, over all connections that carried it."""

    __slots__ = ("_clock", "_failures", "_opened", "_reconnection", "_retry", "last_id")

    def __init__(self, reconnection: Reconnection, clock: Callable[[], float] = monotonic) -> None:
        self.last_id: str | None = None
        self._reconnection = reconnection
        self._clock = clock
        self._retry = _USUAL_WAIT
        self._failures = 0
        self._opened = clock()

    def opens(self) -> None:
        """A connection is being made."""
        self._opened = self._clock()

    def passed(self, event: Event) -> None:
        """An event has come."""
        if event.retry is not None:
            self._retry = event.retry / 1000
        if event.data and event.event == "message":
            self._failures = 0
        if event.id is not None:
            # What no header field can hold is as good as none.
            self.last_id = event.id if event.id and event.id.isprintable() else None

    def broke(self) -> None:
        """A connection has ended; it is a failure unless a message comes on the next."""
        if self._clock() - self._opened >= _LASTING:
            self._failures = 0
        self._failures += 1

    @property
    def is_given_up(self) -> bool:
        """Whether too many connections in a row were failures."""
        return self._failures > self._reconnection.max_attempts

    @property
    def wait(self) -> float:
        """Seconds to wait before connecting again: as told, and longer if it fails repeatedly."""
        bounds = self._reconnection
        told = min(max(self._retry, bounds.min_wait), bounds.max_wait)
        # The exponent is bounded, because a float has an end.
        grown = told * 2.0 ** min(max(self._failures - 1, 0), 16)
        return min(grown, max(told, _LONGEST_GROWN), bounds.max_wait)
