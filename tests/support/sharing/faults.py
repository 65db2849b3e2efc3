"""An engine whose bus can fail, as tests tell it to."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from support.sessions.talking import pkg, runtime

sharing = runtime("sharing.engine")


class Engine:
    """An engine in memory whose bus can be away, and which can lose what was published."""

    def __init__(self) -> None:
        self._memory = pkg.MemoryEngine()
        self.away = False
        self.published: list[bytes] = []
        self.receivers: list[Any] = []

    def connect(
        self, worker: str, lease: float, receive: Any
    ) -> AbstractAsyncContextManager["Connection"]:
        return self._connected(worker, lease, receive)

    @asynccontextmanager
    async def _connected(
        self, worker: str, lease: float, receive: Any
    ) -> AsyncGenerator["Connection", None]:
        self.receivers.append(receive)
        async with self._memory.connect(worker, lease, receive) as connection:
            yield Connection(self, connection)

    def lose(self) -> None:
        for receive in self.receivers:
            receive(sharing.GAP)


class Connection:
    """Its connection of one worker."""

    def __init__(self, engine: Engine, inner: Any) -> None:
        self._engine = engine
        self._inner = inner
        self.bus = self

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    @property
    def current(self) -> bool:
        return not self._engine.away

    async def publish(self, changes: Sequence[bytes]) -> None:
        await asyncio.sleep(0)
        if self._engine.away:
            raise pkg.EngineUnavailable
        self._engine.published += changes
        await self._inner.publish(changes)
