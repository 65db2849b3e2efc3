"""The streams of requests: what is said before an answer, and the answer.

A stream of a session is stored by the worker that serves the request, whose name its own begins
with. Event 0 is its head: the ids of the requests that are answered on it. The answer is its last
event. Other workers follow it for a client that comes back there. If its worker is gone before the
end, they append errors in the place of answers; from then on the store refuses what that worker
would append, which may only have been slow.
"""

from asyncio import Event, Lock, wait
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from logging import getLogger
from typing import Final

from pydantic import TypeAdapter, ValidationError

from ....core.connection_errors import Disconnected
from ....core.errors import INTERNAL_ERROR, RequestId
from ....core.tasks import Tasks
from ....messages.jsonrpc import write_error, write_id
from ....rpc.send_queue import SendQueue
from ....storage.engine import EngineUnavailable
from ....storage.engine import Event as StoredEvent
from ...sse import write_event
from ..event_stream import EventResponse
from .event_log import Delivery, EventLog
from .peers import StreamTaken, faults_in

WAITING: Final = 1000
"""The most messages that wait before one stream."""

_log: Final = getLogger(__name__)


@dataclass(eq=False, slots=True)
class Stream:
    """The messages of one request in the one response to it: what nobody reads is lost."""

    response: EventResponse

    async def send(self, messages: Sequence[bytes]) -> None:
        await self.response.write(b"".join(map(write_event, messages)))

    def note_answer(self, message: bytes) -> None:
        """Note the last message, which is about to be sent."""

    async def release(self) -> None:
        """Complete the response if the client can come back for what is to follow."""

    async def close(self) -> None:
        """End the stream once all is written, and complete the response that it is in."""
        await self.response.close()

    def abort(self) -> None:
        """End the stream; do not wait until a client has taken in what was written."""
        self.response.close_soon()

    fail = abort


@dataclass(eq=False, slots=True)
class LoggedStream:
    """A stream that this worker writes, in one response at a time, or in none."""

    log: EventLog
    _ids: Sequence[RequestId]
    """The ids of the requests that are answered on it."""
    _delivery: Delivery | None
    _answer: bytes | None = None
    _ended: bool = False
    """Whether nothing can be appended any more."""
    _closed: bool = False
    _taker: str | None = None
    """The worker at which its client reads it, as far as is known."""
    # Held while something is appended, which the engine can hold up; not while a client comes back.
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
            log.context.log.warning("a stream was ended by another worker: what follows is lost")
            self._ended = True
            self.let_go()
            raise Disconnected("another worker has ended the stream")
        self._ended = end
        if self._delivery is not None:
            await self._delivery.write(first, messages)

    async def attach(self, response: EventResponse, after: int) -> bool:
        """Go on in another response, after the event of that number.

        Return False if what followed it is not known any more; then nothing has changed. Raise
        `EngineUnavailable`.
        """
        missed = await self.log.read(after)
        if missed is None:
            return False
        self.let_go()
        delivery = self._delivery = Delivery(self.log, response, after)
        await delivery.deliver(missed.events)
        taker, self._taker = self._taker, None
        if taker is not None:
            await self._take_from(taker, self.log.context.peers.name)
        # More may have been appended while this was read.
        await delivery.reach(self.log.last)
        if self._closed or missed.ended:
            # There is nothing to wait for any more; another worker may have ended it.
            await delivery.complete()
        return True

    async def hand_over(self, taker: str) -> None:
        """Let go of the response: the client goes on at another worker."""
        self.let_go()
        before, self._taker = self._taker, taker
        if before is not None and before != taker:
            await self._take_from(before, taker)

    async def _take_from(self, before: str, taker: str) -> None:
        letter = StreamTaken(session=self.log.key, stream=self.log.name, taker=taker)
        try:
            await self.log.context.peers.tell([before], letter)
        except EngineUnavailable:
            self.log.context.log.info("a worker could not be told that a stream is read elsewhere")

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
            delivery, self._delivery = self._delivery, None
        if delivery is not None:
            await delivery.complete()

    async def close(self) -> None:
        async with self._lock:
            # Without an id of it, nobody can come back.
            if self.log.last >= 0 and not self._ended and not self._closed:
                with suppress(Disconnected):
                    await self._append([b""], end=True)
            self._closed = True
            delivery, self._delivery = self._delivery, None
        if delivery is not None:
            await delivery.complete()

    def abort(self) -> None:
        self._closed = self.log.closed = True
        self.let_go()

    def fail(self) -> None:
        """End the stream, on which there will be no answers, with errors in their place."""
        self._closed = True
        self.let_go()
        if self.log.last >= 0 and not self._ended:
            self.log.context.tasks.start(self._fail())

    async def _fail(self) -> None:
        answers = _error_answers(self._ids, "The request was not served to its end")
        with suppress(Disconnected):
            async with self._lock:
                appended = await self.log.append(self.log.last + 1, answers, end=True)
                if not appended.accepted and not appended.ended:
                    # What was being appended when this failed is there.
                    await self.log.append(appended.last + 1, answers, end=True)


