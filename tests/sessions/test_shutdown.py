"""How a session ends: nothing is lost, and nothing is left."""

import asyncio
import gc
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest
from mcp_protogen.runtime.testing import in_memory
from mcp_protogen.runtime.transports.memory import memory_pair
from mcp_revisions.v2025_11_25 import Session
from mcp_revisions.v2025_11_25.models import CallToolRequestParams
from support.http.serving import app_of
from support.json_types import Json
from support.revisions import ERAS, OLD
from support.sessions.talking import (
    Accepting,
    Hand,
    client,
    hello,
    modern,
    notification,
    pkg,
    request,
    serve_by_hand,
    shaken,
    tools,
    welcome,
)
from support.tables import case

# All is in memory.
pytestmark = pytest.mark.skips_time


async def slow(session: Session, params: CallToolRequestParams) -> str:
    await asyncio.sleep(float(params.name))
    return "done"


class Broken:
    """A transport that stops working after some messages were sent."""

    def __init__(self, transport: Any, sends: int, error: type[Exception] = OSError) -> None:
        self._transport = transport
        self._sends = sends
        self._error = error
        self.closed = 0

    async def receive(self) -> Any:
        return await self._transport.receive()

    async def send(self, messages: Any) -> None:
        self._sends -= 1
        if self._sends < 0:
            raise self._error("the cable is cut")
        await self._transport.send(messages)

    async def close(self) -> None:
        self.closed += 1
        await self._transport.close()


def half_open(server: Any, **options: Any) -> tuple[Hand, Any, asyncio.Task[None]]:
    """A connection whose client can stop sending and still read."""
    ours, theirs = memory_pair()
    serving = asyncio.create_task(pkg.serve(server, theirs, options=pkg.Options(**options)))
    return Hand(ours), theirs, serving


async def handshake(hand: Hand, revision: str = OLD) -> None:
    await hand.send(hello(revision))
    await hand.take()
    await hand.send({"jsonrpc": "2.0", "method": "notifications/initialized"})


async def test_S1_31_answers_in_flight_are_written_when_the_client_stops_sending() -> None:
    hand, theirs, serving = half_open(tools(OLD, slow), max_in_flight=1)
    await handshake(hand)
    for id in (1, 2):
        await hand.send(request("tools/call", id, name="0.02"))
    await asyncio.sleep(0.01)
    theirs.feed_eof()
    assert [(await hand.take())["id"] for _ in "ab"] == [1, 2]
    await serving
    assert await hand.take() is None


async def test_slow_request_of_batch_is_answered_in_its_array() -> None:
    hand, theirs, serving = half_open(tools("2025-03-26", slow), drain=0.03, max_in_flight=1)
    await handshake(hand, "2025-03-26")
    times = {1: "0", 2: "60", 3: "60"}
    await hand.send([request("tools/call", id, name=time) for id, time in times.items()])
    await asyncio.sleep(0.01)
    theirs.feed_eof()
    answers = {answer["id"]: answer.get("error", {}).get("code") for answer in await hand.take()}
    assert answers == {1: None, 2: -32603, 3: -32603}
    await serving
    assert await hand.take() is None


@pytest.mark.shows("S1-31")
async def test_pending_calls_fail_with_the_reason_when_the_server_goes() -> None:
    async def play(hand: Hand) -> None:
        await hand.send(welcome((await hand.take())["id"], tools={}))
        await hand.take()
        await hand.take()

    async with pkg.connect(Accepting(play), client(OLD)) as ours:
        with pytest.raises(pkg.Disconnected, match="server closed"):
            await ours.call_tool("x")
        with pytest.raises(pkg.Disconnected, match="server closed"):
            await ours.ping()


@pytest.mark.shows("S0-27")
@pytest.mark.parametrize("revision", ERAS)
async def test_leaving_ends_calls_and_handlers(revision: str) -> None:
    stopped = asyncio.Event()

    async def wait(session: Session, params: CallToolRequestParams) -> str:
        try:
            await asyncio.sleep(60)
        finally:
            stopped.set()
        return "never"

    options = pkg.Options(drain=0.01)
    async with pkg.connect_in_memory(
        client(revision), tools(revision, wait), options=options
    ) as ours:
        waiting = asyncio.create_task(ours.call_tool("x"))
        await asyncio.sleep(0.01)
    with pytest.raises(pkg.Disconnected):
        await waiting
    assert stopped.is_set()


