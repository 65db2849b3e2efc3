"""Outgoing messages: at once if nothing waits, otherwise in their order."""

import asyncio
from collections.abc import Sequence

from mcp_protogen.runtime.rpc.send_queue import SendQueue
from mcp_revisions import client_of
from mcp_revisions.v2025_11_25 import Client, Server


class Writer:
    """A writer whose `send` waits for room, and which writes at once all the same."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.room = asyncio.Event()

    async def send(self, messages: Sequence[bytes]) -> None:
        await self.room.wait()
        self.written += messages

    def write_now(self, messages: Sequence[bytes]) -> bool:
        self.written += messages
        return True


async def test_no_message_overtakes_those_that_wait() -> None:
    writer = Writer()
    queue = SendQueue(writer, 10)
    running = asyncio.create_task(queue.run())
    assert queue.put_now(b"1")
    queue.put(b"2")
    assert not queue.put_now(b"in the queue")
    await asyncio.sleep(0)
    assert not queue.put_now(b"being sent")
    writer.room.set()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert queue.put_now(b"3")
    queue.end()
    assert not queue.put_now(b"after the end")
    await running
    assert writer.written == [b"1", b"2", b"3"]


async def test_a_lone_call_and_its_answer_are_written_at_once() -> None:
    senders: list[str] = []
    async with client_of(Server(), Client(), tap=lambda sender, _: senders.append(sender)) as one:
        await one.ping()
        senders.clear()
        call = asyncio.create_task(one.ping())
        await asyncio.sleep(0)
        assert senders == ["client"]
        # The message is delivered; then the handler begins.
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert senders == ["client", "server"]
        await call
