"""Requests that several callers share: one per key, and few at once."""

from asyncio import AbstractEventLoop, Semaphore, Task, get_running_loop, shield, timeout
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

from ....http.server.authentication import VerifierUnavailable

T = TypeVar("T")


class SingleFlight(Generic[T]):
    """Work by key: `most` run at once, `waiting` more wait.

    It continues if its callers are cancelled, for up to `patience` seconds with waiting; then it
    raises `TimeoutError`.
    """

    def __init__(self, most: int, waiting: int = 0, *, patience: float) -> None:
        self._most = most
        self._waiting = waiting
        self._patience = patience
        self._loop: AbstractEventLoop | None = None
        self._room = Semaphore(most)
        self._running: dict[bytes, Task[T]] = {}

    def begin(self, work: Callable[[], Coroutine[Any, Any, T]], key: bytes = b"") -> Task[T]:
        """Start work unless it runs; raise `VerifierUnavailable` if too much waits."""
        loop = get_running_loop()
        if self._loop is not loop:
            # Tasks of a closed loop would never finish.
            self._loop, self._room, self._running = loop, Semaphore(self._most), {}
        if (task := self._running.get(key)) is None:
            if len(self._running) >= self._most + self._waiting:
                raise VerifierUnavailable("too many tokens are being verified")
            task = self._running[key] = loop.create_task(self._run(self._running, key, work))
            # If all callers are gone, nothing else retrieves the exception.
            task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return task

    async def join(self, work: Callable[[], Coroutine[Any, Any, T]], key: bytes = b"") -> T:
        return await shield(self.begin(work, key))

    async def _run(
        self, running: dict[bytes, Task[T]], key: bytes, work: Callable[[], Coroutine[Any, Any, T]]
    ) -> T:
        try:
            async with timeout(self._patience), self._room:
                return await work()
        finally:
            del running[key]
