"""Waiting for tasks to change, in one process.

Changes by other processes are found by asking the store for versions, one call for all due tasks,
less often while nothing happens. A waiter registers before it reads, so it misses no change in
between.
"""

from asyncio import CancelledError, Event, Task, TimerHandle, create_task, get_running_loop
from collections.abc import Awaitable, Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from logging import getLogger
from typing import Final

from ...storage.engine import EngineUnavailable

_log: Final = getLogger(__name__)

_TOGETHER: Final = 500
_AFTER_FAILURE: Final = 1.0

_FIRST: Final = 0.05
"""The seconds before the first question to the store."""
_GROWTH: Final = 1.5

Versions = Callable[[Collection[str]], Awaitable[Mapping[str, int]]]


class Timers:
    """Calls `work` with the due keys; others wait for the next call."""

    def __init__(self, work: Callable[[Sequence[str]], Awaitable[None]]) -> None:
        self._work = work
        self._keys: dict[str, TimerHandle] = {}
        self._ready: dict[str, None] = {}
        self._running: Task[None] | None = None

    def schedule(self, key: str, seconds: float) -> None:
        self._stop(key)
        self._keys[key] = get_running_loop().call_later(seconds, self._come, key)

    def forget(self, key: str) -> None:
        self._stop(key)
        self._keys.pop(key, None)
        if not self._keys and self._running is not None:
            running, self._running = self._running, None
            running.cancel()

    def _stop(self, key: str) -> None:
        self._ready.pop(key, None)
        if (timer := self._keys.get(key)) is not None:
            timer.cancel()

    def _come(self, key: str) -> None:
        self._ready[key] = None
        if self._running is None:
            self._begin()

    def _begin(self) -> None:
        running = self._running = create_task(self._run())
        running.add_done_callback(self._ran)

    async def _run(self) -> None:
        while keys := list(islice(self._ready, _TOGETHER)):
            for key in keys:
                del self._ready[key]
            try:
                await self._work(keys)
            except CancelledError:
                raise
            except Exception:
                _log.exception("watching tasks failed")
                for key in keys:
                    if key in self._keys:
                        self.schedule(key, _AFTER_FAILURE)

    def _ran(self, running: Task[None]) -> None:
        if self._running is running:
            self._running = None
            if self._ready:
                # It became due after the last round.
                self._begin()


@dataclass(eq=False, slots=True)
class Waiter:
    rung: Event = field(default_factory=Event)
    version: int | None = None


@dataclass(eq=False, slots=True)
class _Watched:
    interval: float = _FIRST
    waiters: set[Waiter] = field(default_factory=set[Waiter])


class Watch:
    """The waiters of one process, by key; `longest` is the longest interval, in seconds."""

    def __init__(self, versions: Versions, longest: float) -> None:
        self._versions = versions
        self._longest = longest
        self._watched: dict[str, _Watched] = {}
        self._timers = Timers(self._look)

    @contextmanager
    def add_waiter(self, key: str) -> Generator[Waiter, None, None]:
        if (watched := self._watched.get(key)) is None:
            watched = self._watched[key] = _Watched()
            self._timers.schedule(key, min(watched.interval, self._longest))
        waiter = Waiter()
        watched.waiters.add(waiter)
        try:
            yield waiter
        finally:
            watched.waiters.discard(waiter)
            if not watched.waiters:
                del self._watched[key]
                self._timers.forget(key)

    def wake(self, key: str) -> None:
        if (watched := self._watched.get(key)) is not None:
            for waiter in watched.waiters:
                waiter.rung.set()

    async def _look(self, keys: Sequence[str]) -> None:
        try:
            versions = await self._versions(keys)
        except EngineUnavailable:
            versions = None
        for key in keys:
            if (watched := self._watched.get(key)) is not None:
                changed = versions is not None and _wake_behind(watched, versions.get(key))
                watched.interval = _FIRST if changed else watched.interval * _GROWTH
                watched.interval = min(watched.interval, self._longest)
                self._timers.schedule(key, watched.interval)


def _wake_behind(watched: _Watched, version: int | None) -> bool:
    # Waiters that have not read yet will see it.
    behind = [waiter for waiter in watched.waiters if waiter.version not in (None, version)]
    for waiter in behind:
        waiter.rung.set()
    return bool(behind)
