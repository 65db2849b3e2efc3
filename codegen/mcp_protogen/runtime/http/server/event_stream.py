"""A stream of messages as server-sent events, which may outlive the connection that carries it.

Where events are kept each has an id: the name of its stream and its number in it. So a client that
comes back with the last one it saw gets what followed on that stream, and on no other
(2025-11-25, basic/transports, "Resumability and Redelivery").
"""

import re
from asyncio import Future, Lock, wait
from collections.abc import Sequence
from logging import getLogger
from secrets import token_urlsafe
from typing import Any, Final

from ...core.tasks import Tasks
from ...rpc.send_queue import MessageSink, SendQueue
from ..sse import written
from .channel import EventResponse
from .event_store import EventStore, StoredEvent

_SEPARATOR: Final = "."
_STANDING: Final = "~"
_ID: Final = re.compile(r"(~?[A-Za-z0-9_-]{1,32})\.([0-9]{1,15})")

# Messages that wait before one stream.
_LIMIT: Final = 1000

_log: Final = getLogger(__name__)


def standalone_name() -> str:
    """Return a new name for a stream that belongs to no request, in this process."""
    return _STANDING + token_urlsafe(9)


def is_standalone(name: str) -> bool:
    """Return whether a stream belongs to no request."""
    return name.startswith(_STANDING)


class Log:
    """The kept events of one stream of one session."""

    __slots__ = ("_last", "_session", "_store", "name")

    def __init__(self, store: EventStore, session: str, name: str | None = None) -> None:
        self._store = store
        self._session = session
        self.name = token_urlsafe(9) if name is None else name
        """The name of the stream in its session; no secret."""
        self._last = 0

    async def keep(self, message: bytes) -> str | None:
        """Keep a message, which may be empty; return the id of its event, None if that failed."""
        self._last += 1
        event = StoredEvent(self._last, message)
        try:
            await self._store.append(self._session, self.name, event)
        except Exception:
            # The store is the application's. Who is connected is served all the same.
            _log.exception("an event could not be kept")
            return None
        return self._id(event.number)

    async def after(self, number: int) -> list[tuple[str, bytes]] | None:
        """Return the ids and messages that followed an event; None if some are not known."""
        events = await self._store.after(self._session, self.name, number)
        if events is None:
            return None
        if events:
            # A stream that another process began goes on after what that has kept.
            self._last = max(self._last, events[-1].number)
        return [(self._id(number), message) for number, message in events if message]

    def _id(self, number: int) -> str:
        return f"{self.name}{_SEPARATOR}{number}"


def parsed(event_id: str) -> tuple[str, int] | None:
    """Return the stream and the number that an id names; None if it is none of ours."""
    match = _ID.fullmatch(event_id)
    return None if match is None else (match[1], int(match[2]))


class Stream:
    """A stream of messages, which may go from one response to the next, and be in none.

    Without a `log`, what nobody reads is lost. `retry` is in milliseconds; with it, a new stream
    begins with an event that holds nothing but an id, so that a client can come back before
    anything was said (2025-11-25, basic/transports, "Sending Messages to the Server").
    """

    __slots__ = ("_channel", "_closed", "_lock", "_retry", "log")

    def __init__(
        self, channel: EventResponse | None, log: Log | None = None, retry: int | None = None
    ) -> None:
        self._channel = channel
        self._retry = retry
        self._lock = Lock()
        self._closed = False
        self.log = log

    async def send(self, messages: Sequence[bytes]) -> None:
        """Write messages, each as an event."""
        async with self._lock:
            events = [await self._priming()]
            for message in messages:
                id = None if self.log is None else await self.log.keep(message)
                events.append(written(message, id=id))
            if self._channel is not None:
                await self._channel.write(b"".join(events))

    async def _priming(self) -> bytes:
        if self._retry is None or self.log is None:
            return b""
        retry, self._retry = self._retry, None
        id = await self.log.keep(b"")
        return b"" if id is None else written(b"", id=id, retry=retry)

    async def attach(self, channel: EventResponse, after: int) -> bool:
        """Go on in another response, after the event of that number.

        Return False if what followed it is not known any more; then nothing has changed.
        """
        assert self.log is not None
        async with self._lock:
            missed = await self.log.after(after)
            if missed is None:
                return False
            before, self._channel = self._channel, channel
            if before is not None:
                before.close_soon()
            for id, message in missed:
                await channel.write(written(message, id=id))
            await channel.write(b"")
            if self._closed:
                # There is nothing to wait for any more.
                self._channel = None
                await channel.close()
        return True

    def carries(self, channel: EventResponse) -> bool:
        """Return whether the stream goes through that response."""
        return self._channel is channel

    def detach(self, channel: EventResponse) -> None:
        """Go on without a response whose client has left it."""
        if self._channel is channel:
            self._channel = None

    async def release(self) -> None:
        """Complete the response; the client can come back for what is to follow."""
        async with self._lock:
            channel, self._channel = self._channel, None
            if channel is not None:
                await channel.write(await self._priming())
                await channel.close()

    async def close(self) -> None:
        """End the stream once all is written, and complete the response it is in."""
        async with self._lock:
            self._closed = True
            channel, self._channel = self._channel, None
            if channel is not None:
                await channel.close()

    def abort(self) -> None:
        """End the stream; do not wait until a client has taken in what was written."""
        self._closed = True
        channel, self._channel = self._channel, None
        if channel is not None:
            channel.close_soon()


class StreamQueue:
    """A stream with the queue before it, and the task that empties the queue."""

    __slots__ = ("_writing", "outbox", "stream")

    def __init__(self, stream: Stream, tasks: Tasks) -> None:
        self.stream = stream
        self.outbox = SendQueue(stream, _LIMIT)
        self._writing = tasks.start(self.outbox.run())

    async def drain(self) -> None:
        """Write what is waiting, and take nothing more."""
        self.outbox.close()
        # Whoever ends everything cancels the task, and not who waits for it.
        await wait([self._writing])

    async def close(self) -> None:
        """Write what is waiting, and end the stream."""
        await self.drain()
        await self.stream.close()

    def abort(self) -> None:
        """End the stream; what is waiting is lost."""
        self._writing.cancel()
        self.stream.abort()


class StreamSink:
    """A sink for messages whose stream is there for a part of the time; subclasses open it."""

    __slots__ = ("_queue",)

    _queue: StreamQueue | None
    flooded = False

    @property
    def full(self) -> bool:
        return self._queue is not None and self._queue.outbox.full

    async def room(self) -> None:
        """Return at once: reading is not held up by what one response has to carry."""

    async def send(self, message: bytes, *, unless: Future[Any] | None = None) -> None:
        await self._sink().send(message, unless=unless)

    def put(self, message: bytes) -> None:
        self._sink().put(message)

    def _sink(self) -> MessageSink:
        """Return where a message goes at this moment."""
        raise NotImplementedError
