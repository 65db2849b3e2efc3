"""Running a coroutine that mostly ends at its first step.

The first step is `send(None)`. If it is the last one too, nobody has to watch the time, or the
client. If it is not, `resumed` goes on from there.
"""

from collections.abc import Awaitable, Coroutine, Generator
from types import CoroutineType, coroutine
from typing import Any, TypeGuard, TypeVar, cast

T = TypeVar("T")


def has_steps(work: Awaitable[T]) -> TypeGuard[Coroutine[Any, Any, T]]:
    """Return whether an awaitable is a coroutine, which can be run step by step.

    Servers that are not written in Python have awaitables of their own.
    """
    return type(work) is CoroutineType


@coroutine
def resumed(work: Coroutine[Any, Any, T], waiting: Any) -> Generator[Any, Any, T]:
    """Go on with a coroutine that has made its first step, and now waits for `waiting`."""
    while True:
        try:
            try:
                sent = yield waiting
            except BaseException as error:
                waiting = work.throw(error)
            else:
                waiting = work.send(sent)
        except StopIteration as done:
            return cast(T, done.value)
