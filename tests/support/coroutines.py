"""Tests that are coroutines, and how one is run."""

import asyncio
from collections.abc import Awaitable, Callable


def run(
    script: Awaitable[None],
    within: float = 120,
    loop: Callable[[], asyncio.AbstractEventLoop] | None = None,
) -> None:
    """Run a coroutine; it has to end, also where others are busy, and to leave no task behind."""

    async def main() -> None:
        async with asyncio.timeout(within):
            await script
        # What was cancelled last has one more step to take.
        await asyncio.sleep(0)
        assert len(asyncio.all_tasks()) == 1, asyncio.all_tasks()

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(main())


async def until(true: Callable[[], bool]) -> None:
    """Let others work until something is true."""
    async with asyncio.timeout(30):
        while not true():
            await asyncio.sleep(0)
