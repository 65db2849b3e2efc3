"""Leases of tasks on the worker that runs them, and locks between workers."""

from asyncio import Event, get_running_loop
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from secrets import token_bytes
from typing import Final

from ...storage.engine import EngineUnavailable, StoredTask, TaskStore
from .lifecycle import has_ended
from .task import Task
from .watch import Timers, Watch

_LOCK: Final = b"turn "

Step = Callable[[Task], Task]
"""It may raise `TaskEnded` or `ValueError`."""


class LeaseLost(Exception):
    """Another worker runs the task, or may do so: this one was silent for too long."""


class HeldLease:
    """A lease of this process; once it is `lost`, another worker may have it."""

    def __init__(self) -> None:
        self.renewed = get_running_loop().time()
        """In the time of the event loop."""
        self.lost = False

    def lose(self) -> None:
        self.lost = True


class TaskLease(HeldLease):
    """A task that a worker runs; `over` is set when it must stop."""

    def __init__(
        self, task: Task, worker: str, change: Callable[[str, Step], Awaitable[Task]]
    ) -> None:
        super().__init__()
        self.task = task
        self.worker: Final = worker
        self.over: Final = Event()
        self._change = change

    async def change(self, step: Step) -> Task:
        def ours(task: Task) -> Task:
            self.check(task)
            return step(task)

        self.task = await self._change(self.task.id, ours)
        return self.task

    def check(self, task: Task) -> None:
        if self.lost or not (has_ended(task) or task.worker == self.worker):
            raise LeaseLost

    def stops(self, task: Task) -> bool:
        return has_ended(task) or task.cancel_asked or task.worker != self.worker

    def see(self, task: Task) -> None:
        self.task = task
        if not has_ended(task) and task.worker != self.worker:
            self.lost = True
        self.over.set()

    def lose(self) -> None:
        super().lose()
        self.over.set()


Renew = Callable[[Collection[str], float], Awaitable[None]]


class Leases:
    """Renews a process's leases at a third of their time, many per call."""

    def __init__(self, renew: Renew, seconds: float) -> None:
        self._renew = renew
        self.seconds: Final = seconds
        self._held: dict[str, HeldLease] = {}
        self._timers = Timers(self._come)

    def add(self, key: str, lease: HeldLease) -> None:
        self._held[key] = lease
        self._timers.schedule(key, self.seconds / 3)

    def has(self, key: str) -> bool:
        return key in self._held

    def remove(self, key: str, lease: HeldLease) -> None:
        # The process may have taken over a task that it had lost.
        if self._held.get(key) is lease:
            del self._held[key]
            self._timers.forget(key)

    async def _come(self, keys: Sequence[str]) -> None:
        start, pause = get_running_loop().time(), self.seconds / 3
        renewed: float | None = start
        try:
            await self._renew(keys, self.seconds)
        except EngineUnavailable:
            renewed, pause = None, self.seconds / 12
        lost = get_running_loop().time() - self.seconds
        for key in keys:
            if (lease := self._held.get(key)) is None:
                continue
            lease.renewed = lease.renewed if renewed is None else renewed
            if renewed is None and lease.renewed <= lost:
                self.remove(key, lease)
                lease.lose()
            else:
                self._timers.schedule(key, pause)


def is_lock(stored: StoredTask) -> bool:
    return stored.record.startswith(_LOCK)


@dataclass(eq=False, slots=True)
class SharedLocks:
    """Locks between all workers that share a task store.

    A lock is a record in the store; workers delete overdue ones.
    """

    _store: TaskStore
    _watch: Watch
    _leases: Leases

    @asynccontextmanager
    async def acquire(self, key: str, ends_at: float | None) -> AsyncGenerator[None, None]:
        lock, record = HeldLease(), _LOCK + token_bytes(12)
        await self._take(key, record, ends_at)
        self._leases.add(key, lock)
        try:
            yield
        finally:
            self._leases.remove(key, lock)
            # Without the store, the lock expires.
            with suppress(EngineUnavailable):
                if not lock.lost:
                    await self._leave(key, record)

    async def _take(self, key: str, record: bytes, ends_at: float | None) -> None:
        lease = self._leases.seconds
        with self._watch.add_waiter(key) as waiter:
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

    async def _leave(self, key: str, record: bytes) -> None:
        kept = await self._store.get(key)
        # Another worker may have it.
        if kept is not None and kept.record == record:
            await self._store.delete(key)
            self._watch.wake(key)
