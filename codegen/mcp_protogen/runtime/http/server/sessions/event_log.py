"""Events that are stored before they are written, so that a client can come back for them.

Each has an id: the name of its stream and its number in it. So a client that comes back with the
last one it saw gets what followed on that stream, and on no other (2025-11-25, basic/transports,
"Resumability and Redelivery").
"""

from asyncio import Lock, sleep
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from logging import getLogger
from typing import Final

from ....core.connection_errors import Disconnected
from ....core.tasks import Tasks
from ....core.throttle import Throttle
from ....storage.engine import Appended, EngineUnavailable, Event, Events
from ...sse import write_event
from ..event_stream import EventResponse
from .peers import Peers

_log: Final = getLogger(__name__)

# Until an engine that is away is asked again, in seconds.
_PAUSE: Final = 0.25


@dataclass(eq=False, slots=True)
class StreamContext:
    """What the streams of all sessions have in common."""

    peers: Peers
    tasks: Tasks
    resumable: bool
    """Whether events have ids, and streams of requests are stored."""
    retry: int
    """The delay in milliseconds before a client comes back to a stream, if its revision does."""
    log: Throttle = field(default_factory=lambda: Throttle(_log))

    async def pause(self) -> None:
        self.log.warning("the engine is away: streams wait for it")
        await sleep(min(_PAUSE, self.peers.lease / 10))


@dataclass(eq=False, slots=True)
class EventLog:
    """The stored events of one stream of one session; its name is no secret."""

    context: StreamContext
    key: str
    name: str
    last: int
    """The number of the last event that is known of here."""
    closed: bool = False
    """Whether nobody waits any more for what is to be appended."""

    async def append(
        self, number: int, messages: Sequence[bytes], *, end: bool = False
    ) -> Appended:
        """Append events; wait for the engine if it is away, and find out what it has done.

        Raise `Disconnected` once the log is closed.
        """
        peers, tried = self.context.peers, False
        while not self.closed:
            try:
                appended = await peers.append(self.key, self.name, number, messages, end=end)
                if tried and not appended.accepted and await self._holds(number, messages):
                    appended = appended._replace(accepted=True)
                self.last = max(self.last, appended.last)
                return appended
            except EngineUnavailable:
                tried = True
                await self.context.pause()
        raise Disconnected("the stream was closed")

    async def _holds(self, number: int, messages: Sequence[bytes]) -> bool:
        stored = await self.read(number - 1)
        return stored is not None and list(messages) == [
            event.message for event in stored.events[: len(messages)]
        ]

    def read(self, after: int) -> Awaitable[Events | None]:
        """Return what reads the events after a number; it raises `EngineUnavailable`."""
        return self.context.peers.engine.events.read(self.key, self.name, after)


@dataclass(eq=False, slots=True)
class Delivery:
    """The events of a log in one response: each once, and in their order."""

    log: EventLog
    response: EventResponse
    sent: int
    """The number of the last event that was written, or passed over."""
    priming: int | None = None
    """The number of an event without a message, from which a client can come back all the same.

    2025-11-25, basic/transports, "Sending Messages to the Server".
    """
    allowed: Callable[[], bool] | None = None
    """Returns whether this worker is sure that no other one writes these events, if one could."""
    over: bool = False
    _lock: Lock = field(default_factory=Lock)

    @property
    def live(self) -> bool:
        """Return whether what is written now would be sent."""
        return not self.over and self.response.open and (self.allowed is None or self.allowed())

    async def write(self, first: int, messages: Sequence[bytes]) -> None:
        """Write events that were appended, the first under that number, and those before them."""
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
        # What has no message, and heads, are not for clients.
        return write_event(message, id=id) if message and number else b""

    async def reach(self, last: int) -> None:
        """Write all up to the event of that number; wait for the engine if it is away."""
        while self.sent < last and self.live:
            try:
                await self.catch_up()
            except EngineUnavailable:
                await self.log.context.pause()

    async def catch_up(self) -> bool:
        """Write what was appended meanwhile; return whether there will be no more.

        The response is completed if some of it is not known any more: its client learns of that
        when it comes back. Raise `EngineUnavailable`.
        """
        async with self._lock:
            events = await self.log.read(self.sent)
            if events is not None:
                await self._deliver(events.events)
                return events.ended
        self.log.context.log.warning("events of a stream were lost before they were sent")
        self.end()
        return True

    def end(self) -> None:
        """Write nothing more, and complete the response without waiting for that."""
        self.over = True
        if self.response.open:
            self.log.context.tasks.start(self.complete())

    async def complete(self) -> None:
        async with self._lock:
            self.over = True
            await self.response.close()
