"""Time limits of the same length that share a timer."""

import asyncio
from typing import Any

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


class Comments:
    """A limit that begins again at its end, as that of the comments in an event stream."""

    def __init__(self, timer: SharedTimer) -> None:
        self.timer = timer
        self.ends = 0

    def on_end(self) -> None:
        self.ends += 1
        self.timer.begin(self)


@pytest.mark.skips_time
async def test_limits_that_begin_again_share_one_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    loop, waits = asyncio.get_running_loop(), list[float]()
    call_at = loop.call_at

    def count(when: float, callback: Any, *given: Any, context: Any = None) -> asyncio.TimerHandle:
        if getattr(callback, "__self__", None) is timer:
            waits.append(when)
        return call_at(when, callback, *given, context=context)

    monkeypatch.setattr(loop, "call_at", count)
    timer = SharedTimer(1.0)
    limits = [Comments(timer) for _ in range(3)]
    for limit in limits:
        timer.begin(limit)
        await asyncio.sleep(0.3)
    await asyncio.sleep(10)
    assert [limit.ends for limit in limits] == [10, 10, 10]
    assert len(waits) == len(set(waits)) == 31


class Failing:
    def on_end(self) -> None:
        raise ZeroDivisionError


@pytest.mark.skips_time
async def test_limits_are_reached_after_one_whose_end_fails() -> None:
    loop, failed = asyncio.get_running_loop(), list[Any]()
    loop.set_exception_handler(lambda _, context: failed.append(context["exception"]))
    timer = SharedTimer(1.0)
    timer.begin(Failing())
    with pytest.raises(TimeoutError), TimeLimit(timer):
        await asyncio.sleep(1000)
    assert [type(error) for error in failed] == [ZeroDivisionError]
