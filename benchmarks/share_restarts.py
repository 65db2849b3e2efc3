"""Sessions with open streams whose workers restart one after the other: what is lost, and late.

`python -m benchmarks.share_restarts [SESSIONS] [SECONDS] [PAUSE]` prints the rows alone, for that
many sessions, seconds with restarts, and seconds between two of them.

Each session subscribes to a resource of its own, and has a stream. Callers tell that a resource has
changed, at any worker, and the stream of its session must hear of it, wherever it is open. A client
whose stream or call ends goes to another worker, as behind a load balancer.
"""

import asyncio
import resource
import sys
from collections.abc import Coroutine, Sequence
from contextlib import ExitStack, closing, suppress
from itertools import count
from random import Random
from statistics import quantiles
from subprocess import DEVNULL, Popen
from time import perf_counter
from typing import Final, NamedTuple

from .http_load import Caller
from .http_requests import FIRST_ID, Requests
from .http_servers import free_port
from .places import ROOT, environment, package
from .rows import Row, as_table
from .share_engines import Engine, engines

_WORKERS: Final = 3
_LEASE: Final = 10.0
_CALLERS: Final = 8
_BETWEEN_CALLS: Final = 0.1
_AT_ONCE: Final = 16
_PATIENCE: Final = 90.0
# The seconds after which a client comes back, as the server asks for, are 1 at most.
_RETRY: Final = 1.0
_END: Final = b"\r\n\r\n"


class Plan(NamedTuple):
    """A number of sessions, and the seconds without restarts, with them, and between two."""

    sessions: int = 10_000
    calm: float = 60.0
    seconds: float = 300.0
    pause: float = 10.0


class Worker:
    """A process that can be restarted at its port."""

    def __init__(self, url: str) -> None:
        self.port: Final = free_port()
        self.ready = asyncio.Event()
        self._line = [sys.executable, "-m", "benchmarks.share_worker", url, str(_LEASE)]
        self._process: Popen[bytes] | None = None

    async def start(self) -> None:
        variables = environment(PYTHONPATH=str(package()))
        line = [*self._line, str(self.port)]
        self._process = Popen(line, cwd=ROOT, env=variables, stdout=DEVNULL, stderr=DEVNULL)
        async with asyncio.timeout(_PATIENCE):
            while not await _is_ready(self.port):
                await asyncio.sleep(0.05)
        self.ready.set()

    async def restart(self) -> None:
        """End it in order, and begin again."""
        assert self._process is not None
        self.ready.clear()
        self._process.terminate()
        await asyncio.to_thread(self._process.wait, _PATIENCE)
        await self.start()

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()


