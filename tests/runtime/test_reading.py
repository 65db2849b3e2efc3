"""The path of messages from a transport to their receiver."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from mcp_protogen.runtime.core.connection_errors import Disconnected
from mcp_protogen.runtime.transports.base import EagerTransport, Received, read
from mcp_protogen.runtime.transports.streams import LineProtocol, LineTransport


class Intake:
    """A receiver that takes messages up to a number, and then blocks."""

    def __init__(self, most: int = 1000) -> None:
        self.most = most
        self.taken: list[Received] = []
        self.waited = 0

    async def room(self) -> None:
        self.waited += 1
        for _ in range(3):
            await asyncio.sleep(0)
        self.most += 50

    def take(self, received: Received) -> bool:
        self.taken.append(received)
        return len(self.taken) < self.most


class Slow:
    """A transport with only the three calls."""

    def __init__(self, *batches: Sequence[bytes]) -> None:
        self._batches = list(batches)

    async def receive(self) -> Sequence[Received]:
        await asyncio.sleep(0)
        return self._batches.pop(0) if self._batches else []

    async def send(self, messages: Sequence[bytes]) -> None:
        raise AssertionError("nothing is sent here")

    async def close(self) -> None:
        pass


def test_a_transport_need_not_hand_over() -> None:
    intake = Intake()
    transport = Slow([b"a", b"b"], [b"c"])
    assert not isinstance(transport, EagerTransport)
    asyncio.run(read(transport, intake))
    assert intake.taken == [b"a", b"b", b"c"]


def with_lines(script: Any, intake: Intake) -> None:
    """Run a script that feeds lines, beside a task that reads them."""

    async def main() -> None:
        lines = LineProtocol()
        transport = LineTransport(lines)
        assert isinstance(transport, EagerTransport)
        reading = asyncio.create_task(read(transport, intake))
        await asyncio.sleep(0)
        await script(lines, reading)
        lines.eof_received()
        await reading

    asyncio.run(main())


def test_incoming_lines_are_taken_at_once() -> None:
    intake = Intake()

    async def script(lines: LineProtocol, reading: Any) -> None:
        lines.data_received(b"a\nb\nc")
        assert intake.taken == [b"a", b"b"]
        lines.data_received(b"\n")
        assert intake.taken == [b"a", b"b", b"c"]

    with_lines(script, intake)
    assert intake.waited == 0


def test_overload_keeps_all_lines_in_order() -> None:
    intake = Intake(most=2)
    expected = [b"%d" % number for number in range(1300)]

    async def script(lines: LineProtocol, reading: Any) -> None:
        for start in range(0, 1300, 13):
            lines.data_received(b"".join(line + b"\n" for line in expected[start : start + 13]))
            await asyncio.sleep(0)
        while len(intake.taken) < len(expected):
            await asyncio.sleep(0)

    with_lines(script, intake)
    assert intake.taken == expected
    assert intake.waited > 10


def test_a_flood_lets_others_have_their_turn() -> None:
    intake = Intake(most=1_000_000)
    turns = 0

    async def script(lines: LineProtocol, reading: Any) -> None:
        nonlocal turns
        lines.data_received(b"x\n" * 1000)
        assert intake.taken == []
        while len(intake.taken) < 1000:
            turns += 1
            await asyncio.sleep(0)

    with_lines(script, intake)
    assert turns >= 10


async def test_lines_after_end_of_reading_are_dropped() -> None:
    intake = Intake()

    async def script(lines: LineProtocol, reading: Any) -> None:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        lines.data_received(b"late\n")
        assert intake.taken == []
        lines.eof_received()

    lines = LineProtocol()
    reading = asyncio.create_task(read(LineTransport(lines), intake))
    await asyncio.sleep(0)
    await script(lines, reading)


async def test_a_connection_that_breaks_says_why() -> None:
    lines = LineProtocol()
    reading = asyncio.create_task(read(LineTransport(lines), Intake()))
    await asyncio.sleep(0)
    lines.data_received(b"last\n")
    lines.connection_lost(OSError("reset"))
    with pytest.raises(Disconnected, match="reset"):
        await reading
