"""Streams of events: where one broke off, how long to wait, and how to go on from there.

Pages: 2025-11-25, basic/transports, "Resumability and Redelivery". Streams of the stateless era
cannot be resumed (2026-07-28, basic/transports/streamable-http, "Receiving Messages").
"""

from typing import Final

from ..sse import Event

# Until a server says otherwise; and, where attempts fail repeatedly, at least and at most. Seconds.
_USUAL_WAIT: Final = 1.0
_LEAST_GROWING: Final = 0.01
_LONGEST_WAIT: Final = 30.0


class Cursor:
    """How far one stream has been read, over all connections that carried it."""

    __slots__ = ("_failures", "_retry", "last_id")

    def __init__(self) -> None:
        self.last_id: str | None = None
        self._retry = _USUAL_WAIT
        self._failures = 0

    def passed(self, event: Event) -> None:
        """An event has come."""
        if event.retry is not None:
            self._retry = event.retry / 1000
        # An id alone is no news if the server repeats it on each connection.
        if event.data or event.id != self.last_id:
            self._failures = 0
        if event.id is not None:
            # What no header field can hold is as good as none.
            self.last_id = event.id if event.id and event.id.isprintable() else None

    def broke(self) -> None:
        """A connection has ended; it is a failure unless something new comes on the next."""
        self._failures += 1

    @property
    def failures(self) -> int:
        """How many connections have ended since anything new has come."""
        return self._failures

    @property
    def wait(self) -> float:
        """Seconds to wait before connecting again: as told, and longer if it fails repeatedly."""
        if self._failures <= 1:
            return self._retry
        # Bounded, because a float has an end.
        grown = max(self._retry, _LEAST_GROWING) * 2.0 ** min(self._failures - 1, 16)
        return min(grown, max(self._retry, _LONGEST_WAIT))
