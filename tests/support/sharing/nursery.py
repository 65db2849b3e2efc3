"""Workers as processes, forks of one that has imported everything, with their own Redis.

As a program, it is the parent of the forks: each line of standard input is a command, and each line
of output an event in a worker.
"""

import asyncio
import json
import mmap
import os
import signal
import struct
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from importlib import import_module
from random import Random
from typing import Any, Final

from support.engines import RedisServer, ending_with_us, redis_running
from support.folders import environment
from support.patience import PATIENCE
from support.ports import free_port
from support.sharing.wires import Sockets
from support.sharing.witness import Witness

_MODULE: Final = "support.sharing.nursery"


class Processes(Sockets):
    """Workers on local ports that can be disturbed, and their Redis."""

    def __init__(
        self, server: RedisServer, nursery: "subprocess.Popen[bytes]", ports: list[int]
    ) -> None:
        super().__init__(ports)
        self._server = server
        self._nursery = nursery
        self._pids: dict[int, int] = {}
        self._rest = b""
        self._before: Witness | None = None
        self._note: Callable[[str], None] = lambda _: None

    # Messages of workers.

    @asynccontextmanager
    async def note_events(self, witness: Witness) -> AsyncGenerator[None, None]:
        """Record the events of workers during the block."""
        before, self._before = self._before, witness
        # Otherwise a witness sees consequences before it knows of the trouble.
        while before is not None and before.is_excused(before.now):
            await asyncio.sleep(0.02)
        self._note = witness.note
        assert self._nursery.stdout is not None
        output = self._nursery.stdout.fileno()
        os.set_blocking(output, False)
        loop = asyncio.get_running_loop()
        loop.add_reader(output, self._read, output)
        try:
            yield
        finally:
            loop.remove_reader(output)

    def _read(self, output: int) -> None:
        *lines, self._rest = (self._rest + os.read(output, 1 << 16)).split(b"\n")
        for line in lines:
            kind, _, said = line.decode().partition(" ")
            if kind == "born":
                place, pid = map(int, said.split(" "))
                self._pids[place] = pid
            else:
                self._note(said)

    def _tell(self, *command: object) -> None:
        assert self._nursery.stdin is not None
        self._nursery.stdin.write(f"{json.dumps(command)}\n".encode())
        self._nursery.stdin.flush()

    # Starting and stopping.

    async def begin(self) -> None:
        """Start all of them, and wait until they are ready."""
        for place in range(len(self._ports)):
            if place not in self._pids:
                await self.replace(place)
        async with asyncio.timeout(PATIENCE):
            while not all([await self._is_ready(place) for place in range(len(self._ports))]):
                await asyncio.sleep(0.02)

    async def _is_ready(self, worker: int) -> bool:
        try:
            reply = await self.ask(worker, "GET", {}, b"", "/ready")
            reply.break_off()
        except ConnectionError:
            return False
        return reply.status == 200

    async def kill(self, worker: int) -> None:
        if (pid := self._pids.pop(worker, None)) is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    async def replace(self, worker: int) -> None:
        await self.kill(worker)
        self._tell("start", worker, self._ports[worker])
        async with asyncio.timeout(PATIENCE):
            while worker not in self._pids or not await self._is_ready(worker):
                await asyncio.sleep(0.02)

    def stop(self, worker: int) -> None:
        self._signal(worker, signal.SIGSTOP)

    def go_on(self, worker: int) -> None:
        self._signal(worker, signal.SIGCONT)

    def _signal(self, worker: int, number: int) -> None:
        if (pid := self._pids.get(worker)) is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    # The engine.

    async def away(self) -> None:
        self._server.freeze()

    async def back(self) -> None:
        self._server.start()
        self._server.thaw()
        self._tell("trouble", 0.0, 0.0)

    async def restart(self) -> None:
        # Stored data is acknowledged data.
        self._server.command("CLIENT", "PAUSE", 60_000, "WRITE")
        self._server.stop()

    async def lose(self) -> None:
        self._server.stop(keep=False)
        self._server.start()

    async def slow(self, seconds: float) -> None:
        self._tell("trouble", seconds, 0.0)

    async def forget(self, part: float) -> None:
        self._tell("trouble", 0.0, part)


