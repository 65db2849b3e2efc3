"""What clients keep when the connection to a mounted server ends, and while it cannot be opened."""

import asyncio
from contextlib import AsyncExitStack
from itertools import permutations, product
from typing import Any

import pytest
from mcp_protogen.runtime.core.connection_errors import Disconnected
from support.http.serving import run_app
from support.revisions import ERAS, OLD, STATELESS
from support.sessions.talking import Accepting, Hand
from support.sessions.wiretap import result, shake
from support.tables import case
from support.toolkit.kits import pkg
from support.toolkit.mounting import (
    KINDS,
    Hearing,
    app,
    app_with_remote,
    in_memory,
    mount_remote,
    only,
    over_http,
    serving_over_http,
    text_of,
    until,
    wait_for_connections,
    weather,
)


class Breaking:
    """Opens connections to a server, which may be out of reach."""

    def __init__(self, server: Any) -> None:
        self._open = pkg.connect.opener(server)
        self.opened: list[Any] = []
        self.is_there = True

    async def __call__(self) -> Any:
        if not self.is_there:
            raise Disconnected("not there")
        self.opened.append(await self._open())
        return self.opened[-1]


async def test_listen_stream_hears_of_server_that_comes_later() -> None:
    for over in (in_memory, over_http):
        remote = only(weather(OLD))
        opener = Breaking(remote)
        opener.is_there = False
        hearing = Hearing(STATELESS)
        top = app_with_remote(STATELESS, opener)
        async with over(hearing.client, top) as one, hearing.hearing():
            opener.is_there = True
            assert await text_of(one, "r_touch") == "touched"
            await hearing.hears(*KINDS)
            remote.add_tool(lambda: "new", name="new")
            await hearing.hears("tool")
            assert len(opener.opened) == 1


async def test_listen_stream_keeps_connection_that_took_the_place_of_another() -> None:
    remote = only(weather(OLD))
    opener, top = Breaking(remote), app(STATELESS)
    mount_remote(top, "r", opener, max_connections=1)
    async with serving_over_http(top) as connect:
        listening, other = Hearing(STATELESS), Hearing(STATELESS)
        other.client.info = pkg.load(STATELESS).models.Implementation(name="other", version="1")
        for hearing in (listening, other):
            await connect(hearing.client)
        async with listening.hearing():
            await text_of(listening.client, "r_touch")
            opener.opened[0].feed_eof()
            await wait_for_connections(remote, 0)
            await text_of(listening.client, "r_touch")
            await listening.hears(*KINDS)
            await text_of(other.client, "r_touch")
            remote.add_tool(lambda: "new", name="new")
            await listening.hears("tool")


async def test_calls_that_wait_for_their_turn_are_sent_on_the_next_connection() -> None:
    for spoken in ERAS:
        taken: list[list[str]] = []
        begun: list[object] = []

        async def note(call: Any, go_on: Any, begun: Any = begun) -> Any:
            if call.method == "tools/call":
                begun.append(call)
            return await go_on(call)

        async def play(hand: Hand, taken: Any = taken, begun: Any = begun) -> None:
            await shake(hand, tools={})
            names: list[str] = []
            taken.append(names)
            while (asked := await hand.take()) is not None:
                names.append(asked["params"]["name"])
                if len(taken) == 1:
                    await until(lambda: len(begun) == 8)
                    return
                await hand.send(result(asked["id"], content=[]))

        top = app_with_remote(spoken, Accepting(play), concurrency=1)
        top.middleware = (note,)
        async with in_memory(Hearing(spoken).client, top) as one:
            calls = (text_of(one, f"r_{number}") for number in range(8))
            first, *others = await asyncio.gather(*calls, return_exceptions=True)
        assert isinstance(first, pkg.McpError)
        assert first.data == {"server": "r", "reason": "interrupted"}
        assert others == [""] * 7
        assert taken == [["0"], [*"1234567"]]


