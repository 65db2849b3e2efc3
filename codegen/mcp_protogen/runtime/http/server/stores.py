"""Stores that an application may provide: of sessions for other processes, and of events.

Events are kept for clients that lose their connection and come back for the rest (2025-11-25,
basic/transports, "Resumability and Redelivery").
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from json import dumps
from typing import Final, NamedTuple, Protocol

from ...core.json import JSONObject


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRecord:
    """What another process needs to go on with a session. All members are JSON values.

    What handlers keep, and what is being worked on, stays in the process where it is.
    """

    revision: str
    principal: str | None
    capabilities: JSONObject
    """The capabilities that the client declared."""
    info: JSONObject
    """The name and version of the client."""
    level: str = "debug"
    """The level of the least severe log entries that the client wants."""
    subscriptions: list[str] = field(default_factory=list[str])
    """The resources that the client subscribed to."""

    def digest(self) -> bytes:
        """Return a digest that differs from that of any other record."""
        # A store may give members back in another order.
        members = self.revision, self.principal, self.capabilities, self.info
        text = dumps([*members, self.level, self.subscriptions], sort_keys=True)
        return sha256(text.encode()).digest()


class SessionStore(Protocol):
    """A store of records by the id of their session, for all processes that serve one endpoint."""

    async def save(self, id: str, record: SessionRecord, lifetime: float) -> None:
        """Keep a record for `lifetime` seconds, in the place of an earlier one."""
        ...

    async def load(self, id: str) -> SessionRecord | None:
        """Return the record of a session, if it is known and has not lapsed."""
        ...

    async def delete(self, id: str) -> None:
        """Delete the record of a session that is over.

        What other processes still do for it ends with its next request.
        """
        ...


class StoredEvent(NamedTuple):
    """One event of a stream: its number in it, and the message, which may be empty."""

    number: int
    message: bytes


class EventStore(Protocol):
    """A store of events, by session and stream. The numbers in a stream grow by one."""

    async def append(self, session: str, stream: str, event: StoredEvent) -> None: ...

    async def after(self, session: str, stream: str, number: int) -> Sequence[StoredEvent] | None:
        """Return the events after the one of that number; None if some of them are not known."""
        ...

    async def forget(self, session: str) -> None:
        """Delete all streams of a session that is over."""
        ...


# What an event takes besides its message.
_FRAME: Final = 200


class MemoryEventStore:
    """A store in this process: `max_events` of each stream, and `max_bytes` in all.

    When there is too much, the stream that has been quiet for longest goes.
    """

    def __init__(self, max_events: int = 1000, max_bytes: int = 64 * 1024 * 1024) -> None:
        self._max_events = max_events
        self._max_bytes = max_bytes
        self._bytes = 0
        self._streams: OrderedDict[tuple[str, str], list[StoredEvent]] = OrderedDict()
        self._of_session: dict[str, set[str]] = {}

    async def append(self, session: str, stream: str, event: StoredEvent) -> None:
        key = session, stream
        kept = self._streams.get(key)
        if kept is None:
            kept = self._streams[key] = []
            self._of_session.setdefault(session, set()).add(stream)
        self._streams.move_to_end(key)
        kept.append(event)
        self._bytes += _size(event)
        if len(kept) > self._max_events:
            self._bytes -= _size(kept.pop(0))
        while self._bytes > self._max_bytes and self._streams:
            self._drop(next(iter(self._streams)))

    async def after(self, session: str, stream: str, number: int) -> Sequence[StoredEvent] | None:
        kept = self._streams.get((session, stream))
        if not kept or not kept[0].number - 1 <= number <= kept[-1].number:
            return None
        return [event for event in kept if event.number > number]

    async def forget(self, session: str) -> None:
        for stream in list(self._of_session.get(session, ())):
            self._drop((session, stream))

    def _drop(self, key: tuple[str, str]) -> None:
        self._bytes -= sum(map(_size, self._streams.pop(key)))
        session, stream = key
        streams = self._of_session[session]
        streams.discard(stream)
        if not streams:
            del self._of_session[session]


def _size(event: StoredEvent) -> int:
    return len(event.message) + _FRAME
