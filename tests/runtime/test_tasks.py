"""Tasks and calls of the runtime's own work in event loops."""

import asyncio

from mcp_protogen.runtime.core.tasks import call_in


async def test_call_in_the_running_loop_happens_at_once() -> None:
    called: list[str] = []
    call_in(asyncio.get_running_loop(), lambda: called.append("here"))
    assert called == ["here"]


async def test_call_from_another_thread_happens_in_the_loop() -> None:
    loops: list[asyncio.AbstractEventLoop] = []
    loop = asyncio.get_running_loop()
    done = asyncio.Event()

    def note() -> None:
        loops.append(asyncio.get_running_loop())
        done.set()

    await asyncio.to_thread(call_in, loop, note)
    await done.wait()
    assert loops == [loop]


def test_call_in_a_closed_loop_never_happens() -> None:
    loop = asyncio.new_event_loop()
    called: list[str] = []
    call_in(loop, lambda: called.append("later"))
    assert called == []
    loop.run_until_complete(asyncio.sleep(0))
    assert called == ["later"]
    loop.close()
    call_in(loop, lambda: called.append("never"))
    assert called == ["later"]
