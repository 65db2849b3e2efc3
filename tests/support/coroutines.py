"""Tests that are coroutines, their runner, and a loop that skips time."""

import asyncio
import selectors
from collections.abc import Awaitable, Callable
from typing import Any

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


class _Skipping(selectors.SelectSelector):
    """A selector that skips the time until the next event."""

    now = 0.0

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(0)
        if not ready:
            if timeout is None:
                raise RuntimeError("all wait, and nothing can happen any more")
            self.now += max(timeout, 0)
        return ready


class SkippingLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock only advances while every task waits."""

    def __init__(self) -> None:
        self._skipping = _Skipping()
        super().__init__(self._skipping)

    def time(self) -> float:
        return self._skipping.now


async def until(condition: Callable[[], object]) -> None:
    """Let other tasks run until a condition is true that no event announces."""
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.002)
