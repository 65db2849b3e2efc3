"""The HTTP client of bridges and gateways: its connections, and what httpx2 does for it."""

import asyncio
import gzip
import re
import ssl
import sys
from asyncio import IncompleteReadError, StreamReader, StreamWriter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from socket import SHUT_RDWR

import httpx2
import pytest
from mcp_protogen.servers.connect import direct_client, named_server
from mcp_protogen.servers.connect.direct_client import DirectClient, first_success, new_http_client
from mcp_protogen.servers.connect.named_server import NamedServer
from support.auth.certificates import certificate
from support.tables import case

CLOSE, LATER = b"<close>", b"<later>"
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
UNENDED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
CHUNKED = UNENDED + b"%b\r\n"
TWO_CHUNKS = CHUNKED % b"1\r\no\r\n1\r\nk\r\n0\r\nx-end: 9\r\n"
EARLY = b"HTTP/1.1 103 Early Hints\r\ncontent-encoding: gzip\r\n\r\n%b" % OK
BARE = b"HTTP/1.1 200 OK\r\n%b\r\n\r\nok"

FLOOD, TOO_MUCH = b"y" * 600_000, "more than 102400 bytes besides its body"


class Peer:
    """A server of scripted responses: it waits at `LATER`, and ends its connection at `CLOSE`."""

    def __init__(self, *responses: bytes) -> None:
        self._responses = list(responses)
        self.requests: list[bytes] = []
        self.url = ""
        self.tasks: list[asyncio.Task[None]] = []
        self.writers: list[StreamWriter] = []

    async def serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        self.writers.append(writer)
        task: asyncio.Task[None] | None = asyncio.current_task()
        self.tasks += [task] if task else []
        response = b""
        with suppress(IncompleteReadError, ConnectionError):
            while not response.endswith(CLOSE):
                head = await reader.readuntil(b"\r\n\r\n")
                length = re.search(rb"content-length: (\d+)", head)
                body = await reader.readexactly(int(length[1]) if length else 0)
                self.requests.append(head + body)
                response = self._responses.pop(0)
                first, *parts = response.removesuffix(CLOSE).split(LATER)
                writer.write(first)
                for part in parts:
                    await asyncio.sleep(0.02)
                    writer.write(part)
        writer.close()


@asynccontextmanager
async def peer(
    *responses: bytes, context: ssl.SSLContext | None = None
) -> AsyncGenerator[Peer, None]:
    made = Peer(*responses)
    async with await asyncio.start_server(made.serve, "127.0.0.1", 0, ssl=context) as server:
        port = server.sockets[0].getsockname()[1]
        made.url = f"{'https' if context else 'http'}://localhost:{port}/mcp?a=b"
        yield made
        await asyncio.gather(*made.tasks)


@asynccontextmanager
async def use_client() -> AsyncGenerator[DirectClient, None]:
    client = new_http_client()
    assert isinstance(client, DirectClient)
    yield client
    await client.aclose()


async def post(client: DirectClient, url: str, **fields: str) -> bytes:
    encoded = {name.encode(): value.encode() for name, value in fields.items()}
    request = client.build_request("POST", httpx2.URL(url), content=b"{}", headers=encoded)
    response = await client.send(request, stream=True, follow_redirects=False)
    try:
        return b"".join([part async for part in response.aiter_bytes()])
    finally:
        await response.aclose()


async def test_a_connection_carries_the_next_request_after_a_whole_response() -> None:
    for first in (OK, TWO_CHUNKS, EARLY):
        with case(first):
            async with peer(first, OK) as server, use_client() as client:
                assert await post(client, server.url) == b"ok"
                assert await post(client, server.url) == b"ok"
            assert len(server.writers) == 1
            line, *fields, body = server.requests[1].split(b"\r\n")
            assert (line, body) == (b"POST /mcp?a=b HTTP/1.1", b"{}")
            assert {b"content-length: 2", b"host: %b" % server.url.split("/")[2].encode()} < {
                *fields
            }


async def test_fields_of_a_response_have_their_own_values() -> None:
    head = BARE % b"a: 1\r\nB: 2\r\nA: 3\r\ncontent-length: 2"
    async with peer(head) as server, use_client() as client:
        request = client.build_request("GET", httpx2.URL(server.url), content=None, headers={})
        response = await client.send(request, stream=True, follow_redirects=False)
        found = [response.headers.get(name, "none") for name in ("a", "b", "c")]
        assert found == ["1, 3", "2", "none"]
        await response.aclose()


