"""Messages as lines."""

import asyncio
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_protogen.runtime.core.connection_errors import Disconnected
from mcp_protogen.runtime.core.errors import ParseError
from mcp_protogen.runtime.transports.streams import LineProtocol, LineReader
from support.patience import PATIENCE
from support.tables import case


def read(chunks: list[bytes], limit: int = 100) -> list[Any]:
    """Return the lines in these chunks; None stands for a line that is too long."""
    reader = LineReader(limit)
    received = [line for chunk in chunks for line in reader.feed(chunk)] + reader.feed(b"\n")
    return [None if isinstance(line, ParseError) else line for line in received]


LINES = st.lists(st.binary(max_size=12).map(lambda line: line.replace(b"\n", b"")), max_size=8)


@given(LINES, st.integers(1, 9), st.integers(3, 9))
def test_chunk_boundaries_do_not_matter(lines: list[bytes], size: int, limit: int) -> None:
    data = b"\n".join(lines)
    chunks = [data[start : start + size] for start in range(0, len(data), size)]
    assert read(chunks, limit) == read([data], limit)
    for line in read([data], limit):
        assert line is None or 0 < len(line) <= limit


def test_both_ends_of_line_are_read_and_blank_lines_are_not() -> None:
    assert read([b"a\r\nb\n\n \r\n\r\nc"]) == [b"a", b"b", b"c"]


def test_a_line_may_be_as_long_as_the_limit() -> None:
    for ending in [b"\n", b"\r\n"]:
        with case(ending):
            assert read([b"x" * 100 + ending + b"y" + ending]) == [b"x" * 100, b"y"]
            assert read([b"x" * 101 + ending + b"y" + ending]) == [None, b"y"]
            assert read([b"x" * 60, b"x" * 60, ending, b"y"]) == [None, b"y"]


def test_a_line_in_small_pieces_takes_no_more_than_its_bytes() -> None:
    reader = LineReader()
    tracemalloc.start()
    try:
        for _ in range(20_000):
            reader.feed(bytes([120, 121]))
        assert tracemalloc.get_traced_memory()[0] < 100_000
    finally:
        tracemalloc.stop()


def test_overlong_line_is_not_buffered() -> None:
    reader = LineReader(1000)
    for _ in range(100_000):
        assert reader.feed(b"x" * 100) == []
    assert len(reader._line) <= 1002  # pyright: ignore[reportPrivateUsage]
    (error,) = reader.feed(b"\n")
    assert isinstance(error, ParseError)
    assert "1000 bytes" in error.message
    assert reader.feed(b"next\n") == [b"next"]


@pytest.mark.shows("S3-05")
@given(st.lists(st.binary(min_size=1, max_size=9).filter(lambda m: b"\n" not in m and m.strip())))
def test_framed_messages_are_read_back(messages: list[bytes]) -> None:
    kept = [message for message in messages if not message.endswith(b"\r")]
    assert read([LineProtocol().encode(kept)]) == kept


class Pipe(asyncio.WriteTransport):
    """A transport that records written data."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += data


async def test_sender_waits_while_the_peer_does_not_read() -> None:
    for is_lost in (False, True):
        with case(is_lost):
            lines, pipe = LineProtocol(), Pipe()
            lines.connection_made(pipe)
            await lines.send([b"a"])
            lines.pause_writing()
            sending = asyncio.create_task(lines.send([b"b"]))
            await asyncio.sleep(0)
            assert (pipe.written, sending.done()) == (b"a\nb\n", False)
            # Nobody would tell it more of a connection that is lost.
            lines.connection_lost(None) if is_lost else lines.resume_writing()
            await asyncio.wait_for(sending, PATIENCE)
    with pytest.raises(Disconnected, match="the connection is closed"):
        await lines.send([b"c"])
