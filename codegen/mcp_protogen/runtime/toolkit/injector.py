"""A call with its dependencies: functions before it, and second halves of generators after it.

Plain functions run in threads, where they cannot be stopped. If a call is cancelled meanwhile, the
thread itself continues its own generators, as soon as the function has ended.
"""

from asyncio import CancelledError
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import Context, copy_context
from functools import partial
from inspect import isawaitable
from logging import getLogger
from threading import Lock
from typing import Any, Final, NamedTuple, TypeAlias

from .functions import Function
from .threads import Threads

_log: Final = getLogger(__name__)

_UNSET: Final = object()


class Step(NamedTuple):
    function: Function
    threaded: bool
    manager: Callable[..., Any] | None
    """Makes a generator's context manager: an async one outside threads."""
    sessions: tuple[str, ...]
    needs: Mapping[str, Function]


Steps: TypeAlias = Sequence[Step]


class Injector:
    def __init__(self, threads: Threads, session: Any) -> None:
        self.values: dict[Function, Any] = {}
        self._threads = threads
        self._session = session
        self._groups: list[tuple[bool, list[Any]]] = []
        """Context managers to leave, in the order of entering, and whether that was in a thread."""
        self._context: Context | None = None
        self._lock = Lock()
        self._mark: object | None = None
        """The work that a thread does, or is about to do."""
        self._is_running = False
        self._is_abandoned = False
        """Whether the call has ended, and a thread leaves the managers."""

    async def enter(self, steps: Steps) -> None:
        """Run functions, all in a thread or all on the event loop."""
        if steps[0].threaded:
            work = self._wrap(partial(self._enter, steps))
            await self._threads.run(work, session=self._session)
            self._carry_back()
            return
        entered: list[Any] = []
        self._groups.append((False, entered))
        for step in steps:
            value = self._call_step(step)
            if step.manager is not None:
                manager, value = value, await value.__aenter__()
                entered.append(manager)
            elif isawaitable(value):
                value = await value
            self.values[step.function] = value

    def around(self, steps: Steps, names: Mapping[str, Function], function: Function) -> Function:
        """Return a wrapper that runs a function between both halves of `steps`, in one thread."""
        return self._wrap(partial(self._call, steps, names, function))

    async def close(self, failed: BaseException | None) -> BaseException | None:
        """Continue the generators, and return the failure after that."""
        with self._lock:
            self._is_abandoned = self._is_running
            if not self._is_running:
                # Work that has not begun must not begin any more.
                self._mark = None
        for threaded, managers in reversed(self._groups.copy()):
            while managers and not threaded:
                failed = await _async_exit(managers.pop(), failed)
            if managers and not self._is_abandoned:
                failed = await self._close_in_thread(managers, failed)
        return failed

    async def _close_in_thread(
        self, managers: list[Any], failed: BaseException | None
    ) -> BaseException | None:
        work = self._wrap(partial(_exit, managers, failed))
        try:
            failed = await self._threads.run_anyway(work)
        except BaseException as error:
            with self._lock:
                self._is_abandoned = self._mark is not None
            return error
        self._carry_back()
        return failed

    def _call_step(self, step: Step) -> Any:
        given = {name: self.values[function] for name, function in step.needs.items()}
        given.update(dict.fromkeys(step.sessions, self._session))
        return (step.manager or step.function)(**given)

    def _enter(self, steps: Steps) -> None:
        entered: list[Any] = []
        self._groups.append((True, entered))
        for step in steps:
            value = self._call_step(step)
            if step.manager is not None:
                manager, value = value, value.__enter__()
                entered.append(manager)
            self.values[step.function] = self._await_value(value)

    def _call(
        self, steps: Steps, names: Mapping[str, Function], function: Function, /, **given: Any
    ) -> Any:
        failed: BaseException | None = None
        result: Any = None
        try:
            self._enter(steps)
            given |= {name: self.values[dependency] for name, dependency in names.items()}
            result = self._await_value(function(**given))
        except BaseException as error:
            failed = error
        if not self._is_abandoned:
            failed = _exit(self._groups[-1][1], failed)
        if failed is None:
            return result
        try:
            raise failed
        finally:
            del failed

    def _await_value(self, value: Any) -> Any:
        # A plain function may return a coroutine, which needs the event loop.
        return self._session.from_thread(_result_of(value)) if isawaitable(value) else value

    def _wrap(self, work: Function) -> Function:
        mark, given_context = object(), copy_context()
        context = self._context = self._context or copy_context()
        self._mark = mark

        def run(**given: Any) -> Any:
            with self._lock:
                if self._mark is not mark:
                    return None
                self._is_running = True
            try:
                context.run(_carry, given_context)
                return context.run(work, **given)
            finally:
                with self._lock:
                    self._mark, self._is_running = None, False
                if self._is_abandoned:
                    context.run(self._clean_up)

        return run

    def _clean_up(self) -> None:
        failed: BaseException = CancelledError()
        for threaded, managers in reversed(self._groups):
            if threaded:
                left = _exit(managers, failed)
                if left is not failed:
                    _log.error("a dependency of a cancelled call failed", exc_info=left)

    def _carry_back(self) -> None:
        if self._context is not None:
            _carry(self._context)


def _carry(context: Context) -> None:
    for variable, value in context.items():
        if variable.get(_UNSET) is not value:
            variable.set(value)


def _exit(managers: list[Any], failed: BaseException | None) -> BaseException | None:
    # A generator that catches a failure does not hide it from others: they must not commit then.
    while managers:
        try:
            managers.pop().__exit__(*_exception_info(failed))
        except BaseException as error:
            failed = error
    return failed


async def _async_exit(manager: Any, failed: BaseException | None) -> BaseException | None:
    try:
        await manager.__aexit__(*_exception_info(failed))
    except BaseException as error:
        return error
    return failed


def _exception_info(failed: BaseException | None) -> tuple[Any, Any, Any]:
    return (None, None, None) if failed is None else (type(failed), failed, failed.__traceback__)


async def _result_of(awaitable: Awaitable[Any]) -> Any:
    return await awaitable
