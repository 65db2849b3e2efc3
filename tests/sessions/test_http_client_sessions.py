"""Sessions of a client over HTTP: how they end and begin again, and the order of their messages."""

import asyncio
import json
from contextvars import ContextVar
from typing import Any

import pytest
from mcp_protogen.runtime.http.client import transport as http_transport
from support.revisions import OLD, STATELESS
from support.sessions.odd_servers import (
    BOTH,
    TEXT,
    Handshaking,
    Reply,
    Request,
    answer,
    calling,
    connecting,
    either,
    failing,
    odd_server,
    over,
    with_roots,
)
from support.sessions.talking import INITIALIZED, client, content_of, error, notification, pkg
from support.tables import case


class Ending(Handshaking):
    """Ends its first session once it is used, and begins others as told."""

    def __init__(self, *sessions: str | None, versions: tuple[str, ...] = (), **more: Any) -> None:
        super().__init__(**more)
        self.sessions = list(sessions)
        self.versions = list(versions)
        self.lost: set[str] = set()

    async def __call__(self, request: Request, reply: Reply) -> None:
        if request.method == "initialize":
            assert "mcp-session-id" not in request.headers
            self.session = self.sessions.pop(0)
            self.version = self.versions.pop(0) if self.versions else OLD
        elif request.method == "notifications/initialized" or request.verb != "POST":
            # It is noticed later.
            pass
        elif request.headers.get("mcp-session-id") in self.lost:
            await reply.send(404, error(None, -32001, "Session not found"))
            return
        await super().__call__(request, reply)


