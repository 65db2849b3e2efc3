"""The other workers of an endpoint: messages to them, and streams shared with them.

Important messages are acknowledged after handling. A worker that does not acknowledge within its
lease counts as gone: by then it has noticed, and trusts none of its copies.
"""

from asyncio import Event, Future, gather, get_running_loop, shield, sleep
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from logging import getLogger
from typing import Any, Final, TypeAlias, TypeVar

from ...core.context_task import ContextTask
from ...core.json import JSONObject
from ...core.tasks import Tasks
from ...core.throttle import Throttle
from ...http.server.sessions.worker import (
    StreamClaimed,
    StreamTaken,
    Worker,
    read_value,
    stored_adapter,
    writer_of,
)
from ...storage.engine import (
    Appended,
    Change,
    Delivery,
    DirectMessage,
    Engine,
    EngineUnavailable,
    Place,
)
from ...storage.engine import Event as StoredEvent
from ...transports.base import wait_within
from .worker_messages import (
    Acknowledged,
    ClientSent,
    Envelope,
    SessionChanged,
    SessionEnded,
    Wake,
    WorkerMessage,
)

_log: Final = getLogger(__name__)

# How many answers are kept for repeated messages.
_KEPT: Final = 4096

# The most streams in one call to the engine.
_TOGETHER: Final = 1000

_M = TypeVar("_M", SessionChanged, SessionEnded, ClientSent, StreamClaimed, StreamTaken)
_Handle: TypeAlias = Callable[[_M], Awaitable[JSONObject | None]]
"""Handles a message; the result goes back with the acknowledgement."""


def _stream_for(worker: str) -> str:
    return f"{worker}?"


@dataclass(eq=False, slots=True)
class _Sent:
    waiting: set[str]
    done: Event = field(default_factory=Event)
    answers: dict[str, JSONObject] = field(default_factory=dict[str, JSONObject])

    def confirm(self, worker: str, answer: JSONObject | None = None) -> None:
        if worker in self.waiting:
            self.waiting.discard(worker)
            if answer is not None:
                self.answers[worker] = answer
        if not self.waiting:
            self.done.set()