async def _is_ready(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    return True


class Session:
    """A session with its stream."""

    def __init__(self, id: str, uri: str) -> None:
        self.id: Final = id
        self.uri: Final = uri
        self.listens = asyncio.Event()
        self.told: list[float] = []
        """When changes were told that its stream has not heard of."""
        self.last = ""


class Clients:
    """All sessions, and the seconds that calls and changes took."""

    def __init__(self, workers: Sequence[Worker]) -> None:
        self.sessions = list[Session]()
        self.calls = list[float]()
        self.changes = list[float]()
        self.repeated = 0
        """The calls that were repeated because their worker was about to end."""
        self._workers = workers
        self._random = Random(0)
        self._ids = count(FIRST_ID)
        self._tasks = list[asyncio.Task[None]]()

    async def begin(self, number: int) -> None:
        """Begin that many sessions, and wait until all listen."""

        def open_some(numbers: range) -> list[Session]:
            with closing(Caller(self._workers[numbers[0] % _WORKERS].port)) as caller:
                found = list[Session]()
                for i in numbers:
                    session = Session(caller.open_session(), f"file:///{i}")
                    caller.ask(caller.requests.subscribe(session.id, session.uri) % FIRST_ID)
                    found.append(session)
                return found

        for some in await asyncio.gather(
            *(asyncio.to_thread(open_some, range(i, number, _AT_ONCE)) for i in range(_AT_ONCE))
        ):
            self.sessions += some
        for session in self.sessions:
            self._tasks.append(asyncio.create_task(self._listen(session)))
            if len(self._tasks) % _AT_ONCE == 0:
                await session.listens.wait()
        for session in self.sessions:
            await session.listens.wait()

    async def _listen(self, session: Session) -> None:
        """Keep a stream open, at one worker after another."""
        while True:
            with suppress(OSError, asyncio.IncompleteReadError):
                await self._read_stream(session)
            session.listens.clear()
            await asyncio.sleep(self._random.uniform(0, _RETRY))

    async def _read_stream(self, session: Session) -> None:
        port = self._random.choice(self._workers).port
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 14)
        try:
            writer.write(Requests(port).stream(session.id, session.last))
            head = await reader.readuntil(_END)
            if not head.startswith(b"HTTP/1.1 200"):
                return
            while line := await reader.readline():
                if line.startswith(b"id: "):
                    session.last = line[4:].decode().strip()
                    session.listens.set()
                elif b"updated" in line:
                    now = perf_counter()
                    self.changes += [now - begun for begun in session.told]
                    session.told.clear()
        finally:
            writer.close()

    async def call_for(self, seconds: float) -> None:
        """Let callers tell of changes for that time, and wait until all streams have heard."""
        end = perf_counter() + seconds
        await asyncio.gather(*(self._call_until(end) for _ in range(_CALLERS)))
        late = perf_counter() + _PATIENCE
        while any(session.told for session in self.sessions) and perf_counter() < late:
            await asyncio.sleep(0.05)

    async def _call_until(self, end: float) -> None:
        while (begun := perf_counter()) < end:
            session = self._random.choice(self.sessions)
            session.told.append(begun)
            while not await self._call(session):
                self.repeated += 1
                await asyncio.sleep(0.05)
            self.calls.append(perf_counter() - begun)
            await asyncio.sleep(self._random.uniform(0, 2 * _BETWEEN_CALLS))

    async def _call(self, session: Session) -> bool:
        port = self._random.choice(self._workers).port
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            return False
        try:
            async with asyncio.timeout(_PATIENCE):
                writer.write(Requests(port).tell(session.id, session.uri) % next(self._ids))
                answer = await reader.readuntil(_END)
                if answer.startswith(b"HTTP/1.1 200"):
                    return b'"result"' in await reader.readuntil(b"}}")
        except (OSError, asyncio.IncompleteReadError, TimeoutError):
            return False
        finally:
            writer.close()
        # Refused for now, or late because the machine is too busy.
        if answer[9:12] in (b"503", b"408"):
            return False
        # Its change counts as lost.
        print(f"a call failed: {answer!r}", file=sys.stderr)
        return True

    def take(self) -> tuple[list[float], list[float], int]:
        """Return and forget the times of calls and changes, and the number of lost changes."""
        lost = sum(len(session.told) for session in self.sessions)
        found = self.calls, self.changes, lost
        self.calls, self.changes = [], []
        return found

    async def end(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def rows(engine: Engine, plan: Plan) -> list[Row]:
    """Compare calls and changes while workers restart with those while none does."""
    # One connection for each stream, here and in the workers.
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with ExitStack() as stack:
        workers = [Worker(engine.url) for _ in range(_WORKERS)]
        for worker in workers:
            stack.callback(worker.kill)
        return asyncio.run(_rows(workers, plan))


async def _rows(workers: Sequence[Worker], plan: Plan) -> list[Row]:
    for worker in workers:
        await worker.start()
    clients = Clients(workers)
    try:
        await clients.begin(plan.sessions)
        await clients.call_for(plan.calm)
        calm_calls, calm_changes, lost_before = clients.take()
        restarting = asyncio.create_task(_restart_all(workers, plan.pause))
        await _beside(restarting, clients.call_for(plan.seconds))
        calls, changes, lost = clients.take()
    finally:
        await clients.end()
    made = f"{plan.sessions:,} sessions with streams, a restart every {plan.pause:g} s"
    told = len(changes) + lost + lost_before
    said = f"{clients.repeated} of {len(calls):,} calls were repeated at another worker"
    print(said, file=sys.stderr)
    found = [Row("share", f"lost changes: {made}", lost + lost_before, "told", told, 0.0, "")]
    for what, times, calm in (("a call", calls, calm_calls), ("a change", changes, calm_changes)):
        for name, place in (("median", 49), ("p99", 98)):
            found.append(
                Row(
                    "share",
                    f"{name} of {what}: {made}",
                    quantiles(times, n=100)[place],
                    "no restarts",
                    quantiles(calm, n=100)[place],
                    None,
                )
            )
    return found


async def _beside(other: "asyncio.Task[None]", work: Coroutine[None, None, None]) -> None:
    """Await work, or the failure of a task beside it, which then ends."""
    main = asyncio.ensure_future(work)
    await asyncio.wait((main, other), return_when=asyncio.FIRST_COMPLETED)
    if other.done():
        main.cancel()
        await other
    await main
    other.cancel()
    await asyncio.gather(other, return_exceptions=True)


async def _restart_all(workers: Sequence[Worker], pause: float) -> None:
    """Restart one worker after another, for ever."""
    for number in count():
        await asyncio.sleep(pause)
        await workers[number % len(workers)].restart()


def main(*given: str) -> None:
    """Print the rows for these numbers, with a fifth of the time for calm."""
    usual = Plan()
    numbers = [*map(float, given), *[usual.sessions, usual.seconds, usual.pause][len(given) :]]
    sessions, seconds, pause = numbers
    with ExitStack() as stack:
        engine = engines(stack, ("Redis",))["Redis"]
        plan = Plan(int(sessions), seconds / 5, seconds, pause)
        print(as_table(rows(engine, plan)))


if __name__ == "__main__":
    main(*sys.argv[1:])
