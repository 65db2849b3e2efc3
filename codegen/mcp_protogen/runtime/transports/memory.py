"""The two ends of a connection within one process."""

from asyncio import Task, get_running_loop
from collections.abc import Callable, Sequence
from contextvars import copy_context
from typing import Final, TypeAlias

from ..core.connection_errors import Disconnected
from ..core.spec import Role
from ..core.tasks import Signal
from .base import AT_ONCE, Received

Tap: TypeAlias = Callable[[Role, bytes], object]
"""Called with the sender and the bytes of each message before its delivery."""

# At this number of unread messages the sender waits.
_MOST: Final = 1000


class Pipe:
    """One direction of such a connection."""

    def __init__(self, sender: Role, tap: Tap | None) -> None:
        self._sender: Role = sender
        self._tap = tap
        self._messages: list[bytes] = []
        self._closed = False
        self._room, self._came = Signal(), Signal()
        self._take: Callable[[Received], bool] | None = None
        self._context = copy_context()

    def hand_over(self, take: Callable[[Received], bool] | None) -> None:
        self._take, self._context = take, copy_context()

    async def send(self, messages: Sequence[bytes]) -> None:
        while not self.write_now(messages):
            if self._closed:
                raise Disconnected("the other side has closed the connection")
            await self._room.wait()

    def write_now(self, messages: Sequence[bytes]) -> bool:
        if self._closed or len(self._messages) >= _MOST:
            return False
        if self._tap is not None:
            for message in messages:
                self._tap(self._sender, message)
        self._messages += messages
        if self._take is None:
            self._came.notify_all()
        else:
            # The reader runs outside the sender's call and context.
            get_running_loop().call_soon(self._deliver, context=self._context)
        return True

    def _deliver(self) -> None:
        count = 0
        while self._messages and self._take is not None and count < AT_ONCE:
            count += 1
            if not self._take(self._messages.pop(0)):
                self._take = None
        self._room.notify_all()
        if self._messages:
            self._came.notify_all()

    async def receive(self) -> Sequence[bytes]:
        while not self._messages and not self._closed:
            await self._came.wait()
        messages, self._messages = self._messages, []
        self._room.notify_all()
        return messages

    def close(self) -> None:
        self._closed = True
        self._room.notify_all()
        self._came.notify_all()


class MemoryTransport:
    def __init__(self, incoming: Pipe, outgoing: Pipe) -> None:
        self._pipes = incoming, outgoing
        self.hand_over = incoming.hand_over
        self.receive = incoming.receive
        self.send = outgoing.send
        self.write_now = outgoing.write_now
        self.feed_eof = incoming.close
        """Let `receive` return the remaining messages, then nothing."""
        self.serving: Task[None] | None = None
        """The task of a server at the other end; closing waits for it."""

    async def close(self) -> None:
        for pipe in self._pipes:
            pipe.close()
        if self.serving is not None:
            await self.serving


def memory_pair(tap: Tap | None = None) -> tuple[MemoryTransport, MemoryTransport]:
    to_server, to_client = Pipe("client", tap), Pipe("server", tap)
    return MemoryTransport(to_client, to_server), MemoryTransport(to_server, to_client)
