"""The streams of a session: those of its requests, and the standalone stream.

Every worker appends to the log of the standalone stream, named `~`. One worker, the owner, writes
it to the response to a GET. The worker of the next GET claims it, and makes the owner let go.
Messages sent meanwhile are in the log.
"""

import re
from asyncio import Event, Future, get_running_loop
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from secrets import token_hex
from typing import Any, Final

from ....core.connection_errors import Disconnected
from ....core.errors import RequestId
from ....core.json import JSONObject
from ....core.tasks import Signal
from ....storage.engine import EngineUnavailable, StoredSession
from ....transports.base import wait_within
from ..asgi import HttpRefusal
from ..event_stream import EventResponse
from .event_log import Delivery, EventLog, StreamContext
from .request_streams import WAITING, FollowedStream, LoggedStream, Stream
from .worker import StreamClaimed, StreamTaken, key_of

NO_SESSION: Final = "There is no such session; begin anew with initialize"

_NAME: Final = "~"
_ID: Final = re.compile(r"(~|[A-Za-z0-9_-]{1,32}-[0-9a-f]{16})\.([0-9]{1,15})")

# The messages kept while no client listens, enough for one that is about to connect. Many clients
# never do.
_KEPT: Final = 32


class StreamSink:
    """A message sink whose stream exists only at times."""

    __slots__ = ()

    flooded = False

    async def room(self) -> None:
        """Return at once: one response must not delay reading."""


@dataclass(eq=False, slots=True)
class _Listening:
    response: EventResponse
    after: int | None
    """The number of the last event that its client has seen, if given."""
    epoch: int
    gaps: int
    """The number of gaps when this worker was last known as the owner."""
    delivery: Delivery | None = None
    """None at first: earlier events come before new ones."""
    woken: Event | None = None
    noted: int = 0
    """The number of the last event that the engine knows as sent."""
    noted_at: float = 0.0

    @property
    def unnoted(self) -> bool:
        return self.delivery is not None and self.delivery.sent > self.noted

    def position(self) -> int:
        return 0 if self.delivery is None else self.delivery.sent

    def is_owner(self, context: StreamContext) -> bool:
        return context.worker.current and context.worker.gaps == self.gaps

    def end(self) -> None:
        if self.delivery is not None:
            self.delivery.end()
        else:
            self.response.close_soon()
        if self.woken is not None:
            self.woken.set()


