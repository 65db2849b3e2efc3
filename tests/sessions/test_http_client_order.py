"""The order of messages, and cancellation by the client."""

import asyncio
from contextvars import ContextVar

import pytest
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
    odd_server,
    over,
    with_roots,
)
from support.sessions.talking import client, notification, pkg


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

    @BOTH
    async def test_leaving_closes_what_is_open(self, revision: str) -> None:
        begun, closed = asyncio.Event(), asyncio.Event()

        async def call(request: Request, reply: Reply) -> None:
            await reply.stream()
            begun.set()
            await reply.wait_until_gone()
            closed.set()

        async with odd_server(either(call, revision)) as server:
            async with connecting(server.url) as ours:
                calling = asyncio.create_task(ours.call_tool("x"))
                await begun.wait()
            with pytest.raises(pkg.Disconnected):
                await calling
            await closed.wait()


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

    async def test_a_call_waits_until_the_server_has_answered_for_its_stream(self) -> None:
        order: list[str] = []

        class Slow(Handshaking):
            async def __call__(self, request: Request, reply: Reply) -> None:
                if request.verb == "GET":
                    await asyncio.sleep(0.1)
                order.append(request.method or request.verb)
                await super().__call__(request, reply)

        async with odd_server(Slow()) as server, connecting(server.url) as ours:
            await ours.call_tool("x")
        assert order[order.index("notifications/initialized") + 1 :][:2] == ["GET", "tools/call"]

    @pytest.mark.parametrize("status", [200, 204, 400, 500])
    def test_a_notification_that_is_refused_harms_nobody(
        self, status: int, caplog: pytest.LogCaptureFixture
    ) -> None:
        class Refusing(Handshaking):
            async def __call__(self, request: Request, reply: Reply) -> None:
                if request.method.startswith("notifications/"):
                    await reply.send(status, b"no", "text/plain")
                else:
                    await super().__call__(request, reply)

        calling(Refusing())
        refused = f"notifications/initialized was refused: HTTP {status}" in caplog.text
        assert refused == (status >= 400)
