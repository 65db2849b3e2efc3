"""Events stored before they are written, so that clients can resume streams.

An event's id is the name of its stream and its number. A client that reconnects with the last id
gets the later events of that stream only (2025-11-25, basic/transports, "Resumability and
Redelivery").
"""

from asyncio import Lock, sleep
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from ....core.connection_errors import Disconnected
from ....core.tasks import Tasks
from ....core.throttle import Throttle
from ....storage.engine import Appended, EngineUnavailable, Event, Events
from ...sse import write_event
from ..event_stream import EventResponse
from .worker import Worker

# Seconds before an unavailable engine is asked again.
_PAUSE: Final = 0.25


@dataclass(eq=False, slots=True)
class StreamContext:
    """The common state of all sessions' streams."""

    worker: Worker
    tasks: Tasks
    resumable: bool
    """Whether events have ids, and request streams are stored."""
    retry: int
    """The client's delay before reconnecting, in milliseconds."""
    log: Throttle = field(default_factory=lambda: Throttle(__name__))

    async def pause(self) -> None:
        self.log.warning("the engine is unavailable: streams wait")
        await sleep(min(_PAUSE, self.worker.lease / 10))


@dataclass(eq=False, slots=True)
class EventLog:
    """The stored events of one stream of a session; its name is not secret."""

    context: StreamContext
    key: str
    name: str
    last: int
    closed: bool = False

    async def append(
        self, number: int, messages: Sequence[bytes], *, end: bool = False
    ) -> Appended:
        """Append events; if the engine is unavailable, wait, and check what it did.

        Raise `Disconnected` once the log is closed.
        """
        worker, tried = self.context.worker, False
        while not self.closed:
            try:
                result = await worker.append(self.key, self.name, number, messages, end=end)
                if tried and not result.accepted and await self._has(number, messages):
                    result = result._replace(accepted=True)
                self.last = max(self.last, result.last)
                return result
            except EngineUnavailable:
                tried = True
                await self.context.pause()
        raise Disconnected("the stream was closed")

    async def _has(self, number: int, messages: Sequence[bytes]) -> bool:
        events = await self.read(number - 1)
        return events is not None and list(messages) == [
            event.message for event in events.events[: len(messages)]
        ]

    def read(self, after: int) -> Awaitable[Events | None]:
        """Return the reading of events after a number; it raises `EngineUnavailable`."""
        return self.context.worker.engine.events.read(self.key, self.name, after)


@dataclass(eq=False, slots=True)
class Delivery:
    """The events of a log in one response, each once and in order."""

    log: EventLog
    response: EventResponse
    sent: int
    """The number of the last event written or skipped."""
    priming: int | None = None
    """The number of an event without a message, from which a client can resume.

    2025-11-25, basic/transports, "Sending Messages to the Server".
    """
    allowed: Callable[[], bool] | None = None
    """Returns whether no other worker can be writing these events."""
    over: bool = False
    _lock: Lock = field(default_factory=Lock)

    @property
    def live(self) -> bool:
        return not self.over and self.response.open and (self.allowed is None or self.allowed())

    async def write(self, first: int, messages: Sequence[bytes]) -> None:
        """Write appended events from number `first`, after any earlier ones."""
        async with self._lock:
            if first <= self.sent + 1:
                numbers = range(first, first + len(messages))
                await self._deliver(map(Event, numbers, messages))
                return
        await self.reach(first + len(messages) - 1)

    async def deliver(self, events: Iterable[Event]) -> None:
        async with self._lock:
            await self._deliver(events)

    async def _deliver(self, events: Iterable[Event]) -> None:
        if self.live:
            new = [event for event in events if event.number > self.sent]
            if new:
                self.sent = new[-1].number
            await self.response.write(b"".join(map(self._text, new)))

    def _text(self, event: Event) -> bytes:
        number, message = event
        context = self.log.context
        id = f"{self.log.name}.{number}" if context.resumable else None
        if number == self.priming:
            return b"" if id is None else write_event(b"", id=id, retry=context.retry)
        # Heads and events without a message are not for clients.
        return write_event(message, id=id) if message and number else b""

    async def reach(self, last: int) -> None:
        """Write all events up to a number; wait for the engine if needed."""
        while self.sent < last and self.live:
            try:
                await self.catch_up()
            except EngineUnavailable:
                await self.log.context.pause()

    async def catch_up(self) -> bool:
        """Write events appended meanwhile; return whether the stream has ended.

        The response is completed if some are lost: the client learns of that when it reconnects.
        Raise `EngineUnavailable`.
        """
        async with self._lock:
            last = self.log.last
            events = await self.log.read(self.sent)
            # An engine that has lost a whole stream takes it for a future one.
            if events is not None and (events.events or self.sent >= last):
                await self._deliver(events.events)
                return events.ended
        self.log.context.log.warning("events of a stream were lost before they were sent")
        self.end()
        return True

    def end(self) -> None:
        """Write nothing more; complete the response in the background."""
        self.over = True
        if self.response.open:
            self.log.context.tasks.start(self.complete())

    async def complete(self) -> None:
        async with self._lock:
            self.over = True
            await self.response.close()
