"""What the parts of one connection over HTTP share."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from logging import getLogger
from typing import Final

from ...core.connection_errors import Disconnected
from ...core.tasks import Signal, Tasks
from ...core.throttle import Throttle
from ...transports.base import Received
from .. import sse
from .http_client import HttpWire, Incoming
from .outgoing import ProtocolState
from .resume import Cursor, Reconnection

_log: Final = getLogger(__name__)

# The limits for waiting messages, in number and in bytes; beyond them, reading pauses.
_CAPACITY: Final = 1000
_LARGEST: Final = 64 * 1024 * 1024


class Inbox:
    """Messages from all streams of one connection, on their way to the reader."""

    __slots__ = ("_changed", "_ended", "_messages", "_size", "_take", "broken")

    def __init__(self) -> None:
        self._messages: list[Received] = []
        self._size = 0
        self._changed = Signal()
        self._ended = False
        self._take: Callable[[Received], bool] | None = None
        self.broken: Disconnected | None = None
        """The reason why nothing more will come, if it is an error."""

    def put(self, received: Received) -> None:
        """Add one message; it is dropped once the connection is closed."""
        if self._ended:
            return
        if self._take is not None and not self._messages:
            if not self._take(received):
                self._take = None
            return
        self._messages.append(received)
        self._size += len(received) if isinstance(received, bytes) else 0
        self._changed.ring()

    def hand_over(self, take: Callable[[Received], bool] | None) -> None:
        self._take = take

    async def receive(self) -> Sequence[Received]:
        while not self._messages and not self._ended:
            await self._changed.heard()
        messages, self._messages, self._size = self._messages, [], 0
        self._changed.ring()
        if not messages and self.broken is not None:
            raise self.broken
        return messages

    async def room(self) -> None:
        while not self._ended and (len(self._messages) >= _CAPACITY or self._size >= _LARGEST):
            await self._changed.heard()

    def end(self, broken: Disconnected | None = None) -> None:
        if not self._ended:
            self._ended = True
            self.broken = broken
            self._changed.ring()


class ClientState:
    """One connection: its HTTP client, its inbox, the state of the protocol, and its tasks."""

    __slots__ = ("_own_ids", "http", "inbox", "log", "protocol", "reconnection", "tasks")

    def __init__(self, http: HttpWire, reconnection: Reconnection) -> None:
        self.http: Final = http
        self.reconnection: Final = reconnection
        self.inbox: Final = Inbox()
        self.tasks: Final = Tasks()
        self.protocol: Final = ProtocolState()
        self.log: Final = Throttle(_log)
        self._own_ids = 0

    def own_id(self) -> str:
        """Return an id for one of the transport's own requests; other requests have integers."""
        self._own_ids += 1
        return f"transport-{self._own_ids}"

    def get(self, cursor: Cursor) -> AbstractAsyncContextManager[Incoming]:
        """Open a stream where `cursor` stands; raise `Disconnected`."""
        cursor.opens()
        return self.http.open("GET", self.protocol.stream_headers(cursor.last_id))

    async def read(self, incoming: Incoming, take: Callable[[sse.Event], object]) -> None:
        """Take the events of a stream, as fast as there is room for messages.

        Raise `Disconnected`, and `RemoteError` if an event is too large.
        """
        async with aclosing(incoming.events()) as events:
            async for event in events:
                take(event)
                await self.inbox.room()
