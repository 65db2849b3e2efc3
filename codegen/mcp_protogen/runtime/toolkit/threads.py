"""Threads for plain functions, which would block the event loop.

asyncio's own threads are few and shared, and a program does not end before they do.
"""

from asyncio import CancelledError, Future, get_running_loop, shield
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from contextvars import copy_context
from itertools import count
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any, Final

from .functions import Function, function_name

# How long a thread waits for more work, in seconds.
_IDLE: Final = 10.0

_NOTHING: Final[Mapping[str, Any]] = {}


class _Call:
    def __init__(self, function: Function, given: Mapping[str, Any]) -> None:
        self._function = function
        self._given = given
        self._context = copy_context()
        self._loop = get_running_loop()
        self.outcome: Future[Any] = self._loop.create_future()
        self.has_place = False
        """Whether it runs, and its caller still waits."""

    def run(self) -> tuple[Any, BaseException | None]:
        try:
            return self._context.run(self._function, **self._given), None
        except StopIteration as error:
            # A future cannot raise StopIteration: the caller would wait for ever.
            raised = RuntimeError(f"{function_name(self._function)} raised StopIteration")
            raised.__cause__ = error
            return None, raised
        except BaseException as error:
            return None, error

    def send_outcome(self, value: Any, error: BaseException | None) -> None:
        # The loop may be closed by now.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._set_outcome, value, error)

    def _set_outcome(self, value: Any, error: BaseException | None) -> None:
        if self.outcome.done():
            return
        if error is None:
            self.outcome.set_result(value)
        else:
            self.outcome.set_exception(error)


class Threads:
    """At most `size` concurrent calls of functions, each in a thread; others wait.

    A thread cannot be stopped: when a call is cancelled, its place is free at once. So that clients
    cannot pile these up, there are never more than twice as many threads as places. One thread at a
    time is woken, and wakes the next one: most functions are quick, and one thread runs many.
    """

    def __init__(self, name: str, size: int) -> None:
        if size < 1:
            raise ValueError(f"{name}: max_threads must be at least 1, got {size}")
        self._name = name
        self._size = size
        self._numbers = count(1)
        self._lock = Lock()
        self._waiting = deque[_Call]()
        self._idle: list[SimpleQueue[None]] = []
        self._is_waking = False
        """Whether a woken thread has not looked for work yet."""
        self._busy = 0
        self._let_go = 0

    async def run(
        self, function: Function, given: Mapping[str, Any] = _NOTHING, session: Any = None
    ) -> Any:
        """Return the result of a function; cancelling also ends its waits in `session`."""
        call = self._take(function, given)
        try:
            return await call.outcome
        except CancelledError:
            self._forget(call)
            if session is not None:
                session.__mcp_runtime__.thread_waits.cancel()
            raise

    async def run_anyway(self, function: Function) -> Any:
        """Run a function even if the caller is cancelled."""
        return await shield(self._take(function, _NOTHING).outcome)

    def _take(self, function: Function, given: Mapping[str, Any]) -> _Call:
        call = _Call(function, given)
        with self._lock:
            self._waiting.append(call)
            try:
                self._wake()
            except RuntimeError:
                self._waiting.remove(call)
                raise
        return call

    def _may_begin(self) -> bool:
        busy, size = self._busy, self._size
        return bool(self._waiting) and busy < size and busy + self._let_go < 2 * size

    def _wake(self) -> None:
        """Wake a thread if there is work; call it with the lock held. Raise `RuntimeError`."""
        if self._is_waking or not self._may_begin():
            return
        if self._idle:
            self._idle.pop().put(None)
        else:
            name = f"{self._name}-{next(self._numbers)}"
            try:
                Thread(target=self._work, name=name, daemon=True).start()
            except RuntimeError:
                if self._busy + self._let_go:
                    return
                raise
        self._is_waking = True

    def _forget(self, call: _Call) -> None:
        with self._lock:
            if call in self._waiting:
                self._waiting.remove(call)
            elif call.has_place:
                call.has_place = False
                self._busy -= 1
                self._let_go += 1
                self._wake()

    def _work(self) -> None:
        queue = SimpleQueue[None]()
        while True:
            with self._lock:
                self._is_waking = False
                call = self._next(queue)
            while call is not None:
                value, error = call.run()
                with self._lock:
                    # The caller is told afterwards, so that its next call finds an idle thread.
                    self._busy -= call.has_place
                    self._let_go -= not call.has_place
                    call.has_place = False
                    after = self._next(queue)
                call.send_outcome(value, error)
                call = after
                # Keep no references while idle.
                del after, value, error
            if not self._is_woken(queue):
                return

    def _next(self, queue: SimpleQueue[None]) -> _Call | None:
        call: _Call | None = None
        if self._may_begin():
            call = self._waiting.popleft()
            call.has_place = True
            self._busy += 1
        else:
            self._idle.append(queue)
        self._wake()
        return call

    def _is_woken(self, queue: SimpleQueue[None]) -> bool:
        with suppress(Empty):
            queue.get(timeout=_IDLE)
            return True
        with self._lock:
            if queue in self._idle:
                self._idle.remove(queue)
                return False
        queue.get()
        return True