async def test_other_responses_end_their_connection() -> None:
    for first in (
        BARE % b"connection: close\r\ncontent-length: 2",
        b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok",
        BARE % b"x: y" + CLOSE,
        OK + b"HTTP/1.1 408 Request Timeout\r\n\r\n",
        OK + LATER + b"HTTP/1.1 408 Request Timeout\r\n\r\n",
        OK + LATER + b"no response",
        OK + CLOSE,
    ):
        with case(first):
            async with peer(first, OK) as server, use_client() as client:
                assert await post(client, server.url) == b"ok"
                await asyncio.sleep(0.1)
                assert await post(client, server.url) == b"ok"
            assert len(server.writers) == 2


async def test_unread_end_of_a_connection_is_noticed() -> None:
    for late in (b"", OK):
        with case(late):
            async with peer(OK, OK) as server, use_client() as client:
                assert await post(client, server.url) == b"ok"
                server.writers[0].write(late)
                if not late:
                    server.writers[0].get_extra_info("socket").shutdown(SHUT_RDWR)
                assert await post(client, server.url) == b"ok"
            assert len(server.writers) == 2


async def test_a_response_that_is_not_whole_ends_its_connection() -> None:
    async with peer(OK[:-1], OK) as server, use_client() as client:
        request = client.build_request("GET", httpx2.URL(server.url), content=None, headers={})
        response = await client.send(request, stream=True, follow_redirects=False)
        await response.aclose()
        assert await post(client, server.url) == b"ok"
    assert len(server.writers) == 2


async def test_few_connections_are_kept_and_not_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("_LONGEST_IDLE", "_MOST_IDLE"):
        with case(limit), monkeypatch.context() as patch:
            patch.setattr(direct_client, limit, 0)
            async with peer(OK, OK) as server, use_client() as client:
                assert await post(client, server.url) == await post(client, server.url) == b"ok"
            assert len(server.writers) == 2


async def test_connections_of_many_requests_at_once_are_kept() -> None:
    async with peer(*[OK] * 60) as server, use_client() as client:
        for _ in range(2):
            posts = [post(client, server.url) for _ in range(30)]
            assert await asyncio.gather(*posts) == [b"ok"] * 30
        assert len(server.writers) == 30


async def test_connections_that_are_not_used_again_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(direct_client, "_LONGEST_IDLE", 0.1)
    async with peer(OK, OK) as server, use_client() as client:
        await asyncio.gather(post(client, server.url), post(client, server.url))
        done, _ = await asyncio.wait(server.tasks, timeout=5)
        assert len(done) == len(server.tasks) == 2


async def test_the_length_of_a_body_is_its_own() -> None:
    wrong = {"content-length": "9", "transfer-encoding": "chunked"}
    async with peer(OK) as server, use_client() as client:
        assert await post(client, server.url, **wrong) == b"ok"
    fields = server.requests[0].split(b"\r\n")
    assert [b"content-length: 2" in fields, b"transfer" in server.requests[0]] == [True, False]


async def test_each_request_has_its_own_head() -> None:
    async with peer(OK, OK, OK, OK) as server, use_client() as client:
        for value in ("1", "2", "2"):
            assert await post(client, server.url, x=value) == b"ok"
        request = client.build_request("GET", httpx2.URL(server.url), content=None, headers={})
        await (await client.send(request, stream=True, follow_redirects=False)).aclose()
    heads = [request.partition(b"\r\n\r\n")[0].split(b"\r\n") for request in server.requests]
    assert [[line for line in head if line[:2] == b"x:"] for head in heads] == [
        *([b"x: 1"], [b"x: 2"], [b"x: 2"], []),
    ]
    assert [b"content-length: 2" in head for head in heads] == [True, True, True, False]
    assert [head[0] for head in heads] == [b"POST /mcp?a=b HTTP/1.1"] * 3 + [
        b"GET /mcp?a=b HTTP/1.1"
    ]


