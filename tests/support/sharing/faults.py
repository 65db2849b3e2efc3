"""An engine in memory that fails on command, for several applications in one process."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from mcp_protogen.runtime.storage.engine import GAP
from support.http.serving import Session, Site, serving
from support.sessions.talking import pkg


class Engine:
    """An engine that can be away, and can lose messages."""

    def __init__(self) -> None:
        self.memory = pkg.MemoryEngine()
        self.away = False
        self.failing: set[str] = set()
        """Calls by name that it does not answer."""
        self.losing: set[str] = set()
        """Calls by name that it does, without an answer that arrives."""
        self.slow: set[str] = set()
        """Calls by name that take a while, also those that fail."""
        self.keeps_leases = False
        """Whether it is away so shortly that all leases are still good."""
        self.published: list[bytes] = []
        self.calls: list[str] = []
        """What was asked of it, such as `sessions.open`."""
        self.mailed: list[tuple[str, bytes]] = []
        self.held: dict[str, asyncio.Event] = {}
        """Calls by name that are answered once the event is set."""
        self.workers: list[Connection] = []
        """In the order in which they connected."""

    @asynccontextmanager
    async def connect(
        self, worker: str, lease: float, receive: Any
    ) -> AsyncGenerator["Connection", None]:
        connection = Connection(self, worker, receive)
        self.workers.append(connection)
        async with self.memory.connect(worker, lease, connection.take) as inner:
            connection.inner = inner
            yield connection
            if connection.killed:
                # A worker that is gone needs no removal.
                self.memory.workers[worker] = connection.take, asyncio.get_running_loop()

    @property
    def receivers(self) -> list[Callable[[Any], None]]:
        return [worker.receive for worker in self.workers]

    def lose(self) -> None:
        """Tell all workers that messages may be lost."""
        for receive in self.receivers:
            receive(GAP)

    def block(self, call: str) -> asyncio.Event:
        """Block these calls until the returned event is set."""
        self.held[call] = asyncio.Event()
        return self.held[call]


def shared_by(engine: Any) -> pkg.Shared:
    return pkg.Shared(engine=engine)


@asynccontextmanager
async def workers(
    *servers: Any, engine: Any = None, lease: float = 10.0, **chosen: Any
) -> AsyncGenerator[list[Site], None]:
    """Serve an application for each server, all on one engine, as in separate processes."""
    shared = pkg.Shared(engine=engine or pkg.MemoryEngine(), lease=lease)
    async with AsyncExitStack() as stack:
        yield [
            await stack.enter_async_context(serving(server, shared=shared, **chosen))
            for server in servers
        ]


def at(session: Session, site: Site) -> Session:
    """Return the same session, at another worker."""
    return Session(site, session.revision, session.id, session.headers)


class _Part:
    """A proxy for `sessions`, `events`, `tasks` or `mail` of a connection."""

    def __init__(self, connection: "Connection", name: str) -> None:
        self._connection = connection
        self._name = name

    def __getattr__(self, method: str) -> Any:
        def call(*given: Any, **named: Any) -> Any:
            return self._connection.call(self._name, method, given, named)

        return call


class Connection:
    inner: Any

    def __init__(self, engine: Engine, name: str, receive: Callable[[Any], None]) -> None:
        self._engine = engine
        self.name = name
        self.receive = receive
        self.deaf = False
        """Whether nothing that is sent to it arrives."""
        self.lapsed = False
        self.killed = False
        self.sessions = _Part(self, "sessions")
        self.events = _Part(self, "events")
        self.tasks = _Part(self, "tasks")
        self.mail = _Part(self, "mail")

    @property
    def current(self) -> bool:
        away = self._engine.away and not self._engine.keeps_leases
        return not (away or self.lapsed or self.killed)

    def take(self, delivery: Any) -> None:
        if not self.deaf:
            self.receive(delivery)

    def kill(self) -> None:
        """Make all others see it as gone."""
        self.killed = True
        del self._engine.memory.workers[self.name]

    def revive(self, *, notices: bool = True) -> None:
        """Bring it back; unless it `notices` at once, its lease has lapsed until then.

        It notices when it receives a gap.
        """
        self.killed, self.lapsed = False, not notices
        self._engine.memory.workers[self.name] = self.take, asyncio.get_running_loop()
        if notices:
            self.receive(GAP)

    async def call(self, part: str, method: str, given: Sequence[Any], named: Any) -> Any:
        name, engine = f"{part}.{method}", self._engine
        engine.calls.append(name)
        await asyncio.sleep(0.05 if name in engine.slow else 0)
        self._check(name)
        if name == "mail.publish":
            engine.published += given[0]
        elif name == "mail.send":
            engine.mailed += given[0]
        outcome = await getattr(getattr(self.inner, part), method)(*given, **named)
        if name in engine.held:
            await engine.held[name].wait()
        self._check(name)
        if name in engine.losing:
            raise pkg.EngineUnavailable
        return outcome

    def _check(self, name: str) -> None:
        if self._engine.away or self.killed or name in self._engine.failing:
            raise pkg.EngineUnavailable
