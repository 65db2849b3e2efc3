"""A client of one era at a server of the other; and one class at all servers."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import pytest
from mcp_revisions import v2026_07_28 as stateless
from mcp_revisions.v2025_11_25 import Session
from mcp_revisions.v2025_11_25.models import (
    CallToolRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
)
from support.json_types import JsonObject
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
    server,
    stub,
    tools,
)
from support.sessions.wiretap import (
    ID,
    LEVEL,
    LISTEN,
    SET_LEVEL,
    TOOLS_CHANGED,
    UPDATED,
    Wire,
    acknowledgment,
    agree,
    answer,
    m,
    new,
    noting,
    over,
    shake,
    stream,
    take_cancellation,
    until,
)
from support.tables import case

# All is in memory.
pytestmark = pytest.mark.skips_time


async def test_discover_is_answered_from_handshake() -> None:
    wire = Wire()
    said: JsonObject = {"info": m.Implementation(name="old", version="7")}
    said |= {"instructions": "Be kind.", "DECLARES": {"tools": {"listChanged": True}}}
    async with over(stub(stateless.Client), server(OLD, **said), wire) as ours:
        before = len(wire)
        known = await ours.discover()
        assert len(wire) == before
        assert known.supported_versions == [OLD]
        assert known.instructions == ours.instructions == "Be kind."
        assert known.capabilities.to_wire() == {"tools": {"listChanged": True}}
        assert known.meta and known.meta.server_info and ours.server_info
        assert known.meta.server_info.name == ours.server_info.name == "old"


def wanting(*uris: str, **lists: bool) -> Any:
    return new.SubscriptionFilter(resource_subscriptions=list(uris) or None, **lists)


class Listener:
    """A client of the stateless era that records its streams."""

    def __init__(self) -> None:
        self.begun: list[Any] = []
        self.heard: list[Any] = []
        meta: Callable[[Any], Any] = lambda params: params.meta.to_wire()[ID]  # noqa: E731
        self.client = stub(
            stateless.Client,
            on_subscriptions_acknowledged=noting(self.begun, meta),
            on_resource_updated=noting(self.heard, lambda params: (params.uri, meta(params))),
            on_tool_list_changed=noting(self.heard, lambda params: ("tools", meta(params))),
        )

    async def listen(self, wanted: Any) -> tuple[asyncio.Task[Any], int]:
        """Begin a stream; its id."""
        stream = asyncio.create_task(self.client.subscriptions_listen(wanted))
        await until(lambda: bool(self.begun) or stream.done())
        return stream, self.begun.pop()


async def stop(stream: asyncio.Task[Any]) -> None:
    """Close a stream at once."""
    stream.cancel()
    await asyncio.wait((stream,), timeout=0.2)
    assert stream.cancelled()


async def test_streams_are_made_of_single_subscriptions_that_last_as_long_as_any_wants_them() -> (
    None
):
    wire, listener = Wire(), Listener()
    theirs = server(OLD, SENDS=frozenset({UPDATED, TOOLS_CHANGED}))
    async with over(listener.client, theirs, wire):
        stream, one = await listener.listen(wanting("a"))
        other, two = await listener.listen(wanting("a", "b", tools_list_changed=True))
        await theirs.resource_updated("b")
        await theirs.resource_updated("a")
        await theirs.tools_list_changed()
        await until(lambda: len(listener.heard) == 4)
        assert sorted(listener.heard[1:3]) == [("a", one), ("a", two)]
        assert (listener.heard[0], listener.heard[3]) == (("b", two), ("tools", two))
        assert wire.calls("resources/subscribe") == [{"uri": "a"}, {"uri": "b"}]
        await stop(stream)
        await theirs.resource_updated("a")
        await until(lambda: len(listener.heard) == 5)
        assert listener.heard[-1] == ("a", two)
        assert not wire.calls("resources/unsubscribe")
        await stop(other)
        await until(lambda: len(wire.calls("resources/unsubscribe")) == 2)
        assert wire.calls("resources/unsubscribe") == [{"uri": "a"}, {"uri": "b"}]
        await theirs.tools_list_changed()


async def test_a_stream_given_up_while_it_subscribes_unsubscribes_all_the_same() -> None:
    subscribing, done = asyncio.Event(), asyncio.Event()

    async def play(hand: Hand) -> None:
        await shake(hand, resources={"subscribe": True})
        asked = await hand.take()
        assert asked["method"] == "resources/subscribe"
        subscribing.set()
        assert await take_cancellation(hand) == asked["id"]
        assert await answer(hand, "resources/unsubscribe") == {"uri": "a"}
        done.set()
        await hand.take()

    async with over(stub(stateless.Client), Accepting(play)) as ours:
        stream = asyncio.create_task(ours.subscriptions_listen(wanting("a")))
        await subscribing.wait()
        await stop(stream)
        await done.wait()


async def test_a_stream_ends_with_its_connection() -> None:
    async def play(hand: Hand) -> None:
        await shake(hand, tools={"listChanged": True})

    async with over(Listener().client, Accepting(play)) as ours:
        with pytest.raises(pkg.Disconnected):
            await ours.subscriptions_listen(wanting(tools_list_changed=True))


def call_with_level(ours: Any, level: str) -> Awaitable[Any]:
    """Call a tool of this name, for log entries of this level."""
    called: Awaitable[Any] = ours.call_tool(level, meta=new.RequestMetaObject(log_level=level))
    return called


async def test_the_lowest_level_that_a_request_under_way_wants_is_set() -> None:
    heard: list[str] = []
    go = {level: asyncio.Event() for level in ("warning", "debug", "error")}

    async def call(session: Session, params: CallToolRequestParams) -> str:
        for level in ("debug", "warning", "error"):
            await session.log(level, params.name)
        await go[params.name].wait()
        return "done"

    wire = Wire()
    theirs = tools(OLD, call, SENDS=frozenset({"notifications/message"}))
    note = noting(heard, lambda params: f"{params.level} {params.data}")
    async with over(client(STATELESS, on_logging_message=note), theirs, wire) as ours:
        under_way: list[Any] = []
        for level in ("warning", "debug", "error"):
            under_way.append(asyncio.ensure_future(call_with_level(ours, level)))
            last = f"error {level}"
            await until(partial(heard.__contains__, last))
        for level in ("debug", "warning", "error"):
            go[level].set()
        await asyncio.gather(*under_way)
        await call_with_level(ours, "error")
        # A client without a subscription gets no changes.
        await ours.call_tool("error")
    levels = [level_params["level"] for level_params in wire.calls("logging/setLevel")]
    assert levels == ["warning", "debug", "error"]
    of = [f"{level} {{}}" for level in ("debug", "warning", "error")]
    expected = [*of[1:], *of, *of, of[2]]
    names = ["warning"] * 2 + ["debug"] * 3 + ["error"] * 4
    assert heard == [template.format(name) for template, name in zip(expected, names, strict=True)]


async def test_a_level_whose_setting_was_cancelled_is_not_taken_for_set() -> None:
    setting = asyncio.Event()

    async def play(hand: Hand) -> None:
        await shake(hand, tools={}, logging={})
        assert await answer(hand, SET_LEVEL) == {"level": "debug"}
        await answer(hand, "tools/call", content=[])
        asked = await hand.take()
        assert (asked["method"], asked["params"]) == (SET_LEVEL, {"level": "error"})
        setting.set()
        assert await take_cancellation(hand) == asked["id"]
        assert await answer(hand, SET_LEVEL) == {"level": "debug"}
        await answer(hand, "tools/call", content=[])
        await hand.take()

    async with over(stub(stateless.Client), Accepting(play)) as ours:
        await call_with_level(ours, "debug")
        calling = asyncio.ensure_future(call_with_level(ours, "error"))
        await setting.wait()
        await stop(calling)
        await call_with_level(ours, "debug")


# Whatever the server speaks.


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


async def test_the_level_that_was_set_goes_with_each_later_request() -> None:
    heard: list[str] = []

    async def call(session: Session, params: CallToolRequestParams) -> str:
        for level in ("debug", "info", "error"):
            await session.log(level, params.name)
        return "done"

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