@dataclass(eq=False, slots=True)
class StandaloneStream(StreamSink):
    """The stream of a session without a request; it is small until used.

    2025-11-25, basic/transports, "Listening for Messages from the Server".
    """

    _context: StreamContext
    _id: str
    primes: bool
    """Whether responses begin with an event without a message."""
    on_owned: Callable[[bool], None] = lambda owned: None
    """Called when this worker becomes the owner, or is no longer."""
    on_missed: Callable[[], object] = lambda: None
    """Called after a time without an owner, when changes were not sent."""
    _epoch: int = 0
    _delivered: int = 0
    _log: EventLog | None = None
    _messages: list[bytes] | None = None
    _room: Signal | None = None
    _writing: bool = False
    _listening: _Listening | None = None
    _closed: bool = False

    @property
    def log(self) -> EventLog:
        if self._log is None:
            self._log = EventLog(self._context, key_of(self._id), _NAME, 0)
        return self._log

    @property
    def full(self) -> bool:
        return self._messages is not None and len(self._messages) >= WAITING

    async def send(self, message: bytes, *, unless: Future[Any] | None = None) -> None:
        if self.full:
            room = self._room = self._room or Signal()
            if unless is not None:
                unless.add_done_callback(lambda _: room.notify_all())
            while self.full and not self._closed:
                if unless is not None and unless.done():
                    return
                await room.wait()
        self.put(message)

    def put(self, message: bytes) -> None:
        if self._closed:
            return
        if self._messages is None:
            self._messages = []
        self._messages.append(message)
        if not self._writing:
            self._writing = True
            self._context.tasks.start(self._write())

    async def _write(self) -> None:
        try:
            while self._messages and not self._closed:
                messages, self._messages = self._messages, None
                if self._room is not None:
                    self._room.notify_all()
                first, listening = await self._append(messages), self._listening
                if first is not None and listening is not None and listening.delivery is not None:
                    await listening.delivery.write(first, messages)
        except Disconnected:
            self._context.log.info("a session has ended: its waiting messages are lost")
        finally:
            self._writing = False

    async def _append(self, messages: Sequence[bytes]) -> int | None:
        """Append messages to the log; return the number of the first.

        Return None if the session has ended elsewhere; raise `Disconnected` if it has here.
        """
        number = self.log.last + 1
        while True:
            result = await self.log.append(number, messages)
            if result.accepted:
                return number
            if result.ended or result.last + 1 == number:
                return None
            number = result.last + 1

    async def attach(self, response: EventResponse, after: int | None) -> bool:
        """Continue in a new response, after the event of a number, if given.

        The earlier response is completed, at any worker: each message is sent once, and the newest
        response is most likely read. Return False if later events are lost. Raise
        `EngineUnavailable`, and `HttpRefusal` if the session has ended.
        """
        context = self._context
        if after is not None and (not context.resumable or await self.log.read(after) is None):
            return False
        gaps, stored = context.worker.gaps, await self._claim()
        epoch = self._epoch if stored is None else stored.epoch + 1
        listening = _Listening(response, after, epoch, gaps)
        try:
            if self._closed or epoch < self._epoch:
                await response.close()
            else:
                self._let_go()
                self._listening = listening
                # Show the client at once that it listens.
                await response.write(b"")
        except BaseException:
            await self.detach(response)
            raise
        finally:
            if stored is not None:
                # Even after a later claim: its worker knows no owner before this one.
                context.tasks.start(self._listen(listening, stored))
        if stored is None and self._listening is listening:
            # The session and the response may end meanwhile.
            with suppress(Disconnected):
                await self._begin(listening)
        return True

    async def _claim(self) -> StoredSession | None:
        """Claim the stream; return the session as it was, if it is shared."""
        worker = self._context.worker
        if not worker.shared:
            return None
        stored = await worker.engine.sessions.claim(self.log.key, worker.name)
        if stored is None:
            raise HttpRefusal(404, NO_SESSION)
        if stored.epoch >= self._epoch and not self._closed:
            self._epoch = stored.epoch + 1
            self.on_owned(True)
        return stored

    async def _listen(self, listening: _Listening, stored: StoredSession) -> None:
        handed_over = False
        try:
            while self._listening is listening or not (handed_over or self._closed):
                try:
                    if not handed_over:
                        await self._hand_over(stored)
                        handed_over = True
                    if self._listening is listening:
                        await self._follow(listening)
                except EngineUnavailable:
                    await self._context.pause()
        except Disconnected:
            self._context.log.info("a session ended before its stream began")
        finally:
            if self._listening is listening:
                self._let_go()

    async def _follow(self, listening: _Listening) -> None:
        worker = self._context.worker
        async with worker.following(self.log.key, _NAME, listening.position) as woken:
            listening.woken = woken
            if listening.delivery is None:
                await self._begin(listening)
            while self._listening is listening:
                woken.clear()
                await self._go_on(listening)
                is_idle = worker.current and not listening.unnoted
                await wait_within(None if is_idle else worker.lease / 3, woken.wait())

    async def _hand_over(self, stored: StoredSession) -> None:
        """Make the earlier owner let go, and learn how much it has sent."""
        delivered = stored.delivered
        owners = [] if stored.owner is None else [stored.owner]
        message = StreamClaimed(session=self.log.key, epoch=self._epoch)
        answers = await self._context.worker.tell(owners, message)
        for answer in answers.values():
            if isinstance(sent := answer.get("delivered"), int):
                delivered = max(delivered, sent)
        was_ours = stored.owner == self._context.worker.name
        if not (answers or was_ours):
            self.on_missed()
        self._delivered = max(self._delivered, delivered)

    async def _begin(self, listening: _Listening) -> None:
        log, start, priming = self.log, listening.after, None
        if start is None:
            # It marks the start of listening, even if responses begin without an event.
            priming = await self._append([b""])
            if priming is None:
                raise Disconnected("the session has ended")
            start = max(min(self._delivered, priming - 1), priming - 1 - _KEPT)
            if start < priming - 1 and await log.read(start) is None:
                start = priming - 1
        if self._listening is not listening:
            return
        allowed = partial(listening.is_owner, self._context)
        delivery = Delivery(log, listening.response, start, None, allowed)
        listening.delivery, listening.noted = delivery, start
        if priming is None:
            await delivery.reach(log.last)
        else:
            delivery.priming = priming if self.primes else None
            await delivery.write(priming, [b""])

    async def _go_on(self, listening: _Listening) -> None:
        context, delivery = self._context, listening.delivery
        if delivery is None or not context.worker.current:
            # Without a lease, this worker may count as gone.
            return
        gaps, now = context.worker.gaps, get_running_loop().time()
        is_due = now - listening.noted_at >= context.worker.lease / 3
        if gaps != listening.gaps or (listening.unnoted and is_due):
            is_owner = await self._note(listening)
            if self._listening is not listening:
                return
            if not is_owner:
                self._let_go()
                # Unless this worker has another claim, which is about to begin.
                if listening.epoch == self._epoch:
                    self.on_owned(False)
                return
            listening.gaps, listening.noted_at = gaps, now
        if await delivery.catch_up() and self._listening is listening:
            self._let_go()

    async def _note(self, listening: _Listening) -> bool:
        assert listening.delivery is not None
        worker, sent = self._context.worker, listening.delivery.sent
        key, epoch = self.log.key, listening.epoch
        is_owner = await worker.engine.sessions.deliver(key, worker.name, epoch, sent)
        listening.noted = sent
        return is_owner

    async def detach(self, response: EventResponse) -> None:
        if self._listening is not None and self._listening.response is response:
            await self._note_last(self._let_go())

    async def _note_last(self, listening: _Listening | None) -> None:
        if self._context.worker.shared and listening is not None and listening.unnoted:
            try:
                await self._note(listening)
            except EngineUnavailable:
                self._context.log.info("the progress of a stream could not be stored")

    def release_ownership(self, epoch: int) -> JSONObject:
        """Let go, because another worker is the owner; return how much was sent."""
        if epoch > self._epoch:
            self.note_owner(epoch, owned=False)
        return {"delivered": self._delivered}

    def note_owner(self, epoch: int, *, owned: bool) -> None:
        """Note the ownership as of an epoch, unless a later one is known."""
        if epoch > self._epoch:
            self._epoch = epoch
            if not owned:
                self._let_go()
        if epoch == self._epoch:
            self.on_owned(owned)

    def _let_go(self) -> _Listening | None:
        listening, self._listening = self._listening, None
        if listening is not None:
            if listening.delivery is not None:
                self._delivered = max(self._delivered, listening.delivery.sent)
            listening.end()
        return listening

    async def close(self) -> None:
        self._closed = True
        if self._log is not None:
            self._log.closed = True
        if self._room is not None:
            self._room.notify_all()
        await self._note_last(self._let_go())


