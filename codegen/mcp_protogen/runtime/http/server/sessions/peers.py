"""The other workers of an endpoint: letters to them, and streams that several of them know.

A letter that matters is acknowledged once it was dealt with. Who has not done so at the end of its
lease counts as gone: by then it has noticed that it was not heard of, and trusts nothing it knew.
"""

from asyncio import (
    FIRST_COMPLETED,
    Event,
    Future,
    Task,
    TimerHandle,
    get_running_loop,
    shield,
    wait,
)
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from itertools import count
from logging import getLogger
from typing import Annotated, Any, Final, Literal, TypeAlias, TypeVar

from pydantic import Discriminator, TypeAdapter, ValidationError

from ....core.base64url import base64url
from ....core.json import JSONObject
from ....core.tasks import Tasks
from ....core.throttle import Throttle
from ....storage.engine import (
    DEFAULT_LEASE,
    GAP,
    Appended,
    Change,
    Delivery,
    EngineConnection,
    EngineUnavailable,
    Shared,
)
from ....storage.engine import Event as StoredEvent
from ....storage.engine import Letter as Delivered
from ....storage.memory import MemoryConnection, MemoryEngine

_log: Final = getLogger(__name__)

# Letters that were dealt with of late: they may come twice.
_KNOWN: Final = 4096


def key_of(id: str) -> str:
    """Return the key under which engines and workers know the session of an id."""
    return base64url(sha256(id.encode()).digest())


def faults_in(error: ValueError) -> str:
    """Return what is wrong with a value from an engine, but not the value: logs tell it to all."""
    if not isinstance(error, ValidationError):
        return str(error)
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    return ", ".join(f"{fault['type']} at {fault['loc']}" for fault in faults[:3])


# The letters. `session` is always the key of a session.


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """The record of a session was written: open it again."""

    session: str
    kind: Literal["changed"] = "changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A session was ended by its client."""

    session: str
    kind: Literal["ended"] = "ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notified:
    """A client sent a notification, of which a handler here may have to know."""

    session: str
    principal_id: str | None
    message: str
    kind: Literal["notified"] = "notified"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A client answered a request of this worker, or reported progress of it."""

    session: str
    principal_id: str | None
    message: str
    fault: str = ""
    """What is wrong with an answer that cannot be told by its text."""
    kind: Literal["answered"] = "answered"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """Another worker owns the standalone stream now, with this epoch: let go of it.

    The acknowledgement says how far it has come: `delivered`.
    """

    session: str
    epoch: int
    kind: Literal["claimed"] = "claimed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A client goes on with a stream elsewhere: complete the response that it is in here."""

    session: str
    stream: str
    taker: str
    """The worker that the client is at now."""
    kind: Literal["taken"] = "taken"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wake:
    """Something was appended to a stream."""

    session: str
    stream: str
    kind: Literal["wake"] = "wake"


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledged:
    """The letter of that number was dealt with."""

    number: int
    answer: JSONObject | None = None
    kind: Literal["acknowledged"] = "acknowledged"


Letter: TypeAlias = Changed | Ended | Notified | Answered | Claimed | Taken | Wake | Acknowledged
_L = TypeVar("_L", Changed, Ended, Notified, Answered, Claimed, Taken)

