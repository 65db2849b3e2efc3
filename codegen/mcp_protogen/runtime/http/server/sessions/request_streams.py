"""The streams of requests: messages before an answer, and the answer.

A session's stream is stored by the worker of the request, whose name begins the stream's. Event 0
is its head: the ids of its requests. The answer is its last event. Other workers follow it for a
client that reconnects there. If its worker is gone before the end, they append errors as answers;
from then on the store refuses events of that worker, which may only have been slow.
"""

from asyncio import Event, Lock, wait
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from ....core.connection_errors import Disconnected
from ....core.errors import INTERNAL_ERROR, RequestId
from ....core.tasks import Tasks
from ....core.throttle import Throttle
from ....messages.jsonrpc import write_error, write_id
from ....rpc.send_queue import SendQueue
from ....storage.engine import EngineUnavailable
from ....storage.engine import Event as StoredEvent
from ...sse import write_event
from ..event_stream import EventResponse
from .event_log import Delivery, EventLog
from .worker import StreamTaken, read_value, writer_of

WAITING: Final = 1000
"""The most messages waiting for one stream."""


@dataclass(eq=False, slots=True)
class Stream:
    """The messages of a request in its one response; unread ones are lost."""

    response: EventResponse

    async def send(self, messages: Sequence[bytes]) -> None:
        await self.response.write(b"".join(map(write_event, messages)))

    def note_answer(self, message: bytes) -> None:
        """Note the last message, before it is sent."""

    async def release(self) -> None:
        """Complete the response if the client can reconnect for later messages."""

    async def close(self) -> None:
        """End the stream once all is written, and complete its response."""
        await self.response.close()

    def abort(self) -> None:
        """End the stream without waiting for the client to read."""
        self.response.close_soon()

    fail = abort


@dataclass(eq=False, slots=True)
class LoggedStream:
    """A stream that this worker writes, in at most one response at a time."""

    log: EventLog
    _ids: Sequence[RequestId]
    _delivery: Delivery | None
    _answer: bytes | None = None
    _ended: bool = False
    _closed: bool = False
    _reader: str | None = None
    """The worker where the client reads it, if known."""
    # Held while appending, which the engine may delay; not while a client reconnects.
    _lock: Lock = field(default_factory=Lock)

    def note_answer(self, message: bytes) -> None:
        self._answer = message

    async def send(self, messages: Sequence[bytes]) -> None:
        async with self._lock:
            await self._append(messages, end=messages[-1] is self._answer)

    async def _append(self, messages: Sequence[bytes], *, end: bool = False) -> None:
        log, first = self.log, self.log.last + 1
        if self._ended:
            raise Disconnected("the stream has ended")
        if first == 0:
            messages = [b"[%b]" % b",".join(map(write_id, self._ids)), *messages]
        if not (await log.append(first, messages, end=end)).accepted:
            log.context.log.warning("another worker has ended a stream: later messages are lost")
            self._ended = True
            self.let_go()
            raise Disconnected("another worker has ended the stream")
        self._ended = end
        if self._delivery is not None:
            await self._delivery.write(first, messages)

    async def attach(self, response: EventResponse, after: int) -> bool:
        """Continue in another response, after the event of a number.

        Return False, without a change, if later events are lost. Raise `EngineUnavailable`.
        """
        events = await self.log.read(after)
        if events is None:
            return False
        self.let_go()
        delivery = self._delivery = Delivery(self.log, response, after)
        await delivery.deliver(events.events)
        reader, self._reader = self._reader, None
        if reader is not None:
            await self._take_from(reader, self.log.context.worker.name)
        # Events may have been appended meanwhile.
        await delivery.reach(self.log.last)
        if self._closed or events.ended:
            # Nothing more will come; another worker may have ended it.
            await delivery.complete()
        return True

    async def hand_over(self, reader: str) -> None:
        """Release the response: the client continues at another worker."""
        self.let_go()
        old, self._reader = self._reader, reader
        if old is not None and old != reader:
            await self._take_from(old, reader)

    async def _take_from(self, before: str, reader: str) -> None:
        message = StreamTaken(session=self.log.key, stream=self.log.name, taker=reader)
        try:
            await self.log.context.worker.tell([before], message)
        except EngineUnavailable:
            self.log.context.log.info("a worker was not notified that a stream is read elsewhere")

    def detach(self, response: EventResponse) -> None:
        if self._delivery is not None and self._delivery.response is response:
            self._delivery = None

    def let_go(self) -> None:
        delivery, self._delivery = self._delivery, None
        if delivery is not None:
            delivery.end()

    async def release(self) -> None:
        async with self._lock:
            if self.log.last < 0:
                await self._append([])
        await self._complete()

    async def close(self) -> None:
        async with self._lock:
            # Without an event id, no client can come back.
            if self.log.last >= 0 and not self._ended and not self._closed:
                with suppress(Disconnected):
                    await self._append([b""], end=True)
            self._closed = True
        await self._complete()

    async def _complete(self) -> None:
        delivery, self._delivery = self._delivery, None
        if delivery is not None:
            await delivery.complete()

    def abort(self) -> None:
        self._closed = self.log.closed = True
        self.let_go()

    def fail(self) -> None:
        """End the stream with errors in place of answers."""
        self._closed = True
        self.let_go()
        if self.log.last >= 0 and not self._ended:
            self.log.context.tasks.start(self._fail())

    async def _fail(self) -> None:
        answers = _error_answers(self._ids, "The request was not completed")
        with suppress(Disconnected):
            async with self._lock:
                result = await self.log.append(self.log.last + 1, answers, end=True)
                if not result.accepted and not result.ended:
                    # An earlier append has succeeded after all.
                    await self.log.append(result.last + 1, answers, end=True)


