"""The interfaces of state shared by workers, which may be processes on many machines.

An engine stores and finds, and decides nothing. Keys are digests of ids, so that stored keys reveal
no session. Records, messages and changes are bytes, validated like any input.

All methods raise `EngineUnavailable` while the engine is away, or does not answer in time. Then it
is unknown whether a write was made; each write can be repeated.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Final, NamedTuple, Protocol, TypeAlias


class EngineUnavailable(Exception):
    """The engine cannot be reached, or does not answer in time."""


class StoredSession(NamedTuple):
    record: bytes
    version: int
    """The number of writes of the record."""
    owner: str | None
    """The worker that has its standalone stream, or had it last; it may have gone."""
    epoch: int
    """The number of times that a worker became its owner."""
    delivered: int
    """The last event of the standalone stream that an owner has surely sent."""


class Saved(NamedTuple):
    """The new version, and the other workers that have a copy."""

    version: int
    others: frozenset[str]


class SessionStore(Protocol):
    """Records by key, with the workers that have a copy of each, and its owner.

    A record lapses with its events `lifetime` seconds after it was last written or refreshed. The
    record of an ended session cannot be written again.
    """

    async def open(self, key: str, worker: str) -> StoredSession | None:
        """Return a session, and note that `worker` has a copy."""
        ...

    async def save(
        self, key: str, worker: str, record: bytes, *, version: int, lifetime: float
    ) -> Saved | None:
        """Replace a record of `version`; `worker` has a copy of it.

        With version 0 it must be new, and `worker` is its first owner. Return None, and change
        nothing, if the stored version differs.
        """
        ...

    async def refresh(self, keys: Collection[str], lifetime: float) -> None:
        """Let sessions and their events live `lifetime` seconds from now on."""

    async def leave(self, key: str, worker: str) -> None: ...

    async def end(self, key: str, lifetime: float, *, again: bool = False) -> frozenset[str] | None:
        """Delete a session and its events; return the workers with a copy, or None if there was
        none.

        For `lifetime` seconds its record and events cannot be written. If it is unknown whether
        this succeeded, repeat it with `again`: then an ended session counts, too.
        """
        ...

    async def claim(self, key: str, worker: str) -> StoredSession | None:
        """Make `worker` the owner, with the next epoch; return the session as it was before."""
        ...

    async def deliver(self, key: str, worker: str, epoch: int, delivered: int) -> bool:
        """Store the progress of the owner of this epoch; return False if the epoch has changed."""
        ...


class Event(NamedTuple):
    number: int
    message: bytes


class Events(NamedTuple):
    """The events of a stream after a number, and whether it has ended."""

    events: Sequence[Event]
    ended: bool


def events_after(after: int, last: int, ended: bool, kept: Sequence[Event]) -> Events | None:
    """Return the kept events after a number; None if some are unknown. `last` is -1 without any."""
    if last < 0 or after >= last:
        return Events((), ended) if after <= max(last, 0) else None
    if not kept or kept[0].number > max(after + 1, 1):
        return None
    return Events([event for event in kept if event.number > after], ended)


class Appended(NamedTuple):
    accepted: bool
    last: int
    """The number of the last stored event."""
    ended: bool
    follower: str | None
    """The worker that wants to be notified, if it was accepted."""


Place: TypeAlias = tuple[str, str]
"""The key of a session, and the name of one of its streams."""


class EventStore(Protocol):
    """Streams of events by the key of a session and a name. Numbers grow by one, from 0 or 1.

    They lapse with their session, and may do so `lifetime` seconds after they have ended. The
    oldest events of a long stream may be gone.
    """

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
        """Append messages, numbered from `number`; with `end` nothing can follow.

        All or none are appended. They are refused if the number does not follow the last one, or
        the stream or the session has ended, so two writers never write the same event.
        """
        ...

    async def read(self, key: str, stream: str, after: int) -> Events | None:
        """Return the events after a number; None if some are unknown.

        In a stream without events, perhaps a future one, those after -1 and 0 are known.
        """
        ...

    async def follow(self, key: str, stream: str, worker: str) -> None:
        """Have `append` report from now on that `worker`, and no other, wants to be notified."""

    async def news(self, seen: Mapping[Place, int]) -> Collection[Place]:
        """Return followed streams that may have ended, or have events after the number seen."""
        ...


class StoredTask(NamedTuple):
    key: str
    record: bytes
    version: int
    at: float
    """The time of reading by the clock of the store, in seconds since the epoch."""


class TaskStore(Protocol):
    """Records by key, each with an owner and, while a worker has it, a lease.

    `owner` is a digest of the users who may see a task. A record lapses at `ends_at`; None is for
    never. It is overdue `lease` seconds after it was last written or renewed, unless it was written
    without a lease. Only the clock of the store decides about both: those of workers may be wrong.
    """

    async def create(
        self,
        key: str,
        record: bytes,
        *,
        owner: str,
        ends_at: float | None,
        lease: float | None,
        most: int,
    ) -> bool:
        """Store a new record, of version 1; return False if the owner has `most` already.

        When this returns, every worker finds it. Creating the same record again changes nothing.
        """
        ...

    async def get(self, key: str) -> StoredTask | None: ...

    async def versions(self, keys: Collection[str]) -> Mapping[str, int]:
        """Return the versions of those records that exist."""
        ...

    async def replace(
        self, key: str, record: bytes, *, version: int, ends_at: float | None, lease: float | None
    ) -> bool:
        """Replace a record of `version`; return False if there is none."""
        ...

    async def renew(self, keys: Collection[str], lease: float) -> None:
        """Renew the leases of records that have one; versions stay."""

    async def delete(self, key: str) -> None: ...

    async def page(self, owner: str, after: str, size: int) -> Sequence[StoredTask]:
        """Return the records of an owner whose keys follow `after`, in the order of the keys."""
        ...

    async def take_overdue(self, lease: float, most: int) -> Sequence[StoredTask]:
        """Return some overdue records of any owner, and give them a new lease.

        Meanwhile no other worker gets them.
        """
        ...


class Mail(Protocol):
    """Messages to workers by name, and changes for all. Those of one worker arrive in order."""

    async def send(self, messages: Sequence[tuple[str, bytes]]) -> frozenset[str]:
        """Send messages to workers; return the names of workers that have gone."""
        ...

    async def alive(self, workers: Collection[str]) -> frozenset[str]:
        """Return the workers whose lease has not lapsed."""
        ...

    async def publish(self, changes: Sequence[bytes]) -> None:
        """Send changes to all workers, including this one, in the same order for all.

        A worker that is not behind gets a change before any message sent after its publication.
        """


class DirectMessage(NamedTuple):
    content: bytes


class Change(NamedTuple):
    content: bytes


class Gap(NamedTuple):
    """Messages and changes may be lost, or the lease has lapsed."""


GAP: Final = Gap()

Delivery: TypeAlias = DirectMessage | Change | Gap
Receive: TypeAlias = Callable[[Delivery], None]
"""Receives a delivery; must not raise or take long."""


class EngineConnection(Protocol):
    @property
    def sessions(self) -> SessionStore: ...
    @property
    def events(self) -> EventStore: ...
    @property
    def tasks(self) -> TaskStore: ...
    @property
    def mail(self) -> Mail: ...
    @property
    def current(self) -> bool: ...


class Engine(Protocol):
    """A way to an engine, created with the options, before there is an event loop."""

    def connect(
        self, worker: str, lease: float, receive: Receive
    ) -> AbstractAsyncContextManager[EngineConnection]:
        """Connect a worker under a unique name; it counts as gone when this ends.

        It holds a lease of `lease` seconds, renewed until then. The connection can be entered while
        the engine is away.
        """
        ...


DEFAULT_LEASE: Final = 10.0
"""In seconds."""
