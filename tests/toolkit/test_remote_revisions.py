"""Servers that are connected to and mounted: each is spoken to in the client's own revision."""

from itertools import product
from typing import Any

from support.json_types import JsonObject
from support.revisions import ERAS, HANDSHAKE, OLD, REVISIONS
from support.sessions.talking import Accepting, Hand, notification
from support.sessions.wiretap import SET_LEVEL, result, shake
from support.tables import case
from support.toolkit.kits import pkg
from support.toolkit.mounting import (
    ASKING,
    Hearing,
    app,
    in_memory,
    mount_remote,
    names_of,
    over_http,
    text_of,
    weather,
)


def noting_revisions(seen: set[str], refused: frozenset[str] = frozenset()) -> Any:
    """Return middleware that notes the revision of each client, and refuses the calls of some."""

    async def note(call: Any, next: Any) -> Any:
        seen.add(call.revision)
        if call.method == "tools/call" and call.revision in refused:
            raise pkg.McpError(-32603, "I can only ask in a session")
        return await next(call)

    return note


async def test_server_is_spoken_to_in_the_revision_of_each_client() -> None:
    ways = ((in_memory, REVISIONS), (over_http, ERAS))
    for over, own, spoken in ((way, *pair) for way, some in ways for pair in product(some, some)):
        with case((over.__name__, own, spoken)):
            seen: set[str] = set()
            remote, above = weather(OLD), app(own)
            remote.middleware = (noting_revisions(seen),)
            mount_remote(above, "weather", remote)
            hearing = Hearing(spoken)
            async with over(hearing.client, above) as one:
                assert "weather_touch" in (await names_of(one))["tools"]
                assert await text_of(one, "weather_forecast", place="Oslo") == "rain in Oslo"
                if {own, spoken} <= {*ASKING}:
                    assert await text_of(one, "weather_age") == "42 years"
                (read,) = (await one.read_resource("data://weather/now")).contents
                assert read.uri == "data://weather/now"
                async with hearing.hearing("data://weather/now"):
                    await text_of(one, "weather_touch")
                    await hearing.hears("data://weather/now")
            assert seen == {spoken}


def logging_server(levels: list[str], **capabilities: object) -> Accepting:
    """Return a server that notes the levels of log entries, and has one tool."""

    async def play(hand: Hand) -> None:
        await shake(hand, tools={}, **capabilities)
        while (asked := await hand.take()) is not None:
            answer: JsonObject = {"content": []}
            if asked["method"] == SET_LEVEL:
                levels.append(asked["params"]["level"])
                answer = {}
            elif capabilities:
                await hand.send(notification("notifications/message", level="error", data="hot"))
            await hand.send(result(asked["id"], **answer))

    return Accepting(play)


async def test_log_level_reaches_servers_that_have_one() -> None:
    for own, spoken in product(ERAS, HANDSHAKE):
        levels: list[str] = []
        above = app(own)
        mount_remote(above, "logs", logging_server(levels, logging={}))
        mount_remote(above, "silent", logging_server([]))
        hearing = Hearing(spoken)
        with case((own, spoken)):
            async with in_memory(hearing.client, above) as one:
                await one.set_level("warning")
                assert levels == []  # not connected yet
                for tool in ("silent_x", "logs_x"):
                    await one.call_tool(tool, {})
                assert levels == ["warning"]
                await one.set_level("error")
                assert levels == ["warning", "error"]
                await hearing.logs("hot")
