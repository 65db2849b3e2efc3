"""A client of the handshake era at a server of the stateless one."""

import asyncio
from typing import Any

import pytest
from mcp_revisions.v2025_11_25 import Session
from mcp_revisions.v2025_11_25.models import (
    CallToolRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
)
from support.revisions import ERAS, OLD, STATELESS
from support.sessions.talking import (
    CAPABILITIES,
    Accepting,
    Hand,
    client,
    content_of,
    error,
    notification,
    pkg,
    run,
    server,
    tools,
)
from support.sessions.wiretap import (
    ID,
    LEVEL,
    LISTEN,
    UPDATED,
    Wire,
    acknowledgment,
    agree,
    answer,
    m,
    noting,
    over,
    stream,
    take_cancellation,
    until,
)
from support.tables import case

# All is in memory.
pytestmark = pytest.mark.skips_time


async def test_message_unknown_to_server_is_not_sent() -> None:
    lost: list[Any] = []
    wire = Wire()
    roots = client(OLD, DECLARES={"roots": {"listChanged": True}})
    async with over(roots, server(STATELESS), wire, on_loss=lost.append) as ours:
        before = len(wire)
        assert isinstance(await ours.ping(), m.EmptyResult)
        assert not lost
        for _ in range(2):
            await ours.notify_roots_list_changed()
        await asyncio.sleep(0.01)
        assert len(wire) == before
    assert [loss.method for loss in lost].count("notifications/roots/list_changed") == 1
    assert (lost[-1].own, lost[-1].wire) == (OLD, STATELESS)


def test_the_level_that_was_set_goes_with_each_later_request() -> None:
    heard: list[str] = []

    async def call(session: Session, params: CallToolRequestParams) -> str:
        for level in ("debug", "info", "error"):
            await session.log(level, params.name)
        return "done"

    async def script() -> None:
        wire = Wire()
        theirs = tools(STATELESS, call, SENDS=frozenset({"notifications/message"}))
        note = noting(heard, lambda params: f"{params.level} {params.data}")
        async with over(client(OLD, on_logging_message=note), theirs, wire) as ours:
            await ours.call_tool("a")
            for level in ("error", "debug"):
                await ours.set_level(level)
                await ours.call_tool(level)
        levels = [call_params["_meta"][LEVEL] for call_params in wire.calls("tools/call")]
        assert levels == ["info", "error", "debug"]
        assert all(CAPABILITIES in call_params["_meta"] for call_params in wire.calls("tools/call"))
        assert not wire.calls("logging/setLevel")

    run(script())
    debug = [f"{level} debug" for level in ("debug", "info", "error")]
    assert heard == ["info a", "error a", "error error", *debug]


async def test_subscriptions_share_single_stream_without_gap() -> None:
    done = asyncio.Event()

    async def play(hand: Hand) -> None:
        await agree(hand, resources={"subscribe": True})
        one, wanted = await stream(hand)
        assert wanted == {"resourceSubscriptions": ["a"]}
        asked = await hand.take()
        both = {"resourceSubscriptions": ["a", "b"]}
        assert asked["params"]["notifications"] == both
        assert await hand.is_silent()
        await hand.send(acknowledgment(asked["id"], both))
        assert await take_cancellation(hand) == one
        three, wanted = await stream(hand)
        assert wanted == {"resourceSubscriptions": ["b"]}
        assert await take_cancellation(hand) == asked["id"]
        assert await take_cancellation(hand) == three
        assert await hand.is_silent()
        done.set()

    async with over(client(OLD), Accepting(play)) as ours:
        for name in "ab":
            await ours.subscribe(name)
            await ours.subscribe(name)
        for name in "ab":
            await ours.unsubscribe(name)
        await done.wait()


async def test_a_server_that_never_acknowledges_is_given_up() -> None:
    async def play(hand: Hand) -> None:
        await agree(hand, resources={"subscribe": True})
        asked = await hand.take()
        assert asked["method"] == LISTEN
        assert await take_cancellation(hand) == asked["id"]
        assert await hand.take() is None

    async with over(client(OLD), Accepting(play), timeout=0.05) as ours:
        before = asyncio.all_tasks()
        with pytest.raises(TimeoutError):
            await ours.subscribe("a")
        await asyncio.sleep(0.01)
        assert asyncio.all_tasks() == before


