"""Subscriptions of clients that share a connection to a mounted server."""

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import pytest
from support.revisions import ERAS, OLD, STATELESS
from support.sessions.talking import Accepting, Hand
from support.sessions.wiretap import result, shake
from support.tables import case
from support.toolkit.mounting import (
    Hearing,
    app,
    in_memory,
    mount_remote,
    serving_over_http,
    text_of,
    until,
)

URI = "data://weather/x"


async def test_stream_that_begins_while_another_ends_keeps_its_subscription() -> None:
    asked: list[str] = []
    second, answers = asyncio.Event(), asyncio.Event()

    async def play(hand: Hand) -> None:
        await shake(hand, resources={"subscribe": True}, tools={})
        while (request := await hand.take()) is not None:
            asked.append(request["method"])
            if asked.count("resources/subscribe") == 2:
                second.set()
                await answers.wait()
            await hand.send(result(request["id"], content=list[object]()))

    top: Any = app(OLD)
    mount_remote(top, "weather", Accepting(play))
    connections = top.__mcp_runtime__.connections
    async with serving_over_http(top) as connect, AsyncExitStack() as stack:
        hearings = [Hearing(STATELESS), Hearing(STATELESS)]
        for hearing in hearings:
            await connect(hearing.client)
        ending, beginning = (hearing.hearing(URI) for hearing in hearings)
        await ending.__aenter__()
        entering = asyncio.create_task(stack.enter_async_context(beginning))
        await second.wait()
        number = len(connections)
        await ending.__aexit__(None, None, None)
        await until(lambda: len(connections) < number)
        answers.set()
        await entering
        await text_of(hearings[1].client, "weather_touch")
        assert asked[-1] == "tools/call"
        assert "resources/unsubscribe" not in asked


@pytest.mark.skips_time
async def test_stream_waits_once_for_all_resources_of_a_server_that_hangs() -> None:
    async def play(hand: Hand) -> None:
        await shake(hand, resources={"subscribe": True})
        while await hand.take() is not None:
            pass

    for own in ERAS:
        top: Any = app(own)
        mount_remote(top, "weather", Accepting(play), list_timeout=4.0)
        hearing, clock = Hearing(STATELESS), asyncio.get_running_loop().time
        with case(own):
            async with in_memory(hearing.client, top):
                begin = clock()
                uris = [f"data://weather/{number}" for number in range(5)]
                async with hearing.hearing(*uris):
                    assert 4 <= clock() - begin < 8