@dataclass(eq=False, slots=True)
class SessionStreams:
    standalone: StandaloneStream
    _context: StreamContext
    # Most sessions have none.
    _by_name: dict[str, LoggedStream | FollowedStream] | None = None

    @property
    def _streams(self) -> dict[str, LoggedStream | FollowedStream]:
        if self._by_name is None:
            self._by_name = {}
        return self._by_name

    def open(self, response: EventResponse, ids: Sequence[RequestId]) -> Stream | LoggedStream:
        """Return a stream for messages before the answers to these requests."""
        context, standalone = self._context, self.standalone
        if not context.resumable:
            return Stream(response)
        name = f"{context.worker.name}-{token_hex(8)}"
        log = EventLog(context, standalone.log.key, name, -1)
        delivery = Delivery(log, response, -1, 0 if standalone.primes else None)
        stream = self._streams[name] = LoggedStream(log, ids, delivery)
        return stream

    def remove(self, stream: Stream | LoggedStream) -> None:
        """Note the end of a stream; its events may still be requested."""
        if isinstance(stream, LoggedStream):
            self._streams.pop(stream.log.name, None)

    async def attach(
        self, response: EventResponse, last: str | None
    ) -> StandaloneStream | LoggedStream | FollowedStream:
        """Continue a stream in a response, after the event `last`; return the stream.

        Without `last`, it is the standalone stream. Raise `HttpRefusal` if later events are lost,
        and `EngineUnavailable`.
        """
        if last is None:
            await self.standalone.attach(response, None)
            return self.standalone
        match = _ID.fullmatch(last)
        if match is not None and self._context.resumable:
            name, number = match[1], int(match[2])
            if name == _NAME:
                if await self.standalone.attach(response, number):
                    return self.standalone
            elif (stream := await self._attach_named(response, name, number)) is not None:
                return stream
        raise HttpRefusal(400, "The events after Last-Event-ID are not known")

    async def _attach_named(
        self, response: EventResponse, name: str, number: int
    ) -> LoggedStream | FollowedStream | None:
        stream = self._streams.get(name)
        if isinstance(stream, LoggedStream):
            return stream if await stream.attach(response, number) else None
        log = EventLog(self._context, self.standalone.log.key, name, -1)
        source = FollowedStream(Delivery(log, response, number))
        if not await source.attach():
            return None
        if (old := self._streams.get(name)) is not None:
            old.let_go()
        self._streams[name] = source
        return source

    async def detach(
        self, stream: StandaloneStream | LoggedStream | FollowedStream, response: EventResponse
    ) -> None:
        if isinstance(stream, StandaloneStream):
            await stream.detach(response)
            return
        stream.detach(response)
        for name, entry in list(self._streams.items()):
            if entry is stream and isinstance(stream, FollowedStream):
                del self._streams[name]

    async def hand_over(self, message: StreamTaken) -> None:
        stream = self._streams.get(message.stream)
        if isinstance(stream, LoggedStream):
            await stream.hand_over(message.taker)
        elif stream is not None:
            stream.let_go()

    async def close(self) -> None:
        """End all streams; their events stay stored."""
        for stream in list(self._streams.values()):
            stream.abort()
        await self.standalone.close()

    async def forget(self) -> None:
        """Delete the stored events of a session that is not shared."""
        log = self.standalone.log
        await self._context.worker.engine.sessions.end(log.key, 0)