async def test_an_update_right_behind_the_acknowledgement_arrives() -> None:
    heard: list[str] = []

    async def play(hand: Hand) -> None:
        await agree(hand, resources={"subscribe": True})
        await stream(hand, "a")
        await stream(hand, "b")
        await hand.take()

    ours = client(OLD, on_resource_updated=noting(heard, lambda params: params.uri))
    async with over(ours, Accepting(play)):
        for name in "ab":
            await ours.subscribe(name)
        await until(lambda: heard == ["a", "b"])


async def test_a_server_that_refuses_to_listen_can_be_talked_to() -> None:
    async def play(hand: Hand) -> None:
        await agree(hand, tools={"listChanged": True}, resources={"subscribe": True})
        for _ in range(2):
            asked = await hand.take()
            assert asked["method"] == LISTEN
            await hand.send(error(asked["id"], -32601))
        await answer(hand, "tools/call", resultType="complete", content=[])

    ours = client(OLD, on_tool_list_changed=noting([], str))
    async with over(ours, Accepting(play)):
        with pytest.raises(pkg.McpError) as caught:
            await ours.subscribe("a")
        assert caught.value.code == -32601
        assert content_of(await ours.call_tool("x")) == []


async def test_a_late_acknowledgement_of_a_stream_given_up_does_not_mute_the_next() -> None:
    heard: list[str] = []

    async def play(hand: Hand) -> None:
        await agree(hand, resources={"subscribe": True})
        first = await hand.take()
        assert await take_cancellation(hand) == first["id"]
        second = await hand.take()
        wanted, id = second["params"]["notifications"], second["id"]
        both = [acknowledgment(stream_id, wanted) for stream_id in (first["id"], id)]
        await hand.send(*both, notification(UPDATED, uri="a", _meta={ID: id}))
        await hand.take()

    ours = client(OLD, on_resource_updated=noting(heard, lambda params: params.uri))
    async with over(ours, Accepting(play), timeout=0.05):
        with pytest.raises(TimeoutError):
            await ours.subscribe("a")
        await ours.subscribe("a")
        await until(lambda: heard == ["a"])


async def test_a_resource_that_the_server_leaves_out_is_not_subscribed_to() -> None:
    async def play(hand: Hand) -> None:
        await agree(hand, resources={"subscribe": True})
        asked = await hand.take()
        assert asked["params"]["notifications"] == {"resourceSubscriptions": ["a"]}
        await hand.send(acknowledgment(asked["id"], {}))
        await hand.take()

    async with over(client(OLD), Accepting(play)) as ours:
        with pytest.raises(pkg.McpError):
            await ours.subscribe("a")


async def test_undeclared_capability_is_not_requested() -> None:
    for call, given, needs in [
        ("set_level", "info", "logging"),
        ("subscribe", "a", "resources.subscribe"),
        ("unsubscribe", "a", "resources.subscribe"),
    ]:
        with case((call, given, needs)):
            wire = Wire()
            async with over(
                client(OLD), server(STATELESS, DECLARES={"resources": {}}), wire
            ) as ours:
                before = len(wire)
                with pytest.raises(pkg.MissingCapability, match=needs):
                    await getattr(ours, call)(given)
                assert isinstance(await ours.ping(), m.EmptyResult)
                assert len(wire) == before


# In both directions.


@pytest.mark.parametrize("own", ERAS)
@pytest.mark.parametrize(
    ("revision", "code"), [("2024-11-05", -32002), (OLD, -32002), (STATELESS, -32602)]
)
async def test_RJ16_a_resource_that_is_not_there_has_the_code_that_the_client_knows(
    own: str, revision: str, code: int
) -> None:
    async def on_read_resource(
        self: object, session: Session, params: ReadResourceRequestParams
    ) -> ReadResourceResult:
        raise pkg.McpError(-32602 if own == STATELESS else -32002, "no", {"uri": params.uri})

    async with over(client(revision), server(own, on_read_resource=on_read_resource)) as ours:
        with pytest.raises(pkg.McpError) as caught:
            await ours.read_resource("file:///a")
        assert (caught.value.code, caught.value.data) == (code, {"uri": "file:///a"})
