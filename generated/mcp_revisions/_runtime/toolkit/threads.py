"""Threads for plain functions, which would hold up the event loop while they wait for something.

The default threads of asyncio are few, everybody shares them, and a program does not end before
they do. These belong to one class of servers, and nothing waits for them.
"""

from asyncio import AbstractEventLoop, CancelledError, Future, get_running_loop, shield
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from contextvars import Context, copy_context
from itertools import count
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any, Final

from .functions import Function, named

# How long a thread waits for more to do, in seconds.
_IDLE: Final = 10.0

_NOTHING: Final[Mapping[str, Any]] = {}


class _Call:
    """One call of a function, in a copy of the caller's context."""

    __slots__ = ("_context", "_function", "_given", "_loop", "has_place", "outcome")

    def __init__(self, function: Function, given: Mapping[str, Any]) -> None:
        self._function = function
        self._given = given
        self._context: Context = copy_context()
        self._loop: AbstractEventLoop = get_running_loop()
        self.outcome: Future[Any] = self._loop.create_future()
        self.has_place = False
        """Whether it runs, and somebody waits for it."""

    def run(self) -> tuple[Any, BaseException | None]:
        try:
            return self._context.run(self._function, **self._given), None
        except StopIteration as error:
            # A future cannot hold StopIteration: the caller would wait for ever.
            raised = RuntimeError(f"{named(self._function)} raised StopIteration")
            raised.__cause__ = error
            return None, raised
        except BaseException as error:
            return None, error

    def settle(self, value: Any, error: BaseException | None) -> None:
        # The loop may be closed by now.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._settle, value, error)

    def _settle(self, value: Any, error: BaseException | None) -> None:
        if self.outcome.done():
            return
        if error is None:
            self.outcome.set_result(value)
        else:
            self.outcome.set_exception(error)


class Threads:
    """At most `size` calls of functions at the same time, each in a thread; others wait.

    A thread cannot be stopped. When a call is cancelled, its place is free at once, and its
    function runs to its end with nobody waiting for it. So that clients cannot pile these up,
    there are never more than twice as many threads as places. Threads without work end.
    """

    def __init__(self, name: str, size: int) -> None:
        if size < 1:
            raise ValueError(f"{name}: max_threads is {size}, but at least 1 is needed")
        self._name = name
        self._size = size
        self._numbers = count(1)
        self._lock = Lock()
        self._waiting: deque[_Call] = deque()
        self._idle: list[SimpleQueue[_Call]] = []
        self._busy = 0
        self._let_go = 0

    async def run(self, function: Function, given: Mapping[str, Any]) -> Any:
        """Return what a function returns for keyword arguments, or raise what it raises."""
        call = _Call(function, given)
        try:
            self._take(call)
            return await call.outcome
        except (CancelledError, RuntimeError):
            # Cancelled, or there can be no more threads: otherwise the call has ended.
            self._forget(call)
            raise

    async def run_for(
        self, session: Any, function: Function, given: Mapping[str, Any] = _NOTHING
    ) -> Any:
        """Do as `run` for the request of a session, whose end ends what the function waits for."""
        try:
            return await self.run(function, given)
        except CancelledError:
            session.__mcp_runtime__.let_go_of_threads()
            raise

    async def run_anyway(self, function: Function) -> Any:
        """Do as `run`, but run the function also if the caller is cancelled."""
        call = _Call(function, _NOTHING)
        try:
            self._take(call)
        except RuntimeError:
            self._forget(call)
            raise
        return await shield(call.outcome)

    def _take(self, call: _Call) -> None:
        with self._lock:
            self._waiting.append(call)
            self._start()

    def _start(self) -> None:
        """Start what may start; for the holder of the lock.

        Raises `RuntimeError` if there can be no thread; while there are others, calls wait.
        """
        while (
            self._waiting and self._busy < self._size and self._busy + self._let_go < 2 * self._size
        ):
            call = self._waiting[0]
            if self._idle:
                self._idle.pop().put(call)
            else:
                name = f"{self._name}-{next(self._numbers)}"
                try:
                    Thread(target=self._work, args=(call,), name=name, daemon=True).start()
                except RuntimeError:
                    if self._busy + self._let_go:
                        return
                    raise
            call.has_place = True
            self._busy += 1
            self._waiting.popleft()

    def _forget(self, call: _Call) -> None:
        with self._lock:
            if call in self._waiting:
                self._waiting.remove(call)
            elif call.has_place:
                call.has_place = False
                self._busy -= 1
                self._let_go += 1
                self._start()

    def _work(self, call: _Call | None) -> None:
        queue: SimpleQueue[_Call] = SimpleQueue()
        while call is not None:
            value, error = call.run()
            with self._lock:
                # The caller hears of it after this, so that its next call finds a thread idle.
                self._busy -= call.has_place
                self._let_go -= not call.has_place
                call.has_place = False
                self._idle.append(queue)
                self._start()
            call.settle(value, error)
            # Nothing of the call is kept while there is nothing to do.
            del call, value, error
            call = self._next(queue)

    def _next(self, queue: SimpleQueue[_Call]) -> _Call | None:
        with suppress(Empty):
            return queue.get(timeout=_IDLE)
        with self._lock:
            if queue in self._idle:
                self._idle.remove(queue)
                return None
        # It was given something at the last moment.
        return queue.get()