@dataclass(eq=False, slots=True)
class FollowedStream:
    """A stream of another worker, or of none, in a response of this one."""

    _delivery: Delivery
    _woken: Event | None = None

    async def attach(self) -> bool:
        """Begin to follow the log; return False if later events are lost.

        Raise `EngineUnavailable`.
        """
        delivery = self._delivery
        # Event 0 exists if the client knows its id.
        events = await delivery.log.read(delivery.sent or -1)
        if events is None or not (delivery.sent or events.events):
            return False
        await delivery.deliver(events.events)
        if events.ended:
            await delivery.complete()
        else:
            delivery.log.context.tasks.start(self._follow())
        return True

    async def _follow(self) -> None:
        delivery, log = self._delivery, self._delivery.log
        worker = writer_of(log.name)
        message = StreamTaken(session=log.key, stream=log.name, taker=log.context.worker.name)
        told = False
        try:
            while delivery.live:
                try:
                    if not told:
                        await log.context.worker.tell([worker], message)
                        told = True
                    following = log.context.worker.following
                    async with following(log.key, log.name, lambda: delivery.sent) as self._woken:
                        while delivery.live:
                            self._woken.clear()
                            await self._go_on(worker, self._woken)
                except EngineUnavailable:
                    await log.context.pause()
        except Disconnected:
            pass  # the client is gone
        finally:
            delivery.end()

    async def _go_on(self, worker: str, woken: Event) -> None:
        delivery = self._delivery
        sent, own = delivery.sent, delivery.log.context.worker
        if await delivery.catch_up():
            await delivery.complete()
        elif sent != delivery.sent or not delivery.live:
            return
        # A stream that this worker still writes is not followed.
        elif worker == own.name or await own.is_gone(worker):
            await self._take_over()
        else:
            await woken.wait()

    async def _take_over(self) -> None:
        log, number = self._delivery.log, self._delivery.sent + 1
        head = await log.read(-1)
        ids = () if head is None else _ids_in(head.events, log.context.log)
        answers = _error_answers(ids, "The worker that served the request is gone")
        if (await log.append(number, answers, end=True)).accepted:
            log.context.log.info("ended a stream whose worker is gone")

    def let_go(self) -> None:
        """Complete the response, and write nothing more."""
        self._delivery.log.closed = True
        self._delivery.end()
        if self._woken is not None:
            self._woken.set()

    abort = let_go

    def detach(self, response: EventResponse) -> None:
        self.let_go()


def _error_answers(ids: Iterable[RequestId], reason: str) -> Sequence[bytes]:
    # Clients do not get events without a message.
    return [write_error(id, INTERNAL_ERROR, reason) for id in ids] or [b""]


def _ids_in(events: Sequence[StoredEvent], log: Throttle) -> Sequence[RequestId]:
    if not events or events[0].number != 0:
        return ()
    warning = "the first event of a stream is invalid"
    return read_value(list[RequestId], events[0].message, log, warning) or ()


class StreamQueue:
    """A stream with its queue, and the task that empties the queue."""

    __slots__ = ("_writing", "queue", "stream")

    def __init__(self, stream: Stream | LoggedStream, tasks: Tasks) -> None:
        self.stream = stream
        self.queue = SendQueue(stream, WAITING)
        self._writing = tasks.start(self.queue.run())

    def answer(self, message: bytes) -> None:
        self.stream.note_answer(message)
        self.queue.put(message)

    async def close(self) -> None:
        self.queue.end()
        # Shutdown cancels the task, but not its waiter.
        await wait([self._writing])
        await self.stream.close()

    def abort(self) -> None:
        """End the stream in an unknown state."""
        self._writing.cancel()
        self.stream.fail()
