"""The two ends of a connection in memory: their receivers and contexts."""

import asyncio
from contextvars import ContextVar

import pytest
from mcp_protogen.runtime.transports import memory
from mcp_protogen.runtime.transports.base import Received
from mcp_protogen.runtime.transports.memory import memory_pair

NAME = ContextVar("NAME", default="nobody")


def test_message_is_taken_in_context_of_receiver() -> None:
    seen: list[tuple[Received, str]] = []

    def take(received: Received) -> bool:
        seen.append((received, NAME.get()))
        return True

    async def main() -> None:
        ours, theirs = memory_pair()
        NAME.set("receiver")
        theirs.hand_over(take)
        NAME.set("sender")
        await ours.send([b"1", b"2"])
        assert not seen, "what is sent is taken in by the sender"
        await asyncio.sleep(0)

    asyncio.run(main())
    assert seen == [(b"1", "receiver"), (b"2", "receiver")]


async def test_message_refused_by_receiver_waits_for_receive() -> None:
    ours, theirs = memory_pair()
    theirs.hand_over(lambda received: received != b"2")
    rest = asyncio.create_task(theirs.receive())
    await asyncio.sleep(0)
    await ours.send([b"1", b"2", b"3"])
    assert await rest == [b"3"]
    await ours.send([b"4"])
    assert await theirs.receive() == [b"4"]


async def test_who_sends_more_than_fits_goes_on_once_some_of_it_is_taken_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory, "_MOST", 1)
    seen: list[Received] = []

    def take(received: Received) -> bool:
        seen.append(received)
        return True

    ours, theirs = memory_pair()
    theirs.hand_over(take)
    async with asyncio.timeout(10):
        for number in range(5):
            await ours.send([b"%d" % number])
    ours.feed_eof()
    theirs.hand_over(None)
    left = await theirs.receive()
    assert [*seen, *left] == [b"0", b"1", b"2", b"3", b"4"]
