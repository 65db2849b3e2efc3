"""Messages as server-sent events, in streams that go from one HTTP response to the next.

Where events are kept each has an id: the name of its stream and its number in it. So a client that
comes back with the last one it saw gets what followed on that stream, and on no other
(2025-11-25, basic/transports, "Resumability and Redelivery").
"""

import re
from asyncio import FIRST_COMPLETED, Future, Lock, TimerHandle, create_task, get_running_loop, wait
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from logging import getLogger
from secrets import token_urlsafe
from typing import Any, Final

from ...core.tasks import Tasks
from ...rpc.send_queue import SendQueue
from .. import headers
from ..sse import written
from .asgi import Field, HttpExchange
from .stores import EventStore, StoredEvent

_FIELDS: Final[tuple[Field, ...]] = (
    (b"content-type", headers.EVENTS.encode()),
    # Neither caches nor proxies may hold events back
    # (2026-07-28, basic/transports/streamable-http, "Receiving Messages").
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
)

# A comment, which readers pass over (HTML standard, "Event streams").
_COMMENT: Final = b":\n\n"

STANDALONE: Final = "~"
"""How the names begin of streams that belong to no request."""
_ID: Final = re.compile(r"(~?[A-Za-z0-9_-]{1,32})\.([0-9]{1,15})")

# Messages that wait before one stream.
_WAITING: Final = 1000

# While nobody listens: enough for a client that is about to connect, or to connect again. There
# may be many sessions whose clients never do.
_KEPT: Final = 32

_log: Final = getLogger(__name__)


@dataclass(eq=False, slots=True)
class EventResponse:
    """One HTTP response with events; once it is not `open`, nothing more is written."""

    _exchange: HttpExchange
    _keep_alive: "KeepAlive"
    _begun: bool = False
    _writing: bool = False
    open: bool = True
    ended: Future[None] = field(default_factory=lambda: get_running_loop().create_future())
    """Done once the response is over."""

    async def write(self, data: bytes) -> None:
        """Write a piece after the header; it is lost if the client is gone."""
        if not self.open:
            return
        self._writing = True
        try:
            if not self._begun:
                self._begun = True
                self._keep_alive.add(self)
                start = {"type": "http.response.start", "status": 200, "headers": list(_FIELDS)}
                await self._exchange.send(start)
            if data:
                piece = {"type": "http.response.body", "body": data, "more_body": True}
                await self._exchange.send(piece)
        finally:
            self._writing = False
        if self._exchange.closed:
            self.abort()

    async def close(self) -> None:
        """Complete the response, which is empty if nothing was written."""
        if not self.open:
            return
        await self.write(b"")
        self._end()
        try:
            await self._exchange.send({"type": "http.response.body", "body": b""})
        finally:
            self.abort()

    def close_soon(self) -> None:
        """Complete the response without waiting: its client may take its time, or be gone."""
        if self.open:
            self._keep_alive.tasks.start(self.close())

    def abort(self) -> None:
        """Write nothing more: the client has gone, or the request is not served any more."""
        self._end()
        if not self.ended.done():
            self.ended.set_result(None)

    def _end(self) -> None:
        self.open = False
        self._keep_alive.remove(self)

    async def until_over(self, *others: Future[None]) -> None:
        """Wait until the client has gone, the response is over, or one of `others` is done."""
        gone = create_task(self._exchange.gone())
        try:
            await wait([gone, self.ended, *others], return_when=FIRST_COMPLETED)
        finally:
            gone.cancel()

    async def comment(self) -> None:
        """Show that the response is alive, unless it is being written to."""
        if not self._writing:
            await self.write(_COMMENT)


class KeepAlive:
    """A timer that keeps all event responses alive, every `interval` seconds."""

    def __init__(self, interval: float, tasks: Tasks) -> None:
        self._interval = interval
        self.tasks = tasks
        self._responses: dict[EventResponse, None] = {}
        self._timer: TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._responses)

    def add(self, response: EventResponse) -> None:
        self._responses[response] = None
        if self._timer is None:
            self._timer = get_running_loop().call_later(self._interval, self._comment)

    def remove(self, response: EventResponse) -> None:
        self._responses.pop(response, None)
        if not self._responses and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _comment(self) -> None:
        self._timer = get_running_loop().call_later(self._interval, self._comment)
        for response in self._responses:
            self.tasks.start(response.comment())

    async def close(self, seconds: float) -> None:
        """Complete all responses; those that are not read in time are left as they are."""
        closing = [self.tasks.start(response.close()) for response in list(self._responses)]
        if closing:
            await wait(closing, timeout=seconds)


@dataclass(eq=False, slots=True)
class EventLog:
    """The kept events of one stream of one session; its name is no secret."""

    _store: EventStore
    _session: str
    name: str = field(default_factory=partial(token_urlsafe, 9))
    _last: int = 0

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
        return f"{self.name}.{number}"


def parsed(event_id: str) -> tuple[str, int]:
    """Return the stream and the number that an id names; no stream if it is none of ours."""
    match = _ID.fullmatch(event_id)
    return ("", 0) if match is None else (match[1], int(match[2]))


