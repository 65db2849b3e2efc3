"""asyncio tasks that belong to one connection and end with it.

In a `TaskGroup`, a failing task would cancel the others, and errors of users would be wrapped.
"""

from asyncio import AbstractEventLoop, Future, Task, TaskGroup, gather, get_running_loop, shield
from collections.abc import Callable, Coroutine, Iterable
from logging import getLogger
from typing import Any, Final

_log: Final = getLogger(__name__)


class Tasks:
    __slots__ = ("_loop", "running")

    def __init__(self) -> None:
        self._loop = get_running_loop()
        self.running: set[Task[None]] = set()
        """Code that adds a task here must also remove it."""

    def start(self, work: Coroutine[Any, Any, None]) -> Task[None]:
        task = self._loop.create_task(work)
        self.running.add(task)
        task.add_done_callback(self._on_task_end)
        return task

    def _on_task_end(self, task: Task[None]) -> None:
        self.running.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("a task of a connection failed", exc_info=error)

    async def cancel(self) -> None:
        running = list(self.running)
        for task in running:
            task.cancel()
        await gather(*running, return_exceptions=True)


class Signal:
    """A signal of changes that allocates nothing until a task waits for it."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: Future[None] | None = None

    def notify_all(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting.set_result(None)

    async def wait(self) -> None:
        if self._waiting is None:
            self._waiting = get_running_loop().create_future()
        # A cancelled waiter must not cancel the shared future.
        await shield(self._waiting)


def is_running() -> bool:
    try:
        get_running_loop()
    except RuntimeError:
        return False
    return True


def call_in(loop: AbstractEventLoop, function: Callable[[], object]) -> None:
    """Call a function on a loop unless that is closed; at once on the current loop."""
    if is_running() and get_running_loop() is loop:
        function()
    elif not loop.is_closed():
        loop.call_soon_threadsafe(function)


async def together(work: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Await all; the first failure cancels the others, and is raised without a group."""
    try:
        async with TaskGroup() as group:
            for coroutine in work:
                group.create_task(coroutine)
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