@contextmanager
def nursery(number: int, lease: float) -> Generator[Processes, None, None]:
    """Start workers for the block."""
    with redis_running() as server:
        ports = [free_port() for _ in range(number)]
        command = [sys.executable, "-m", _MODULE, server.url, str(lease)]
        process = subprocess.Popen(
            ending_with_us(*command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment(),
        )
        try:
            yield Processes(server, process, ports)
        finally:
            process.kill()
            process.wait(PATIENCE)


# The program.


class _Troubles:
    """The disturbances of engine calls, in memory that all workers share."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, 16)
        self.write(0.0, 0.0)

    def write(self, *values: float) -> None:
        self._memory[:] = struct.pack("dd", *values)

    def read(self) -> tuple[float, float]:
        """Return the longest delay in seconds, and the share of lost answers."""
        delay, lost = struct.unpack("dd", self._memory[:])
        return delay, lost


class _Disturbed:
    """An engine whose calls may be late, seem to fail, or kill the worker."""

    def __init__(self, engine: Any, troubles: _Troubles) -> None:
        self.before = self.after = False
        self.troubles = troubles
        self.random = Random(os.getpid())
        self._engine = engine

    @asynccontextmanager
    async def connect(self, worker: str, lease: float, receive: Any) -> AsyncGenerator[Any, None]:
        async with self._engine.connect(worker, lease, receive) as connection:
            for part in ("sessions", "events", "mail"):
                setattr(connection, part, _Part(self, getattr(connection, part)))
            yield connection

    async def call(self, method: Any, given: Any, named: Any) -> Any:
        from mcp_revisions import EngineUnavailable

        delay, lost = self.troubles.read()
        if delay:
            await asyncio.sleep(self.random.uniform(0, delay))
        is_append = method.__name__ == "append"
        if is_append and self.before:
            os.kill(os.getpid(), signal.SIGKILL)
        outcome = await method(*given, **named)
        if is_append and self.after:
            os.kill(os.getpid(), signal.SIGKILL)
        if lost and self.random.random() < lost:
            raise EngineUnavailable("the answer is lost")
        return outcome

    def die(self, when: str) -> None:
        if when == "now":
            os.kill(os.getpid(), signal.SIGKILL)
        setattr(self, when, True)


class _Part:
    def __init__(self, engine: _Disturbed, inner: Any) -> None:
        self._engine = engine
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._inner, name)

        def call(*given: Any, **named: Any) -> Any:
            return self._engine.call(method, given, named)

        return call


def _say(kind: str, *what: object) -> None:
    # So short a write is atomic.
    os.write(1, f"{' '.join([kind, *map(str, what)])}\n".encode())


async def _serve(
    place: int, port: int, url: str, lease: float, troubles: _Troubles, alive: int
) -> None:
    import uvicorn
    from mcp_revisions import RedisEngine

    from support.sharing.schedules import NAMES
    from support.sharing.scripted import Hooks, app_of

    def die(when: str) -> None:
        _say("note", "dies", place)
        engine.die(when)

    engine = _Disturbed(RedisEngine(url, timeout=lease), troubles)
    app = app_of(engine, NAMES, Hooks(lambda what: _say("note", what), die), lease)
    asyncio.get_running_loop().add_reader(alive, os._exit, 0)
    watching = asyncio.create_task(_watch(place, lease))
    config = uvicorn.Config(app, host="127.0.0.1", port=port, log_config=None, http="h11")
    await uvicorn.Server(config).serve()
    watching.cancel()


async def _watch(place: int, lease: float) -> None:
    """Report when this process has been paused."""
    while True:
        before = time.monotonic()
        await asyncio.sleep(lease / 10)
        if time.monotonic() - before > lease / 3:
            _say("note", "stalls", place)


def main(url: str, lease: float) -> None:
    """Carry out commands until the input ends."""
    import_module("uvicorn")
    from mcp_revisions import RedisEngine

    from support.sharing import schedules, scripted

    scripted.app_of(RedisEngine(url), schedules.NAMES, scripted.Hooks(print, print), lease)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    alive, held = os.pipe()
    troubles = _Troubles()
    for line in sys.stdin:
        command, *given = json.loads(line)
        if command == "trouble":
            troubles.write(*given)
            continue
        pid = os.fork()
        if pid:
            _say("born", given[0], pid)
            continue
        os.close(held)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        place, port = map(int, given)
        asyncio.run(_serve(place, port, url, lease, troubles, alive))
        os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
