"""A context manager in a task of its own."""

from asyncio import FIRST_COMPLETED, Event, Future, Task, get_running_loop, wait
from contextlib import AbstractAsyncContextManager
from typing import TypeVar

T = TypeVar("T")


class ContextTask:
    """Enters a context manager, and leaves it later: some must be left in the same task."""

    def __init__(self) -> None:
        self._over = Event()
        self._task: Task[None] | None = None

    async def enter(self, manager: AbstractAsyncContextManager[T]) -> T:
        """Return the value of the manager; raise the error of entering it."""
        loop = get_running_loop()
        entered: Future[T] = loop.create_future()
        self._task = loop.create_task(self._run(manager, entered))
        await wait((entered, self._task), return_when=FIRST_COMPLETED)
        if not entered.done():
            task, self._task = self._task, None
            await task
        return entered.result()

    async def leave(self) -> None:
        self._over.set()
        if self._task is not None:
            await self._task

    async def _run(self, manager: AbstractAsyncContextManager[T], entered: Future[T]) -> None:
        async with manager as value:
            entered.set_result(value)
            await self._over.wait()
