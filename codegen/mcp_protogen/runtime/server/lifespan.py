"""Resources that a server keeps open while it serves, such as database connections."""

from asyncio import Event, Future, get_running_loop, shield
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from inspect import isasyncgenfunction, isgeneratorfunction
from typing import Any


class LifespanError(RuntimeError):
    """The lifespan of a server failed at its start or end."""


def check_lifespan(function: Callable[..., Any]) -> None:
    if isasyncgenfunction(function) or isgeneratorfunction(function):
        name = getattr(function, "__qualname__", repr(function)).replace("<locals>.", "")
        advice = "decorate it with @contextlib.asynccontextmanager"
        raise TypeError(f"the lifespan {name} is a generator, not a context manager: {advice}")


class Lifespan:
    """A context manager shared by all users of one server: the first enters, the last leaves.

    It runs in its own task, because some must be left in the task that entered them.
    """

    def __init__(self, name: str, lifespan: Callable[[], AbstractAsyncContextManager[Any]]) -> None:
        self.loop = get_running_loop()
        self.users = 0
        self.state: Any = None
        self._name = name
        self._entered: Future[None] = self.loop.create_future()
        self._over = Event()
        self._task = self.loop.create_task(self._run(lifespan))

    async def _run(self, lifespan: Callable[[], AbstractAsyncContextManager[Any]]) -> None:
        try:
            check_lifespan(lifespan)
            async with lifespan() as self.state:
                self._entered.set_result(None)
                await self._over.wait()
        except Exception as error:
            reason = f"the lifespan of {self._name} failed: {type(error).__name__}: {error}"
            failure = LifespanError(reason)
            if self._entered.done():
                raise failure from error
            failure.__cause__ = error
            self._entered.set_exception(failure)

    @asynccontextmanager
    async def use(self) -> AsyncGenerator[None, None]:
        self.users += 1
        try:
            await shield(self._entered)
            yield
        finally:
            self.users -= 1
            if not self.users:
                self._over.set()
                if not self._entered.done():
                    self._task.cancel()
                await self._task
