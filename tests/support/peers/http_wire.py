"""A proxy between a client and a server over HTTP that records traffic and can break a stream.

It knows just enough of HTTP/1.1 to find the heads of requests and responses: bodies are JSON, in
which no line begins like a head.
"""

import asyncio
import json
import re
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from support.json_types import Json

_REQUEST: Final = re.compile(rb"(POST|GET|DELETE) (\S+) HTTP/1\.1\r\n((?:[^\r\n]+\r\n)*)\r\n")
_RESPONSE: Final = re.compile(rb"HTTP/1\.1 (\d{3})[^\r\n]*\r\n((?:[^\r\n]+\r\n)*)\r\n")

# In these messages, only the method is written so.
_METHOD: Final = re.compile(rb'"method":\s*"([^"]+)"')

_CHUNK: Final = 65536


class Exchange(NamedTuple):
    verb: str
    path: str
    asked: dict[str, str]
    body: bytes
    status: int | None
    """None if the connection ended before."""
    answered: dict[str, str]
    answer: bytes

    @property
    def message(self) -> Json:
        return json.loads(self.body)

    @property
    def method(self) -> str | None:
        """Return the method of the posted message, if it has one."""
        found = _METHOD.search(self.body)
        return None if found is None else found[1].decode()


@dataclass
class _Talk:
    asked: bytearray = field(default_factory=bytearray)
    answered: bytearray = field(default_factory=bytearray)

    def exchanges(self) -> list[Exchange]:
        requests = _parts(_REQUEST, self.asked)
        responses = _parts(_RESPONSE, self.answered)
        found: list[Exchange] = []
        for number, (head, body) in enumerate(requests):
            verb, path, lines = head.groups()
            status, fields, answer = None, {}, b""
            if number < len(responses):
                first, answer = responses[number]
                status, fields = int(first[1]), _fields(first[2])
            found.append(
                Exchange(verb.decode(), path.decode(), _fields(lines), body, status, fields, answer)
            )
        return found


def _parts(head: re.Pattern[bytes], data: bytearray) -> list[tuple[re.Match[bytes], bytes]]:
    heads = list(head.finditer(bytes(data)))
    ends = [match.start() for match in heads[1:]] + [len(data)]
    return [
        (match, bytes(data[match.end() : end])) for match, end in zip(heads, ends, strict=False)
    ]


def _fields(lines: bytes) -> dict[str, str]:
    pairs = (line.partition(b":") for line in lines.splitlines())
    return {name.decode().lower(): value.strip().decode() for name, _, value in pairs}


class Wire:
    """The proxy; `cut_after` is the text at which it first breaks a connection."""

    def __init__(self, server_port: int, cut_after: bytes | None) -> None:
        self.port = 0
        self.cuts = 0
        self._server_port = server_port
        self._cut_after = cut_after
        self._talks: list[_Talk] = []
        self._serving: set[asyncio.Task[None]] = set()

    @property
    def exchanges(self) -> list[Exchange]:
        return [exchange for talk in self._talks for exchange in talk.exchanges()]

    def posts_of(self, method: str) -> list[Exchange]:
        return [exchange for exchange in self.exchanges if exchange.method == method]

    def verbs(self, verb: str) -> list[Exchange]:
        return [exchange for exchange in self.exchanges if exchange.verb == verb]

    def versions(self) -> set[str | None]:
        """Return the revisions in header fields, except those of `initialize`."""
        openings = self.posts_of("initialize")
        return {
            exchange.asked.get("mcp-protocol-version")
            for exchange in self.exchanges
            if exchange not in openings
        }

    def take(self, reader: StreamReader, writer: StreamWriter) -> None:
        task = asyncio.create_task(self._forward(reader, writer))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def _forward(self, reader: StreamReader, writer: StreamWriter) -> None:
        talk = _Talk()
        self._talks.append(talk)
        try:
            inner, outer = await asyncio.open_connection("127.0.0.1", self._server_port)
        except OSError:
            # The server is gone, and the client sees just that.
            writer.close()
            return
        up = asyncio.create_task(self._pump(reader, outer, talk.asked, None))
        down = asyncio.create_task(self._pump(inner, writer, talk.answered, self._cut_after))
        try:
            # In HTTP, neither side uses a connection that the other has closed.
            await asyncio.wait({up, down}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            up.cancel()
            down.cancel()
            await asyncio.gather(up, down, return_exceptions=True)
            outer.close()
            writer.close()

    async def _pump(
        self, source: StreamReader, sink: StreamWriter, seen: bytearray, cut_after: bytes | None
    ) -> None:
        try:
            while data := await source.read(_CHUNK):
                start = max(0, len(seen) - len(cut_after or b""))
                seen += data
                sink.write(data)
                await sink.drain()
                if cut_after is not None and not self.cuts and cut_after in seen[start:]:
                    self.cuts += 1
                    return
        except ConnectionError:
            # The end of either is the end for the other.
            return

    async def close(self) -> None:
        serving: Sequence[asyncio.Task[None]] = list(self._serving)
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)


@asynccontextmanager
async def wire_to(port: int, *, cut_after: bytes | None = None) -> AsyncGenerator[Wire, None]:
    wire = Wire(port, cut_after)
    server = await asyncio.start_server(wire.take, "127.0.0.1", 0)
    wire.port = server.sockets[0].getsockname()[1]
    try:
        yield wire
    finally:
        server.close()
        await wire.close()
