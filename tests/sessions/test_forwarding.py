"""A bridge between a client and a server of one revision: messages pass unchanged."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import pytest
from mcp_protogen.runtime.transports.memory import memory_pair
from support.json_types import Json, JsonObject
from support.revisions import ERAS, OLD, STATELESS
from support.sessions.bridging import serve_bridged
from support.sessions.talking import (
    INITIALIZED,
    Accepting,
    Hand,
    error,
    hello,
    modern,
    notification,
    pkg,
    request,
)
from support.sessions.wiretap import ID, agree, result, shake, stream
from support.tables import case

# All is in memory.
pytestmark = pytest.mark.skips_time

PROGRESS = "notifications/progress"
CANCELLED = "notifications/cancelled"
LISTEN = "subscriptions/listen"
CHANGED = "notifications/tools/list_changed"
LISTENING: JsonObject = {"notifications": {"toolsListChanged": True}}

NEWEST = [revision for revision in pkg.REVISIONS if revision.id == STATELESS]

Play = Callable[[Hand], Awaitable[None]]


@asynccontextmanager
async def greet_bridge(play: Play, **options: Any) -> AsyncGenerator[Hand, None]:
    """The end of a client of 2025-11-25, after the handshake with a server that declares tools."""

    async def serve_hand(hand: Hand) -> None:
        await shake(hand, tools={})
        await play(hand)
        await hand.take()

    async with serve_bridged(Accepting(serve_hand), **options) as hand:
        await hand.greet()
        yield hand


async def test_bridge_passes_results_as_they_came() -> None:
    tool = {"name": "x", "title": None, "inputSchema": {"type": "object"}, "annotations": None}
    results: list[Json] = [
        {"tools": [tool, {}], "nextCursor": None},
        {"content": [{"type": "unknown", "annotations": None}], "_meta": {"a": [None]}},
        {"content": None, "isError": "no"},
        {},
        None,
        [1, 2.5, "x"],
        10**30,
    ]

    async def play(hand: Hand) -> None:
        for given in results:
            asked = await hand.take()
            await hand.send({"jsonrpc": "2.0", "id": asked["id"], "result": given})

    async with greet_bridge(play) as hand:
        for number, given in enumerate(results):
            with case(number):
                assert (await hand.ask("tools/list", number))["result"] == given


@pytest.mark.parametrize("revision", ERAS)
async def test_bridge_passes_introduction_as_it_came(revision: str) -> None:
    introduction: JsonObject = {
        "capabilities": {"logging": None, "tools": {}, "x": 1},
        "instructions": None,
        "more": [1],
        "protocolVersion": OLD,
    }
    if revision == STATELESS:
        introduction["supportedVersions"] = [STATELESS]
    odd: list[JsonObject] = [
        {"serverInfo": {"name": "s"}, "_meta": {"a": "b"}},
        {"_meta": None},
        {"_meta": [], "serverInfo": None},
    ]
    for members in odd:
        given = {**introduction, **members}

        async def play(hand: Hand, given: JsonObject = given) -> None:
            await hand.send(result((await hand.take())["id"], **given))
            await hand.take()

        with case(members):
            async with serve_bridged(Accepting(play)) as hand:
                await hand.send(hello(OLD) if revision == OLD else modern("server/discover"))
                assert (await hand.take())["result"] == given


async def test_bridge_passes_params_and_unknown_methods_of_the_client_as_they_came() -> None:
    sent: list[JsonObject] = [
        request("tools/call", 1, name=5, arguments=[None]),
        request("resources/subscribe", 2, uri=None),
        request("logging/setLevel", 3, level="loud"),
        request("completion/complete", 4),
        {**request("x/y", 5), "params": [1]},
    ]
    told = [notification("x/told", a=None), notification("notifications/roots/list_changed", b=1)]
    came: list[Json] = []

    async def play(hand: Hand) -> None:
        for _ in sent:
            came.append(await hand.take())
            await hand.send(result(came[-1]["id"]))
        came.extend([await hand.take() for _ in told])

    async with greet_bridge(play) as hand:
        for message in sent:
            await hand.send(message)
            assert (await hand.take())["result"] == {}
        await hand.send(*told)
    assert [
        {**message, "id": given["id"]} for message, given in zip(came, sent, strict=False)
    ] == sent
    assert came[len(sent) :] == told


async def test_bridge_passes_errors_of_both_sides_as_they_came() -> None:
    errors = [(-32600, "a"), (-32601, "Method not found"), (7, ""), (-32042, "x\n")]

    async def play(hand: Hand) -> None:
        for code, text in errors:
            asked = await hand.take()
            await hand.send(request("sampling/createMessage", 9))
            refused = (await hand.take())["error"]
            assert refused == {"code": code, "message": text, "data": [None]}
            await hand.send(error(asked["id"], code, text, {"why": None}))

    async with greet_bridge(play) as hand:
        for code, text in errors:
            question = await hand.ask("tools/call", 1)
            await hand.send(error(question["id"], code, text, [None]))
            expected = {"code": code, "message": text, "data": {"why": None}}
            assert (await hand.take())["error"] == expected


async def test_bridge_says_which_side_broke_an_answer() -> None:
    broken: JsonObject = {"error": {"code": "x", "message": "no"}}

    async def play(hand: Hand) -> None:
        asked = await hand.take()
        await hand.send(request("roots/list", 9))
        refused = (await hand.take())["error"]
        assert refused["code"] == -32603
        assert refused["message"].startswith("The client's answer to roots/list cannot be read: ")
        await hand.send({"jsonrpc": "2.0", "id": asked["id"], **broken})

    async with greet_bridge(play) as hand:
        question = await hand.ask("tools/list", 1)
        await hand.send({"jsonrpc": "2.0", "id": question["id"], **broken})
        refused = (await hand.take())["error"]
        assert refused["code"] == -32603
        assert refused["message"].startswith("The server's answer to tools/list cannot be read: ")


async def test_bridge_between_revisions_names_the_place_that_cannot_be_read() -> None:
    async def play(hand: Hand) -> None:
        await agree(hand, tools={})
        asked = await hand.take()
        tool = {"name": "x", "title": 5, "inputSchema": {"type": "object"}}
        await hand.send(result(asked["id"], resultType="complete", tools=[tool]))
        await hand.take()

    async with serve_bridged(Accepting(play), NEWEST) as hand:
        await hand.greet()
        refused = (await hand.ask("tools/list", 1))["error"]
    assert refused["code"] == -32603
    place = "The server's answer to tools/list cannot be read: /result/tools/0/title: "
    assert refused["message"].startswith(place)


async def test_every_report_of_progress_passes_as_it_came_and_in_order() -> None:
    reports: list[JsonObject] = [
        {"progress": 1, "total": None, "message": None},
        {"progress": 1},
        {"progress": 0.5, "x": [1]},
        *({"progress": done} for done in range(200)),
    ]
    log = {"level": "loud", "data": None}

    async def play(hand: Hand) -> None:
        asked = await hand.take()
        token = asked["params"]["_meta"]["progressToken"]
        told = [notification(PROGRESS, **report, progressToken=token) for report in reports]
        await hand.send(*told, notification("notifications/message", **log), result(asked["id"]))
        # A task goes on after its creation, and others are only late.
        await hand.send(notification(PROGRESS, progress=9, progressToken=token))

    async with greet_bridge(play) as hand:
        await hand.send(request("tools/call", 1, _meta={"progressToken": "t", "a": None}))
        for report in reports:
            assert (await hand.take())["params"] == {**report, "progressToken": "t"}
        assert (await hand.take())["params"] == log
        assert (await hand.take())["result"] == {}
        assert (await hand.take())["params"] == {"progress": 9, "progressToken": "t"}


async def test_late_report_with_a_long_token_is_not_passed_on() -> None:
    async def play(hand: Hand) -> None:
        asked = await hand.take()
        token = asked["params"]["_meta"]["progressToken"]
        await hand.send(notification(PROGRESS, progress=1, progressToken=token))
        await hand.send(result(asked["id"]))
        assert (await hand.take())["method"] == "x/over"
        await hand.send(notification(PROGRESS, progressToken=token), notification("x/end"))

    async with greet_bridge(play) as hand:
        long = "t" * 1001
        await hand.send(request("tools/call", 1, _meta={"progressToken": long}))
        assert (await hand.take())["params"] == {"progress": 1, "progressToken": long}
        assert (await hand.take())["result"] == {}
        await hand.send(notification("x/over"))
        assert (await hand.take())["method"] == "x/end"


async def test_client_reports_progress_to_the_server() -> None:
    async def play(hand: Hand) -> None:
        await hand.take()
        await hand.send(request("sampling/createMessage", 9, _meta={"progressToken": "s"}))
        assert (await hand.take())["params"] == {"progressToken": "s", "progress": 1}
        assert (await hand.take())["result"] == {"a": 1}
        assert (await hand.take())["params"] == {"progressToken": "of both", "progress": 2}

    async with greet_bridge(play) as hand:
        question = await hand.ask("tools/call", 1)
        token = question["params"]["_meta"]["progressToken"]
        await hand.send(
            notification(PROGRESS, progressToken=token, progress=1),
            result(question["id"], a=1),
            notification(PROGRESS, progressToken="of both", progress=2),
        )


async def test_cancellation_passes_with_its_reason_in_both_directions() -> None:
    async def play(hand: Hand) -> None:
        asked = await hand.take()
        await hand.send(request("elicitation/create", 9))
        await asyncio.sleep(0.1)
        await hand.send(notification(CANCELLED, requestId=9, a=1))
        cancelled = (await hand.take())["params"]
        assert cancelled == {"requestId": asked["id"], "reason": "enough"}
        await hand.send(result((await hand.take())["id"], tools=[]))

    async with greet_bridge(play) as hand:
        question = await hand.ask("tools/call", 1)
        assert (await hand.take())["params"] == {"requestId": question["id"], "a": 1}
        await hand.send(notification(CANCELLED, requestId=1, reason="enough"))
        assert (await hand.ask("tools/list", 2))["result"] == {"tools": []}


ENDS: dict[str, list[Callable[[int], JsonObject]]] = {
    "result": [lambda id: result(id, resultType="complete", _meta={ID: id})],
    "cancellation and result": [
        lambda id: notification(CANCELLED, requestId=id, reason="bye"),
        lambda id: result(id, resultType="complete", _meta={ID: id}),
    ],
    "error": [lambda id: error(id, -5, "broken")],
}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("closes", [False, True])
async def test_end_of_listen_stream_passes_with_the_change_before_it(
    end: str, closes: bool
) -> None:
    async def play(hand: Hand) -> None:
        await agree(hand, tools={"listChanged": True})
        id, _ = await stream(hand)
        change = notification(CHANGED, _meta={ID: id})
        await hand.send(change, *(make(id) for make in ENDS[end]))
        if not closes:
            await hand.take()

    async with serve_bridged(Accepting(play)) as hand:
        await hand.send(modern(LISTEN, 7, **LISTENING))
        assert (await hand.take())["params"]["_meta"] == {ID: 7}
        assert await hand.take() == notification(CHANGED, _meta={ID: 7})
        for make in ENDS[end]:
            assert await hand.take() == make(7)


async def test_listen_stream_of_server_that_is_gone_ends_with_an_error() -> None:
    async def play(hand: Hand) -> None:
        await agree(hand, tools={"listChanged": True})
        id, _ = await stream(hand)
        await hand.send(notification(CHANGED, _meta={ID: id}))

    async with serve_bridged(Accepting(play)) as hand:
        await hand.send(modern(LISTEN, 7, **LISTENING))
        told = [await hand.take() for _ in range(3)]
        assert told[1] == notification(CHANGED, _meta={ID: 7})
        text = "The server is gone: the server closed the connection"
        assert (told[2]["id"], told[2]["error"]) == (7, {"code": -32603, "message": text})
        assert await hand.take() is None


async def test_bridge_ends_soon_after_its_client_while_it_connects() -> None:
    async def play(hand: Hand) -> None:
        while await hand.take() is not None:
            pass

    loop = asyncio.get_running_loop()
    ours, middle = memory_pair()
    bridge = pkg.Bridge(middle, Accepting(play), options=pkg.Options(drain=1.0))
    running = asyncio.create_task(bridge.run())
    hand, begun = Hand(ours), loop.time()
    await hand.send(hello(OLD))
    middle.feed_eof()
    refused = await hand.take()
    assert refused["error"] == {"code": -32603, "message": "The server cannot be reached"}
    with pytest.raises(pkg.Disconnected):
        await running
    assert loop.time() - begun < 2.0


async def test_client_that_closes_its_side_at_once_still_gets_its_answers() -> None:
    async def play(hand: Hand) -> None:
        asked = await hand.take()
        await asyncio.sleep(0.5)
        await hand.send(result(asked["id"], protocolVersion=OLD, capabilities={}))
        while asked := await hand.take():
            if "id" in asked:
                await asyncio.sleep(0.5)
                await hand.send(result(asked["id"], a=asked["id"]))

    ours, middle = memory_pair()
    running = asyncio.create_task(pkg.Bridge(middle, Accepting(play)).run())
    hand = Hand(ours)
    await hand.send(hello(OLD), INITIALIZED, request("tools/list", 1))
    middle.feed_eof()
    assert (await hand.take())["result"] == {"protocolVersion": OLD, "capabilities": {}}
    assert (await hand.take())["result"].keys() == {"a"}
    await running


async def test_bridge_opens_short_streams_less_and_less_often() -> None:
    opened: list[float] = []

    async def play(hand: Hand) -> None:
        await agree(hand, tools={"listChanged": True})
        for seconds in (0, 0, 0, 20, 0):
            id, _ = await stream(hand)
            opened.append(asyncio.get_running_loop().time())
            await asyncio.sleep(seconds)
            await hand.send(*(make(id) for make in ENDS["result"]))
        await stream(hand)
        opened.append(asyncio.get_running_loop().time())
        await hand.take()

    async with serve_bridged(Accepting(play), NEWEST) as hand:
        await hand.greet()
        for _ in range(5):
            assert await hand.take() == notification(CHANGED)
    pauses = [round(later - earlier) for earlier, later in pairwise(opened)]
    assert pauses == [1, 2, 4, 21, 2]


@pytest.mark.parametrize("end", ENDS)
async def test_bridge_between_revisions_listens_again_and_reports_what_it_may_have_missed(
    end: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def play(hand: Hand) -> None:
        await agree(hand, tools={"listChanged": True})
        for _ in range(2):
            id, _ = await stream(hand)
            await hand.send(*(make(id) for make in ENDS[end]))
        await stream(hand)
        await hand.take()

    async with serve_bridged(Accepting(play), NEWEST) as hand:
        await hand.greet()
        for _ in range(2):
            assert await hand.take() == notification(CHANGED)
    assert sum("is opened again" in message for message in caplog.messages) == 2
