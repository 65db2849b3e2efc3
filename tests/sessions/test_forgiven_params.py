"""Params with null for an absent member, or with 8.0 for 8: served, and logged at debug level."""

import asyncio
import logging
from typing import Any

import pytest
from support.json_types import Json, JsonObject
from support.revisions import OLD, STATELESS
from support.sessions.talking import (
    CAPABILITIES,
    META,
    Accepting,
    Hand,
    client,
    error,
    hello,
    notification,
    pkg,
    request,
    serve_by_hand,
    server,
    shaken,
    tools,
    welcome,
)
from support.tables import case

pytestmark = pytest.mark.skips_time


async def greet(session: Any, params: Any) -> str:
    return "hello"


async def list_tools(self: object, session: Any, params: Any) -> object:
    return pkg.load(OLD).models.ListToolsResult(tools=[])


async def test_server_reads_null_as_absent(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "mcp_protogen.runtime")
    messages: list[JsonObject] = [
        {**request("ping"), "params": None},
        request("ping", _meta=None),
        {**request("tools/list"), "params": None},
        request("tools/list", cursor=None),
        request("tools/list", cursor=None, _meta={"progressToken": None}),
        request("tools/call", name="x", arguments=None),
        request("tools/call", name="x", task=None, _meta=None),
    ]
    async with shaken(tools(OLD, greet, on_list_tools=list_tools)) as hand:
        for message in messages:
            with case(message):
                caplog.clear()
                await hand.send(message)
                assert "result" in await hand.take()
                assert "although they break the schema at /params" in caplog.text


async def test_server_takes_capabilities_with_null() -> None:
    greeting = hello(OLD, sampling=None, elicitation={"form": None}, roots={"listChanged": None})
    async with serve_by_hand(server(OLD)) as hand:
        await hand.send(greeting)
        assert "result" in await hand.take()
    called = {**META, CAPABILITIES: {"sampling": None}, "progressToken": None}
    async with serve_by_hand(tools(STATELESS, greet)) as hand:
        assert "result" in await hand.ask("tools/call", 1, _meta=called, name="x", arguments=None)


async def test_server_reads_params_anew_at_most_eight_times() -> None:
    for count, member in [(8, "result"), (9, "error")]:
        icons = [{"src": "https://x.example/i.png", "sizes": None}] * count
        greeting = hello(OLD)
        greeting["params"]["clientInfo"]["icons"] = icons
        with case(count):
            async with serve_by_hand(server(OLD)) as hand:
                await hand.send(greeting)
                assert member in await hand.take()


async def test_server_refuses_null_for_what_it_needs() -> None:
    async with shaken(tools(OLD, greet)) as hand:
        table: list[tuple[JsonObject, str]] = [
            ({"name": None}, "/params/name"),
            ({"name": "x", "arguments": {}, "_meta": 1, "task": None}, "/params/_meta"),
            ({"name": 8.0}, "/params/name"),
        ]
        for params, pointer in table:
            with case(params):
                answer = await hand.ask("tools/call", 1, **params)
                assert answer["error"]["code"] == -32602
                problems = answer["error"]["data"]["problems"]
                assert pointer in [problem["pointer"] for problem in problems]


async def test_cancellation_counts_in_spite_of_null_and_whole_floats() -> None:
    cancelled: list[object] = []

    async def wait(session: Any, params: Any) -> str:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(params.name)
            raise
        return "done"

    called: JsonObject = {"name": "x", "_meta": META}
    ways: list[JsonObject] = [{"reason": None}, {"_meta": None}, {"requestId": 4.0}]
    for revision in (OLD, STATELESS):
        for given in ways:
            with case((revision, given)):
                connect = shaken if revision == OLD else serve_by_hand
                async with connect(tools(revision, wait)) as hand:
                    await hand.send(request("tools/call", 4, **called))
                    await asyncio.sleep(1)
                    params: dict[str, Json] = {"requestId": 4, **given}
                    await hand.send(notification("notifications/cancelled", **params))
                    assert await hand.is_silent(1)
                    assert cancelled.pop() == "x"


async def test_client_takes_progress_with_null_and_whole_floats() -> None:
    heard: list[Json] = []

    async def talk(hand: Hand) -> None:
        while (message := await hand.take()) is not None:
            if message["method"] == "initialize":
                await hand.send(welcome(message["id"], tools={}))
            elif message["method"] == "tools/call":
                token = float(message["params"]["_meta"]["progressToken"])
                params = {"progressToken": token, "progress": 1, "total": None, "message": None}
                await hand.send(notification("notifications/progress", **params))
                await hand.send(error(message["id"], 1, "over"))

    async with pkg.connect(Accepting(talk), client(OLD)) as ours:
        with pytest.raises(pkg.McpError, match="over"):
            await ours.call_tool("x", on_progress=heard.append)
    assert [(told.done, told.total, told.message) for told in heard] == [(1, None, None)]
