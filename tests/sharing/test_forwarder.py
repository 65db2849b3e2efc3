"""The forwarder: its forwarded data, and its choice of servers."""

import asyncio
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import pairwise

from support.http.fire import Wire, ask, http, wire
from support.http.forwarding import POLICIES, Forwarder, Passed, forwarding
from support.tables import case

IN_SESSION = {"mcp-session-id": "a"}
OTHER = {"mcp-session-id": "b"}

Talk = Callable[[Wire], Awaitable[None]]


def response(text: str, *fields: str, status: str = "200 OK") -> bytes:
    head = "".join(f"{field}\r\n" for field in fields)
    return f"HTTP/1.1 {status}\r\ncontent-length: {len(text)}\r\n{head}\r\n{text}".encode()


@asynccontextmanager
async def play_servers(
    *talks: Talk, policy: str = "round-robin"
) -> AsyncGenerator[Forwarder, None]:
    """Servers that are played by hand, behind a forwarder."""

    def taking(talk: Talk) -> Callable[[StreamReader, StreamWriter], Awaitable[None]]:
        async def take(reader: StreamReader, writer: StreamWriter) -> None:
            try:
                await talk(Wire(reader, writer))
            finally:
                writer.close()

        return take

    async with AsyncExitStack() as stack:
        servers = [await asyncio.start_server(taking(talk), "127.0.0.1", 0) for talk in talks]
        for server in servers:
            await stack.enter_async_context(server)
        ports = [server.sockets[0].getsockname()[1] for server in servers]
        yield await stack.enter_async_context(forwarding(ports, policy))


async def read_head(client: Wire) -> bytes:
    """The head of a request."""
    return await client.reader.readuntil(b"\r\n\r\n")


def answer_with_name(name: str) -> Talk:
    """A server that answers one request with its name."""

    async def talk(client: Wire) -> None:
        await read_head(client)
        await client.send(response(name))

    return talk


async def test_each_request_of_a_connection_goes_to_a_server_by_itself() -> None:
    async with play_servers(
        answer_with_name("0"), answer_with_name("1"), answer_with_name("2")
    ) as forwarder:
        async with wire(forwarder.port) as client:
            for number in range(4):
                await client.send(http(b"", "GET", **IN_SESSION))
                assert (await client.answer()).body == b"%d" % (number % 3)
        assert forwarder.passed == [Passed("GET", "a", number) for number in (0, 1, 2, 0)]


def chosen(policy: str, seed: int, *sessions: str | None) -> list[int]:
    """The servers that get requests in these sessions, one after the other."""
    policy_of_three = POLICIES[policy](3, seed)
    return [policy_of_three.choose(session) for session in sessions]


def test_policies_choose_by_turns_by_a_seed_by_session_or_what_was_not_chosen_before() -> None:
    mixed = ["a", "b", None] * 20
    assert chosen("round-robin", 1, *mixed[:4]) == [1, 2, 0, 1]
    assert set(chosen("random", 0, *mixed)) == {0, 1, 2}
    hashed = chosen("hash", 0, *mixed)
    assert len(set(hashed[0::3])) == len(set(hashed[1::3])) == 1
    assert set(hashed[2::3]) == {0, 1, 2}
    another = chosen("another", 0, *mixed)
    for session in range(3):
        servers = another[session::3]
        assert all(server != next for server, next in pairwise(servers))
        assert set(servers) == {0, 1, 2}
    for policy in POLICIES:
        with case(policy):
            assert chosen(policy, 5, *mixed) == chosen(policy, 5, *mixed)
    assert chosen("another", 1, *mixed) != chosen("another", 2, *mixed)


async def test_a_session_that_was_begun_goes_on_at_another_server() -> None:
    async def begins(client: Wire) -> None:
        await read_head(client)
        await client.send(response("", "mcp-session-id: new"))

    for _ in range(5):
        async with play_servers(begins, begins, begins, policy="another") as forwarder:
            await ask(forwarder.port, http())
            await ask(forwarder.port, http(b"", mcp_session_id="new"))
            first, second = forwarder.passed
            assert first.server != second.server


