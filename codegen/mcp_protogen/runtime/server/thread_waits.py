"""Coroutines on the event loop that functions in threads wait for."""

from asyncio import AbstractEventLoop, CancelledError, Task, current_task, run_coroutine_threadsafe
from collections.abc import Coroutine
from concurrent.futures import CancelledError as FutureCancelledError
from typing import Any, TypeVar

from ..core.errors import LocalError
from ..core.tasks import is_running

T = TypeVar("T")


class ThreadWaits:
    """A registry of such waits: the thread cannot be ended, but its wait can."""

    __slots__ = ("_is_over", "_loop", "_tasks")

    def __init__(self, loop: AbstractEventLoop) -> None:
        self._loop = loop
        self._tasks: set[Task[Any]] = set()
        self._is_over = False

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        if is_running():
            work.close()
            raise LocalError("from_thread is for threads; on the event loop, await the coroutine")
        if self._is_over:
            # The server side of the request may be gone.
            work.close()
            raise CancelledError
        guarded = self._guard(work)
        try:
            waiting = run_coroutine_threadsafe(guarded, self._loop)
        except RuntimeError:
            # The loop is closed, and will never run these.
            guarded.close()
            work.close()
            raise
        try:
            return waiting.result()
        except FutureCancelledError:
            raise CancelledError from None

    async def _guard(self, work: Coroutine[Any, Any, T]) -> T:
        task = current_task()
        if self._is_over or task is None:
            work.close()
            raise CancelledError
        self._tasks.add(task)
        try:
            return await work
        finally:
            self._tasks.discard(task)

    def cancel(self) -> None:
        self._is_over = True
        for task in list(self._tasks):
            task.cancel()