@dataclass(eq=False, slots=True)
class FollowedStream:
    """A stream that another worker writes, or nobody any more, in a response of this one."""

    _delivery: Delivery
    _woken: Event | None = None

    async def attach(self) -> bool:
        """Begin to follow the log; return False if what is to follow is not known.

        Raise `EngineUnavailable`.
        """
        delivery = self._delivery
        # Whoever knows the id of a head knows a stream that has one.
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
        worker, _, _ = log.name.rpartition("-")
        letter = StreamTaken(session=log.key, stream=log.name, taker=log.context.peers.name)
        told = False
        try:
            while delivery.live:
                try:
                    if not told:
                        await log.context.peers.tell([worker], letter)
                        told = True
                    async with log.context.peers.following(log.key, log.name) as self._woken:
                        while delivery.live:
                            self._woken.clear()
                            await self._go_on(worker, self._woken)
                except EngineUnavailable:
                    await log.context.pause()
        except Disconnected:
            pass  # the client has gone
        finally:
            delivery.end()

    async def _go_on(self, worker: str, woken: Event) -> None:
        delivery = self._delivery
        sent, peers = delivery.sent, delivery.log.context.peers
        if await delivery.catch_up():
            await delivery.complete()
        elif sent != delivery.sent or not delivery.live:
            return
        # One of this worker that is still written is not followed.
        elif worker == peers.name or await peers.is_gone(worker):
            await self._take_over()
        else:
            await woken.wait()

    async def _take_over(self) -> None:
        log, number = self._delivery.log, self._delivery.sent + 1
        head = await log.read(-1)
        ids = () if head is None else _ids_in(head.events)
        answers = _error_answers(ids, "The worker that served the request is gone")
        if (await log.append(number, answers, end=True)).accepted:
            log.context.log.info("a stream of a worker that is gone was ended")

    def let_go(self) -> None:
        """Complete the response, in which nothing more is written."""
        self._delivery.log.closed = True
        self._delivery.end()
        if self._woken is not None:
            self._woken.set()

    abort = let_go

    def detach(self, response: EventResponse) -> None:
        self.let_go()


def _error_answers(ids: Iterable[RequestId], reason: str) -> Sequence[bytes]:
    # Events without a message are for nobody.
    return [write_error(id, INTERNAL_ERROR, reason) for id in ids] or [b""]


@cache
def _heads() -> TypeAdapter[list[RequestId]]:
    return TypeAdapter(list[RequestId])


def _ids_in(events: Sequence[StoredEvent]) -> Sequence[RequestId]:
    """Return the ids in the head of a stream, which may not be among its events any more."""
    if events and events[0].number == 0:
        try:
            return _heads().validate_json(events[0].message, strict=True)
        except ValidationError as error:
            _log.warning("the head of a stream makes no sense: %s", faults_in(error))
    return ()


class StreamQueue:
    """A stream with the queue before it, and the task that empties the queue."""

    __slots__ = ("_writing", "queue", "stream")

    def __init__(self, stream: Stream | LoggedStream, tasks: Tasks) -> None:
        self.stream = stream
        self.queue = SendQueue(stream, WAITING)
        self._writing = tasks.start(self.queue.run())

    def answer(self, message: bytes) -> None:
        self.stream.note_answer(message)
        self.queue.put(message)

    async def close(self) -> None:
        """Write what waits, end the stream, and complete its response."""
        self.queue.end()
        # Whoever ends everything cancels the task, and not who waits for it.
        await wait([self._writing])
        await self.stream.close()

    def abort(self) -> None:
        """End the stream, of which nobody knows how it would have gone on."""
        self._writing.cancel()
        self.stream.fail()
