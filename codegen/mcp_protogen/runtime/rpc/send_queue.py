"""Outgoing messages: a bounded queue, and one task that writes all that wait."""

from asyncio import CancelledError, Event, Future, Task, wait
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Protocol

from ..core.connection_errors import Disconnected
from ..core.tasks import Signal
from ..transports.base import MessageWriter


class MessageSink(Protocol):
    """A way to send messages to the peer: that of a connection, or of one of its requests."""

    @property
    def full(self) -> bool: ...
    @property
    def flooded(self) -> bool: ...
    async def room(self) -> None: ...

    async def send(self, message: bytes, *, unless: Future[Any] | None = None) -> None:
        """Send a message once there is room; raise `Disconnected`.

        If `unless` is done by then, the message is dropped.
        """

    def put(self, message: bytes) -> None:
        """Send a message without waiting; it is lost if the connection is."""


class SendQueue:
    """The queue of one connection or stream. When `limit` messages wait, senders wait too."""

    __slots__ = (
        *("_closing", "_limit", "_queue", "_room", "_sending", "_work", "_write_now"),
        *("alone", "broken", "flooded", "writer"),
    )

    def __init__(self, writer: MessageWriter, limit: int) -> None:
        self.writer = writer
        # Only some transports write at once, which saves waking a task.
        write_now: Callable[[Sequence[bytes]], bool] | None = getattr(writer, "write_now", None)
        self._write_now = write_now
        # Over HTTP, each request is alone.
        self.alone: bool = getattr(writer, "over_http", False)
        self._limit = limit
        self._queue: list[bytes] = []
        self._work = Event()
        self._room = Signal()
        # Then the messages of a batch may have to wait, and no other may overtake them.
        self._sending = False
        self._closing = False
        self.broken: Disconnected | None = None
        # An attribute, because each received message reads it.
        self.flooded = False

    async def send(self, message: bytes, *, unless: Future[Any] | None = None) -> None:
        if unless is not None and self.full:
            unless.add_done_callback(lambda _: self._room.notify_all())
        while self.full and self.broken is None:
            if unless is not None and unless.done():
                return
            await self._room.wait()
        if self.broken is not None:
            raise self.broken
        self.put(message)

    def put_now(self, message: bytes) -> bool:
        """Write a message at once; return whether that was possible."""
        if self._queue or self._sending or self._closing or self.broken is not None:
            return False
        return self._write_now is not None and self._write_now([message])

    def put(self, message: bytes) -> None:
        if self.broken is None and not self._closing:
            self._queue.append(message)
            self.flooded = len(self._queue) >= 2 * self._limit
            self._work.set()

    @property
    def full(self) -> bool:
        return len(self._queue) >= self._limit

    async def room(self) -> None:
        while self.flooded and self.broken is None:
            await self._room.wait()

    async def run(self) -> None:
        """Write messages until the queue is closed and empty, or the writer breaks."""
        while self.broken is None and (self._queue or not self._closing):
            if self._queue:
                messages, self._queue, self.flooded = self._queue, [], False
                self._room.notify_all()
                await self._transfer(messages)
            else:
                self._work.clear()
                await self._work.wait()
        if self.broken is None:
            self._break(Disconnected("the connection is closed"))

    async def _transfer(self, messages: list[bytes]) -> None:
        self._sending = True
        try:
            await self.writer.send(messages)
        except OSError as error:
            self._break(error if isinstance(error, Disconnected) else Disconnected(str(error)))
        except Exception as error:
            # Otherwise senders would wait for ever.
            self._break(Disconnected(f"the transport failed: {type(error).__name__}"))
            raise
        finally:
            self._sending = False

    def _break(self, broken: Disconnected) -> None:
        self.broken = broken
        self._queue.clear()
        self.flooded = False
        self._room.notify_all()
        self._work.set()

    def end(self) -> None:
        """Take no more messages; `run` returns once the waiting ones are written."""
        self._closing = True
        self._work.set()

    async def close(self, writer: Task[None], within: float) -> None:
        """Give `writer`, which runs `run`, `within` seconds to finish, then end it."""
        self.end()
        try:
            await wait((writer,), timeout=within)
        finally:
            writer.cancel()
            with suppress(CancelledError):
                await writer


async def send_soon(
    sink: MessageSink, message: bytes, *, alone: bool, unless: Future[Any] | None = None
) -> None:
    """Send a message: at once if it is `alone`, and else together with others."""
    if not (isinstance(sink, SendQueue) and (alone or sink.alone) and sink.put_now(message)):
        await sink.send(message, unless=unless)
