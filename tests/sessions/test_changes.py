"""Changes: published once, and sent to subscribers as their revisions write them."""

import asyncio
from typing import Any, cast

import pytest
from mcp_protogen.runtime.transports.memory import memory_pair
from mcp_revisions import v2026_07_28 as stateless
from mcp_revisions.v2025_11_25 import Session
from mcp_revisions.v2025_11_25.models import NotificationParams, SubscribeRequestParams
from mcp_revisions.v2026_07_28.models import SubscriptionsAcknowledgedNotificationParams
from support.json_types import Json
from support.revisions import HANDSHAKE, STATELESS
from support.sessions.talking import (
    INITIALIZED,
    Accepting,
    Hand,
    client,
    discover_result,
    hello,
    models,
    modern,
    notification,
    pkg,
    serve_by_hand,
    server,
    shaken,
)
from support.tables import case

# All is in memory.
pytestmark = pytest.mark.skips_time

ID = "io.modelcontextprotocol/subscriptionId"
ALL = frozenset(
    {f"notifications/{feature}/list_changed" for feature in ("tools", "prompts", "resources")}
    | {"notifications/resources/updated"}
)


async def publish(ours: Any) -> None:
    await ours.tools_list_changed()
    await ours.prompts_list_changed()
    await ours.resources_list_changed()
    await ours.resource_updated("file:///a")
    await ours.resource_updated("file:///b")


@pytest.mark.shows("S2-10", "S4-09", "S4-10", "S4-11")
async def test_in_the_handshake_era_lists_are_told_and_resources_if_subscribed() -> None:
    for revision in HANDSHAKE:
        with case(revision):
            ours = server(revision, SENDS=ALL)
            async with shaken(ours, revision) as hand:
                await hand.ask("ping")
                await hand.ask("resources/subscribe", 2, uri="file:///a")
                await publish(ours)
                told = [await hand.take() for _ in range(4)]
                assert [message["method"] for message in told] == [
                    "notifications/tools/list_changed",
                    "notifications/prompts/list_changed",
                    "notifications/resources/list_changed",
                    "notifications/resources/updated",
                ]
                assert told[-1]["params"] == {"uri": "file:///a"}
                await hand.ask("resources/unsubscribe", 3, uri="file:///a")
                await ours.resource_updated("file:///a")
                assert await hand.is_silent()


async def test_HS09_nobody_is_told_before_initialized() -> None:
    ours = server("2025-11-25", SENDS=ALL)
    async with serve_by_hand(ours) as hand:
        await hand.send(hello())
        await hand.take()
        await publish(ours)
        assert await hand.is_silent()
        await hand.send(INITIALIZED)
        await hand.ask("ping")
        await ours.tools_list_changed()
        assert (await hand.take())["method"] == "notifications/tools/list_changed"


@pytest.mark.shows("S4-25")
async def test_a_handler_of_its_own_may_refuse_a_subscription() -> None:
    m = models("2025-11-25")

    async def on_subscribe(
        self: object, session: Session, params: SubscribeRequestParams
    ) -> object:
        if params.uri != "file:///a":
            raise pkg.McpError(-32002, "Resource not found")
        return m.EmptyResult()

    ours = server("2025-11-25", on_subscribe=on_subscribe)
    assert ours.capabilities().to_wire() == {"resources": {"subscribe": True}}
    async with shaken(ours) as hand:
        refused = await hand.ask("resources/subscribe", 1, uri="file:///b")
        assert refused["error"]["code"] == -32002
        await hand.ask("resources/subscribe", 2, uri="file:///a")
        await ours.resource_updated("file:///b")
        await ours.resource_updated("file:///a")
        assert (await hand.take())["params"]["uri"] == "file:///a"
        assert await hand.is_silent()


def listen(id: object, **wanted: object) -> Any:
    return modern("subscriptions/listen", id, notifications=wanted)


@pytest.mark.shows("S2-05")
async def test_acknowledgment_omits_undeclared_notifications() -> None:
    ours = server(STATELESS, SENDS=frozenset({"notifications/tools/list_changed"}))
    async with serve_by_hand(ours) as hand:
        wanted = {"toolsListChanged": True, "promptsListChanged": True}
        await hand.send(listen(1, **wanted, resourceSubscriptions=["u"]))
        assert (await hand.take())["params"]["notifications"] == {"toolsListChanged": True}


async def test_there_are_not_too_many_streams() -> None:
    async with serve_by_hand(server(STATELESS, SENDS=ALL), max_subscriptions=1) as hand:
        await hand.send(listen(1))
        await hand.take()
        await hand.send(listen(2))
        assert (await hand.take())["error"]["code"] == -32603


