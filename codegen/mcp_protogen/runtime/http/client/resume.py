"""Broken streams of events: where they stopped, how long to wait, and how to resume them.

Pages: 2025-11-25, basic/transports, "Resumability and Redelivery". Streams of the stateless era
cannot be resumed (2026-07-28, basic/transports/streamable-http, "Receiving Messages").
"""

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Final

from ..sse import Event

# The delay if the server sets none, and the longest delay after repeated failures; in seconds.
_USUAL_WAIT: Final = 1.0
_LONGEST_GROWN: Final = 30.0

# A connection that lasted so long counts as a success, even without a message; in seconds.
_LASTING: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconnection:
    """The rules for reconnecting to a stream that broke. Times are in seconds.

    The delay is what the server asks for (2025-11-25, basic/transports, "Sending Messages to the
    Server"), or one second. It doubles, up to 30 s, after each further connection in a row that
    broke within 10 s without a message. An event with only an id is not a message.
    """

    min_wait: float = 0.1
    """Least delay, also if the server asks for less."""
    max_wait: float = 600.0
    """Greatest delay, also if the server asks for more, and after any number of failures."""
    max_attempts: int = 10
    """Failures in a row until a call fails; a session's own stream is always opened again."""

    def __post_init__(self) -> None:
        """Raise `ValueError` for values that would allow no delay, or no connection."""
        if not 0 < self.min_wait <= self.max_wait:
            raise ValueError("min_wait has to be more than 0, and no more than max_wait")
        if self.max_attempts < 0:
            raise ValueError("max_attempts cannot be less than 0")


class Cursor:
    """The position in one stream, over all its connections."""

    __slots__ = ("_clock", "_failures", "_opened", "_reconnection", "_retry", "last_id")

    def __init__(self, reconnection: Reconnection, clock: Callable[[], float] = monotonic) -> None:
        self.last_id: str | None = None
        self._reconnection = reconnection
        self._clock = clock
        self._retry = _USUAL_WAIT
        self._failures = 0
        self._opened = clock()

    def opens(self) -> None:
        self._opened = self._clock()

    def passed(self, event: Event) -> bytes | None:
        """Note an event; return the message in it, if any."""
        if event.retry is not None:
            self._retry = event.retry / 1000
        if event.id is not None:
            # An id that does not fit into a header field counts as none.
            self.last_id = event.id if event.id and event.id.isprintable() else None
        if not event.data or event.event != "message":
            return None
        self._failures = 0
        return event.data.encode()

    def broke(self) -> None:
        """Note that a connection has ended: a failure, unless a message comes on the next one."""
        if self._clock() - self._opened >= _LASTING:
            self._failures = 0
        self._failures += 1

    @property
    def is_given_up(self) -> bool:
        return self._failures > self._reconnection.max_attempts

    @property
    def wait(self) -> float:
        """The seconds before the next connection."""
        bounds = self._reconnection
        asked = min(max(self._retry, bounds.min_wait), bounds.max_wait)
        # The exponent is limited, because a float would overflow.
        grown = asked * 2.0 ** min(max(self._failures - 1, 0), 16)
        return min(grown, max(asked, _LONGEST_GROWN), bounds.max_wait)
