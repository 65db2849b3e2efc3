"""Requests leave nothing behind, even without garbage collection."""

import asyncio
import gc
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest
from mcp_revisions.v2025_11_25 import Session
from mcp_revisions.v2025_11_25.models import CallToolRequestParams
from support.http.serving import app_of
from support.json_types import Json
from support.revisions import OLD
from support.sessions.talking import (
    Hand,
    client,
    modern,
    notification,
    pkg,
    request,
    serve_by_hand,
    shaken,
    tools,
)
from support.tables import case

# All is in memory.
pytestmark = pytest.mark.skips_time

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
