"""Time limits of the same length that share a timer."""

import asyncio

import pytest
from mcp_protogen.runtime.http.server.time_limits import SharedTimer, TimeLimit


@pytest.mark.skips_time
async def test_every_limit_is_reached_whatever_its_length_and_begin() -> None:
    reached = list[float]()

    async def wait(timer: SharedTimer, pause: float) -> None:
        await asyncio.sleep(pause)
        with pytest.raises(TimeoutError), TimeLimit(timer):
            await asyncio.sleep(1000)
        reached.append(timer.seconds)

    lengths = [length / 30 for length in range(1, 60)]
    async with asyncio.TaskGroup() as tasks:
        for length in lengths:
            timer = SharedTimer(length)
            for pause in (0, 0.1, 0.7):
                tasks.create_task(wait(timer, pause))
    assert sorted(reached) == [length for length in lengths for _ in range(3)]