Handle: TypeAlias = Callable[[_L], Awaitable[JSONObject | None]]
"""Deals with a letter; what it returns goes back with the acknowledgement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Envelope:
    sender: str
    letter: Annotated[Letter, Discriminator("kind")]
    number: int | None = None
    """The number under which the sender waits for an acknowledgement."""


@cache
def _envelopes() -> TypeAdapter[_Envelope]:
    # Not made where nobody sends letters.
    return TypeAdapter(_Envelope)


def _stream_for(worker: str) -> str:
    """Return the name of a stream with letters for a worker, which no client can ask for."""
    return f"{worker}?"


@dataclass(eq=False, slots=True)
class _Sent:
    """Letters that are to be acknowledged."""

    waiting: set[str]
    done: Future[None] = field(default_factory=lambda: get_running_loop().create_future())
    answers: dict[str, JSONObject] = field(default_factory=dict[str, JSONObject])

    def settle(self, worker: str, answer: JSONObject | None = None) -> None:
        if worker in self.waiting:
            self.waiting.discard(worker)
            if answer is not None:
                self.answers[worker] = answer
        if not self.waiting and not self.done.done():
            self.done.set_result(None)


class Peers:
    """The workers that serve the same endpoint, as one of them knows them.

    Without `shared`, there are none, and what streams say is kept in the memory of this process.
    """

    def __init__(self, name: str, shared: Shared | None, lifetime: float, tasks: Tasks) -> None:
        self.name: Final = name
        """The name of this worker."""
        self.shared: Final = shared is not None
        self.lease: Final = DEFAULT_LEASE if shared is None else shared.lease
        self.gaps = 0
        """The number of times that letters may have been lost, or the lease has lapsed."""
        self._options = shared
        self._lifetime = lifetime
        self._tasks = tasks
        self._connection: EngineConnection | None = None
        if shared is None:
            self._connection = MemoryConnection(MemoryEngine())
        self._log = Throttle(_log)
        self._handlers: dict[type, Callable[[Any], Awaitable[JSONObject | None]]] = {}
        self._on_change: list[Callable[[bytes], None]] = []
        self._on_gap: list[Callable[[], None]] = []
        self._before_message: Callable[[str], Awaitable[object]] | None = None
        self._numbers = count(1)
        self._sent: dict[int, _Sent] = {}
        self._dealt_with: dict[tuple[str, int], Future[JSONObject | None]] = {}
        """The answers to letters, by sender and number."""
        self._followed: dict[tuple[str, str], set[Event]] = {}
        self._timer: TimerHandle | None = None
        self._held: Task[None] | None = None
        self._end: Event = Event()

    @property
    def engine(self) -> EngineConnection:
        """The connection to the engine; there is one from `begin` on, or always without sharing."""
        assert self._connection is not None
        return self._connection

    @property
    def current(self) -> bool:
        """Return whether what this worker knows holds, because the others count on it."""
        return self._connection is not None and self._connection.current

    # The connection.

    async def begin(self) -> None:
        """Connect to the engine; what makes an engine unusable is raised."""
        if self._options is None or self._held is not None:
            return
        begun: Future[None] = get_running_loop().create_future()
        # Connections are left in the task that has entered them.
        self._held = get_running_loop().create_task(self._hold(self._options, begun))
        await wait([begun, self._held], return_when=FIRST_COMPLETED)
        if not begun.done():
            held, self._held = self._held, None
            await held

    async def _hold(self, shared: Shared, begun: Future[None]) -> None:
        async with shared.engine.connect(self.name, shared.lease, self._receive) as connection:
            self._connection = connection
            begun.set_result(None)
            await self._end.wait()

    async def close(self) -> None:
        """Leave the engine; from now on the other workers know that this one is gone."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._held is not None:
            self._end.set()
            await wait([self._held])
            if (error := self._held.exception()) is not None:
                _log.error("the engine was not left well", exc_info=error)

    # What comes.

    def on(self, kind: type[_L], handle: Handle[_L]) -> None:
        """Have letters of a kind dealt with; each is acknowledged afterwards."""
        self._handlers[kind] = handle

    def on_change(self, handle: Callable[[bytes], None]) -> None:
        """Have what is published on the bus dealt with, by a function that does not wait."""
        self._on_change.append(handle)

    def on_gap(self, handle: Callable[[], None]) -> None:
        """Have it known when letters and changes may have been lost."""
        self._on_gap.append(handle)

    def before_message(self, handle: Callable[[str], Awaitable[object]]) -> None:
        """Have the key of a session dealt with before each letter with a message of its client.

        What was stored for this worker was acknowledged before, so that it has to come first.
        """
        self._before_message = handle

    def _receive(self, delivery: Delivery) -> None:
        if isinstance(delivery, Delivered):
            if (envelope := self._envelope_in(delivery.content)) is not None:
                self._read(envelope)
        elif isinstance(delivery, Change):
            for changed in self._on_change:
                changed(delivery.content)
        else:
            assert delivery is GAP
            self.gaps += 1
            for lost in self._on_gap:
                lost()
            self._ring_all()

    def _envelope_in(self, content: bytes) -> _Envelope | None:
        try:
            return _envelopes().validate_json(content, strict=True)
        except ValidationError as error:
            self._log.warning("a letter makes no sense, and is dropped: %s", faults_in(error))
            return None

    def _read(self, envelope: _Envelope) -> None:
        letter = envelope.letter
        if isinstance(letter, Acknowledged):
            if (sent := self._sent.get(letter.number)) is not None:
                sent.settle(envelope.sender, letter.answer or {})
        elif isinstance(letter, Wake):
            self._ring(letter.session, letter.stream)
        elif envelope.number is not None:
            self._tasks.start(self._acknowledge(letter, envelope.sender, envelope.number))

    async def _acknowledge(self, letter: object, sender: str, number: int) -> None:
        try:
            if isinstance(letter, Answered | Notified) and self._before_message is not None:
                await self._before_message(letter.session)
            answer = await self._answer_to(letter, (sender, number))
            await self._mail([sender], Acknowledged(number=number, answer=answer))
        except EngineUnavailable:
            self._log.info("a letter could not be acknowledged")

    async def _answer_to(self, letter: object, place: tuple[str, int]) -> JSONObject | None:
        """Deal with a letter, once however often it comes."""
        known = self._dealt_with
        if (before := known.get(place)) is not None:
            return await shield(before)
        answered: Future[JSONObject | None] = get_running_loop().create_future()
        known[place] = answered
        if len(known) > _KNOWN:
            del known[next(iter(known))]
        handle = self._handlers.get(type(letter))
        try:
            # What nobody is interested in has been dealt with.
            answered.set_result(None if handle is None else await handle(letter))
        finally:
            if not answered.done():
                # It may succeed when it comes again.
                known.pop(place, None)
                answered.cancel()
        return answered.result()

    # What is sent.

    async def tell(
        self, workers: Collection[str], letter: Letter, number: int | None = None
    ) -> Mapping[str, JSONObject]:
        """Send a letter; return what its readers say once all have acknowledged it, or are gone.

        It is sent twice where that takes long. Raise `EngineUnavailable`.
        """
        waiting = set(workers) - {self.name}
        if not waiting or not self.shared:
            return {}
        number, sent = number or next(self._numbers), _Sent(waiting)
        self._sent[number] = sent
        try:
            for _ in range(2):
                for gone in await self._mail(sorted(sent.waiting), letter, number):
                    sent.settle(gone)
                await wait([sent.done], timeout=self.lease / 2)
                if sent.done.done():
                    break
                alive = await self.engine.mail.alive(frozenset(sent.waiting))
                for gone in sent.waiting - alive:
                    sent.settle(gone)
            for worker in sent.waiting:
                self._log.warning("worker %s does not acknowledge a letter", worker)
        finally:
            del self._sent[number]
        return sent.answers

    async def tell_or_store(
        self, workers: Collection[str], letter: Answered | Notified
    ) -> Collection[str]:
        """Do as `tell`, and store the letter for who seems to be gone, which may only be late.

        Return those that are there, and do not acknowledge it. Raise `EngineUnavailable`.
        """
        number = next(self._numbers)
        late = set(workers) - {self.name} - (await self.tell(workers, letter, number)).keys()
        for worker in sorted(late):
            envelope = _Envelope(sender=self.name, letter=letter, number=number)
            await self._store(worker, letter.session, _envelopes().dump_json(envelope))
        # Who is back already may have looked before there was anything.
        back = [worker for worker in late if not await self.is_gone(worker)]
        return set(back) - (await self.tell(back, letter, number)).keys()

    async def _store(self, worker: str, key: str, content: bytes) -> None:
        number, refused = 1, True
        while refused:
            appended = await self.append(key, _stream_for(worker), number, [content])
            refused = not (appended.accepted or appended.ended)
            number = appended.last + 1

    async def read_stored(self, key: str, after: int) -> Sequence[StoredEvent]:
        """Return what was stored about a session for this worker after an event of a number.

        Raise `EngineUnavailable`.
        """
        read, stream = self.engine.events.read, _stream_for(self.name)
        stored = await read(key, stream, after)
        if stored is None:
            self._log.warning("not all that was stored for this worker is there still")
            known = (await self.append(key, stream, 0, [])).last
            gone = after if after < known else -1
            while known - gone > 1:
                middle = (known + gone) // 2
                if (more := await read(key, stream, middle)) is None:
                    gone = middle
                else:
                    known, stored = middle, more
        return () if stored is None else stored.events

    async def take_in_stored(self, event: StoredEvent) -> None:
        """Deal with a letter that was stored for this worker, unless it has come meanwhile."""
        envelope = self._envelope_in(event.message)
        if envelope is None or envelope.number is None:
            return
        if isinstance(envelope.letter, Answered | Notified):
            await self._answer_to(envelope.letter, (envelope.sender, envelope.number))

    async def _mail(
        self, workers: Sequence[str], letter: Letter, number: int | None = None
    ) -> frozenset[str]:
        """Send a letter to several workers; return those that are gone."""
        envelope = _Envelope(sender=self.name, letter=letter, number=number)
        content = _envelopes().dump_json(envelope)
        return await self.engine.mail.send([(worker, content) for worker in workers])

    async def is_gone(self, worker: str) -> bool:
        """Return whether the lease of a worker has lapsed; raise `EngineUnavailable`."""
        if worker == self.name:
            return False
        return not self.shared or worker not in await self.engine.mail.alive([worker])

    # Streams.

    async def append(
        self,
        key: str,
        stream: str,
        number: int,
        messages: Sequence[bytes],
        *,
        end: bool = False,
    ) -> Appended:
        """Append events to a stream, and wake who follows it; raise `EngineUnavailable`."""
        appended = await self.engine.events.append(
            key, stream, number, messages, lifetime=self._lifetime, end=end
        )
        # Whoever appends knows what was.
        if appended.accepted and (others := appended.followers - {self.name}):
            self._tasks.start(self._wake(others, key, stream))
        return appended

    async def _wake(self, workers: Collection[str], key: str, stream: str) -> None:
        try:
            for gone in await self._mail(sorted(workers), Wake(session=key, stream=stream)):
                await self.engine.events.unfollow(key, stream, gone)
        except EngineUnavailable:
            # They look by themselves, too.
            self._log.info("workers that follow a stream could not be told")

    def following(self, key: str, stream: str) -> AbstractAsyncContextManager[Event]:
        """Follow a stream; the event is set when something may have been appended, or been missed.

        It is to be cleared before one looks. It is set each half of a lease as well. Entering
        raises `EngineUnavailable`.
        """
        return self._following(key, stream)

    @asynccontextmanager
    async def _following(self, key: str, stream: str) -> AsyncGenerator[Event, None]:
        woken, followers = Event(), self._followed.setdefault((key, stream), set())
        followers.add(woken)
        if self._timer is None:
            self._look_later()
        try:
            await self.engine.events.follow(key, stream, self.name)
            yield woken
        finally:
            followers.discard(woken)
            if not followers and self._followed.get((key, stream)) is followers:
                del self._followed[key, stream]
                self._tasks.start(self._unfollow(key, stream))

    async def _unfollow(self, key: str, stream: str) -> None:
        try:
            await self.engine.events.unfollow(key, stream, self.name)
            if (key, stream) in self._followed:
                # Somebody has begun to follow it meanwhile.
                await self.engine.events.follow(key, stream, self.name)
        except EngineUnavailable:
            self._log.info("a stream is still said to be followed that is not")

    def _look_later(self) -> None:
        self._timer = get_running_loop().call_later(self.lease / 2, self._look)

    def _look(self) -> None:
        self._timer = None
        if self._followed:
            self._ring_all()
            self._look_later()

    def _ring(self, key: str, stream: str) -> None:
        for woken in self._followed.get((key, stream), ()):
            woken.set()

    def _ring_all(self) -> None:
        for followers in self._followed.values():
            for woken in followers:
                woken.set()
