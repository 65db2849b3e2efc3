"""The two ends of a connection within one process, with real messages between them.

What one side sends arrives at the other as the bytes it would put on any wire, so tests and
embedded servers see exactly what a remote peer would see.
"""

from asyncio import Task
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from ..core.connection_errors import Disconnected
from ..core.spec import Role
from ..core.tasks import Signal

Tap: TypeAlias = Callable[[Role, bytes], object]
"""A function that is shown every message before it is delivered: its sender, and its bytes."""

# As many messages may wait to be read before the sender has to wait.
_CAPACITY: Final = 1000


class _Pipe:
    """One direction of a connection; it keeps the order of the messages."""

    def __init__(self, sender: Role, tap: Tap | None) -> None:
        self._sender: Role = sender
        self._tap = tap
        self._messages: list[bytes] = []
        self._closed = False
        self._changed = Signal()

    async def send(self, messages: Sequence[bytes]) -> None:
        while len(self._messages) >= _CAPACITY and not self._closed:
            await self._changed.heard()
        if self._closed:
            raise Disconnected("the other side has closed the connection")
        if self._tap is not None:
            for message in messages:
                self._tap(self._sender, message)
        self._messages += messages
        self._changed.ring()

    async def receive(self) -> Sequence[bytes]:
        while not self._messages and not self._closed:
            await self._changed.heard()
        messages, self._messages = self._messages, []
        self._changed.ring()
        return messages

    def close(self) -> None:
        self._closed = True
        self._changed.ring()


class MemoryTransport:
    """One end of a connection within the process."""

    def __init__(self, incoming: _Pipe, outgoing: _Pipe) -> None:
        self._pipes = incoming, outgoing
        self.receive = incoming.receive
        self.send = outgoing.send
        self.feed_eof = incoming.close
        """Let `receive` return what has come, and nothing more."""
        self.serving: Task[None] | None = None
        """The task of the server at the other end, if closing this one has to wait for it."""

    async def close(self) -> None:
        for pipe in self._pipes:
            pipe.close()
        if self.serving is not None:
            await self.serving


def memory_pair(tap: Tap | None = None) -> tuple[MemoryTransport, MemoryTransport]:
    to_server, to_client = _Pipe("client", tap), _Pipe("server", tap)
    return MemoryTransport(to_client, to_server), MemoryTransport(to_server, to_client)
