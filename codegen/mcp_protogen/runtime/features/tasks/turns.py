"""What only one at a time may do, of all workers that share a store of tasks.

Whose turn it is has a record in the store, with a lease; workers that look after tasks of others
delete what is overdue.
"""

from asyncio import get_running_loop
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from secrets import token_bytes
from typing import Final

from ...storage.engine import EngineUnavailable, StoredTask, TaskStore
from .holding import Leases
from .watch import Watch

_TURN: Final = b"turn "


def is_turn(stored: StoredTask) -> bool:
    return stored.record.startswith(_TURN)


class _Turn:
    def __init__(self) -> None:
        self.record: Final = _TURN + token_bytes(12)
        self.renewed = get_running_loop().time()
        self.lost = False

    def lose(self) -> None:
        self.lost = True


class Turns:
    def __init__(self, store: TaskStore, watch: Watch, leases: Leases) -> None:
        self._store = store
        self._watch = watch
        self._leases = leases

    @asynccontextmanager
    async def taken(self, key: str, ends_at: float | None) -> AsyncGenerator[None, None]:
        """Wait for the turn of a key, and have it until this ends."""
        turn = _Turn()
        await self._take(key, turn.record, ends_at)
        self._leases.add(key, turn)
        try:
            yield
        finally:
            self._leases.remove(key, turn)
            # Who is away loses it in time.
            with suppress(EngineUnavailable):
                await self._leave(key, turn)

    async def _take(self, key: str, record: bytes, ends_at: float | None) -> None:
        lease = self._leases.seconds
        with self._watch.waiting(key) as waiter:
            while True:
                waiter.rung.clear()
                if await self._store.create(
                    key, record, owner=key, ends_at=ends_at, lease=lease, most=1
                ):
                    return
                other = await self._store.get(key)
                waiter.version = None if other is None else other.version
                if other is not None:
                    await waiter.rung.wait()

    async def _leave(self, key: str, turn: _Turn) -> None:
        kept = None if turn.lost else await self._store.get(key)
        # By now it may be that of somebody else.
        if kept is not None and kept.record == turn.record:
            await self._store.delete(key)
            self._watch.ring(key)
