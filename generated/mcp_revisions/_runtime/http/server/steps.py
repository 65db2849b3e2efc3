"""Awaiting what mostly need not be waited for.

The first step of a coroutine, `send(None)`, often is the last: then the price of watching the time,
or the client, is saved. If it is not, `resumed` goes on from there.
"""

from collections.abc import Awaitable, Coroutine, Generator
from types import CoroutineType, coroutine
from typing import Any, TypeGuard, TypeVar, cast

T = TypeVar("T")


def has_steps(work: Awaitable[T]) -> TypeGuard[Coroutine[Any, Any, T]]:
    """Whether its steps can be made one by one.

    Servers that are not written in Python have awaitables of their own.
    """
    return type(work) is CoroutineType


@coroutine
def resumed(work: Coroutine[Any, Any, T], waiting: Any) -> Generator[Any, Any, T]:
    """Go on with a coroutine that has made its first step, and waits for `waiting`."""
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