@dataclass(eq=False, slots=True)
class Stream:
    """A stream of messages, which is in one response at a time, or in none.

    Without a `log`, what nobody reads is lost. With `_retry`, in milliseconds, a new stream begins
    with an event that holds nothing but an id, so that a client can come back before anything was
    said (2025-11-25, basic/transports, "Sending Messages to the Server").
    """

    response: EventResponse | None
    log: EventLog | None = None
    _retry: int | None = None
    _lock: Lock = field(default_factory=Lock)
    _closed: bool = False

    async def send(self, messages: Sequence[bytes]) -> None:
        async with self._lock:
            events = [await self._priming()]
            for message in messages:
                id = None if self.log is None else await self.log.keep(message)
                events.append(written(message, id=id))
            if self.response is not None:
                await self.response.write(b"".join(events))

    async def _priming(self) -> bytes:
        if self._retry is None or self.log is None:
            return b""
        retry, self._retry = self._retry, None
        id = await self.log.keep(b"")
        return b"" if id is None else written(b"", id=id, retry=retry)

    async def attach(self, response: EventResponse, after: int) -> bool:
        """Go on in another response, after the event of that number.

        Return False if what followed it is not known any more; then nothing has changed.
        """
        assert self.log is not None
        async with self._lock:
            missed = await self.log.after(after)
            if missed is None:
                return False
            before, self.response = self.response, response
            if before is not None:
                before.close_soon()
            for id, message in missed:
                await response.write(written(message, id=id))
            await response.write(b"")
            if self._closed:
                # There is nothing to wait for any more.
                await self._complete()
        return True

    async def detach(self, response: EventResponse) -> None:
        if self.response is response:
            self.response = None

    async def release(self) -> None:
        """Complete the response; the client can come back for what is to follow."""
        async with self._lock:
            if self.response is not None:
                await self._complete(await self._priming())

    async def close(self) -> None:
        """End the stream once all is written, and complete the response it is in."""
        async with self._lock:
            self._closed = True
            await self._complete()

    async def _complete(self, last: bytes = b"") -> None:
        response, self.response = self.response, None
        if response is not None:
            await response.write(last)
            await response.close()

    def abort(self) -> None:
        """End the stream; do not wait until a client has taken in what was written."""
        self._closed = True
        response, self.response = self.response, None
        if response is not None:
            response.close_soon()


class StreamQueue:
    """A stream with the queue before it, and the task that empties the queue."""

    __slots__ = ("_writing", "queue", "stream")

    def __init__(self, stream: Stream, tasks: Tasks) -> None:
        self.stream = stream
        self.queue = SendQueue(stream, _WAITING)
        self._writing = tasks.start(self.queue.run())

    async def drain(self) -> None:
        self.queue.end()
        # Whoever ends everything cancels the task, and not who waits for it.
        await wait([self._writing])

    async def close(self) -> None:
        await self.drain()
        await self.stream.close()

    def abort(self) -> None:
        self._writing.cancel()
        self.stream.abort()


class StreamSink:
    """A sink for messages whose stream is there for a part of the time."""

    __slots__ = ()

    _queue: StreamQueue | None
    flooded = False

    @property
    def full(self) -> bool:
        return self._queue is not None and self._queue.queue.full

    async def room(self) -> None:
        """Return at once: reading is not held up by what one response has to carry."""


@dataclass(eq=False, slots=True)
class StandaloneStream(StreamSink):
    """The stream of a session that belongs to no request; it takes up little until it is read.

    2025-11-25, basic/transports, "Listening for Messages from the Server".
    """

    _tasks: Tasks
    log: EventLog | None
    retry: int | None
    """The delay in milliseconds before its client comes back to a stream, if clients do."""
    _kept: deque[bytes] | None = None
    """The newest messages that nobody has listened to yet."""
    _queue: StreamQueue | None = None
    _closed: bool = False
    # Not while a stream opens: what is said then comes after what was kept until then.
    _ready: SendQueue | None = None

    async def send(self, message: bytes, *, unless: Future[Any] | None = None) -> None:
        if self._ready is not None:
            await self._ready.send(message, unless=unless)
        else:
            self.put(message)

    def put(self, message: bytes) -> None:
        if self._ready is not None:
            self._ready.put(message)
            return
        if self._kept is None:
            self._kept = deque(maxlen=_KEPT)
        if len(self._kept) == _KEPT:
            _log.debug("nobody listens: a message of the server is lost")
        self._kept.append(message)

    async def attach(self, response: EventResponse, after: int | None) -> bool:
        """Go on in a new response, after the event of that number if one is given.

        The response before is completed: each message goes out once, and the newest response is
        most likely to be read. Return False if what followed the event is not known any more.
        """
        if after is not None and (self.log is None or await self.log.after(after) is None):
            return False
        while self._queue is not None:
            # Another one may come while this is being closed.
            await self.detach()
        if self._closed:
            await response.close()
            return True
        new, retry = (response, self.retry) if after is None else (None, None)
        stream = Stream(new, self.log, retry)
        # Whole before anybody else gets a turn, who may want to close it.
        queue = self._queue = StreamQueue(stream, self._tasks)
        if after is None:
            # The client learns at once that it is listened to.
            await stream.send([])
        elif not await stream.attach(response, after):
            await self.detach()
            return False
        if self._queue is queue:
            # Otherwise another one has come meanwhile, who is given what was kept.
            for message in self._kept or ():
                queue.queue.put(message)
            self._kept, self._ready = None, queue.queue
        return True

    async def detach(self, response: EventResponse | None = None) -> None:
        """Let go of the response there is; of no other than `response`, if it is given."""
        queue = self._queue
        if queue is None or response not in (None, queue.stream.response):
            return
        self._queue = self._ready = None
        queue.stream.abort()
        await queue.drain()

    async def close(self) -> None:
        self._closed = True
        await self.detach()
