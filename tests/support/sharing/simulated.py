"""Workers in one process, on an engine in memory, in a time that passes only when all wait.

A second takes no time, and a seed is reproducible. Calls to the engine take random time, and can be
cut, slow, or lost; workers can stop or die.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from random import Random
from typing import Any, Final

from mcp_protogen.runtime.storage.engine import GAP
from support.sessions.talking import pkg
from support.sharing.parts import Part
from support.sharing.scripted import Hooks, app_of
from support.sharing.witness import Witness

_TIMEOUT: Final = 0.4
"""Seconds after which a call to an engine that does not answer is given up."""

_DELAY: Final = 0.002


class Engine:
    """An engine in memory behind unreliable connections."""

    def __init__(self, random: Random, lease: float) -> None:
        self.memory = pkg.MemoryEngine()
        self.random = random
        self.lease = lease
        self.away = False
        self.delay = _DELAY
        """The longest time that a call takes on its way there, and on its way back."""
        self.forgetful = 0.0
        """How often the answer to a call is lost."""
        self.connections: dict[str, Connection] = {}

    @asynccontextmanager
    async def connect(
        self, worker: str, lease: float, receive: Callable[[Any], None]
    ) -> AsyncGenerator["Connection", None]:
        connection = self.connections[worker] = Connection(self, worker, receive)
        self.memory.workers[worker] = connection.take, asyncio.get_running_loop()
        renewing = asyncio.create_task(connection.renew())
        pumping = asyncio.create_task(connection.pump())
        try:
            yield connection
        finally:
            for task in (renewing, pumping):
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
            connection.leased = -1.0
            self.memory.workers.pop(worker, None)

    def alive(self, worker: str) -> bool:
        connection = self.connections.get(worker)
        return connection is not None and _now() - connection.leased < self.lease

    def lose(self) -> None:
        """Forget everything."""
        before, self.memory = self.memory, pkg.MemoryEngine()
        self.memory.workers.update(before.workers)
        self.miss()
        for connection in self.connections.values():
            connection.leased = -1.0

    def mend(self) -> None:
        """Answer promptly from now on."""
        self.away = False
        self.delay = _DELAY
        self.forgetful = 0.0

    def miss(self) -> None:
        """Lose all deliveries under way; workers learn of it when they renew leases."""
        for connection in self.connections.values():
            connection.missed = True
            connection.coming.clear()


def _now() -> float:
    return asyncio.get_running_loop().time()


class Connection:
    """The connection of one worker; `leased` is when the engine last heard of it."""

    def __init__(self, engine: Engine, name: str, receive: Callable[[Any], None]) -> None:
        self.engine = engine
        self.name = name
        self.leased = self.renewed = _now()
        self.missed = False
        self.dead = False
        """Whether the worker was killed; what it does from now on reaches nobody."""
        self.going = asyncio.Event()
        """Not set while the worker is stopped."""
        self.going.set()
        self.coming: deque[Any] = deque()
        self._receive = receive
        self._more = asyncio.Event()
        self._line = asyncio.Lock()
        self.before: Callable[[str], None] = lambda _: None
        self.after: Callable[[str], None] = lambda _: None
        self.sessions = Part(self, "sessions")
        self.events = Part(self, "events")
        self.tasks = Part(self, "tasks")
        self.mail = Part(self, "mail")

    @property
    def current(self) -> bool:
        return not self.dead and _now() - self.renewed < self.engine.lease

    async def renew(self) -> None:
        """Renew the lease, and report a lapse."""
        while not self.dead:
            await self.going.wait()
            asked = _now()
            await self._wander()
            if not self.engine.away:
                late = _now() - self.leased >= self.engine.lease or not self.current
                if self.missed or late:
                    self.missed = False
                    # An engine may continue with the next call.
                    self.coming.clear()
                    self._receive(GAP)
                self.leased, self.renewed = _now(), asked
            await asyncio.sleep(self.engine.lease / 3)

    def take(self, delivery: Any) -> None:
        """Queue a delivery for the worker."""
        if not self.dead:
            self.coming.append(delivery)
            self._more.set()

    async def pump(self) -> None:
        """Deliver in order."""
        while True:
            await self._more.wait()
            await self._wander()
            while self.engine.away:
                await asyncio.sleep(0.01)
            if not self.coming:
                self._more.clear()
            elif not self.dead:
                self._receive(self.coming.popleft())

    async def _wander(self) -> None:
        """Delay a delivery; after a stop, a worker first has to catch up."""
        moment = self.engine.random.uniform(0, self.engine.delay)
        await asyncio.sleep(moment)
        while not self.going.is_set():
            await self.going.wait()
            await asyncio.sleep(moment)

    async def call(self, part: str, method: str, given: Sequence[Any], named: Any) -> Any:
        try:
            async with asyncio.timeout(_TIMEOUT), self._line:
                await self._wander()
                await self._reach()
                outcome = await self._call_memory(part, method, given, named)
                if self.engine.random.random() < self.engine.forgetful:
                    await asyncio.sleep(_TIMEOUT)
            await self._wander()
            await self._reach()
        except TimeoutError:
            # The clock of a stopped worker stood still.
            await self.going.wait()
            raise pkg.EngineUnavailable("it does not answer in time") from None
        return outcome

    async def _reach(self) -> None:
        await self.going.wait()
        if self.dead:
            raise pkg.EngineUnavailable("this worker is gone")
        while self.engine.away:
            await asyncio.sleep(0.01)

    async def _call_memory(self, part: str, method: str, given: Sequence[Any], named: Any) -> Any:
        engine = self.engine
        if method == "alive":
            return frozenset(worker for worker in given[0] if engine.alive(worker))
        gone = frozenset[str]()
        if method == "send":
            gone = frozenset(worker for worker, _ in given[0] if not engine.alive(worker))
            given = [[message for message in given[0] if message[0] not in gone]]
        self.before(method)
        await self._reach()
        outcome = await getattr(getattr(engine.memory, part), method)(*given, **named)
        self.after(method)
        return gone if method == "send" else outcome


class Reply:
    def __init__(self, worker: "Worker") -> None:
        self.status = 0
        self.fields: dict[str, str] = {}
        self.begun = asyncio.Event()
        self.gone = asyncio.Event()
        self.broken = False
        self.over = False
        self._worker = worker
        self._pieces: deque[bytes] = deque()
        self._more = asyncio.Event()

    async def send(self, message: Any) -> None:
        await self._worker.going.wait()
        if self._worker.dead or self.broken:
            return
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.fields = {name.decode(): value.decode() for name, value in message["headers"]}
        else:
            self._pieces.append(message.get("body", b""))
            self.over = not message.get("more_body", False)
        self.begun.set()
        self._more.set()

    def reset(self) -> None:
        """Break, because the worker died or failed."""
        self.broken = not self.over
        self.begun.set()
        self._more.set()
        self.gone.set()

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        while True:
            while self._pieces:
                yield self._pieces.popleft()
            if self.over:
                return
            if self.broken:
                raise ConnectionResetError("it broke")
            self._more.clear()
            await self._more.wait()

    def break_off(self) -> None:
        self.reset()


class Worker:
    """An application, and the engine that it connects to."""

    def __init__(self, engine: Engine, hooks: Hooks, make: Callable[[Any], Any]) -> None:
        self.app = make(self)
        self.hooks = hooks
        self._engine = engine
        self.dead = False
        self.going = asyncio.Event()
        self.going.set()
        self.connection: Connection | None = None
        self.requests: dict[asyncio.Task[None], Reply] = {}

    @asynccontextmanager
    async def connect(
        self, name: str, lease: float, receive: Any
    ) -> AsyncGenerator[Connection, None]:
        async with self._engine.connect(name, lease, receive) as self.connection:
            yield self.connection

    async def ask(self, method: str, fields: Mapping[str, str], body: bytes) -> Reply:
        if self.dead:
            raise ConnectionRefusedError("no worker is there")
        headers = [(b"host", b"localhost"), (b"content-length", b"%d" % len(body))]
        headers += [(name.encode(), value.encode()) for name, value in fields.items()]
        scope = {"type": "http", "method": method, "path": "/mcp", "headers": headers}
        reply = Reply(self)
        task = asyncio.create_task(self._serve(scope, reply, body))
        self.requests[task] = reply
        task.add_done_callback(lambda _: self.requests.pop(task, None))
        await reply.begun.wait()
        if not reply.status:
            raise ConnectionResetError("it broke")
        return reply

    async def _serve(self, scope: Any, reply: Reply, body: bytes) -> None:
        bodies = [body]

        async def receive() -> Any:
            await self.going.wait()
            if bodies:
                return {"type": "http.request", "body": bodies.pop(), "more_body": False}
            await reply.gone.wait()
            return {"type": "http.disconnect"}

        await self.going.wait()
        try:
            await self.app({"root_path": "", "query_string": b"", **scope}, receive, reply.send)
        finally:
            if not reply.over:
                reply.reset()

    def stop(self) -> None:
        self.going.clear()
        if self.connection is not None:
            self.connection.going.clear()

    def go_on(self) -> None:
        self.going.set()
        if self.connection is not None:
            self.connection.going.set()

    def kill(self) -> None:
        """Silence it for ever."""
        self.dead = True
        if self.connection is not None:
            self.connection.dead = True
        for reply in list(self.requests.values()):
            reply.reset()
        self.go_on()

    async def close(self) -> None:
        for reply in list(self.requests.values()):
            reply.gone.set()
        await self.hooks.close()
        await self.app.close()
        if self.requests:
            await asyncio.wait(list(self.requests))


class Simulated:
    """The workers of an endpoint, dead ones included, and their engine."""

    def __init__(self, random: Random, number: int, names: Sequence[str], witness: Witness) -> None:
        self.engine = Engine(random, witness.lease)
        self._names = names
        self._witness = witness
        self._all: list[Worker] = []
        self.workers = [self._make_worker(place) for place in range(number)]

    def _make_worker(self, place: int) -> Worker:
        def note(what: str) -> None:
            if not worker.dead:
                self._witness.note(what)

        def die(when: str) -> None:
            note(f"dies {place}")
            schedule_kill(worker, when)

        hooks = Hooks(note, die)
        make = partial(app_of, names=self._names, hooks=hooks, lease=self._witness.lease)
        worker = Worker(self.engine, hooks, make)
        self._all.append(worker)
        return worker

    async def ask(self, worker: int, method: str, fields: Mapping[str, str], body: bytes) -> Reply:
        return await self.workers[worker].ask(method, fields, body)

    def replace(self, worker: int) -> None:
        """Start a new worker in place of another one, which is killed."""
        self.workers[worker].kill()
        self.workers[worker] = self._make_worker(worker)

    async def close(self) -> None:
        self.engine.away = False
        for worker in self._all:
            worker.go_on()
        await asyncio.gather(*(worker.close() for worker in self._all))


def schedule_kill(worker: Worker, when: str) -> None:
    """Kill a worker now, or before or after it next stores events."""
    connection = worker.connection
    assert connection is not None

    def at(method: str) -> None:
        if method == "append":
            worker.kill()

    if when == "now":
        worker.kill()
    elif when == "before":
        connection.before = at
    else:
        connection.after = at
