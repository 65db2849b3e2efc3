"""A forwarder in front of HTTP servers without session affinity: a load balancer.

A policy chooses a server for each request, also on one connection. Heads and bodies pass unchanged.
Anything except HTTP/1.1 passes to one server until the connection ends.
"""

import asyncio
import re
from asyncio import StreamReader, StreamReaderProtocol, StreamWriter
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from itertools import count
from random import Random
from typing import Final, NamedTuple, Protocol
from zlib import crc32

_REQUEST: Final = re.compile(rb"([A-Z]+) [!-\xff]+ HTTP/1\.1\r\n")
_RESPONSE: Final = re.compile(rb"HTTP/1\.1 ([0-9]{3})[ \r]")
_FIELD: Final = re.compile(rb"^([^\s:]+):[ \t]*([^\r\n]*?)[ \t]*\r$", re.MULTILINE)
_SIZE: Final = re.compile(rb"([0-9a-fA-F]{1,12})[ \t]*(?:;[^\r\n]*)?\r\n")
_SESSION: Final = b"mcp-session-id"
_LENGTH: Final = b"content-length"
_CODING: Final = b"transfer-encoding"

# A longer head than servers accept passes unread.
_LONGEST: Final = 2**18
_PIECE: Final = 2**16
_LINGER: Final = 1.0
_NOBODY: Final = b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class Policy(Protocol):
    """The choice of a server for a request."""

    def choose(self, session: str | None) -> int:
        """Return the number of a server for a request in a session, or without one."""
        ...

    def note(self, session: str, server: int) -> None:
        """Note the server of a session."""
        ...


class _RoundRobin:
    def __init__(self, servers: int, seed: int) -> None:
        self._servers = servers
        self._counter = count(seed)

    def choose(self, session: str | None) -> int:
        return next(self._counter) % self._servers

    def note(self, session: str, server: int) -> None: ...


class _Anywhere(_RoundRobin):
    """Any server, by a seed."""

    def __init__(self, servers: int, seed: int) -> None:
        super().__init__(servers, seed)
        self._random = Random(seed)

    def choose(self, session: str | None) -> int:
        return self._random.randrange(self._servers)


class _Hashed(_RoundRobin):
    """One server for each session, except its first request; otherwise in turn."""

    def choose(self, session: str | None) -> int:
        if session is None:
            return super().choose(None)
        return crc32(session.encode()) % self._servers


class _Another(_Anywhere):
    """A different server from that of the session's last request."""

    def __init__(self, servers: int, seed: int) -> None:
        super().__init__(servers, seed)
        self._last: dict[str | None, int] = {}

    def choose(self, session: str | None) -> int:
        chosen = super().choose(session)
        if (last := self._last.get(session)) is not None and self._servers > 1:
            chosen = (last + 1 + self._random.randrange(self._servers - 1)) % self._servers
        self._last[session] = chosen
        return chosen

    def note(self, session: str, server: int) -> None:
        self._last[session] = server


POLICIES: Final[Mapping[str, Callable[[int, int], Policy]]] = {
    "round-robin": _RoundRobin,
    "random": _Anywhere,
    "hash": _Hashed,
    "another": _Another,
}
"""The policies by name, each made for a number of servers, with a seed."""


class Passed(NamedTuple):
    verb: str
    session: str | None
    server: int


