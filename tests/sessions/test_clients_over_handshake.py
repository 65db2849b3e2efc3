"""A client of the stateless era at a server of the handshake era; and one class at all servers."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from mcp_protogen.runtime.testing import in_memory
from mcp_revisions import v2025_11_25 as mcp
from mcp_revisions import v2026_07_28 as stateless
from mcp_revisions.v2025_11_25 import Session
from mcp_revisions.v2025_11_25.models import CallToolRequestParams
from support.json_types import JsonObject
from support.revisions import OLD, REVISIONS, STATELESS
from support.sessions.talking import (
    Accepting,
    Hand,
    call_params,
    client,
    content_of,
    entry,
    pkg,
    run,
    server,
    stub,
    tools,
)
from support.sessions.wiretap import (
    ID,
    SET_LEVEL,
    TOOLS_CHANGED,
    UPDATED,
    Wire,
    answer,
    m,
    new,
    noting,
    over,
    shake,
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
    wanted = new.SubscriptionFilter(resource_subscriptions=list(uris) or None, **lists)
    return new.SubscriptionsListenRequestParams(notifications=wanted)


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

    async def listen(self, params: Any) -> tuple[asyncio.Task[Any], int]:
        """Begin a stream; its id."""
        stream = asyncio.create_task(
            self.client.request(self.client.TABLE.requests["subscriptions/listen"], params)
        )
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


@pytest.mark.parametrize("subscribed", [True, False])
async def test_a_stream_ends_at_once_though_the_server_is_silent(subscribed: bool) -> None:
    async def play(hand: Hand) -> None:
        await shake(hand, resources={"subscribe": True})
        if subscribed:
            await answer(hand, "resources/subscribe")
        while await hand.take() is not None:
            pass

    listener = Listener()
    async with over(listener.client, Accepting(play)) as ours:
        stream = asyncio.create_task(
            ours.request(entry(ours, "subscriptions/listen"), wanting("a"))
        )
        await asyncio.sleep(0.05)
        assert len(listener.begun) == subscribed
        await stop(stream)


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
        stream = asyncio.create_task(
            ours.request(entry(ours, "subscriptions/listen"), wanting("a"))
        )
        await subscribing.wait()
        await stop(stream)
        await done.wait()


async def test_a_stream_ends_with_its_connection() -> None:
    async def play(hand: Hand) -> None:
        await shake(hand, tools={"listChanged": True})

    async with over(Listener().client, Accepting(play)) as ours:
        with pytest.raises(pkg.Disconnected):
            await ours.request(
                entry(ours, "subscriptions/listen"), wanting(tools_list_changed=True)
            )


def params_with_level(level: str) -> Any:
    return call_params(STATELESS, level, meta=new.RequestMetaObject(log_level=level))


def test_the_lowest_level_that_a_request_under_way_wants_is_set() -> None:
    heard: list[str] = []
    go = {level: asyncio.Event() for level in ("warning", "debug", "error")}

    async def call(session: Session, params: CallToolRequestParams) -> str:
        for level in ("debug", "warning", "error"):
            await session.log(level, params.name)
        await go[params.name].wait()
        return "done"

    async def script() -> None:
        wire = Wire()
        theirs = tools(OLD, call, SENDS=frozenset({"notifications/message"}))
        note = noting(heard, lambda params: f"{params.level} {params.data}")
        async with over(client(STATELESS, on_logging_message=note), theirs, wire) as ours:
            under_way: list[Any] = []
            for level in ("warning", "debug", "error"):
                under_way.append(
                    asyncio.create_task(
                        ours.request(entry(ours, "tools/call"), params_with_level(level))
                    )
                )
                last = f"error {level}"
                await until(partial(heard.__contains__, last))
            for level in ("debug", "warning", "error"):
                go[level].set()
            await asyncio.gather(*under_way)
            await ours.request(entry(ours, "tools/call"), params_with_level("error"))
            # A client without a subscription gets no changes.
            await ours.call_tool("error")
        levels = [level_params["level"] for level_params in wire.calls("logging/setLevel")]
        assert levels == ["warning", "debug", "error"]

    run(script())
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
        await ours.request(entry(ours, "tools/call"), params_with_level("debug"))
        calling = asyncio.create_task(
            ours.request(entry(ours, "tools/call"), params_with_level("error"))
        )
        await setting.wait()
        await stop(calling)
        await ours.request(entry(ours, "tools/call"), params_with_level("debug"))


# Whatever the server speaks.


async def test_client_class_works_with_all_servers() -> None:
    async def call(session: Session, params: CallToolRequestParams) -> str:
        return f"{session.revision} {session.client_info and session.client_info.name}"

    for revision in REVISIONS:
        with case(revision):
            opener = in_memory(tools(revision, call))
            async with pkg.connect(opener, as_=mcp) as ours:
                assert type(ours) is mcp.Client
                assert ours.revision == revision
                said = await ours.call_tool("x")
                assert isinstance(said, m.CallToolResult)
                assert content_of(said)[0].text == f"{revision} Client"
