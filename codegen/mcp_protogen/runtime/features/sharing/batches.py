"""Calls to an engine, sent in batches."""

from asyncio import Future, Task, create_task, get_running_loop
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from sys import maxsize
from typing import Any, Generic, TypeAlias, TypeVar

from ...storage.engine import EngineUnavailable

Item = TypeVar("Item")

SendBatch: TypeAlias = Callable[[Sequence[Item]], Awaitable[Sequence[Any]]]
"""Returns an outcome or error for each item, or raises the error of all."""


class Batches(Generic[Item]):
    """Items sent in order, at most `most` together; the next ones wait for the answer."""

    def __init__(self, send: SendBatch[Item], most: int = maxsize) -> None:
        self._send = send
        self._most = most
        self._waiting = deque[tuple[Item, Future[Any]]]()
        self.task: Task[None] | None = None
        """Sends the items, if there are any."""

    def add(self, item: Item) -> Future[Any]:
        """Queue an item; return its future outcome, or error: `EngineUnavailable`."""
        outcome = get_running_loop().create_future()
        self._waiting.append((item, outcome))
        if self.task is None:
            self.task = create_task(self._send_all())
        return outcome

    async def _send_all(self) -> None:
        batch = list[tuple[Item, Future[Any]]]()
        try:
            while self._waiting:
                some = [self._waiting.popleft() for _ in range(min(len(self._waiting), self._most))]
                if batch := [entry for entry in some if not entry[1].done()]:
                    outcomes = await self._outcomes([item for item, _ in batch])
                    for (_, future), outcome in zip(batch, outcomes, strict=True):
                        set_outcome(future, outcome)
        finally:
            # An ending event loop also cancels this task: fail what is left.
            self.task, left = None, [*batch, *self._waiting]
            self._waiting.clear()
            for _, future in left:
                set_outcome(future, EngineUnavailable("calls have ended"))

    async def _outcomes(self, items: Sequence[Item]) -> Sequence[Any]:
        try:
            return await self._send(items)
        except (EngineUnavailable, ValueError) as error:
            return [type(error)(*error.args) for _ in items]


def set_outcome(future: Future[Any], outcome: object) -> None:
    """Set the result or error of a future, unless it was cancelled."""
    if future.done():
        return
    if isinstance(outcome, Exception):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)