async def test_a_transport_that_cannot_be_written_to_ends_the_session() -> None:
    ours, theirs = memory_pair()
    broken = Broken(theirs, sends=1)
    serving = asyncio.create_task(pkg.serve(tools(OLD, slow), broken))
    hand = Hand(ours)
    await handshake(hand)
    await hand.send(request("tools/call", 1, name="0"))
    await serving
    assert broken.closed == 1
    assert await hand.take() is None


async def test_a_call_that_waits_ends_when_the_transport_fails_at_another_message() -> None:
    async def open() -> Any:
        inner = await in_memory(tools(OLD, slow))()
        # The cancellation of the second call is one message too many.
        return Broken(inner, sends=3, error=ValueError)

    outcomes: list[BaseException | None] = []
    with pytest.raises(ValueError, match="cable"):
        async with pkg.connect(open, client(OLD)) as ours:
            waiting = asyncio.create_task(ours.call_tool("60"))
            with pytest.raises(pkg.RequestTimeout):
                await ours.call_tool("60", timeout=0.01)
            ended, _ = await asyncio.wait({waiting}, timeout=30)
            outcomes += [task.exception() for task in ended]
    assert [str(outcome) for outcome in outcomes] == ["the transport failed: ValueError"]


async def test_a_cancelled_server_answers_what_is_open_and_closes_its_transport() -> None:
    hand, _, serving = half_open(tools(OLD, slow), drain=0.02)
    await handshake(hand)
    await hand.send(request("tools/call", 1, name="60"))
    await asyncio.sleep(0.01)
    serving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await serving
    assert (await hand.take())["error"]["code"] == -32603
    assert await hand.take() is None


_TIMES = 20


async def call(session: Session, params: CallToolRequestParams) -> str:
    if params.name == "waits":
        await asyncio.sleep(60)
    raise pkg.McpError(-1, "no")


async def check(name: str, once: Callable[[], Awaitable[object]]) -> None:
    """Fail if each time leaves a cycle of references."""
    with case(name):
        await once()
        # What is there already is not looked through.
        gc.freeze()
        gc.disable()
        try:
            for _ in range(_TIMES):
                await once()
            await asyncio.sleep(0.01)
            assert gc.collect() < _TIMES
        finally:
            gc.enable()


async def send_and_take(hand: Hand, message: object) -> None:
    await hand.send(message)
    await hand.take()


async def test_server_that_refuses_and_stops_leaves_no_cycles() -> None:
    async with shaken(tools(OLD, call)) as hand:
        await check("an error of a handler", lambda: hand.ask("tools/call", name="x"))
        await check(
            "no message", lambda: send_and_take(hand, b'{"jsonrpc": "2.0", "id": 7, "method": 3}')
        )

        async def cancel_call() -> None:
            await hand.send(request("tools/call", name="waits"))
            await asyncio.sleep(0.001)
            await hand.send(notification("notifications/cancelled", requestId=1))

        await check("a cancelled request", cancel_call)
    async with serve_by_hand(tools(OLD, call), revisions=pkg.REVISIONS) as hand:
        await check(
            "an error after rounds", lambda: send_and_take(hand, modern("tools/call", name="x"))
        )
        await check("no message of a revision", lambda: send_and_take(hand, b"3"))


async def test_a_client_whose_calls_fail_leaves_none() -> None:
    server = tools(OLD, call)
    async with pkg.connect_in_memory(client(OLD), server, revisions=pkg.REVISIONS) as ours:

        async def fails(name: str, timeout: float = 30) -> None:
            with suppress(pkg.McpError, pkg.RequestTimeout):
                await ours.call_tool(name, timeout=timeout)

        await check("an error", lambda: fails("x"))
        await check("no answer in time", lambda: fails("waits", timeout=0.001))


async def test_an_application_that_refuses_leaves_none() -> None:
    app = app_of(tools(OLD, call))
    fields = [(b"host", b"localhost"), (b"accept", b"*/*"), (b"content-type", b"application/json")]

    async def post_body(body: bytes) -> None:
        async def receive() -> Json:
            return {"type": "http.request", "body": body}

        async def send(message: Json) -> None:
            assert message.get("status", 400) == 400

        scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": fields}
        await app(scope, receive, send)

    await check("no message", lambda: post_body(b"3"))
    await check("no session", lambda: post_body(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}'))
    await app.close()
