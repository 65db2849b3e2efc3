"""Messages from all streams of one connection, on their way to the reader."""

from asyncio import Event
from collections.abc import Callable, Sequence
from typing import Final

from ...core.errors import Disconnected
from ...transports.base import Received

# The limits for waiting messages, in number and in bytes; beyond them, reading pauses.
_CAPACITY: Final = 1000
_LARGEST: Final = 64 * 1024 * 1024


class Inbox:
    """The received messages, in order."""

    __slots__ = ("_changed", "_ended", "_messages", "_size", "_take", "broken")

    def __init__(self) -> None:
        self._messages: list[Received] = []
        self._size = 0
        self._changed = Event()
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
        self._changed.set()

    def hand_over(self, take: Callable[[Received], bool] | None) -> None:
        self._take = take

    async def receive(self) -> Sequence[Received]:
        while not self._messages and not self._ended:
            await self._change()
        messages, self._messages, self._size = self._messages, [], 0
        self._changed.set()
        if not messages and self.broken is not None:
            raise self.broken
        return messages

    async def room(self) -> None:
        """Wait until there is room for more messages."""
        while self._is_full and not self._ended:
            await self._change()

    @property
    def _is_full(self) -> bool:
        return len(self._messages) >= _CAPACITY or self._size >= _LARGEST

    async def _change(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    def end(self, broken: Disconnected | None = None) -> None:
        """End the inbox, with the reason if it is an error."""
        if not self._ended:
            self._ended = True
            self.broken = broken
            self._changed.set()