@pytest.mark.skips_time
async def test_server_that_hangs_delays_neither_levels_nor_listen_streams() -> None:
    async def play(hand: Hand) -> None:
        await shake(hand, tools={}, logging={}, resources={"subscribe": True})
        while (asked := await hand.take()) is not None:
            if asked["method"] == "tools/call":
                await hand.send(result(asked["id"], content=[]))

    for spoken in ERAS:
        hearing, good = Hearing(spoken), only(weather(OLD))
        top = app_with_remote(spoken, Accepting(play), timeout=600.0)
        mount_remote(top, "good", good)
        async with in_memory(hearing.client, top) as one:
            await text_of(one, "r_x")
            async with asyncio.timeout(15):
                if spoken == OLD:
                    await one.set_level("error")
                    await text_of(one, "good_forecast", place="Oslo")
                    assert hearing.logged == []
                    continue
                async with hearing.hearing("data://r/x", "data://good/now"):
                    await text_of(one, "good_touch")
                    await hearing.hears("data://good/now")


async def test_level_that_changes_while_a_connection_opens_reaches_the_server() -> None:
    levels: list[str] = []
    go_on = asyncio.Event()

    async def play(hand: Hand) -> None:
        await shake(hand, tools={}, logging={})
        while (asked := await hand.take()) is not None:
            if asked["method"] == "tools/call":
                await hand.send(result(asked["id"], content=[]))
                continue
            levels.append(asked["params"]["level"])
            await go_on.wait()
            await hand.send(result(asked["id"]))

    async with in_memory(Hearing(OLD).client, app_with_remote(OLD, Accepting(play))) as one:
        await one.set_level("error")
        calling = asyncio.create_task(one.call_tool("r_x", {}))
        await until(lambda: levels == ["error"])
        changing = asyncio.create_task(one.set_level("debug"))
        await asyncio.sleep(0.05)
        go_on.set()
        await asyncio.gather(calling, changing)
        assert levels == ["error", "debug"]


async def test_server_that_is_gone_is_not_told_of_a_level(caplog: pytest.LogCaptureFixture) -> None:
    gone = asyncio.Event()

    async def play(hand: Hand) -> None:
        await shake(hand, tools={}, logging={})
        while (asked := await hand.take()) is not None:
            await hand.send(result(asked["id"], content=[]))
            if asked["method"] == "tools/call":
                break
        gone.set()

    async with in_memory(Hearing(OLD).client, app_with_remote(OLD, Accepting(play))) as one:
        await text_of(one, "r_x")
        await gone.wait()
        await asyncio.sleep(0.05)
        caplog.clear()
        await one.set_level("error")
        await asyncio.sleep(0.05)
        assert caplog.text == ""


async def test_server_that_comes_back_with_another_revision_is_used_in_that() -> None:
    uri = "data://r/now"
    revisions = permutations((OLD, STATELESS, "2025-06-18"), 2)
    for over, spoken, (old, new) in product((in_memory, over_http), ERAS, revisions):
        with case((over.__name__, spoken, old, new)):
            hearing = Hearing(spoken)
            async with AsyncExitStack() as stack:
                first, second = only(weather(old)).http(), only(weather(new)).http()
                async with run_app(first) as port:
                    top = app_with_remote(spoken, f"http://127.0.0.1:{port}/mcp")
                    one = await stack.enter_async_context(over(hearing.client, top))
                    await stack.enter_async_context(hearing.hearing(uri))
                    await text_of(one, "r_touch")
                    await hearing.hears(uri)
                    await first.close()
                await stack.enter_async_context(run_app(second, port=port))
                stack.push_async_callback(second.close)
                calls = (text_of(one, "r_forecast", place="Oslo") for _ in range(3))
                assert await asyncio.gather(*calls) == ["rain in Oslo"] * 3
                await hearing.hears(uri, *KINDS)
                await text_of(one, "r_touch")
                await hearing.hears(uri)
