"""An engine in the memory of one process, which several applications may share."""

from asyncio import AbstractEventLoop, get_running_loop
from collections import OrderedDict, defaultdict
from collections.abc import AsyncGenerator, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from ..core.quotas import Quota
from .engine import (
    Appended,
    Change,
    Delivery,
    DirectMessage,
    Event,
    Events,
    Place,
    Receive,
    Saved,
    StoredSession,
    events_after,
)
from .memory_tasks import MemoryTaskStore

_FRAME: Final = 200


class MemoryEngine:
    """An engine that keeps `max_events` of each stream, and `max_bytes` of events in all.

    A principal may have a quarter of these bytes, or `max_bytes_per_principal`. Beyond that, the
    stream that has been quiet for longest is dropped.
    """

    def __init__(
        self,
        max_events: int = 1000,
        max_bytes: int = 64 * 1024 * 1024,
        max_bytes_per_principal: int | None = None,
    ) -> None:
        self.sessions: Final = MemorySessions(self)
        self.events: Final = MemoryEvents(max_events, Quota(max_bytes, max_bytes_per_principal))
        self.tasks: Final = MemoryTaskStore()
        self.mail: Final = self
        self.current: Final = True
        self.workers: Final = dict[str, tuple[Receive, AbstractEventLoop]]()

    @asynccontextmanager
    async def connect(
        self, worker: str, lease: float, receive: Receive
    ) -> "AsyncGenerator[MemoryEngine, None]":
        """Connect a worker; the engine itself is the connection of all."""
        self.workers[worker] = receive, get_running_loop()
        try:
            yield self
        finally:
            del self.workers[worker]

    async def send(self, messages: Sequence[tuple[str, bytes]]) -> frozenset[str]:
        for worker, content in messages:
            self._deliver(worker, DirectMessage(content))
        return frozenset(worker for worker, _ in messages if worker not in self.workers)

    async def alive(self, workers: Collection[str]) -> frozenset[str]:
        return frozenset(self.workers.keys() & workers)

    async def publish(self, changes: Sequence[bytes]) -> None:
        for content in changes:
            for worker in [*self.workers]:
                self._deliver(worker, Change(content))

    def _deliver(self, worker: str, delivery: Delivery) -> None:
        def deliver() -> None:
            # Its connection may have ended meanwhile.
            if (there := self.workers.get(worker)) is not None:
                there[0](delivery)

        if (known := self.workers.get(worker)) is not None:
            # The loop may be that of another thread.
            known[1].call_soon_threadsafe(deliver)


@dataclass(slots=True)
class _Session:
    record: bytes
    lapses: float
    owner: str | None
    version: int = 1
    epoch: int = 1
    delivered: int = 0
    copies: set[str] = field(default_factory=set[str])
    ended: bool = False

    @property
    def stored(self) -> StoredSession:
        return StoredSession(self.record, self.version, self.owner, self.epoch, self.delivered)


class MemorySessions:
    def __init__(self, engine: MemoryEngine) -> None:
        self._engine = engine
        self._sessions: OrderedDict[str, _Session] = OrderedDict()

    async def open(self, key: str, worker: str) -> StoredSession | None:
        if (session := self._find(key)) is None:
            return None
        session.copies.add(worker)
        return session.stored

    async def save(
        self, key: str, worker: str, record: bytes, *, version: int, lifetime: float
    ) -> Saved | None:
        now, session = self._expire(), self._sessions.get(key)
        if version == 0 and session is None:
            session = self._sessions[key] = _Session(record, now + lifetime, worker)
        elif session is not None and session.version == version and not session.ended:
            session.record, session.version = record, version + 1
            self._refresh(key, session, now + lifetime)
        else:
            return None
        session.copies.add(worker)
        return Saved(session.version, frozenset(session.copies - {worker}))

    async def refresh(self, keys: Collection[str], lifetime: float) -> None:
        lapses = self._expire() + lifetime
        for key in keys:
            if (session := self._find(key)) is not None:
                self._refresh(key, session, lapses)

    def _refresh(self, key: str, session: _Session, lapses: float) -> None:
        session.lapses = lapses
        self._sessions.move_to_end(key)

    async def leave(self, key: str, worker: str) -> None:
        if (session := self._sessions.get(key)) is not None:
            session.copies.discard(worker)
            if session.owner == worker:
                session.owner = None

    async def end(self, key: str, lifetime: float, *, again: bool = False) -> frozenset[str] | None:
        now, session = self._expire(), self._sessions.get(key)
        if session is None:
            # Its events may still be stored.
            self._engine.events.forget(key)
            return None
        if session.ended and not again:
            return None
        session.ended = True
        self._refresh(key, session, now + lifetime)
        self._engine.events.forget(key, ended=True)
        return frozenset(session.copies)

    async def claim(self, key: str, worker: str) -> StoredSession | None:
        if (session := self._find(key)) is None:
            return None
        before = session.stored
        session.owner, session.epoch = worker, session.epoch + 1
        session.copies.add(worker)
        return before

    async def deliver(self, key: str, worker: str, epoch: int, delivered: int) -> bool:
        session = self._find(key)
        if session is None or (session.owner, session.epoch) != (worker, epoch):
            return False
        session.delivered = max(session.delivered, delivered)
        return True

    def _find(self, key: str) -> _Session | None:
        self._expire()
        session = self._sessions.get(key)
        return None if session is None or session.ended else session

    def _expire(self) -> float:
        """Delete lapsed sessions; return the time."""
        now = get_running_loop().time()
        # Nearly in the order in which they lapse: all sessions of an endpoint live equally long.
        while self._sessions and next(iter(self._sessions.values())).lapses <= now:
            key, _ = self._sessions.popitem(last=False)
            self._engine.events.forget(key)
        return now


