"""Messages as lines over whatever asyncio can read from and write to: sockets, pipes, processes.

`LineProtocol` is what asyncio calls when something happens; `LineTransport` is what a connection
calls. A socket needs one of each, a pair of pipes two protocols:

    _, lines = await loop.create_unix_connection(LineProtocol, path)
    transport = LineTransport(lines)
"""

import asyncio
from asyncio import Future, get_running_loop
from collections.abc import Callable, Sequence
from typing import Final

from ..core.errors import Disconnected
from .base import Received
from .framing import LONGEST, LineReader, frame

# So many bytes may have come that nobody has asked for before reading pauses.
_HIGH_WATER: Final = 1024 * 1024

# What is more than this goes the longer way, on which others get a turn.
_AT_ONCE: Final = 100

# How long what was written may take to leave, once the connection is closed, in seconds.
_FAREWELL: Final = 2.0


class IncomingLines:
    """Messages that have come and wait to be asked for."""

    __slots__ = (
        "_ended",
        "_lines",
        "_messages",
        "_paused",
        "_size",
        "_source",
        "_take",
        "_waiter",
        "error",
    )

    def __init__(self, limit: int) -> None:
        self._lines = LineReader(limit)
        self._messages: list[Received] = []
        self._size = 0
        self._ended = False
        self._paused = False
        self._source: asyncio.ReadTransport | None = None
        self._take: Callable[[Received], bool] | None = None
        self._waiter: Future[None] | None = None
        self.error: Exception | None = None
        """The error that broke the connection, if it did not just end."""

    def set_transport(self, source: asyncio.ReadTransport) -> None:
        """Set where the bytes come from."""
        self._source = source

    def feed_data(self, chunk: bytes) -> None:
        """Take in bytes that have come."""
        self._add(self._handed_over(self._lines.feed(chunk)))
        # A line that has not ended wakes nobody, so reading has to go on.
        self._size = self._size + len(chunk) if self._messages else 0
        if self._size > _HIGH_WATER and self._source is not None and not self._paused:
            self._paused = True
            self._source.pause_reading()

    def feed_eof(self, error: Exception | None = None) -> None:
        """Note that nothing more will come, because of an error if one is given."""
        if not self._ended:
            self._ended = True
            self.error = error
            self._add(self._lines.end())
            self._wake()

    def hand_over(self, take: Callable[[Received], bool] | None) -> None:
        self._take = take

    def _handed_over(self, received: list[Received]) -> list[Received]:
        """Hand over messages, and return those that were not taken."""
        take = self._take
        if take is None or self._messages or len(received) > _AT_ONCE:
            return received
        for number, message in enumerate(received, 1):
            if not take(message):
                self._take = None
                return received[number:]
        return []

    def close(self) -> None:
        """Take in nothing more."""
        if self._source is not None:
            self._source.close()

    def _add(self, received: list[Received]) -> None:
        if received:
            self._messages += received
            self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def receive(self) -> Sequence[Received]:
        """Wait for messages, and return all that have come; none at the end."""
        if not self._messages and not self._ended:
            self._waiter = get_running_loop().create_future()
            await self._waiter
        messages, self._messages, self._size = self._messages, [], 0
        if self._paused and self._source is not None:
            self._paused = False
            self._source.resume_reading()
        return messages


class OutgoingLines:
    """Messages on their way out, over a connection that may be full, or lost."""

    __slots__ = ("_gone", "_lost", "_paused", "_room", "_sink")

    def __init__(self) -> None:
        self._sink: asyncio.WriteTransport | None = None
        self._paused = False
        self._gone: Exception | None = None
        self._room = asyncio.Event()
        self._lost = asyncio.Event()

    def set_transport(self, sink: asyncio.WriteTransport) -> None:
        """Set where the bytes go."""
        self._sink = sink

    def pause_writing(self) -> None:
        """Let senders wait: there is no room for more."""
        self._paused = True
        self._room.clear()

    def resume_writing(self) -> None:
        """Let senders go on: there is room again."""
        self._paused = False
        self._room.set()

    def connection_lost(self, error: Exception | None) -> None:
        """Note that nothing can be sent any more."""
        self._gone = error or ConnectionError("the connection is closed")
        self._room.set()
        self._lost.set()

    async def send(self, messages: Sequence[bytes]) -> None:
        """Write messages, and wait until there is room for more; raise `Disconnected`."""
        if self._sink is None or self._gone is not None:
            raise Disconnected(f"cannot be written to: {self._gone or 'not connected'}")
        self._sink.write(frame(messages))
        while self._paused and self._gone is None:
            await self._room.wait()

    async def close(self) -> None:
        """Close the connection; what was written gets some time to leave."""
        if self._sink is None or self._gone is not None:
            return
        self._sink.close()
        try:
            async with asyncio.timeout(_FAREWELL):
                await self._lost.wait()
        except TimeoutError:
            self._sink.abort()


class LineProtocol(asyncio.Protocol):
    """Both directions of one asyncio transport; `limit` is the longest line, in bytes."""

    def __init__(self, limit: int = LONGEST) -> None:
        self.incoming = IncomingLines(limit)
        self.outgoing = OutgoingLines()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.ReadTransport):
            self.incoming.set_transport(transport)
        if isinstance(transport, asyncio.WriteTransport):
            self.outgoing.set_transport(transport)

    def data_received(self, data: bytes) -> None:
        self.incoming.feed_data(data)

    def eof_received(self) -> bool:
        """Return true: what is to be sent may still be sent."""
        self.incoming.feed_eof()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        self.incoming.feed_eof(exc)
        self.outgoing.connection_lost(exc)

    def pause_writing(self) -> None:
        self.outgoing.pause_writing()

    def resume_writing(self) -> None:
        self.outgoing.resume_writing()


class LineTransport:
    """A transport over one protocol for both directions, or over one for each."""

    def __init__(self, incoming: LineProtocol, outgoing: LineProtocol | None = None) -> None:
        self._incoming = incoming.incoming
        self._outgoing = (outgoing or incoming).outgoing

    async def receive(self) -> Sequence[Received]:
        received = await self._incoming.receive()
        if not received and self._incoming.error is not None:
            raise Disconnected(f"the connection broke: {self._incoming.error}")
        return received

    def hand_over(self, take: Callable[[Received], bool] | None) -> None:
        self._incoming.hand_over(take)

    async def send(self, messages: Sequence[bytes]) -> None:
        await self._outgoing.send(messages)

    async def close(self) -> None:
        await self._outgoing.close()
        self._incoming.close()
