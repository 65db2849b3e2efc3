"""Tests that are coroutines, and their runner."""

import asyncio
from collections.abc import Awaitable, Callable

from support.patience import PATIENCE


def run(
    script: Awaitable[None],
    within: float = PATIENCE,
    loop: Callable[[], asyncio.AbstractEventLoop] | None = None,
) -> None:
    """Run a coroutine; it must end, also on a busy machine, and leave no task behind."""

    async def main() -> None:
        async with asyncio.timeout(within):
            await script
        # A task that was just cancelled needs one more step.
        await asyncio.sleep(0)
        assert len(asyncio.all_tasks()) == 1, asyncio.all_tasks()

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(main())


async def until(condition: Callable[[], object]) -> None:
    """Let other tasks run until a condition is true that no event announces."""
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.002)
