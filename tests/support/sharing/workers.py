"""Engines for workers of tests, and records of deliveries."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any, Final

import pytest
from mcp_protogen.runtime.features.sharing.postgres.postgres_engine import PostgresEngine
from mcp_protogen.runtime.features.sharing.redis.redis_engine import RedisEngine
from mcp_protogen.runtime.storage.engine import (
    GAP,
    Change,
    Delivery,
    DirectMessage,
    Engine,
    EngineConnection,
    EngineUnavailable,
)
from mcp_protogen.runtime.storage.memory import MemoryEngine
from support.coroutines import until as until
from support.engines import EngineServer

PATIENCE = 30.0
SERVERS: Final = ("redis", "postgres")
ENGINES: Final = ("memory", *SERVERS)

_numbers = count()


@dataclass
class SharedEngine:
    """One kind of engine with its own namespace; or the memory."""

    kind: str
    make: Callable[..., Engine]
    server: EngineServer | None = None

    def engine(self, *, url: str | None = None, **options: Any) -> Engine:
        """Return an engine in that namespace, perhaps through a proxy."""
        if self.server is None:
            return self.make(**options)
        # Longer than a busy machine takes.
        return self.make(url or self.server.url, **{"timeout": PATIENCE, **options})

    @property
    def running(self) -> EngineServer:
        assert self.server is not None
        return self.server


def shared_engine(kind: str, request: pytest.FixtureRequest) -> SharedEngine:
    place = f"test{next(_numbers)}"
    make: dict[str, Callable[..., Engine]] = {
        "memory": MemoryEngine,
        "redis": partial(RedisEngine, namespace=place),
        "postgres": partial(PostgresEngine, schema=place),
    }
    server = request.getfixturevalue(f"{kind}_server") if kind in SERVERS else None
    return SharedEngine(kind, make[kind], server)


@dataclass
class Worker:
    name: str
    connection: EngineConnection
    heard: list[Delivery] = field(default_factory=list[Delivery])

    @property
    def messages(self) -> list[bytes]:
        return [message.content for message in self.heard if isinstance(message, DirectMessage)]

    @property
    def changes(self) -> list[bytes]:
        return [message.content for message in self.heard if isinstance(message, Change)]

    @property
    def gaps(self) -> int:
        return self.heard.count(GAP)


@asynccontextmanager
async def working(engine: Engine, *names: str, lease: float = 10.0) -> "AsyncGenerator[Any, None]":
    """Connect workers; yield one, or a list of several."""
    async with AsyncExitStack() as stack:
        workers = list[Worker]()
        for name in names:
            heard = list[Delivery]()
            connection = await stack.enter_async_context(engine.connect(name, lease, heard.append))
            workers.append(Worker(name, connection, heard))
        yield workers[0] if len(workers) == 1 else workers


async def wait_for_engine(connection: EngineConnection) -> None:
    end = time.monotonic() + PATIENCE
    while True:
        try:
            await connection.mail.alive(["a"])
            return
        except EngineUnavailable:
            assert time.monotonic() < end, "the engine does not come back"
            await asyncio.sleep(0.05)
