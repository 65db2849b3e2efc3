"""A bridge over HTTP: each session has its own connection to the server."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp_revisions.v2025_11_25 import Session
from mcp_revisions.v2025_11_25.models import CallToolRequestParams
from support.auth.guarding import ADA, BEN, GUARD
from support.http.serving import Site, calling_app, text_in
from support.json_types import JsonObject
from support.revisions import ERAS, OLD, STATELESS
from support.sessions.bridging import ASKED
from support.sessions.talking import (
    INITIALIZED,
    META,
    VERSION,
    Accepting,
    Hand,
    hello,
    pkg,
    request,
    tools,
)
from support.tables import case


class Origin:
    """The server behind the bridge, with a record of its calls by connection."""

    def __init__(self, revision: str = OLD) -> None:
        self.revision = revision
        self.opened = self.closed = 0
        self.transports: list[Any] = []

    def server(self) -> Any:
        count = 0

        async def call(session: Session, params: CallToolRequestParams) -> str:
            nonlocal count
            count += 1
            return str(count)

        return tools(self.revision, call)

    async def open(self) -> Any:
        self.opened += 1
        transport: Any = await pkg.in_memory(self.server())()
        close = transport.close

        async def count_close() -> None:
            self.closed += 1
            await close()

        transport.close = count_close
        self.transports.append(transport)
        return transport


@asynccontextmanager
async def serve_bridge(opener: pkg.Opener, **chosen: Any) -> AsyncGenerator[Site, None]:
    app = pkg.bridge_app(pkg.Bridge, opener, http=pkg.HttpOptions(**chosen))
    async with calling_app(app) as site:
        yield site


async def test_each_session_has_a_connection_of_its_own() -> None:
    for revision in ERAS:
        origin = Origin(revision)
        with case(revision):
            async with serve_bridge(origin.open) as site:
                one, other = await site.initialize(), await site.initialize()
                assert [text_in(await one.call("x", id)) for id in (1, 2)] == ["1", "2"]
                assert text_in(await other.call("x")) == "1"
                assert (origin.opened, origin.closed) == (2, 0)
                assert (await one.delete()).status_code == 204
                assert origin.closed == 1
                assert (await one.call("x", 3)).status_code == 404
                assert text_in(await other.call("x", 4)) == "2"
            assert origin.closed == 2


async def test_requests_of_clients_that_are_alike_share_a_connection() -> None:
    for revision in ERAS:
        origin = Origin(revision)
        with case(revision):
            async with serve_bridge(origin.open) as site:
                assert [text_in(await site.modern("tools/call", name="x")) for _ in "ab"] == [
                    "1",
                    "2",
                ]
                said = await site.modern("tools/call", meta=ASKED, name="x")
                assert text_in(said) == "1"
                assert origin.opened == 2
                found = (await site.modern("server/discover")).json()["result"]
                other = {**META, VERSION: "v9"}
                refused = await site.modern("tools/call", meta=other, name="x")
                every = [spoken.id for spoken in pkg.REVISIONS]
                assert {*found["supportedVersions"]} == {*every}
                assert {*refused.json()["error"]["data"]["supported"]} == {*every}
            assert origin.closed == 2


async def test_two_principals_share_neither_a_connection_nor_a_session() -> None:
    origin = Origin()
    tokens = pkg.static_tokens({name * 8: pkg.Principal(name) for name in ("ada", "bob")})
    async with serve_bridge(origin.open, authentication=pkg.Authentication(verify=tokens)) as site:
        ada, bob = ({"authorization": f"Bearer {name * 8}"} for name in ("ada", "bob"))
        said = [
            await site.modern("tools/call", name="x", headers=headers)
            for headers in (ada, bob, ada)
        ]
        assert [text_in(answer) for answer in said] == ["1", "1", "2"]
        session = await site.initialize(headers=ada)
        assert text_in(await session.call("x")) == "1"
        session.headers = {**session.headers, **bob}
        assert (await session.call("x")).status_code == 404
        assert origin.opened == 3


async def test_a_session_ends_with_its_server_and_requests_get_another() -> None:
    origin = Origin()
    async with serve_bridge(origin.open) as site:
        session = await site.initialize()
        assert text_in(await site.modern("tools/call", name="x")) == "1"
        for transport in origin.transports:
            transport.feed_eof()
        while (await session.call("x")).status_code != 404:
            await asyncio.sleep(0)
        assert text_in(await site.modern("tools/call", name="x")) == "1"
        assert origin.opened == 3


async def test_connection_that_nobody_uses_is_dropped_once_though_its_server_goes_away() -> None:
    origin, faults = Origin(), list[Any]()
    asyncio.get_running_loop().set_exception_handler(lambda _, fault: faults.append(fault))
    async with serve_bridge(origin.open, session_lifetime=0.2) as site:
        assert text_in(await site.modern("tools/call", name="x")) == "1"
        origin.transports[0].feed_eof()
        while site.app._running.state.alike:
            await asyncio.sleep(0)
        await asyncio.sleep(0.3)
    assert faults == []


async def test_a_server_that_cannot_be_reached_is_an_answer_without_its_reason() -> None:
    async def open() -> pkg.Transport:
        raise pkg.Disconnected("the secret command does not start")

    async with serve_bridge(open) as site:
        for message, send in (
            ("handshake", site.post(hello())),
            ("request", site.modern("tools/list")),
        ):
            with case(message):
                response = await send
                assert response.status_code == 502
                error = response.json()["error"]
                assert (error["code"], error["message"]) == (-32603, "The server cannot be reached")
                assert "secret" not in response.text


async def test_refused_requests_open_no_origin() -> None:
    origin = Origin()
    async with serve_bridge(origin.open) as site:
        refused = {
            "a foreign page": (await site.post(hello(), {"origin": "https://evil.example"}), 403),
            "a foreign host": (await site.post(hello(), {"host": "evil.example"}), 421),
            "no JSON": (await site.post(b"{"), 400),
            "no session": (await site.post(request("tools/list")), 400),
            "a header that differs": (
                await site.modern("tools/list", headers={"mcp-protocol-version": OLD}),
                400,
            ),
            "a client too large": (await site.post(hello(x={"y": "z" * 40_000})), 400),
        }
        for name, (response, status) in refused.items():
            with case(name):
                assert response.status_code in (status, 200) and "error" in response.json()
        assert (await site.http.get("/health")).json() == {"status": "ok"}
        assert (await site.http.get("/ready")).json() == {"status": "ready"}
        assert origin.opened == 0


async def test_a_method_of_the_other_era_is_not_there() -> None:
    async with serve_bridge(Origin(STATELESS).open) as site:
        for method in ("resources/subscribe", "resources/unsubscribe"):
            with case(method):
                refused = await site.modern(method, uri="file:///a")
                assert (refused.status_code, refused.json()["error"]["code"]) == (404, -32601)


async def test_connections_that_nobody_uses_make_room() -> None:
    origin = Origin()
    async with serve_bridge(origin.open, max_sessions=1) as site:
        first = await site.initialize()
        second = await site.initialize()
        assert (await first.call("x")).status_code == 404
        assert text_in(await second.call("x")) == "1"
        assert text_in(await site.modern("tools/call", name="x")) == "1"
        assert text_in(await site.modern("tools/call", meta=ASKED, name="x")) == "1"
        while origin.closed < 2:
            await asyncio.sleep(0)
        assert origin.opened == 4


async def test_connections_of_a_bridge_make_room_for_the_same_principal() -> None:
    origin = Origin()
    chosen: JsonObject = {"max_sessions": 9, "max_sessions_per_principal": 1}
    async with serve_bridge(origin.open, authentication=GUARD, **chosen) as site:

        async def call(who: JsonObject, client: str) -> None:
            info = {"name": client, "version": "1"}
            meta = {**META, "io.modelcontextprotocol/clientInfo": info}
            answer = await site.modern("tools/call", meta=meta, name="x", headers=who)
            assert answer.status_code == 200

        await call(BEN, "first")
        for name in ("first", "second", "third"):
            await call(ADA, name)
        await call(BEN, "first")
        assert origin.opened == 4
        assert len(site.app._running.state.alike) == 2


async def test_clients_of_the_first_transport_have_a_bridge_each() -> None:
    origin = Origin(STATELESS)
    async with serve_bridge(origin.open, old_sse=True) as site, site.get(path="/sse") as events:
        first = await events.event()
        assert first is not None and first.event == "endpoint"
        for message in (hello("2024-11-05"), INITIALIZED, request("tools/call", 1, name="x")):
            assert (await site.http.post(first.data, json=message)).status_code == 202
        assert (await events.take())["result"]["protocolVersion"] == "2024-11-05"
        assert (await events.take())["result"]["content"][0]["text"] == "1"


def test_unshareable_options_are_refused() -> None:
    shared = pkg.HttpOptions(shared=pkg.Shared(engine=pkg.MemoryEngine()))
    for chosen in (pkg.HttpOptions(sessions=False), shared):
        with pytest.raises(ValueError, match="without shared"):
            pkg.bridge_app(pkg.Bridge, Origin().open, http=chosen)


async def test_server_that_does_not_answer_ends_with_the_client_that_waits_for_it() -> None:
    ended = asyncio.Event()

    async def play(hand: Hand) -> None:
        while await hand.take() is not None:
            pass
        ended.set()

    async with serve_bridge(Accepting(play)) as site:
        for message in ("handshake", "request"):
            with case(message):
                send = site.post(hello()) if message == "handshake" else site.modern("tools/list")
                waiting = asyncio.create_task(send)
                await asyncio.sleep(0.2)
                waiting.cancel()
                await asyncio.wait_for(ended.wait(), 3)
                ended.clear()
