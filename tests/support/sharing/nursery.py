"""Workers as processes with their own Redis, whose calls of the engine can be disturbed."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from multiprocessing.connection import Connection
from random import Random
from typing import Any

from support.engines import RedisServer, redis_running
from support.patience import PATIENCE
from support.sharing.parts import Part
from support.sharing.processes import FORKS, WorkerProcess
from support.sharing.wires import Sockets
from support.sharing.witness import Witness


class Processes(Sockets):
    """Workers on local ports that can be disturbed, and their Redis."""

    def __init__(self, server: RedisServer, number: int, lease: float) -> None:
        self._server = server
        # The longest delay of a call in seconds, and the share of lost answers.
        self._troubles = FORKS.RawArray("d", 2)
        self._notes, self._writer = FORKS.Pipe(duplex=False)
        given = server.url, lease, self._troubles, self._writer
        self._workers = [WorkerProcess(_make_app, place, *given) for place in range(number)]
        super().__init__([worker.port for worker in self._workers])
        self._before: Witness | None = None

    # Messages of workers.

    @asynccontextmanager
    async def note_events(self, witness: Witness) -> AsyncGenerator[None, None]:
        """Record the events of workers during the block."""
        before, self._before = self._before, witness
        # Otherwise a witness sees consequences before it knows of the trouble.
        while before is not None and before.is_excused(before.now):
            await asyncio.sleep(0.02)
        loop = asyncio.get_running_loop()
        loop.add_reader(self._notes.fileno(), lambda: witness.note(self._notes.recv()))
        try:
            yield
        finally:
            loop.remove_reader(self._notes.fileno())

    # Starting and stopping.

    async def begin(self) -> None:
        """Start all of them, and wait until they are ready."""
        for place, worker in enumerate(self._workers):
            if not worker.started:
                worker.start()
            await self._wait_until_ready(place)

    async def _wait_until_ready(self, worker: int) -> None:
        async with asyncio.timeout(PATIENCE):
            while not await self._is_ready(worker):
                await asyncio.sleep(0.02)

    async def _is_ready(self, worker: int) -> bool:
        try:
            reply = await self.ask(worker, "GET", {}, b"", "/ready")
            reply.break_off()
        except ConnectionError:
            return False
        return reply.status == 200

    async def kill(self, worker: int) -> None:
        self._workers[worker].kill()

    async def replace(self, worker: int) -> None:
        self._workers[worker].start()
        await self._wait_until_ready(worker)

    def stop(self, worker: int) -> None:
        self._workers[worker].stop()

    def go_on(self, worker: int) -> None:
        self._workers[worker].go_on()

    def close(self) -> None:
        for worker in self._workers:
            worker.kill()

    # The engine.

    async def away(self) -> None:
        self._server.freeze()

    async def back(self) -> None:
        self._server.start()
        self._server.thaw()
        self._troubles[:] = [0.0, 0.0]

    async def restart(self) -> None:
        # Stored data is acknowledged data.
        self._server.command("CLIENT", "PAUSE", 60_000, "WRITE")
        self._server.stop()

    async def lose(self) -> None:
        self._server.stop(keep=False)
        self._server.start()

    async def slow(self, seconds: float) -> None:
        self._troubles[:] = [seconds, 0.0]

    async def forget(self, part: float) -> None:
        self._troubles[:] = [0.0, part]


@contextmanager
def nursery(number: int, lease: float) -> Generator[Processes, None, None]:
    """Let workers live for the block."""
    with redis_running() as server:
        processes = Processes(server, number, lease)
        try:
            yield processes
        finally:
            processes.close()


# Within a worker.


class _Disturbed:
    """An engine whose calls may be late, seem to fail, or kill the worker."""

    def __init__(self, engine: Any, troubles: Any) -> None:
        self._deadly = ""
        """When the next append kills the worker: `before` or `after` it."""
        self._troubles = troubles
        self._random = Random(os.getpid())
        self._engine = engine
        self._parts: dict[str, Any] = {}

    @asynccontextmanager
    async def connect(self, worker: str, lease: float, receive: Any) -> AsyncGenerator[Any, None]:
        async with self._engine.connect(worker, lease, receive) as connection:
            for part in ("sessions", "events", "mail"):
                self._parts[part] = getattr(connection, part)
                setattr(connection, part, Part(self, part))
            yield connection

    async def call(self, part: str, method: str, given: Sequence[Any], named: Any) -> Any:
        from mcp_revisions import EngineUnavailable

        delay, lost = self._troubles
        if delay:
            await asyncio.sleep(self._random.uniform(0, delay))
        deadly = self._deadly if method == "append" else ""
        if deadly == "before":
            self.die("now")
        outcome = await getattr(self._parts[part], method)(*given, **named)
        if deadly == "after":
            self.die("now")
        if lost and self._random.random() < lost:
            raise EngineUnavailable("the answer is lost")
        return outcome

    def die(self, when: str) -> None:
        if when == "now":
            os.kill(os.getpid(), signal.SIGKILL)
        self._deadly = when


def _make_app(
    place: int, url: str, lease: float, troubles: Any, notes: "Connection[str, str]"
) -> Any:
    from mcp_revisions import RedisEngine
    from support.sharing.schedules import NAMES
    from support.sharing.scripted import Hooks, app_of

    def die(when: str) -> None:
        notes.send(f"dies {place}")
        engine.die(when)

    engine = _Disturbed(RedisEngine(url, timeout=lease), troubles)
    hooks = Hooks(notes.send, die)
    hooks.start(_watch(lambda: notes.send(f"stalls {place}"), lease))
    return app_of(engine, NAMES, hooks, lease)


async def _watch(report: Callable[[], None], lease: float) -> None:
    """Report when this process has been paused."""
    while True:
        before = time.monotonic()
        await asyncio.sleep(lease / 10)
        if time.monotonic() - before > lease / 3:
            report()
