"""Shared state of one HTTP connection: incoming messages, and resuming of streams.

Stateless streams cannot be resumed (2026-07-28, basic/transports/streamable-http, "Receiving
Messages").
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from time import monotonic
from typing import Final

from ...core.errors import RequestId
from ...core.tasks import Tasks
from ...core.throttle import Throttle
from ...transports.base import Inbox
from .. import headers as fields
from ..sse import Event
from .http_client import HttpReply, HttpWire
from .outgoing import ProtocolState

# The default delay, and the longest after repeated failures; in seconds.
_USUAL_WAIT: Final = 1.0
_LONGEST_GROWN: Final = 30.0

# A connection of this length succeeds even without a message; in seconds.
_LASTING: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconnection:
    """How to reconnect to a stream that broke. Times are in seconds.

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
        if not 0 < self.min_wait <= self.max_wait:
            raise ValueError("min_wait must be more than 0, and at most max_wait")
        if self.max_attempts < 0:
            raise ValueError("max_attempts must not be negative")


class Cursor:
    def __init__(self, reconnection: Reconnection) -> None:
        self.last_id: str | None = None
        self._reconnection = reconnection
        self._retry = _USUAL_WAIT
        self.failures = 0
        self._opened = monotonic()

    def opens(self) -> None:
        self._opened = monotonic()

    def take_event(self, event: Event) -> bytes | None:
        if event.retry is not None:
            self._retry = event.retry / 1000
        if event.id is not None:
            # An id that does not fit into a header field is ignored.
            self.last_id = event.id if event.id and event.id.isprintable() else None
        if not event.data or event.event != "message":
            return None
        self.failures = 0
        return event.data.encode()

    def broke(self) -> None:
        """Note the end of a connection, a failure unless the next one brings a message."""
        if monotonic() - self._opened >= _LASTING:
            self.failures = 0
        self.failures += 1

    @property
    def wait(self) -> float:
        bounds = self._reconnection
        delay = min(max(self._retry, bounds.min_wait), bounds.max_wait)
        # The exponent is limited to avoid an overflow.
        grown = delay * 2.0 ** min(max(self.failures - 1, 0), 16)
        return min(grown, max(delay, _LONGEST_GROWN), bounds.max_wait)


class ClientState:
    def __init__(self, http: HttpWire, reconnection: Reconnection) -> None:
        self.http: Final = http
        self.reconnection: Final = reconnection
        self.inbox: Final = Inbox()
        self.tasks: Final = Tasks()
        self.protocol: Final = ProtocolState()
        self.log: Final = Throttle(__name__)
        self.own_requests: Final = count(1)
        self.time_left: Callable[[RequestId], float] = lambda id: 0.0

    async def get(self, cursor: Cursor) -> HttpReply:
        cursor.opens()
        headers = {"accept": fields.EVENTS, **self.protocol.session_headers}
        if cursor.last_id is not None:
            headers[fields.LAST_EVENT_ID] = cursor.last_id
        return await self.http.open("GET", headers)
