"""Work that a request does once, however often its handler runs."""

from asyncio import Future, Task, gather, get_running_loop, shield
from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import Any, Final, TypeVar, cast

from pydantic_core import from_json

from ...core.json import json_text
from ...core.tasks import Tasks

T = TypeVar("T")


class Once:
    """The work that has been done, by key, with its results: JSON values, for they may travel."""

    __slots__ = ("_running", "_tasks", "done")

    def __init__(self, tasks: Tasks, done: dict[str, Any] | None = None) -> None:
        self.done: Final = {} if done is None else done
        self._tasks = tasks
        self._running: dict[str, tuple[Task[None], Future[None]]] = {}

    async def do(self, key: str, work: Callable[[], Awaitable[T] | T]) -> T:
        """Return the result of `work`, or what it was when this was done before.

        Work that has begun is finished, even if whoever waits for it is stopped. What it raises is
        raised to all who wait for it; then it is not done, and may be tried again. Raises
        `pydantic_core.PydanticSerializationError` for a result that has no JSON form.
        """
        if key not in self.done:
            if key not in self._running:
                ended: Future[None] = get_running_loop().create_future()
                # Nobody may be left to hear of a failure; then it is nobody's.
                ended.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
                self._running[key] = self._tasks.start(self._do(key, work, ended)), ended
            await shield(self._running[key][1])
        return cast(T, self.done[key])

    async def _do(
        self, key: str, work: Callable[[], Awaitable[T] | T], ended: Future[None]
    ) -> None:
        try:
            value = work()
            if isawaitable(value):
                value = await value
            # Later rounds get it as it comes out of JSON, so the first one does, too.
            self.done[key] = from_json(json_text(value))
        except Exception as error:
            ended.set_exception(error)
        else:
            ended.set_result(None)
        finally:
            del self._running[key]
            ended.cancel()

    async def settled(self) -> None:
        """Wait until what has begun is done; cancelling this cancels the work."""
        await gather(*(ended for _, ended in self._running.values()), return_exceptions=True)

    def cancel(self) -> None:
        """Give up what has begun."""
        for task, _ in list(self._running.values()):
            task.cancel()