def _size_of(events: Iterable[Event]) -> int:
    return sum(len(event.message) + _FRAME for event in events)


@dataclass(slots=True)
class _Stream:
    # There may be many, so an empty one is small.
    last: int = -1
    """The number of its last event, which may be gone."""
    events: list[Event] = field(default_factory=list[Event])
    ended: bool = False
    follower: str | None = None


class MemoryEvents:
    def __init__(self, max_events: int, quota: Quota) -> None:
        self._max_events = max_events
        self._quota = quota
        self._owners: dict[str, str] = {}
        self._sessions: dict[str, dict[str, _Stream]] = {}
        self._ended: set[str] = set()
        # Those with events by owner, and all under None; the longest quiet first.
        self._orders = defaultdict[str | None, OrderedDict[tuple[str, str], _Stream]](OrderedDict)

    def set_owner(self, key: str, owner: str) -> None:
        self._owners.setdefault(key, owner)

    async def append(
        self,
        key: str,
        stream: str,
        number: int,
        messages: Sequence[bytes],
        *,
        lifetime: float,
        end: bool = False,
    ) -> Appended:
        if key in self._ended:
            return Appended(False, 0, True, None)
        entry = self._open_stream(key, stream)
        follows = number == entry.last + 1 or (entry.last < 0 and number == 1)
        accepted = follows and not entry.ended
        if accepted:
            entry.ended = end
            self._extend((key, stream), entry, number, messages)
        return Appended(accepted, max(entry.last, 0), entry.ended, entry.follower)

    def _extend(
        self, place: tuple[str, str], entry: _Stream, number: int, messages: Sequence[bytes]
    ) -> None:
        owner = self._owners.get(place[0])
        events = [Event(number + index, message) for index, message in enumerate(messages)]
        entry.events += events
        if events:
            entry.last = events[-1].number
        self._quota.take(owner, _size_of(events))
        for listed in {owner, None}:
            self._orders[listed][place] = entry
            self._orders[listed].move_to_end(place)
        if len(entry.events) > self._max_events:
            self._drop(place, entry, len(entry.events) - self._max_events)
        for limited, excess in self._quota.excesses(owner):
            while excess > 0:
                quiet, stream = next(iter(self._orders[limited].items()))
                excess -= self._drop(quiet, stream, len(stream.events))

    def _drop(self, place: tuple[str, str], kept: _Stream, number: int) -> int:
        owner, size = self._owners.get(place[0]), _size_of(kept.events[:number])
        self._quota.give_back(owner, size)
        del kept.events[:number]
        if not kept.events:
            for listed in {owner, None}:
                self._orders[listed].pop(place, None)
                if not self._orders[listed]:
                    del self._orders[listed]
            if kept.ended:
                # Its last number is not needed any more.
                self._sessions.get(place[0], {}).pop(place[1], None)
        return size

    async def read(self, key: str, stream: str, after: int) -> Events | None:
        entry = self._sessions.get(key, {}).get(stream) or _Stream()
        return events_after(after, entry.last, entry.ended or key in self._ended, entry.events)

    async def news(self, seen: Mapping[Place, int]) -> Collection[Place]:
        nothing = Events((), False)
        return [place for place in seen if await self.read(*place, seen[place]) != nothing]

    async def follow(self, key: str, stream: str, worker: str) -> None:
        self._open_stream(key, stream).follower = worker

    def _open_stream(self, key: str, stream: str) -> _Stream:
        streams = self._sessions.setdefault(key, {})
        if stream not in streams:
            streams[stream] = _Stream()
        return streams[stream]

    def forget(self, key: str, *, ended: bool = False) -> None:
        """Delete all streams of a session; if it `ended`, new ones are refused."""
        for stream, entry in self._sessions.pop(key, {}).items():
            self._drop((key, stream), entry, len(entry.events))
        self._owners.pop(key, None)
        (self._ended.add if ended else self._ended.discard)(key)
