"""Requests to others that several wait for: each is made once, and only so many at a time."""

from asyncio import AbstractEventLoop, Semaphore, Task, get_running_loop, shield, timeout
from collections.abc import Callable, Coroutine
from typing import Any, Final, Generic, TypeVar

from ....http.server.authentication import VerifierUnavailable

T = TypeVar("T")


class SingleFlight(Generic[T]):
    """Work by key, of which `most` run and `waiting` more wait to be run.

    It goes on when those are cancelled that wait for it, but for no more than `patience` seconds,
    waiting included; then it raises `TimeoutError`.
    """

    def __init__(self, most: int, waiting: int = 0, *, patience: float) -> None:
        self._most: Final = most
        self._waiting: Final = waiting
        self._patience: Final = patience
        self._loop: AbstractEventLoop | None = None
        self._room = Semaphore(most)
        self._running: dict[bytes, Task[T]] = {}

    def begin(self, key: bytes, work: Callable[[], Coroutine[Any, Any, T]]) -> Task[T]:
        """Have work done once for a key; raise `VerifierUnavailable` if too much waits."""
        loop = get_running_loop()
        if self._loop is not loop:
            # Tasks of a loop that has ended would never be done.
            self._loop, self._room, self._running = loop, Semaphore(self._most), {}
        task = self._running.get(key)
        if task is None:
            if len(self._running) >= self._most + self._waiting:
                raise VerifierUnavailable("too many tokens are being verified")
            task = self._running[key] = loop.create_task(self._run(self._running, key, work))
            # Those who waited may be gone when it fails, and then nobody else asks why.
            task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return task

    async def join(self, key: bytes, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        return await shield(self.begin(key, work))

    async def _run(
        self,
        running: dict[bytes, Task[T]],
        key: bytes,
        work: Callable[[], Coroutine[Any, Any, T]],
    ) -> T:
        try:
            async with timeout(self._patience), self._room:
                return await work()
        finally:
            del running[key]
