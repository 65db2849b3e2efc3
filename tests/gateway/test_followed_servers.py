"""Servers behind a gateway that end streams, or are gone, while clients follow their changes."""

import asyncio
import logging
from itertools import product
from typing import Any

import pytest
from support.gateway.attempts import Attempts, for_hours, now
from support.gateway.gateways import behind, client_of, gateway
from support.gateway.listing import Listing, tools_of
from support.revisions import ERAS, OLD, STATELESS
from support.sessions.talking import Accepting, Hand, client, pkg
from support.sessions.wiretap import UPDATED, result, shake
from support.tables import case
from support.toolkit.mounting import Hearing

OWN, URI = "data://x", "data://a/x"
EVERYTHING = ("tool", "prompt", "resource")


@for_hours
async def test_server_that_is_gone_is_reached_again_for_clients_that_follow_it() -> None:
    for spoken, of_server in product(ERAS, ERAS):
        with case((spoken, of_server)):
            server, hearing = Listing("x", revision=of_server), Hearing(spoken)
            attempts = Attempts(server)
            fronts = gateway(behind("a", attempts))
            async with client_of(fronts, hearing.client), hearing.hearing(URI):
                await asyncio.sleep(100)
                await server.end()
                attempts.times = [now()]
                await asyncio.sleep(250)
                # After five of them in a row, the pauses are those of the circuit.
                assert attempts.pauses() == [1, 2, 4, 8, 16, 30, 60, 120]
                server.is_gone = False
                await asyncio.sleep(300)
                # Each is reported once.
                await hearing.hears(*EVERYTHING, URI)
                assert attempts.pauses()[8:] == [240]
                await server.tell(UPDATED, uri=OWN)
                await asyncio.sleep(1)
                await hearing.hears(URI)


@for_hours
async def test_server_that_is_gone_again_and_again_is_reached_at_growing_pauses() -> None:
    for spoken, of_server in product(ERAS, ERAS):
        with case((spoken, of_server)):
            server, hearing = Listing("x", revision=of_server), Hearing(spoken)
            attempts = Attempts(server)
            fronts = gateway(behind("a", attempts))
            async with client_of(fronts, hearing.client), hearing.hearing(URI):
                for lasts in (20, 5, 5, 5, 20, 5):
                    await asyncio.sleep(lasts)
                    await server.end()
                    server.is_gone = False
                    pause = [*attempts.times]
                    while len(attempts.times) == len(pause):
                        await asyncio.sleep(0.1)
                assert attempts.pauses() == [21, 7, 9, 13, 21, 7]


@for_hours
async def test_server_is_not_reached_again_for_clients_that_follow_nothing() -> None:
    for spoken in ERAS:
        with case(spoken):
            server, hearing = Listing("x"), Hearing(spoken)
            async with client_of(gateway(behind("a", server)), hearing.client) as one:
                await tools_of(one)
                async with hearing.hearing(URI):
                    pass
                if spoken == OLD:
                    await one.unsubscribe(URI)
                await asyncio.sleep(1)
                await server.end()
                server.is_gone = False
                await asyncio.sleep(1000)
                assert server.opened == 1
                assert await tools_of(one) == ["a_x"]


@for_hours
async def test_end_of_a_server_does_not_end_the_stream_of_a_client() -> None:
    for of_server in ERAS:
        with case(of_server):
            hearing = Hearing(STATELESS)
            ended, other = Listing("x", revision=of_server), Listing("y", revision=of_server)
            fronts = gateway(behind("a", ended), behind("b", other))
            async with client_of(fronts, hearing.client), hearing.hearing(URI, "data://b/x"):
                await asyncio.sleep(1)
                await ended.end()
                await asyncio.sleep(1000)
                assert hearing.heard == []
                await other.tell(UPDATED, uri=OWN)
                await asyncio.sleep(1)
                await hearing.hears("data://b/x")


@for_hours
async def test_stream_that_a_server_ends_is_opened_again_and_all_is_reported_once() -> None:
    for spoken in ERAS:
        with case(spoken):
            server, hearing = Listing("x", revision=STATELESS), Hearing(spoken)
            async with client_of(gateway(behind("a", server)), hearing.client) as one:
                await tools_of(one)
                async with hearing.hearing(URI):
                    for _ in range(3):
                        await asyncio.sleep(20)
                        await server.end_streams()
                        await asyncio.sleep(20)
                        await hearing.hears(*EVERYTHING, URI)
                        await server.tell(UPDATED, uri=OWN)
                        await asyncio.sleep(1)
                        await hearing.hears(URI)
                    assert server.opened == 1


@for_hours
async def test_server_that_comes_later_is_reported_to_streams_that_wait_for_it() -> None:
    server, hearing = Listing("x"), Hearing(STATELESS)
    server.is_gone = True
    async with client_of(gateway(behind("a", server)), hearing.client) as one, hearing.hearing():
        await asyncio.sleep(100)
        server.is_gone = False
        await asyncio.sleep(100)
        await hearing.hears(*EVERYTHING)
        assert await tools_of(one) == ["a_x"]


@for_hours
async def test_stream_is_acknowledged_in_time_with_what_servers_have_accepted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.CRITICAL)

    async def never_answers(hand: Hand) -> None:
        while await hand.take() is not None:
            pass

    async def refuses(hand: Hand) -> None:
        await shake(hand, resources={"subscribe": True})
        while (asked := await hand.take()) is not None:
            if asked.get("method") == "resources/subscribe":
                code = {"code": -32602, "message": "unknown"}
                await hand.send({"jsonrpc": "2.0", "id": asked["id"], "error": code})

    async def is_slow(hand: Hand) -> None:
        await shake(hand, resources={"subscribe": True})
        while (asked := await hand.take()) is not None:
            await asyncio.sleep(20)
            if "id" in asked:
                await hand.send(result(asked["id"]))

    opener = Accepting
    gone = Listing()
    gone.is_gone = True
    fronts = gateway(
        *(behind("never", opener(never_answers)), behind("refuses", opener(refuses))),
        *(behind("slow", opener(is_slow)), behind("gone", gone), behind("well", Listing())),
        list_timeout=3.0,
    )
    acknowledged: list[Any] = []

    async def note(_: object, params: Any) -> None:
        acknowledged.append((now(), params.notifications.to_wire()))

    one: Any = client(STATELESS, on_subscriptions_acknowledged=note)
    m: Any = pkg.load(STATELESS).models
    names = ("never", "refuses", "slow", "gone", "well")
    uris = [f"data://{name}/{number}" for name in names for number in (1, 2)]
    wanted = m.SubscriptionFilter(tools_list_changed=True, resource_subscriptions=uris)
    async with client_of(fronts, one):
        begun = now()
        listening = asyncio.create_task(one.subscriptions_listen(wanted))
        await asyncio.sleep(100)
        ((at, accepted),) = acknowledged
        assert at - begun <= 3.1
        assert accepted["resourceSubscriptions"] == ["data://well/1", "data://well/2"]
        assert accepted["toolsListChanged"] is True
        assert not listening.done()
        listening.cancel()
        await asyncio.wait([listening])