class SharedWorker(Worker):
    shared = True
    before_message: Callable[[str], Awaitable[object]]
    """Called with a session's key before each message of its client.

    Messages stored for this worker were acknowledged before, so they must come first.
    """

    def __init__(
        self, engine: Engine, lease: float, name: str, lifetime: float, tasks: Tasks
    ) -> None:
        super().__init__(name, lifetime)
        self.lease = lease
        self._engine = engine
        self._tasks = tasks
        self._connection = None
        self._log = Throttle(__name__)
        self._handlers: dict[type, _Handle[Any]] = {}
        self.on_change: list[Callable[[bytes], None]] = []
        """Called with each change on the bus; must not wait."""
        self.on_gap: list[Callable[[], None]] = []
        """Called when messages and changes may be lost."""
        self._numbers = count(1)
        self._sent: dict[int, _Sent] = {}
        self._answers: dict[tuple[str, int], Future[JSONObject | None]] = {}
        """The answers to messages, by sender and number."""
        self._followed: dict[Place, tuple[Event, Callable[[], int]]] = {}
        self._looking = False
        self._connected = ContextTask()

    async def begin(self) -> None:
        """Connect to the engine; raise the error of an unusable one."""
        connecting = self._engine.connect(self.name, self.lease, self._receive)
        self._connection = await self._connected.enter(connecting)

    async def close(self) -> None:
        """Leave the engine, which tells other workers that this one is gone."""
        try:
            await shield(self._connected.leave())
        except Exception:
            _log.exception("leaving the engine failed")

    def on(self, kind: type[_M], handle: _Handle[_M]) -> None:
        """Set the handler of a kind; its messages are acknowledged afterwards."""
        self._handlers[kind] = handle

    def _receive(self, delivery: Delivery) -> None:
        if isinstance(delivery, DirectMessage):
            if (envelope := self._envelope_in(delivery.content)) is not None:
                self._dispatch(envelope)
        elif isinstance(delivery, Change):
            for on_change in self.on_change:
                on_change(delivery.content)
        else:
            self.gaps += 1
            for on_gap in self.on_gap:
                on_gap()
            self._wake_followers(self._followed)

    def _envelope_in(self, content: bytes) -> Envelope | None:
        return read_value(Envelope, content, self._log, "an invalid worker message was dropped")

    def _dispatch(self, envelope: Envelope) -> None:
        message = envelope.message
        if isinstance(message, Acknowledged):
            if (sent := self._sent.get(message.number)) is not None:
                sent.confirm(envelope.sender, message.answer or {})
        elif isinstance(message, Wake):
            self._wake_followers([(message.session, message.stream)])
        elif envelope.number is not None:
            self._tasks.start(self._acknowledge(message, envelope.sender, envelope.number))

    async def _acknowledge(self, message: object, sender: str, number: int) -> None:
        try:
            if isinstance(message, ClientSent):
                await self.before_message(message.session)
            answer = await self._answer_to(message, (sender, number))
            await self._mail([sender], Acknowledged(number=number, answer=answer))
        except EngineUnavailable:
            self._log.info("a message between workers could not be acknowledged")

    async def _answer_to(self, message: object, origin: tuple[str, int]) -> JSONObject | None:
        """Handle a message once, even if it comes twice."""
        answers = self._answers
        if (before := answers.get(origin)) is not None:
            return await shield(before)
        answer: Future[JSONObject | None] = get_running_loop().create_future()
        answers[origin] = answer
        if len(answers) > _KEPT:
            del answers[next(iter(answers))]
        try:
            answer.set_result(await self._handlers[type(message)](message))
        finally:
            if not answer.done():
                answers.pop(origin, None)
                answer.cancel()
        return answer.result()

    async def tell(
        self, workers: Collection[str], message: WorkerMessage, number: int | None = None
    ) -> Mapping[str, JSONObject]:
        waiting = set(workers) - {self.name}
        if not waiting:
            return {}
        number, sent = number or next(self._numbers), _Sent(waiting)
        self._sent[number] = sent
        try:
            for _ in range(2):
                for gone in await self._mail(sorted(sent.waiting), message, number):
                    sent.confirm(gone)
                if await wait_within(self.lease / 2, sent.done.wait()):
                    break
                alive = await self.engine.mail.alive(frozenset(sent.waiting))
                for gone in sent.waiting - alive:
                    sent.confirm(gone)
            for worker in sent.waiting:
                self._log.warning("worker %s does not acknowledge messages", worker)
        finally:
            del self._sent[number]
        return sent.answers

    async def tell_or_store(self, workers: Collection[str], message: ClientSent) -> Collection[str]:
        """Do as `tell`, and store the message for workers that seem gone but may only be late.

        Return live workers that do not acknowledge it. Raise `EngineUnavailable`.
        """
        number = next(self._numbers)
        late = set(workers) - {self.name} - (await self.tell(workers, message, number)).keys()
        for worker in sorted(late):
            await self._store(worker, message.session, self._pack(message, number))
        # A worker that is back may have looked too early.
        back = [worker for worker in late if not await self.is_gone(worker)]
        return set(back) - (await self.tell(back, message, number)).keys()

    async def _store(self, worker: str, key: str, content: bytes) -> None:
        number, refused = 1, True
        while refused:
            appended = await self.append(key, _stream_for(worker), number, [content])
            refused = not (appended.accepted or appended.ended)
            number = appended.last + 1

    async def read_stored(self, key: str, after: int) -> Sequence[StoredEvent]:
        """Return the messages stored for this worker about a session, after a number.

        Raise `EngineUnavailable`.
        """
        read, stream = self.engine.events.read, _stream_for(self.name)
        stored = await read(key, stream, after)
        if stored is None:
            self._log.warning("some messages stored for this worker are lost")
            high = (await self.append(key, stream, 0, [])).last
            low = after if after < high else -1
            while high - low > 1:
                middle = (high + low) // 2
                if (more := await read(key, stream, middle)) is None:
                    low = middle
                else:
                    high, stored = middle, more
        return () if stored is None else stored.events

    async def take_in_stored(self, event: StoredEvent) -> None:
        """Handle a stored message, unless it has come meanwhile."""
        envelope = self._envelope_in(event.message)
        if envelope and envelope.number and isinstance(envelope.message, ClientSent):
            await self._answer_to(envelope.message, (envelope.sender, envelope.number))

    async def _mail(
        self, workers: Sequence[str], message: WorkerMessage, number: int | None = None
    ) -> frozenset[str]:
        content = self._pack(message, number)
        return await self.engine.mail.send([(worker, content) for worker in workers])

    def _pack(self, message: WorkerMessage, number: int | None) -> bytes:
        envelope = Envelope(sender=self.name, message=message, number=number)
        return stored_adapter(Envelope).dump_json(envelope)

    async def is_gone(self, worker: str) -> bool:
        return worker != self.name and worker not in await self.engine.mail.alive([worker])

    async def append(
        self, key: str, stream: str, number: int, messages: Sequence[bytes], *, end: bool = False
    ) -> Appended:
        appended = await super().append(key, stream, number, messages, end=end)
        if appended.accepted and (other := appended.follower) and other != self.name:
            self._tasks.start(self._wake(other, Wake(session=key, stream=stream)))
        return appended

    async def _wake(self, worker: str, message: Wake) -> None:
        # The worker also looks by itself.
        with suppress(EngineUnavailable):
            await self._mail([worker], message)

    @asynccontextmanager
    async def following(
        self, key: str, stream: str, seen: Callable[[], int]
    ) -> AsyncGenerator[Event, None]:
        place, follower = (key, stream), (Event(), seen)
        self._followed[place] = follower
        if not self._looking:
            self._looking = True
            self._tasks.start(self._look())
        try:
            await self.engine.events.follow(key, stream, self.name)
            yield follower[0]
        finally:
            if self._followed.get(place) is follower:
                del self._followed[place]

    async def _look(self) -> None:
        try:
            while self._followed:
                await sleep(self.lease / 2)
                places = list(self._followed)
                for first in range(0, len(places), _TOGETHER):
                    try:
                        await self._look_at(places[first : first + _TOGETHER])
                    except EngineUnavailable:
                        self._log.info("followed streams could not be checked")
                        break
                    except Exception:
                        # Engines of users may raise anything; the next look must come.
                        _log.exception("followed streams could not be checked")
        finally:
            self._looking = False

    async def _look_at(self, places: Sequence[Place]) -> None:
        events, followed = self.engine.events, self._followed
        seen = {place: followed[place][1]() for place in places if place in followed}
        news = {*await events.news(seen)}
        # A worker that had the stream before may have followed it late.
        await gather(*(events.follow(*place, self.name) for place in news))
        if writers := {writer_of(stream) for _, stream in seen} - {""}:
            gone = writers - await self.engine.mail.alive(writers)
            news |= {place for place in seen if writer_of(place[1]) in gone}
        self._wake_followers(news)

    def _wake_followers(self, places: Collection[Place]) -> None:
        for place in places:
            if (follower := self._followed.get(place)) is not None:
                follower[0].set()