async def test_streams_do_not_take_the_place_of_requests() -> None:
    async with serve_by_hand(server(STATELESS, SENDS=ALL), max_in_flight=1) as hand:
        await hand.send(listen(1), listen(2), modern("server/discover", 3))
        answers = [await hand.take() for _ in range(3)]
        assert answers[-1].get("id") == 3


async def test_a_server_that_stops_ends_its_streams_gracefully() -> None:
    ours, theirs = memory_pair()
    serving = asyncio.create_task(pkg.serve(server(STATELESS, SENDS=ALL), theirs))
    hand = Hand(ours)
    await hand.send(listen(5, toolsListChanged=True))
    await hand.take()
    serving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await serving
    cancelled, result = await hand.take(), await hand.take()
    assert cancelled["method"] == "notifications/cancelled"
    assert cancelled["params"]["requestId"] == 5
    assert result["id"] == 5
    assert result["result"]["_meta"][ID] == 5
    assert await hand.take() is None


async def test_a_client_hears_of_changes_and_of_the_end() -> None:
    m = models(STATELESS)
    heard: list[object] = []
    begun = asyncio.Event()

    async def on_subscriptions_acknowledged(
        self: object, params: SubscriptionsAcknowledgedNotificationParams
    ) -> None:
        begun.set()

    async def on_tool_list_changed(self: object, params: NotificationParams) -> None:
        heard.append(cast(Json, params.meta).to_wire()[ID])

    ours: Any = client(
        STATELESS,
        on_tool_list_changed=on_tool_list_changed,
        on_subscriptions_acknowledged=on_subscriptions_acknowledged,
    )
    wanted = m.SubscriptionFilter(tools_list_changed=True)
    publisher = server(STATELESS, SENDS=ALL)
    async with pkg.connect_in_memory(ours, publisher):
        stream = asyncio.create_task(ours.subscriptions_listen(wanted))
        await begun.wait()
        await publisher.tools_list_changed()
        await asyncio.sleep(0.01)
        side: Any
        (side,) = publisher.__mcp_runtime__.connections
        side.abort(pkg.Disconnected("stopping"))
        ended = await stream
        assert heard == [ended.meta.subscription_id]


async def test_client_waits_a_second_for_the_result_of_an_ended_stream() -> None:
    wanted = models(STATELESS).SubscriptionFilter()
    for answers in (True, False):
        with case(str(answers)):

            async def play(hand: Hand, answers: bool = answers) -> None:
                await hand.send(discover_result((await hand.take())["id"]))
                asked = await hand.take()
                await hand.send(notification("notifications/cancelled", requestId=asked["id"]))
                if answers:
                    await asyncio.sleep(0.9)
                    listened = {"resultType": "complete", "_meta": {ID: asked["id"]}}
                    await hand.send({"jsonrpc": "2.0", "id": asked["id"], "result": listened})
                await hand.take()

            ours = cast(stateless.Client, client(STATELESS))
            async with pkg.connect(Accepting(play), ours):
                began = asyncio.get_running_loop().time()
                if answers:
                    ended = await ours.subscriptions_listen(wanted)
                    assert ended.meta.subscription_id
                else:
                    with pytest.raises(pkg.Disconnected, match="the peer ended the request"):
                        await ours.subscriptions_listen(wanted)
                    assert asyncio.get_running_loop().time() - began == pytest.approx(1.0)


@pytest.mark.shows("S1-18")
async def test_a_publisher_that_declares_nothing_is_mistaken(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ours = server("2025-11-25")
    await ours.tools_list_changed()
    async with shaken(ours) as hand:
        await hand.ask("ping")
        for _ in range(2):
            await ours.tools_list_changed()
            await ours.resource_updated("a:b")
        # Nothing comes before the answer.
        assert (await hand.ask("ping", 2))["result"] == {}
    for record, method in zip(
        caplog.records, ("tools/list_changed", "resources/updated"), strict=True
    ):
        assert (
            f'write SENDS = frozenset({{"notifications/{method}"}}) in the class'
            in record.getMessage()
        )


async def test_client_that_does_not_read_delays_no_other(caplog: pytest.LogCaptureFixture) -> None:
    ours = server("2025-11-25", SENDS=ALL)
    async with shaken(ours, max_outgoing=5, drain=0.05) as idle, shaken(ours) as reading:
        for hand in (idle, reading):
            await hand.ask("ping")
        for _ in range(2000):
            await ours.tools_list_changed()
        for _ in range(2000):
            assert (await reading.take())["method"] == "notifications/tools/list_changed"
    assert "does not read" in caplog.text
