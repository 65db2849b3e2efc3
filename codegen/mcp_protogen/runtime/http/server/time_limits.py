"""Time limits of the same length share a timer, because hardly any is reached."""

from asyncio import CancelledError, Task, TimerHandle, create_task, current_task, get_running_loop
from collections.abc import Callable, Coroutine, Generator
from contextlib import suppress
from contextvars import Context
from types import coroutine
from typing import Any, Final

_END: Final = object()


class SharedTimer:
    def __init__(self, seconds: float) -> None:
        self.seconds: Final = seconds
        self.open: dict[Any, float] = {}
        """The limits in use, and when they have begun; the oldest is first."""
        self._timer: TimerHandle | None = None

    def begin(self, limit: Any) -> None:
        self.open[limit] = get_running_loop().time()
        if self._timer is None:
            self._set_timer()

    def end(self, limit: Any) -> None:
        self.open.pop(limit, None)
        limit.on_end()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _set_timer(self) -> None:
        self._timer = None
        if self.open:
            due = next(iter(self.open.values())) + self.seconds
            # It must not inherit the context of a request.
            self._timer = get_running_loop().call_at(due, self._fire, due, context=Context())

    def _fire(self, due: float) -> None:
        try:
            while self.open:
                limit, begun = next(iter(self.open.items()))
                if begun + self.seconds > due:
                    break
                self.end(limit)
        finally:
            # A limit may begin again at its end.
            self._set_timer()


class TimeLimit:
    """A block that raises `TimeoutError` in its task if it takes longer, as `asyncio.timeout`."""

    def __init__(self, timer: SharedTimer) -> None:
        self._timer = timer
        task = current_task()
        assert task is not None
        self._task = task
        self._cancelling = task.cancelling()

    def __enter__(self) -> None:
        self._timer.begin(self)

    def on_end(self) -> None:
        self._task.cancel()

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        # Another cancellation, from outside, goes on.
        if (
            self._timer.open.pop(self, None) is None
            and self._task.uncancel() <= self._cancelling
            and kind is CancelledError
        ):
            raise self.timeout_error() from error

    def timeout_error(self) -> Exception:
        return TimeoutError()


class LateTask:
    """A block beside which a task runs if it takes longer."""

    def __init__(self, timer: SharedTimer, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._timer = timer
        self._work = work
        self._task: Task[None] | None = None

    def __enter__(self) -> None:
        self._timer.begin(self)

    def on_end(self) -> None:
        self._task = create_task(self._work())

    def __exit__(self, *_: object) -> None:
        self._timer.open.pop(self, None)
        if self._task is not None:
            self._task.cancel()


@coroutine
def from_first_wait(
    work: Coroutine[Any, Any, None], block: Callable[..., Any], *args: Any
) -> Generator[Any, Any, None]:
    """Await work, and enter `block(*args)` only when it first waits: most work never does."""
    steps = work.__await__()
    waited_for = next(steps, _END)
    if waited_for is _END:
        return
    try:
        with block(*args), suppress(StopIteration):
            while True:
                try:
                    given = yield waited_for
                except BaseException as error:
                    waited_for = steps.throw(error)
                else:
                    waited_for = steps.send(given)
    finally:
        work.close()
