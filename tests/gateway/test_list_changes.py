"""Changes of the lists of servers behind a gateway, as they reach its clients."""

import asyncio

import pytest
from support.gateway.gateways import behind, client_of, gateway
from support.gateway.listing import Listing, tools_of
from support.revisions import ERAS, OLD
from support.tables import case
from support.toolkit.mounting import Hearing, names_of

pytestmark = pytest.mark.skips_time

RESOURCES_CHANGED = "notifications/resources/list_changed"


async def test_a_burst_of_changes_is_one_for_each_list_and_client() -> None:
    for revision in ERAS:
        for of_server in ERAS:
            with case((revision, of_server)):
                servers = [Listing("x", revision=of_server), Listing("y", revision=OLD)]
                fronts = gateway(behind("a", servers[0]), behind("b", servers[1]))
                hearings = [Hearing(revision), Hearing(revision)]
                async with (
                    client_of(fronts, hearings[0].client) as one,
                    client_of(fronts, hearings[1].client) as other,
                ):
                    await names_of(one)
                    await names_of(other)
                    async with hearings[0].hearing(), hearings[1].hearing():
                        for server in servers:
                            await server.tell(times=50)
                            await server.tell(RESOURCES_CHANGED, times=50)
                        await asyncio.sleep(1)
                        for hearing in hearings:
                            await hearing.hears("tool", "resource")
                        await servers[0].tell()
                        await asyncio.sleep(1)
                        for hearing in hearings:
                            await hearing.hears("tool")


async def test_changes_reach_only_clients_of_the_server_that_has_them() -> None:
    server = Listing("x")
    fronts = gateway(behind("a", server))
    hearing, idle = Hearing(OLD), Hearing(OLD)
    async with client_of(fronts, hearing.client) as one, client_of(fronts, idle.client):
        await tools_of(one)
        await server.tell()
        await asyncio.sleep(1)
    assert (hearing.heard, idle.heard) == (["tool"], [])


async def test_changes_that_a_server_has_not_declared_reach_clients_too() -> None:
    for spoken in ERAS:
        with case(spoken):
            server, hearing = Listing("x", tells=False), Hearing(spoken)
            async with client_of(gateway(behind("a", server)), hearing.client) as one:
                await tools_of(one)
                async with hearing.hearing():
                    await server.tell()
                    await hearing.hears("tool")


async def test_a_change_while_a_list_is_read_makes_it_stale() -> None:
    server = Listing("x")
    server.delay = 1.0
    async with client_of(gateway(behind("a", server))) as one:
        reading = asyncio.create_task(tools_of(one))
        await asyncio.sleep(0.5)
        await server.tell()
        await reading
        await tools_of(one)
        assert server.asked.count("tools/list") == 2
        await tools_of(one)
        assert server.asked.count("tools/list") == 2


async def test_a_change_asks_only_the_server_that_announced_it() -> None:
    for revision in ERAS:
        with case(revision):
            servers = [Listing(name) for name in "xyz"]
            named = zip("abc", servers, strict=True)
            fronts = gateway(*(behind(name, server) for name, server in named))
            async with client_of(fronts, revision=revision) as one:
                await tools_of(one)
                await servers[1].tell()
                await asyncio.sleep(1)
                await tools_of(one)
            assert [server.asked for server in servers] == [
                ["tools/list"],
                ["tools/list"] * 2,
                ["tools/list"],
            ]


async def test_clients_of_one_list_ask_once_at_a_time() -> None:
    server = Listing("x", tells=False)
    server.delay = 1.0
    async with client_of(gateway(behind("a", server))) as one:
        listed = await asyncio.gather(*(tools_of(one) for _ in range(5)))
    assert listed == [["a_x"]] * 5
    assert server.asked == ["tools/list"]
