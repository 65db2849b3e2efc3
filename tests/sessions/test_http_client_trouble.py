"""Connections over HTTP that break, hang or bring nonsense."""

import asyncio
import gzip
import json
from collections.abc import AsyncGenerator
from types import SimpleNamespace
from typing import Any

import pytest
from mcp_protogen.runtime.core.errors import RemoteError
from mcp_protogen.runtime.http.client import http_client
from mcp_protogen.runtime.http.client import request as http_request
from mcp_protogen.runtime.http.client import transport as http_transport
from mcp_protogen.runtime.http.client.connect import open_http
from mcp_protogen.runtime.transports.base import Inbox, Received
from mcp_revisions.v2025_11_25.models import LoggingMessageNotificationParams
from support.revisions import OLD, STATELESS
from support.sessions.odd_servers import (
    TEXT,
    Handshaking,
    Modern,
    Play,
    Reply,
    Request,
    answer,
    calling,
    complete,
    connecting,
    http_error,
    odd_server,
)
from support.sessions.talking import (
    client,
    error,
    hello,
    notification,
    pkg,
    request,
    welcome,
)
from support.tables import case

CHANGED = notification("notifications/tools/list_changed")


class TestStreams:
    async def test_stream_that_outlasts_answer_is_closed(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(http_request, "_LAST_WORDS", 0.01)
        closed = asyncio.Event()

        async def call(request: Request, reply: Reply) -> None:
            await reply.stream()
            await reply.event(answer(request, complete(request, TEXT)))
            await reply.wait_until_gone()
            closed.set()

        async with odd_server(Modern(call)) as server, connecting(server.url) as ours:
            await ours.call_tool("x")
            await closed.wait()

    @pytest.mark.parametrize("data", [b"{", b"[]", b"1", b'{"jsonrpc":"2.0"}', b"\xff"])
    async def test_malformed_event_is_skipped(self, data: bytes) -> None:
        async def call(request: Request, reply: Reply) -> None:
            await reply.stream()
            await reply.raw(b"data: %b\n\n" % data)
            await reply.event({"x": 1}, event="news")
            await reply.event(answer(request, TEXT))

        await calling(Handshaking(call))

    async def test_an_answer_that_breaks_off_fails_its_call(self) -> None:
        async def call(request: Request, reply: Reply) -> None:
            await reply.send(200, b'{"jsonrpc":', content_length="1000")
            reply.hang_up()

        async with odd_server(Handshaking(call)) as server, connecting(server.url) as ours:
            with pytest.raises(pkg.Disconnected, match="POST http://127"):
                await ours.call_tool("x")

    async def test_a_server_that_does_not_say_whether_it_has_one_is_not_waited_for(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(http_transport, "_LISTENING", 0.01)

        async def listen(request: Request, reply: Reply) -> None:
            await reply.wait_until_gone()

        await calling(Handshaking(listen=listen))


class TestMessages:
    @pytest.mark.parametrize(
        ("how", "said"),
        [
            (200, ""),
            (204, ""),
            (400, "notifications/initialized was refused: HTTP 400"),
            (404, "notifications/initialized was refused: HTTP 404"),
            (500, "notifications/initialized was refused: HTTP 500"),
            ("hang up", "notifications/initialized could not be sent: POST http"),
            ("hang on", ""),
        ],
    )
    async def test_a_notification_that_is_not_taken_harms_nobody(
        self,
        how: Any,
        said: str,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        monkeypatch.setattr(http_transport, "_ARRIVAL", 0.01 if how == "hang on" else 5)

        class Refusing(Handshaking):
            async def __call__(self, request: Request, reply: Reply) -> None:
                if not request.method.startswith("notifications/"):
                    await super().__call__(request, reply)
                elif how == "hang on":
                    await reply.wait_until_gone()
                elif how == "hang up":
                    reply.closing = True
                    reply.hang_up()
                else:
                    await reply.send(how, b"no", "text/plain")

        seen = await calling(Refusing())
        assert said in caplog.text
        assert ("refused" in caplog.text) == ("refused" in said)
        assert [request.method for request in seen].count("initialize") == 1
        # An unconfirmed session is ignored.
        assert ("GET" in [request.verb for request in seen]) == (how in (200, 204))

    async def test_an_answer_to_the_server_is_not_carried_into_another_session(self) -> None:
        asked, refused = asyncio.Event(), asyncio.Event()

        async def listen(get: Request, reply: Reply) -> None:
            await reply.stream()
            if get.headers["mcp-session-id"] == "one":
                asked.set()
                await reply.event(request("ping", 0))
            await reply.wait_until_gone()

        class Losing(Handshaking):
            async def __call__(self, request: Request, reply: Reply) -> None:
                if request.verb == "POST" and not request.method:
                    await reply.send(404)
                    self.session = "two"
                    refused.set()
                else:
                    await super().__call__(request, reply)

        play = Losing(listen=listen, session="one")
        async with odd_server(play) as server, connecting(server.url) as ours:
            await refused.wait()
            await ours.call_tool("x")
            (answer,) = [
                posted for posted in server.requests if posted.verb == "POST" and not posted.method
            ]
            assert answer.headers["mcp-session-id"] == "one"
            assert server.requests_of("POST", "tools/call")[-1].headers["mcp-session-id"] == "two"


class TestNewSession:
    @staticmethod
    def ending(begin: Play) -> Play:
        """A server that ends its session at the first call; `begin` begins the next."""

        class Once(Handshaking):
            ended = False

            async def __call__(self, request: Request, reply: Reply) -> None:
                if request.method == "tools/call" and not self.ended:
                    self.ended = True
                    await reply.send(404)
                elif request.method == "initialize" and self.ended:
                    await begin(request, reply)
                else:
                    await super().__call__(request, reply)

        return Once(session="one")

    async def test_session_may_begin_with_stream(self) -> None:
        async def begin(request: Request, reply: Reply) -> None:
            await reply.stream(mcp_session_id="two")
            await reply.event(notification("notifications/message", level="info", data="hello"))
            await reply.event(welcome(request.id, tools={}))

        said = asyncio.Event()

        async def on_logging_message(
            self: object, params: LoggingMessageNotificationParams
        ) -> None:
            said.set()

        ours = client(OLD, on_logging_message=on_logging_message)
        async with odd_server(self.ending(begin)) as server, pkg.connect_http(server.url, ours):
            await ours.call_tool("x")
            await said.wait()
            calls = server.requests_of("POST", "tools/call")
            assert [call_request.headers["mcp-session-id"] for call_request in calls] == [
                "one",
                "two",
            ]

    @pytest.mark.parametrize(
        ("how", "why"),
        [
            ("refused", "no new one could begin: busy: connect again"),
            ("failed", "no new one could begin: HTTP 503"),
            ("no revision", "no revision given"),
            ("cut off", "no new one"),
        ],
    )
    async def test_without_one_the_call_fails(self, how: str, why: str) -> None:
        async def begin(request: Request, reply: Reply) -> None:
            if how == "refused":
                await reply.send(200, error(request.id, -32000, "busy"))
            elif how == "failed":
                await reply.send(503)
            elif how == "no revision":
                await reply.result(request, {})
            else:
                reply.hang_up()

        async with odd_server(self.ending(begin)) as server, connecting(server.url) as ours:
            with pytest.raises(pkg.Disconnected, match=why):
                await ours.call_tool("x")


class TestTransport:
    """The transport by itself, as a connection uses it."""

    @staticmethod
    async def open_transport(url: str) -> Any:
        return await open_http(url)()

    async def test_closing_it_twice_ends_the_session_once(self) -> None:
        async with odd_server(Handshaking(session="s")) as server:
            transport = await self.open_transport(server.url)
            await transport.send([_bytes(hello())])
            assert len(await transport.receive()) == 1
            await asyncio.gather(transport.close(), transport.close())
            await transport.close()
            assert len(server.requests_of("DELETE")) == 1
            assert await transport.receive() == []
            with pytest.raises(pkg.Disconnected, match="closed"):
                await transport.send([_bytes(request("ping"))])

    async def test_cancelled_receive_keeps_messages(self) -> None:
        async with odd_server(Handshaking()) as server:
            transport = await self.open_transport(server.url)
            waiting = asyncio.create_task(transport.receive())
            await asyncio.sleep(0)
            await transport.send([_bytes(hello())])
            while not server.requests:
                await asyncio.sleep(0)
            waiting.cancel()
            assert len(await transport.receive()) == 1
            await transport.close()

    async def test_inbox_keeps_order(self) -> None:
        taken: list[Received] = []

        def take(received: Received) -> bool:
            taken.append(received)
            return len(taken) < 2

        inbox = Inbox()
        inbox.put(b"1")
        inbox.hand_over(take)
        inbox.put(b"2")
        assert await inbox.receive() == [b"1", b"2"]
        for line in (b"3", b"4", b"5"):
            inbox.put(line)
        assert taken == [b"3", b"4"]
        assert await inbox.receive() == [b"5"]

    async def test_reading_stops_when_inbox_is_full(self) -> None:
        written: list[int] = []
        # The comment fills the buffers between the two.
        event = b": %b\ndata: %b\n\n" % (b"x" * 2000, _bytes(CHANGED))

        async def call(request: Request, reply: Reply) -> None:
            await reply.stream()
            for number in range(100):
                await reply.raw(event * 100)
                written.append(number)

        async with odd_server(Modern(call)) as server:
            transport = await self.open_transport(server.url)
            meta = {"_meta": {"io.modelcontextprotocol/protocolVersion": STATELESS}}
            await transport.send([_bytes(request("x", 1, **meta))])
            while not written:
                await asyncio.sleep(0)
            before = 0
            while len(written) > before:
                before = len(written)
                for _ in range(100):
                    await asyncio.sleep(0)
            assert len(written) < 100
            taken = 0
            while taken < 10_001:
                taken += len(await transport.receive())
            await transport.close()

    async def test_inbox_has_room_for_a_thousand_messages_and_for_64_mib(self) -> None:
        whole = bytes(2**20)
        for name, messages in (
            ("messages", [b"x"] * 1000),
            ("bytes", [*[whole] * 63, whole[1:], b"x"]),
        ):
            inbox = Inbox()
            for message in messages[:-1]:
                inbox.put(message)
            with case(name):
                before = asyncio.create_task(inbox.room())
                await asyncio.sleep(0)
                assert before.done()
                inbox.put(messages[-1])
                waiting = asyncio.create_task(inbox.room())
                await asyncio.sleep(0)
                assert not waiting.done()
                assert await inbox.receive() == messages
                await waiting

    async def test_endless_refusal_is_not_read_to_its_end(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(http_client, "_LARGEST_REFUSAL", 1000)

        async def call(request: Request, reply: Reply) -> None:
            await reply.send(500, b"too bad" * 200, "text/plain", content_length="1000000")
            await reply.wait_until_gone()

        async with odd_server(Handshaking(call)) as server, connecting(server.url) as ours:
            with http_error(500):
                await ours.call_tool("x")

    async def test_a_body_may_be_compressed_once(self) -> None:
        async def call(request: Request, reply: Reply) -> None:
            coding = request.value["params"]["name"]
            said = _bytes({"jsonrpc": "2.0", "id": request.value["id"], "result": TEXT})
            for _ in coding.split(", "):
                said = gzip.compress(said)
            await reply.send(200, said, content_encoding=coding)

        async with odd_server(Handshaking(call)) as server, connecting(server.url) as ours:
            assert (await ours.call_tool("gzip")).to_wire() == TEXT
            with pytest.raises(RemoteError, match="compressed more than once"):
                await ours.call_tool("gzip, gzip")

    async def test_comments_without_end_keep_nobody_waiting(self) -> None:
        done: list[object] = []

        async def chunks() -> AsyncGenerator[bytes, None]:
            for _ in range(3):
                yield b":\n"
            done.append("comments")

        async def other() -> None:
            done.append("other")

        async def room() -> None:
            """There is always some."""

        made = SimpleNamespace(status_code=200, headers={}, aiter_bytes=chunks)
        reply = http_client.HttpReply(made, "GET x", 100)
        working = asyncio.create_task(other())
        await reply.read_events(done.append, room)
        await working
        assert done == ["other", "comments"]


async def test_long_body_and_refusal_leave_time_to_others_and_a_short_body_takes_none() -> None:
    for status, parts, expected in (
        (200, 3, ["other", "read"]),
        (503, 1, ["other", "read"]),
        (200, 1, ["read", "other"]),
    ):
        with case((status, parts)):
            done: list[object] = []

            async def other(done: list[object] = done) -> None:
                done.append("other")

            async def chunks(parts: int = parts) -> AsyncGenerator[bytes, None]:
                for _ in range(parts):
                    yield b"[]"

            made = SimpleNamespace(status_code=status, headers={}, aiter_bytes=chunks)
            working = asyncio.create_task(other())
            await http_client.HttpReply(made, "POST x", 100).read()
            done.append("read")
            await working
            assert done == expected


def _bytes(message: object) -> bytes:
    return json.dumps(message).encode()


async def test_a_redirect_to_nowhere_is_reported() -> None:
    async def play(request: Request, reply: Reply) -> None:
        await reply.send(307, location="http://a:b/")

    async with odd_server(play) as server:
        with http_error(307):
            async with connecting(server.url):
                raise AssertionError("connected")