class Forwarder:
    """Servers by port on this machine, and the requests that passed."""

    def __init__(self, ports: Sequence[int], policy: str, seed: int) -> None:
        self.ports: Final = list(ports)
        self.port = 0
        self.passed: list[Passed] = []
        self._policy = POLICIES[policy](len(ports), seed)
        self._serving: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def protocol(self) -> asyncio.Protocol:
        return _Watched(self._take)

    def _take(self, client: "_Side") -> None:
        task = asyncio.create_task(self._serve(client))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def _serve(self, client: "_Side") -> None:
        try:
            while await self._pass_on(client):
                pass
        except ConnectionError:
            # The end of either is the end of both.
            return
        finally:
            await client.close()

    async def _pass_on(self, client: "_Side") -> bool:
        """Forward one request and its response; return whether another one can follow."""
        asked = await client.head(_REQUEST)
        if not asked.raw:
            return False
        verb = asked.raw.partition(b" ")[0].decode("latin-1")
        field = asked.fields.get(_SESSION)
        session = None if field is None else field.decode("latin-1")
        chosen, server = await self._connect_from(self._policy.choose(session))
        self.passed.append(Passed(verb, session, chosen))
        if server is None:
            await client.write(_NOBODY)
            return False
        asking = asyncio.create_task(_ask(client, server, asked))
        try:
            goes_on = await self._answer(client, server, asked, chosen)
            # The unread rest of a body is not a request.
            whole = server.asked
        finally:
            asking.cancel()
            await asyncio.wait([asking])
            await server.close()
        if not whole:
            # Further input would make the system discard the response.
            await client.linger()
        return goes_on and whole

    async def _connect_from(self, chosen: int) -> "tuple[int, _Side | None]":
        """Connect to the chosen server, or to the next one that is up."""
        for number in range(chosen, chosen + len(self.ports)):
            port, taken = self.ports[number % len(self.ports)], list[_Side]()
            connecting = partial(_Watched, taken.append)
            try:
                await asyncio.get_running_loop().create_connection(connecting, "127.0.0.1", port)
            except OSError:
                continue
            return number % len(self.ports), taken[0]
        return chosen, None

    async def _answer(self, client: "_Side", server: "_Side", asked: "_Head", chosen: int) -> bool:
        """Pass on a response; return whether its end is known and leaves the connection open."""
        answer = await server.pass_head(client)
        while answer.status < 200 and answer.is_http and asked.is_http:
            answer = await server.pass_head(client)
        if not (answer.is_http and asked.is_http):
            await server.pass_rest(client)
            return False
        if _SESSION in answer.fields:
            self._policy.note(answer.fields[_SESSION].decode("latin-1"), chosen)
        bare = asked.raw.startswith(b"HEAD ") or answer.status in (204, 304)
        if not bare and not await server.pass_body(client, answer.fields):
            await server.pass_rest(client)
            return False
        return answer.fields.get(b"connection", b"").lower() != b"close"

    async def close(self) -> None:
        for task in (serving := list(self._serving)):
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)


async def _ask(client: "_Side", server: "_Side", asked: "_Head") -> None:
    """Pass on a request; if the client goes, pass on its end."""
    try:
        await server.write(asked.raw)
        bare = asked.is_http and not asked.fields.keys() & {_LENGTH, _CODING}
        server.asked = bare or (asked.is_http and await client.pass_body(server, asked.fields))
        if not server.asked:
            await client.pass_rest(server)
        await client.gone.wait()
        server.hang_up(at_once=client.writer.transport.is_closing())
    except ConnectionError:
        # It may have answered before it closed.
        if client.gone.is_set():
            server.hang_up(at_once=True)


class _Head(NamedTuple):
    """The head of a request or response; complete if it `is_http`."""

    raw: bytes
    is_http: bool
    fields: dict[bytes, bytes]

    @property
    def status(self) -> int:
        return int(self.raw.split(b" ", 2)[1]) if self.is_http else 0