class TestSession:
    """What happens when a server ends a session (2025-11-25, "Session Management")."""

    @pytest.mark.shows("S3-45")
    async def test_HC12_a_new_session_is_begun_and_the_request_repeated(self) -> None:
        play = Ending("one", "two")
        async with odd_server(play) as server:
            async with connecting(server.url) as ours:
                play.lost = {"one"}
                result = await ours.call_tool("x")
                assert content_of(result)[0].text == "done"
            first, again = server.requests_of("POST", "initialize")
            assert first.value["params"] == again.value["params"]
            assert first.id != again.id
            assert "mcp-protocol-version" not in again.headers
            calls = server.requests_of("POST", "tools/call")
            assert [request.headers["mcp-session-id"] for request in calls] == ["one", "two"]
            assert calls[0].body == calls[1].body
            assert server.requests[-1].headers["mcp-session-id"] == "two"
            confirmed = server.requests_of("POST", "notifications/initialized")
            assert [request.headers["mcp-session-id"] for request in confirmed] == ["one", "two"]

    async def test_HC12_a_session_that_ends_before_it_is_confirmed_is_replaced_too(self) -> None:
        class Hasty(Ending):
            async def __call__(self, request: Request, reply: Reply) -> None:
                if request.headers.get("mcp-session-id") == "one":
                    await reply.send(404)
                else:
                    await super().__call__(request, reply)

        async with odd_server(Hasty("one", "two")) as server, connecting(server.url) as ours:
            await ours.call_tool("x")
            confirmed = server.requests_of("POST", "notifications/initialized")
            assert [confirmation.headers["mcp-session-id"] for confirmation in confirmed] == [
                "one",
                "two",
            ]

    async def test_HC12_calls_that_find_out_together_begin_one_session(self) -> None:
        play = Ending("one", "two")
        async with odd_server(play) as server, connecting(server.url) as ours:
            play.lost = {"one"}
            await asyncio.gather(*(ours.call_tool(str(at)) for at in range(9)))
            assert len(server.requests_of("POST", "initialize")) == 2

    async def test_HC12_what_is_asked_meanwhile_waits_for_the_new_session(self) -> None:
        beginning, go_on = asyncio.Event(), asyncio.Event()

        class Slow(Ending):
            async def __call__(self, request: Request, reply: Reply) -> None:
                if request.method == "initialize" and self.lost:
                    beginning.set()
                    await go_on.wait()
                await super().__call__(request, reply)

        play = Slow("one", "two")
        async with odd_server(play) as server, connecting(server.url) as ours:
            play.lost = {"one"}
            first = asyncio.create_task(ours.call_tool("first"))
            await beginning.wait()
            second = asyncio.create_task(ours.call_tool("second"))
            for _ in range(20):
                await asyncio.sleep(0)
            go_on.set()
            await asyncio.gather(first, second)
            calls = server.requests_of("POST", "tools/call")
            sent = [
                (call_request.value["params"]["name"], call_request.headers["mcp-session-id"])
                for call_request in calls
            ]
            assert sorted(sent) == [("first", "one"), ("first", "two"), ("second", "two")]

    async def test_HC12_a_request_is_repeated_once(self) -> None:
        play = Ending("one", "two")
        async with odd_server(play) as server, connecting(server.url) as ours:
            play.lost = {"one", "two"}
            with pytest.raises(pkg.McpError, match="Session not found"):
                await ours.call_tool("x")
            assert len(server.requests_of("POST", "tools/call")) == 2

    async def test_a_notification_is_repeated_in_the_new_session(self) -> None:
        play = Ending("one", "two")
        async with odd_server(play) as server, over(server.url, with_roots()) as ours:
            play.lost = {"one"}
            await ours.notify_roots_list_changed()
            await ours.call_tool("x")
            sent = server.requests_of("POST", "notifications/roots/list_changed")
            assert [request.headers["mcp-session-id"] for request in sent] == ["one", "two"]

    async def test_client_listens_only_once_the_handshake_is_accepted(self) -> None:
        for status, listens in ((200, True), (202, True), (299, True), (300, False), (500, False)):
            with case(status):

                async def play(request: Request, reply: Reply, status: int = status) -> None:
                    await reply.send(405 if request.verb == "GET" else status)

                async with odd_server(play) as server:
                    transport = await pkg.open_http(server.url)()
                    await transport.send([json.dumps(INITIALIZED).encode()])
                    for _ in range(20):
                        await asyncio.sleep(0.002)
                    await transport.close()
                    assert bool(server.requests_of("GET")) is listens

    async def test_transport_that_broke_sends_nothing_more(self) -> None:
        async def play(request: Request, reply: Reply) -> None:
            await reply.send(202)

        async with odd_server(play) as server:
            transport: Any = await pkg.open_http(server.url)()
            transport._state.inbox.end(pkg.Disconnected("connect again"))
            with pytest.raises(pkg.Disconnected, match="connect again"):
                await transport.send([json.dumps(INITIALIZED).encode()])
            assert not server.requests
            await transport.close()

    async def test_a_session_in_another_revision_is_no_replacement(self) -> None:
        play = Ending("one", "two", versions=(OLD, "2025-06-18"))
        async with odd_server(play) as server, connecting(server.url) as ours:
            play.lost = {"one"}
            for _ in range(2):
                with pytest.raises(pkg.Disconnected, match="2025-06-18 instead of 2025-11-25"):
                    await ours.call_tool("x")

    async def test_a_method_that_is_missing_ends_no_session(self) -> None:
        async def call(request: Request, reply: Reply) -> None:
            await reply.send(404, error(request.id, -32601, "no tools"))

        _, seen = await failing(Handshaking(call, session="s"), pytest.raises(pkg.McpError))
        assert [seen_request.method for seen_request in seen].count("initialize") == 1

    async def test_a_session_that_ends_while_listening_is_replaced(self) -> None:
        again = asyncio.Event()

        async def listen(request: Request, reply: Reply) -> None:
            if request.headers["mcp-session-id"] == "two":
                again.set()
            elif "last-event-id" in request.headers:
                await reply.send(404)
                return
            await reply.stream()
            await reply.event(id="1", retry=1)

        play = Ending("one", "two", listen=listen)
        async with odd_server(play) as server, connecting(server.url):
            await again.wait()
            assert len(server.requests_of("POST", "initialize")) == 2

    @pytest.mark.parametrize("how", [200, 204, 404, 405, 503, "hang up", "hang on"])
    async def test_a_session_is_ended_whatever_the_server_says(
        self, how: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(http_transport, "_FAREWELL", 0.05)

        class Leaving(Handshaking):
            async def __call__(self, request: Request, reply: Reply) -> None:
                if request.verb != "DELETE":
                    await super().__call__(request, reply)
                elif how == "hang on":
                    await reply.wait_until_gone()
                elif how == "hang up":
                    reply.hang_up()
                else:
                    await reply.send(how)

        seen = await calling(Leaving(session="s"))
        assert seen[-1].verb == "DELETE"
        assert seen[-1].headers["mcp-session-id"] == "s"
        assert seen[-1].headers["mcp-protocol-version"] == OLD


class TestCancellation:
    @pytest.mark.shows("S3-25")
    @BOTH
    @pytest.mark.parametrize("streams", [False, True])
    async def test_a_call_that_is_given_up_closes_its_exchange(
        self, streams: bool, revision: str
    ) -> None:
        begun, closed = asyncio.Event(), asyncio.Event()

        async def call(request: Request, reply: Reply) -> None:
            if streams:
                await reply.stream()
                await reply.event(notification("notifications/tools/list_changed"))
            begun.set()
            await reply.wait_until_gone()
            closed.set()

        async with odd_server(either(call, revision)) as server, connecting(server.url) as ours:
            calling = asyncio.create_task(ours.call_tool("x"))
            await begun.wait()
            calling.cancel()
            await closed.wait()
            (asked,) = server.requests_of("POST", "tools/call")
            told = server.requests_of("POST", "notifications/cancelled")
            # In the stateless era, the end of the exchange is enough.
            ids = [cancellation.value["params"]["requestId"] for cancellation in told]
            assert ids == ([] if revision == STATELESS else [asked.id])


async def test_a_handler_does_not_run_in_the_context_of_a_caller() -> None:
    who: ContextVar[str] = ContextVar("who", default="nobody")
    heard = asyncio.Queue[str]()

    async def on_tool_list_changed(self: object, params: object) -> None:
        heard.put_nowait(who.get())

    async def call(request: Request, reply: Reply) -> None:
        await reply.stream()
        await reply.event(notification("notifications/tools/list_changed"))
        await reply.event(answer(request, TEXT))

    ours = client(OLD, on_tool_list_changed=on_tool_list_changed)
    async with odd_server(Handshaking(call)) as server, pkg.connect_http(server.url, ours):
        who.set("the caller")
        # What opens the connection may still be on its way at the first call.
        for _ in range(2):
            await ours.call_tool("x")
            assert await heard.get() == "nobody"


class TestOrder:
    async def test_a_notification_arrives_before_what_follows_it(self) -> None:
        order: list[str] = []

        class Slow(Handshaking):
            async def __call__(self, request: Request, reply: Reply) -> None:
                if request.method.startswith("notifications/"):
                    for _ in range(20):
                        await asyncio.sleep(0)
                if request.verb == "POST":
                    order.append(request.method)
                await super().__call__(request, reply)

        async with odd_server(Slow()) as server, over(server.url, with_roots()) as ours:
            await ours.notify_roots_list_changed()
            await ours.call_tool("x")
            assert order[1:] == [
                "notifications/initialized",
                "notifications/roots/list_changed",
                "tools/call",
            ]