async def test_a_malformed_or_broken_response_is_an_error() -> None:
    for response, error in (
        (CLOSE, "the connection ended before the response"),
        (b"HTTP/1.1 200" + CLOSE, "the connection ended"),
        (BARE % b"content-length: 9" + CLOSE, "the connection ended"),
        (CHUNKED % b"9\r\nok" + CLOSE, "the connection ended"),
        (b"SSH-2.0\r\n", "malformed: Expected HTTP/"),
        (BARE % b"content-length: 2\r\ncontent-length: 3", "malformed"),
        (b"HTTP/1.1 200 OK\r\nx: " + FLOOD, TOO_MUCH),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 20_000, TOO_MUCH),
        (UNENDED + b"2;" + FLOOD, TOO_MUCH),
        (UNENDED + b"2\r\nok\r\n0\r\nx: " + FLOOD, TOO_MUCH),
    ):
        with case(response[:60]):
            async with peer(response, OK) as server, use_client() as client:
                with pytest.raises(httpx2.RemoteProtocolError, match=error):
                    await post(client, server.url)
                assert await post(client, server.url) == b"ok"


async def test_a_second_response_does_not_change_the_first() -> None:
    async with peer(OK + BARE % b"content-length: 2") as server, use_client() as client:
        assert await post(client, server.url) == b"ok"


async def test_responses_of_unusual_statuses_are_returned() -> None:
    for status in (0, 99, 101, 999):
        head = b"HTTP/1.1 %03d X\r\nupgrade: x\r\nconnection: upgrade\r\n" % status
        async with peer(head + b"content-length: 0\r\n\r\n") as server, use_client() as client:
            request = client.build_request("GET", httpx2.URL(server.url), content=None, headers={})
            sending = client.send(request, stream=True, follow_redirects=False)
            response = await asyncio.wait_for(sending, 5)
            assert response.status_code == status
            await response.aclose()


async def test_a_response_closed_twice_leaves_the_next_alone() -> None:
    async with peer(OK, OK) as server, use_client() as client:
        request = client.build_request("GET", httpx2.URL(server.url), content=None, headers={})
        first = await client.send(request, stream=True, follow_redirects=False)
        await first.aclose()
        second = await client.send(request, stream=True, follow_redirects=False)
        await first.aclose()
        assert await anext(second.aiter_bytes()) == b"ok"
        await second.aclose()
    assert len(server.writers) == 1


async def test_large_bodies_arrive_whole() -> None:
    for size in (150_000, 2_000_000):
        body = b"%07d" % size * (size // 7)
        head = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body)
        async with peer(head + body, OK) as server, use_client() as client:
            with case(size):
                assert await post(client, server.url) == body
                assert await asyncio.wait_for(post(client, server.url), 5) == b"ok"
                assert len(server.writers) == 1


async def test_a_slow_reader_holds_the_server_back() -> None:
    async with (
        peer(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 50_000_000) as server,
        use_client() as client,
    ):
        request = client.build_request("GET", httpx2.URL(server.url), content=None, headers={})
        response = await client.send(request, stream=True, follow_redirects=False)
        await asyncio.sleep(0.2)
        assert server.writers[0].transport.get_write_buffer_size() > 40_000_000
        await response.aclose()


async def test_compressed_bodies_and_cookies_are_left_to_httpx2() -> None:
    packed = gzip.compress(b"ok")
    head = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(packed)
    cookie = BARE % b"set-cookie: node=3\r\ncontent-length: 2"
    async with peer(cookie, head + packed, OK) as server, use_client() as client:
        assert await post(client, server.url) == await post(client, server.url) == b"ok"
        await post(client, server.url, cookie="own=1")
    first, second, third = server.requests
    assert b"accept-encoding: gzip" in first and b"user-agent: python-httpx2/" in first
    assert b"cookie" not in first and b"cookie: node=3\r\n" in second
    assert re.findall(rb"cookie: [^\r]*", third) == [b"cookie: own=1"]


async def test_a_server_cannot_fill_the_memory_with_cookies() -> None:
    named = (BARE % b"set-cookie: c%d=1\r\ncontent-length: 2" % number for number in range(250))
    async with peer(*named, OK) as server, use_client() as client:
        for _ in range(251):
            await post(client, server.url)
    assert server.requests[99].count(b"=1") == 99
    assert max(request.count(b"=1") for request in server.requests) == 100


async def test_cookies_that_are_not_ascii_are_ignored() -> None:
    cookies = BARE % b"set-cookie: a=\xff\r\nset-cookie: b=1\r\ncontent-length: 2"
    async with peer(cookies, OK) as server, use_client() as client:
        assert await post(client, server.url) == await post(client, server.url) == b"ok"
    assert re.findall(rb"cookie: [^\r]*", server.requests[1]) == [b"cookie: b=1"]


