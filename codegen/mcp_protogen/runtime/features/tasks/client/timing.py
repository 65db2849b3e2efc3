"""The clocks of clients that wait for tasks."""

from asyncio import timeout
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import monotonic, time


@dataclass(frozen=True, slots=True, kw_only=True)
class PollTiming:
    """`wait` says whether something was heard in time."""

    now: Callable[[], float] = monotonic
    epoch: Callable[[], float] = time
    wait: Callable[[Awaitable[None], float], Awaitable[bool]]


async def heard_within(heard: Awaitable[None], seconds: float) -> bool:
    try:
        async with timeout(seconds):
            await heard
    except TimeoutError:
        return False
    return True