async def test_bodies_pass_as_they_come_both_ways() -> None:
    async def echoing(client: Wire) -> None:
        head = await read_head(client)
        assert b"expect: 100-continue\r\n" in head
        await client.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        await client.send(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        async for piece in client.pieces():
            await client.send(b"%x\r\n%b\r\n" % (len(piece), piece))
        await client.send(b"0\r\nlast: one\r\n\r\n")

    async with play_servers(echoing) as forwarder, wire(forwarder.port) as client:
        for _ in range(2):
            chunked = {"transfer_encoding": "chunked", "content_length": None}
            await client.send(http(b"", expect="100-continue", **chunked))
            assert (await client.head()).status == 100
            assert (await client.head()).status == 200
            for piece in (b"small", b"x" * 300_000):
                await client.send(b"%x\r\n%b\r\n" % (len(piece), piece))
                assert await client.event() == piece
            await client.send(b"0\r\n\r\n")
            assert await client.reader.readuntil(b"\r\n\r\n") == b"0\r\nlast: one\r\n\r\n"


async def test_responses_without_a_body_leave_the_connection_open() -> None:
    async def empty(client: Wire) -> None:
        head = await read_head(client)
        status = "200 OK" if head.startswith(b"HEAD") else "204 No Content"
        await client.send(f"HTTP/1.1 {status}\r\ncontent-type: none\r\n\r\n".encode())

    async with play_servers(empty) as forwarder, wire(forwarder.port) as client:
        for verb in ("HEAD", "DELETE", "HEAD"):
            await client.send(http(b"", verb))
            assert (await client.head()).status == (204 if verb == "DELETE" else 200)


def half_close(client: Wire) -> None:
    client.writer.write_eof()


async def test_a_server_notices_that_its_client_is_gone() -> None:
    noticed = asyncio.Queue[bool]()

    async def streaming(client: Wire) -> None:
        await read_head(client)
        await client.send(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n")
        await noticed.put(await client.is_closed())

    async with play_servers(streaming) as forwarder:
        for leave in (Wire.vanish, half_close):
            async with wire(forwarder.port) as client:
                await client.send(http())
                assert await client.head() and await client.event() == b"a"
                leave(client)
                assert await noticed.get()


async def test_a_server_notices_that_its_client_takes_nothing_in() -> None:
    stuck = asyncio.Event()

    async def flooding(client: Wire) -> None:
        await read_head(client)
        client.writer.write(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n")
        try:
            for _ in range(1000):
                async with asyncio.timeout(0.5):
                    await client.send(b"x" * 100_000)
        except TimeoutError:
            stuck.set()
            client.vanish()

    async with play_servers(flooding) as forwarder, wire(forwarder.port) as client:
        await client.send(http())
        client.read(on=False)
        await stuck.wait()


async def test_a_client_notices_that_a_server_breaks_off() -> None:
    async def breaking(client: Wire) -> None:
        await read_head(client)
        await client.send(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n5\r\nb")

    async def silent(client: Wire) -> None:
        await read_head(client)

    async with play_servers(breaking, silent) as forwarder:
        for begun in (True, False):
            async with wire(forwarder.port) as client:
                await client.send(http())
                if begun:
                    assert await client.head() and await client.event() == b"a"
                    assert await client.reader.read() == b"5\r\nb"
                assert await client.is_closed()


async def test_requests_go_to_the_next_server_where_one_is_gone() -> None:
    async with play_servers(answer_with_name("0"), answer_with_name("1")) as forwarder:
        ports = list(forwarder.ports)
        async with asyncio.timeout(10):
            forwarder.ports[0] = 1
            for _ in range(3):
                assert (await ask(forwarder.port, http())).body == b"1"
            forwarder.ports[1] = 1
            assert (await ask(forwarder.port, http())).status == 502
            forwarder.ports[:] = ports
            assert (await ask(forwarder.port, http())).status == 200


UNCLEAR = (
    b"\x16\x03\x01 no HTTP at all",
    b"GET / HTTP/1.1\nhost: bare\n\n",
    b"POST / HTTP/1.1\r\nbroken",
    http(b"{}", transfer_encoding="chunked"),
    http(b"{}", content_length="two"),
    http(b"ZZ\r\n", content_length=None, transfer_encoding="chunked"),
)


async def test_ambiguous_request_passes_unchanged_to_single_server() -> None:
    received = asyncio.Queue[bytes]()

    async def taking(client: Wire) -> None:
        await received.put(await client.reader.read())
        await client.send(b"whatever \r\n that means")

    async with play_servers(taking) as forwarder:
        for data in UNCLEAR:
            with case(data):
                async with wire(forwarder.port) as client:
                    await client.send(data)
                    client.writer.write_eof()
                    assert await received.get() == data
                    assert await client.reader.read() == b"whatever \r\n that means"


async def test_open_connections_end_with_forwarder() -> None:
    begun = asyncio.Event()

    async def waiting(client: Wire) -> None:
        await read_head(client)
        begun.set()
        assert await client.is_closed()

    async with play_servers(waiting) as forwarder, wire(forwarder.port) as client:
        await client.send(http())
        await begun.wait()
        await forwarder.close()
        assert await client.is_closed()