async def test_proxies_and_users_in_urls_are_left_to_httpx2(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with peer(OK) as server, use_client() as client:
        await post(client, server.url.replace("//", "//ann:secret@"))
    assert b"authorization: basic yw5uonnly3jlda==" in server.requests[0].lower()
    async with peer(OK) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url.partition("/mcp")[0])
        async with use_client() as client:
            assert await post(client, "http://far.example/mcp") == b"ok"
    assert proxy.requests[0].startswith(b"POST http://far.example/mcp HTTP/1.1")


async def test_header_fields_cannot_hold_others() -> None:
    async with use_client() as client:
        for name, value in (
            ("x: y", "1"),
            ("x", "1\r\ny: 2"),
            ("x", "1\n2"),
            ("x", "\0"),
            ("x y", "1"),
            ("", ""),
        ):
            with case(name + value), pytest.raises(httpx2.LocalProtocolError):
                await post(client, "http://127.0.0.1:1/", **{name: value})


async def test_port_0_is_not_the_usual_port() -> None:
    async with use_client() as client:
        with pytest.raises(httpx2.ConnectError, match=r"'127\.0\.0\.1', 0"):
            await post(client, "http://127.0.0.1:0/")


async def test_certificates_are_verified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, trusting = certificate(tmp_path, "localhost")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(file)
    async with peer(OK, context=context) as server:
        async with use_client() as client:
            with pytest.raises(httpx2.ConnectError, match="certificate verify failed"):
                await post(client, server.url)
        monkeypatch.setattr(direct_client, "trust", lambda: trusting)
        async with use_client() as client:
            assert await post(client, server.url) == b"ok"


async def test_an_address_that_is_silent_is_left_for_the_next() -> None:
    silent, cancelled = asyncio.Event(), asyncio.Event()
    made, begun, lost = object(), list[str](), list[object]()

    async def hang() -> object:
        try:
            await silent.wait()
        finally:
            cancelled.set()
        return made

    async def fail() -> object:
        raise OSError("refused")

    async def connect() -> object:
        return made

    async def never() -> object:
        begun.append("never")
        return made

    assert await first_success([fail(), hang(), connect(), never()], lost.append) is made
    await asyncio.wait_for(cancelled.wait(), 1)
    assert not begun
    with pytest.raises(OSError, match="refused"):
        await first_success([fail(), fail()], lost.append)
    assert not lost


async def test_connections_that_no_request_gets_are_discarded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(direct_client, "_HEAD_START", 0)
    problems = list[object]()
    asyncio.get_running_loop().set_exception_handler(lambda _, context: problems.append(context))
    for is_cancelled in (False, True):
        opened, lost = asyncio.Event(), list[str]()

        async def connect(name: str, opened: asyncio.Event = opened) -> str:
            await opened.wait()
            if name == "refused":
                raise OSError(name)
            if name == "silent":
                await asyncio.sleep(60)
            return name

        attempts = [connect(name) for name in ("a", "b", "refused", "silent")]
        task = asyncio.create_task(first_success(attempts, lost.append))
        await asyncio.sleep(0.05)
        opened.set()
        await asyncio.sleep(0)
        if is_cancelled:
            task.cancel()
        won = list[str]()
        with suppress(asyncio.CancelledError):
            won.append(await task)
        await asyncio.sleep(0.01)
        with case(is_cancelled):
            assert sorted(lost + won) == ["a", "b"]
            assert not problems


async def test_httpx2_does_all_without_httptools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httptools", None)
    client = new_http_client()
    assert isinstance(client, httpx2.AsyncClient)
    await client.aclose()


async def test_a_server_at_a_url_is_called_by_it_also_from_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = list[object]()

    def make() -> object:
        made.append(new_http_client())
        return made[-1]

    monkeypatch.setattr(named_server, "new_http_client", make)
    file, url = tmp_path / "mcp.json", "http://localhost/mcp"
    file.write_text(f'{{"mcpServers": {{"one": {{"url": "{url}"}}}}}}')
    for number, server in enumerate((NamedServer(name=url), NamedServer(name="one", config=file))):
        with case(server):
            await (await server.opener()()).close()
            assert [type(client) for client in made[number:]] == [DirectClient]
