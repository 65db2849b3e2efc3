"""The attempts of a gateway to connect to a server, on a loop that skips time."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import wraps
from itertools import pairwise
from typing import Any, ParamSpec

from support.coroutines import SkippingLoop, run

P = ParamSpec("P")


def for_hours(test: Callable[P, Awaitable[None]]) -> Callable[P, None]:
    """Run a test of hours on a loop that skips them."""

    @wraps(test)
    def run_test(*args: P.args, **kwargs: P.kwargs) -> None:
        run(test(*args, **kwargs), within=100_000, loop=SkippingLoop)

    return run_test


def now() -> float:
    return asyncio.get_running_loop().time()


class Attempts:
    """An opener of a server that notes the times at which it is used."""

    def __init__(self, server: Any) -> None:
        self.server = server
        self.times: list[float] = []

    async def __call__(self) -> Any:
        self.times.append(now())
        return await self.server()

    def pauses(self) -> list[float]:
        """Return the times between its uses, in whole seconds."""
        return [round(later - earlier) for earlier, later in pairwise(self.times)]