class _Side:
    """A connection to a client or to a server."""

    asked = False
    """Whether the server has the whole of a request, whose end is known."""

    def __init__(self, reader: StreamReader, writer: StreamWriter, gone: asyncio.Event) -> None:
        self.writer = writer
        self.gone = gone
        """Whether it has been closed at the other end, if only for writing."""
        self._reader = reader
        # The server must notice a client that stops reading.
        writer.transport.set_write_buffer_limits(0)

    async def head(self, first: re.Pattern[bytes]) -> _Head:
        """Read a head, or the beginning of something else; nothing at the end."""
        raw = line = await self._line()
        if not first.match(raw):
            return _Head(raw, False, {})
        while line != b"\r\n":
            line = await self._line()
            raw += line
            if not line.endswith(b"\r\n") or len(raw) > _LONGEST:
                return _Head(raw, False, {})
        return _Head(raw, True, {name.lower(): value for name, value in _FIELD.findall(raw)})

    async def pass_head(self, sink: "_Side") -> _Head:
        answer = await self.head(_RESPONSE)
        await sink.write(answer.raw)
        return answer

    async def _line(self) -> bytes:
        try:
            return await self._reader.readuntil(b"\n")
        except asyncio.IncompleteReadError as end:
            return end.partial
        except asyncio.LimitOverrunError:
            return await self._reader.read(_PIECE)

    async def pass_body(self, sink: "_Side", fields: Mapping[bytes, bytes]) -> bool:
        """Pass on a body; return False once its end is unclear."""
        length, coding = fields.get(_LENGTH, b""), fields.get(_CODING)
        if coding is None:
            return length.isdigit() and await self._pass_bytes(sink, int(length))
        if length or coding.lower() != b"chunked":
            return False
        while (line := await self._line()) and (size := _SIZE.fullmatch(line)):
            await sink.write(line)
            if int(size[1], 16) == 0:
                return await self._pass_trailers(sink)
            if not await self._pass_bytes(sink, int(size[1], 16) + len(b"\r\n")):
                return False
        await sink.write(line)
        return False

    async def _pass_trailers(self, sink: "_Side") -> bool:
        while (line := await self._line()).endswith(b"\n"):
            await sink.write(line)
            if line == b"\r\n":
                return True
        await sink.write(line)
        return False

    async def _pass_bytes(self, sink: "_Side", number: int) -> bool:
        while number and (piece := await self._reader.read(min(number, _PIECE))):
            number -= len(piece)
            await sink.write(piece)
        return not number

    async def pass_rest(self, sink: "_Side") -> None:
        """Pass on everything until the end."""
        while piece := await self._reader.read(_PIECE):
            await sink.write(piece)

    async def write(self, data: bytes) -> None:
        if self.writer.is_closing():
            # Event loops differ in how they report this.
            raise ConnectionResetError
        self.writer.write(data)
        await self.writer.drain()

    def hang_up(self, *, at_once: bool) -> None:
        """End writing, or reading as well."""
        if at_once:
            self.writer.transport.abort()
        else:
            self.writer.write_eof()

    async def linger(self) -> None:
        """End writing, and keep reading for a while."""
        self.hang_up(at_once=False)
        with suppress(TimeoutError):
            async with asyncio.timeout(_LINGER):
                while await self._reader.read(_PIECE):
                    pass

    async def close(self) -> None:
        if self.writer.transport.get_write_buffer_size():
            # The other side does not read.
            self.writer.transport.abort()
        self.writer.close()
        with suppress(ConnectionError):
            await self.writer.wait_closed()


class _Watched(StreamReaderProtocol):
    """A connection whose end is noticed when the other side closes."""

    def __init__(self, take: Callable[[_Side], None]) -> None:
        self._gone = asyncio.Event()
        reader = StreamReader(limit=_LONGEST)
        super().__init__(reader, lambda _, writer: take(_Side(reader, writer, self._gone)))

    def eof_received(self) -> bool | None:
        self._gone.set()
        return super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self._gone.set()
        # Earlier data can still be read.
        super().connection_lost(None)


@asynccontextmanager
async def forwarding(
    ports: Sequence[int], policy: str = "round-robin", seed: int = 0
) -> AsyncGenerator[Forwarder, None]:
    """Forward from a free port to others; `policy` is one of `POLICIES`."""
    forwarder = Forwarder(ports, policy, seed)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(forwarder.protocol, "127.0.0.1", 0)
    forwarder.port = server.sockets[0].getsockname()[1]
    try:
        yield forwarder
    finally:
        server.close()
        await forwarder.close()
