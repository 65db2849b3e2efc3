"""The forwarder: its choice of applications, and what passes to a server of another process."""

import asyncio
from itertools import pairwise
from typing import Any

import pytest
from support.http.behind import Forwarder
from support.http.fire import Wire, ask, http, wire
from support.http.serving import run_app
from support.peers.http_wire import run_proxy, wire_to


async def chosen(seed: int, *sessions: bytes | None) -> list[int]:
    """Return the applications that get requests in these sessions, one after the other."""

    async def answer_nothing(*_: object) -> None:
        return

    forwarder = Forwarder([answer_nothing] * 3, seed)
    for session in sessions:
        headers = {} if session is None else {b"mcp-session-id": session}
        await forwarder({"type": "http", "headers": headers.items()}, None, None)
    return forwarder.passed


async def test_each_request_goes_to_another_application_than_the_last_of_its_session() -> None:
    mixed = [b"a", b"b", None] * 20
    passed = await chosen(0, *mixed)
    for session in range(3):
        servers = passed[session::3]
        assert all(server != next for server, next in pairwise(servers))
        assert set(servers) == {0, 1, 2}
    assert passed == await chosen(0, *mixed)
    assert passed != await chosen(1, *mixed)


async def begin_session(scope: Any, receive: Any, send: Any) -> None:
    headers = [(b"mcp-session-id", b"new"), (b"content-length", b"0")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body"})


async def test_a_session_that_was_begun_goes_on_at_another_server() -> None:
    for seed in range(5):
        forwarder = Forwarder([begin_session] * 3, seed)
        async with run_proxy(forwarder) as port, wire(port) as client:
            for session in (None, "new"):
                await client.send(http(b"", mcp_session_id=session))
                assert (await client.answer()).status == 200
        first, second = forwarder.passed
        assert first != second


@pytest.mark.parametrize("cut_after", [None, b"ell"])
async def test_each_side_of_a_proxy_notices_that_the_other_is_gone(cut_after: bytes | None) -> None:
    gone = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        body = (await receive())["body"]
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": body, "more_body": True})
        assert (await receive())["type"] == "http.disconnect"
        gone.set()

    async with (
        run_app(app, lifespan="off") as port,
        wire_to(port, cut_after=cut_after) as proxy,
        wire(proxy.port) as client,
    ):
        await client.send(http(b"hello", "POST", "/a?b=c"))
        assert (await client.head()).status == 200
        assert await client.event() == b"hello"
        if cut_after:
            assert await client.is_closed()
        else:
            Wire.vanish(client)
        async with asyncio.timeout(10):
            await gone.wait()
    (exchange,) = proxy.exchanges
    assert (exchange.path, exchange.body, exchange.answer) == ("/a?b=c", b"hello", b"hello")
    assert proxy.cuts == bool(cut_after)


async def test_a_client_notices_that_there_is_no_server() -> None:
    async with wire_to(1) as proxy:
        assert (await ask(proxy.port, http())).status == 500
        assert proxy.exchanges[0].status is None
