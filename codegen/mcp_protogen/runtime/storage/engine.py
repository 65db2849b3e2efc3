"""The interfaces of what workers share, which may be processes on many machines.

An engine stores and finds, and decides nothing. Keys are digests of ids, so that stored keys give
no session away. Records, letters and changes are bytes, validated like any input.

All methods raise `EngineUnavailable` while the engine is away, or does not answer in time. Whether
a write was made is unknown then: each can be repeated, and finds out.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from enum import Enum
from typing import Final, NamedTuple, Protocol, TypeAlias


class EngineUnavailable(Exception):
    """The engine cannot be reached, or does not answer in time."""


class StoredSession(NamedTuple):
    record: bytes
    version: int
    """How often the record was written."""
    owner: str | None
    """The worker that has its standalone stream, or had it last; it may be gone."""
    epoch: int
    """How often somebody became its owner."""
    delivered: int
    """The last event of the standalone stream that an owner is known to have sent."""


class Saved(NamedTuple):
    """The new version, and the other workers that have a copy."""

    version: int
    others: frozenset[str]


class SessionStore(Protocol):
    """Records by key, with the workers that have a copy of each, and its owner.

    A record lapses with its events `lifetime` seconds after it was written or refreshed last. What
    was ended stays ended: nobody can write its record again.
    """

    async def open(self, key: str, worker: str) -> StoredSession | None:
        """Return a session, of which `worker` has a copy from now on."""
        ...

    async def save(
        self, key: str, worker: str, record: bytes, *, version: int, lifetime: float
    ) -> Saved | None:
        """Write a record in the place of that of `version`; `worker` has a copy of it.

        With version 0 it must be a new one, and `worker` is its first owner. Return None, and
        change nothing, if another version is stored, or none.
        """
        ...

    async def refresh(self, keys: Collection[str], lifetime: float) -> None:
        """Let sessions and their events live `lifetime` seconds from now on."""
        ...

    async def leave(self, key: str, worker: str) -> None: ...

    async def end(self, key: str, lifetime: float, *, again: bool = False) -> frozenset[str] | None:
        """Delete a session and its events; return who has a copy, or None if there was none.

        For `lifetime` seconds nobody can write a record or an event of it. Who does not know
        whether that was done does it `again`: then one that has ended counts, too.
        """
        ...

    async def claim(self, key: str, worker: str) -> StoredSession | None:
        """Make `worker` the owner, with the next epoch; return the session as it was before."""
        ...

    async def deliver(self, key: str, worker: str, epoch: int, delivered: int) -> bool:
        """Note how far the owner of this epoch has come; return False if that is another now."""
        ...


class Event(NamedTuple):
    number: int
    message: bytes


class Events(NamedTuple):
    """The events of a stream after a number, and whether there will be no more."""

    events: Sequence[Event]
    ended: bool


class Appended(NamedTuple):
    accepted: bool
    last: int
    """That of the last event that is stored now."""
    ended: bool
    followers: frozenset[str]
    """Those that want to be told."""


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
        """Append messages, of which the first gets the number; with `end` nothing can follow.

        All or none are appended. They are refused if the number does not follow the last one, if
        the stream has ended, or the session has: so no two writers write the same event.
        """
        ...

    async def read(self, key: str, stream: str, after: int) -> Events | None:
        """Return what followed the event of a number; None if some of it is not known.

        Of a stream without events, which may be one to come, what follows -1 and 0 is known.
        """
        ...

    async def follow(self, key: str, stream: str, worker: str) -> None:
        """Have whoever appends learn from now on that `worker` wants to be told."""
        ...

    async def unfollow(self, key: str, stream: str, worker: str) -> None: ...


class StoredTask(NamedTuple):
    """A task as a store knows it: its key, and how often its record was written."""

    key: str
    record: bytes
    version: int
    at: float
    """When it was read, by the clock of the store: seconds since the epoch."""


class TaskStore(Protocol):
    """Records by key, each with an owner and, while somebody works on it, a lease.

    `owner` is a digest of who may see a task. A record lapses at `ends_at`; None is for never. It
    is overdue `lease` seconds after it was written or renewed last, unless it was written without
    a lease. The clock of the store alone decides about both: those of workers may be wrong.
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
        """Keep a new record, of version 1; return False if the owner has `most` already.

        When this returns, every worker finds it. To create the same record again changes nothing.
        """
        ...

    async def get(self, key: str) -> StoredTask | None: ...

    async def versions(self, keys: Collection[str]) -> Mapping[str, int]:
        """Return how often each of those records was written that are there."""
        ...

    async def replace(
        self, key: str, record: bytes, *, version: int, ends_at: float | None, lease: float | None
    ) -> bool:
        """Write a record in the place of that of `version`; return False if it is not there."""
        ...

    async def renew(self, keys: Collection[str], lease: float) -> None:
        """Let records that have a lease be overdue so many seconds from now; versions stay."""
        ...

    async def delete(self, key: str) -> None: ...

    async def page(self, owner: str, after: str, size: int) -> Sequence[StoredTask]:
        """Return the records of an owner whose keys follow `after`, in the order of the keys."""
        ...

    async def take_overdue(self, lease: float, most: int) -> Sequence[StoredTask]:
        """Return some of the records that are overdue, those of all owners.

        They have a new lease from now on, so that nobody else gets them meanwhile.
        """
        ...


class Mail(Protocol):
    """Letters to workers by name. They arrive in the order in which one worker sent them."""

    async def send(self, letters: Sequence[tuple[str, bytes]]) -> frozenset[str]:
        """Put letters into the boxes of workers; return the names of those that are gone."""
        ...

    async def alive(self, workers: Collection[str]) -> frozenset[str]:
        """Return those of the workers whose lease has not lapsed."""
        ...


class Bus(Protocol):
    """Changes for all workers, the one that publishes too. All get them in the same order.

    Who is not behind gets a change before a letter that was sent after it was published.
    """

    async def publish(self, changes: Sequence[bytes]) -> None: ...


class Letter(NamedTuple):
    content: bytes


class Change(NamedTuple):
    content: bytes


class Gap(Enum):
    """The only value says that letters and changes may have been lost, or the lease has lapsed."""

    GAP = "gap"


GAP: Final = Gap.GAP

Delivery: TypeAlias = Letter | Change | Gap
Receive: TypeAlias = Callable[[Delivery], None]
"""Takes in what comes; must not raise or take long."""


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
    def bus(self) -> Bus: ...

    @property
    def current(self) -> bool: ...


class Engine(Protocol):
    """A way to an engine: made when options are, before there is an event loop."""

    def connect(
        self, worker: str, lease: float, receive: Receive
    ) -> AbstractAsyncContextManager[EngineConnection]:
        """Connect a worker, whose name nobody else has; it counts as gone when this ends.

        It holds a lease of so many seconds, which is renewed until then. An engine that is away
        does not keep it from being entered.
        """
        ...


DEFAULT_LEASE: Final = 10.0
"""In seconds."""
