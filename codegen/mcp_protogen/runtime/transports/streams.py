"""Messages as lines over asyncio: sockets, pipes, processes.

A message is one line (basic/transports/stdio). Blank lines are ignored.

asyncio calls a `LineProtocol`, a connection a `LineTransport`. A socket needs one of each, a pair
of pipes two protocols.
"""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, Final, cast

from ..core.connection_errors import Disconnected
from ..core.errors import ParseError
from ..core.middleware import Network
from ..core.tasks import Signal
from ..messages.reading import read_values
from .base import Inbox, Received

LONGEST: Final = 16 * 1024 * 1024
"""The default limit for a line, in bytes."""

# Reading pauses when more bytes wait to be received.
_HIGH_WATER: Final = 1024 * 1024

# The time for written data to leave, in seconds.
_CLOSE_TIMEOUT: Final = 2.0


class LineReader:
    """A reader that splits received chunks into lines of at most `limit` bytes."""

    def __init__(self, limit: int = LONGEST) -> None:
        self._limit = limit
        self._line = bytearray()
        # The end of a line that is too long; it may have the id of the message.
        self._end = b""

    def feed(self, chunk: bytes) -> list[Received]:
        """Return the lines that end in `chunk`, or errors for those that are too long."""
        *lines, rest = chunk.split(b"\n")
        received: list[Received] = []
        for line in lines:
            if self._line:
                self._keep(line)
                line = bytes(self._line) + self._end
                self._line.clear()
                self._end = b""
            if line.endswith(b"\r"):
                line = line[:-1]
            if len(line) > self._limit:
                from ..messages.repairing import unreadable

                received.append(unreadable(f"a line of more than {self._limit} bytes", line))
            elif line and not line.isspace():
                received.append(line)
        if rest:
            self._keep(rest)
        return received

    def end(self) -> list[Received]:
        """Return the last line, which may lack its newline; one cut off is text."""
        rest = self.feed(b"\n")
        for line in rest:
            if isinstance(line, bytes):
                try:
                    read_values(line)
                except ParseError as error:
                    return [ParseError(error.message, id=error.id)]
        return rest

    def _keep(self, part: bytes) -> None:
        # Including a carriage return, and one byte that shows that the line is too long.
        room = self._limit + 2 - len(self._line)
        self._line += part[:room]
        if len(part) > room:
            from ..messages.repairing import TAIL

            self._end = (self._end + part[room:])[-TAIL:]


class LineProtocol(asyncio.Protocol):
    """Both directions of one asyncio transport; `limit` is the longest line, in bytes."""

    def __init__(self, limit: int = LONGEST) -> None:
        self._changed = Signal()
        self._lines = LineReader(limit)
        self._inbox = Inbox()
        self.hand_over: Final = self._inbox.hand_over
        self._source: asyncio.ReadTransport | None = None
        self._sink: asyncio.WriteTransport
        self._writing_paused = False
        self._lost: Exception | None = ConnectionError("not connected")

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Tested by methods: the transports of uvloop have no classes of asyncio.
        if hasattr(transport, "resume_reading"):
            self._source = cast(asyncio.ReadTransport, transport)
        if hasattr(transport, "write"):
            self._sink = cast(asyncio.WriteTransport, transport)
            self._lost = None

    def data_received(self, data: bytes) -> None:
        self._inbox.extend(self._lines.feed(data))
        if self._inbox.size > _HIGH_WATER and self._source is not None:
            self._source.pause_reading()

    def eof_received(self) -> bool:
        """Return true: sending may continue."""
        self._end(None)
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        self._end(exc)
        self._lost = exc or ConnectionError("the connection is closed")
        self._changed.notify_all()

    def _end(self, error: Exception | None) -> None:
        self._inbox.extend(self._lines.end())
        self._inbox.end(Disconnected(f"the connection broke: {error}") if error else None)

    def pause_writing(self) -> None:
        self._writing_paused = True

    def resume_writing(self) -> None:
        self._writing_paused = False
        self._changed.notify_all()

    @property
    def socket(self) -> Any:
        return None if self._source is None else self._source.get_extra_info("socket")

    async def receive(self) -> Sequence[Received]:
        messages = await self._inbox.receive()
        if self._source is not None:
            self._source.resume_reading()
        return messages

    def encode(self, messages: Iterable[bytes]) -> bytes:
        """Return messages as lines; none of them may contain a newline."""
        return b"\n".join(messages) + b"\n"

    def write_now(self, messages: Sequence[bytes]) -> bool:
        """Write messages if there is room; return whether there was."""
        if self._lost is not None or self._writing_paused:
            return False
        self._sink.write(self.encode(messages))
        return True

    async def send(self, messages: Sequence[bytes]) -> None:
        if self._lost is not None:
            raise Disconnected(f"cannot write to the connection: {self._lost}")
        self._sink.write(self.encode(messages))
        while self._writing_paused and self._lost is None:
            await self._changed.wait()

    async def close_writing(self) -> None:
        """Close the connection; written data gets some time to leave."""
        if self._lost is not None:
            return
        self._sink.close()
        try:
            async with asyncio.timeout(_CLOSE_TIMEOUT):
                while self._lost is None:
                    await self._changed.wait()
        except TimeoutError:
            self._sink.abort()

    def close_reading(self) -> None:
        if self._source is not None:
            self._source.close()


class LineTransport:
    """A transport over one protocol for both directions, or over one for each."""

    def __init__(self, incoming: LineProtocol, outgoing: LineProtocol | None = None) -> None:
        self._incoming = incoming
        self._outgoing = outgoing or incoming
        # Bound here, so that each message needs no further call.
        self.hand_over = incoming.hand_over
        self.receive = incoming.receive
        self.send = self._outgoing.send
        self.write_now = self._outgoing.write_now

    @property
    def network(self) -> Network:
        found = self._incoming.socket
        if found is None:
            return Network("pipe")
        is_unix = not isinstance(found.getsockname(), tuple)
        return Network("unix" if is_unix else "tcp")

    async def close(self) -> None:
        await self._outgoing.close_writing()
        self._incoming.close_reading()
