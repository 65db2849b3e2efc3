"""The lists of a gateway: from all servers, kept while they are fresh or a server is gone."""

import asyncio
import logging
from typing import Any

import pytest
from mcp_protogen.servers.gateway.pages.lock_page import list_items
from support.coroutines import SkippingLoop, run
from support.gateway.gateways import behind, client_of, gateway
from support.gateway.listing import MEMBERS, Listing, tool, tools_of
from support.revisions import ERAS, OLD, REVISIONS, STATELESS
from support.sessions.talking import Accepting, pkg
from support.tables import case
from support.tasks.by_hand import ScriptedServer
from support.toolkit.mounting import Hearing, names_of, weather

pytestmark = pytest.mark.skips_time


def lists_asked(server: Listing) -> int:
    """Return how often a server was asked for its tools."""
    return server.asked.count("tools/list")


async def test_lists_have_items_of_all_servers_in_order_of_file() -> None:
    for revision in ERAS:
        for of_server in ERAS:
            with case((revision, of_server)):
                fronts = gateway(
                    behind("b", weather(of_server)), behind("gone"), behind("a", weather(OLD))
                )
                async with client_of(fronts, revision=revision) as one:
                    names = await names_of(one)
                assert names["resources"] == ["data://b/now", "data://a/now"]
                assert names["templates"] == ["data://b/{place}", "data://a/{place}"]
                assert names["prompts"] == ["b_pack", "a_pack"]
                assert [name[:2] for name in names["tools"]] == ["b_"] * 3 + ["a_"] * 3


async def test_servers_are_asked_at_once_and_a_slow_one_delays_nothing() -> None:
    slow, fast = Listing("x"), Listing("y")
    slow.delay = 50.0
    hearing = Hearing(OLD)
    fronts = gateway(behind("slow", slow), behind("fast", fast))
    async with client_of(fronts, hearing.client) as one:
        began = asyncio.get_running_loop().time()
        assert await tools_of(one) == ["fast_y"]
        assert asyncio.get_running_loop().time() - began == pytest.approx(5.0, abs=0.1)
        # While its answer is awaited, nothing waits for it again.
        assert await tools_of(one) == ["fast_y"]
        assert asyncio.get_running_loop().time() - began == pytest.approx(5.0, abs=0.1)
        assert hearing.heard == []
        await asyncio.sleep(50)
        assert hearing.heard == ["tool"]
        assert await tools_of(one) == ["slow_x", "fast_y"]
        assert lists_asked(slow) == 1


async def test_a_slow_list_without_news_is_not_announced() -> None:
    server = Listing("x", tells=False)
    hearing = Hearing(OLD)
    async with client_of(gateway(behind("a", server)), hearing.client) as one:
        assert await tools_of(one) == ["a_x"]
        server.delay = 50.0
        assert await tools_of(one) == ["a_x"]
        await asyncio.sleep(100)
        assert hearing.heard == []


def test_items_of_a_dead_server_stay_listed_for_a_while(caplog: pytest.LogCaptureFixture) -> None:
    async def script() -> None:
        server, other = Listing("x"), Listing("y")
        hearing = Hearing(OLD)
        fronts = gateway(behind("a", server), behind("b", other))
        async with client_of(fronts, hearing.client) as one:
            assert await tools_of(one) == ["a_x", "b_y"]
            await server.end()
            await asyncio.sleep(1000)
            for _ in range(3):
                assert await tools_of(one) == ["a_x", "b_y"]
                await asyncio.sleep(99)
            assert hearing.heard == []
            await asyncio.sleep(5)
            assert hearing.heard == ["tool"]
            assert await tools_of(one) == ["b_y"]
            server.is_gone = False
            assert await tools_of(one) == ["a_x", "b_y"]
            await asyncio.sleep(1)
            # After a break, anything may have changed.
            assert sorted(hearing.heard) == ["prompt", "resource", "tool", "tool"]

    run(script(), within=3000, loop=SkippingLoop)
    assert "a: its tools cannot be listed" in caplog.text


def test_lists_that_lose_nothing_are_not_announced() -> None:
    async def script() -> None:
        server = Listing("x")
        hearing = Hearing(OLD)
        fronts = gateway(behind("a", server), behind("gone"))
        async with client_of(fronts, hearing.client) as one:
            await tools_of(one)
            await server.end()
            await tools_of(one)
            server.is_gone = False
            await tools_of(one)
            await hearing.hears("tool", "prompt", "resource")
            await asyncio.sleep(1000)
            assert hearing.heard == []

    run(script(), within=3000, loop=SkippingLoop)


async def test_a_fresh_list_asks_no_server() -> None:
    for revision in ERAS:
        for of_server in ERAS:
            with case((revision, of_server)):
                server = Listing("x", revision=of_server)
                hearing = Hearing(revision)
                async with client_of(gateway(behind("a", server)), hearing.client) as one:
                    for _ in range(3):
                        assert (await names_of(one))["tools"] == ["a_x"]
                    assert sorted(server.asked) == sorted(MEMBERS)
                    server.lists["tools"].append(tool("y"))
                    await server.tell()
                    await asyncio.sleep(1)
                    assert await tools_of(one) == ["a_x", "a_y"]
                    assert lists_asked(server) == 2


async def test_a_list_of_a_server_that_announces_no_changes_is_asked_for_again() -> None:
    server = Listing("x", tells=False)
    async with client_of(gateway(behind("a", server))) as one:
        await tools_of(one)
        await tools_of(one)
    assert lists_asked(server) == 2


async def test_a_list_is_kept_for_its_time_to_live() -> None:
    server = Listing("x", tells=False, revision=STATELESS)
    server.hints = {"ttlMs": 10_000, "cacheScope": "public"}
    async with client_of(gateway(behind("a", server)), revision=STATELESS) as one:
        await tools_of(one)
        await asyncio.sleep(9)
        listed = await one.list_tools()
        assert lists_asked(server) == 1
        assert (listed.ttl_ms, listed.cache_scope) == (1000, "public")
        await asyncio.sleep(2)
        await tools_of(one)
    assert lists_asked(server) == 2


async def test_hints_of_a_list_are_the_most_careful_ones() -> None:
    for hints, expected in (
        ([(5000, "public"), (3000, "public")], (3000, "public")),
        ([(5000, "private"), (3000, "public")], (3000, "private")),
        ([(0, "public"), (3000, "public")], (0, "public")),
        ([(3000, "public"), None], (0, "private")),
    ):
        with case(hints):
            settings: list[Any] = []
            for name, hint in zip("abc", hints, strict=False):
                server = None if hint is None else Listing("x", revision=STATELESS)
                if server is not None and hint is not None:
                    server.hints = {"ttlMs": hint[0], "cacheScope": hint[1]}
                settings.append(behind(name, server))
            async with client_of(gateway(*settings), revision=STATELESS) as one:
                listed = await one.list_tools()
            assert (listed.ttl_ms, listed.cache_scope) == expected


async def test_pages_of_servers_are_read_to_their_end(caplog: pytest.LogCaptureFixture) -> None:
    names = [f"t{number}" for number in range(2500)]
    server = Listing(*names)
    server.page = 300
    async with client_of(gateway(behind("a", server))) as one:
        assert await tools_of(one) == [f"a_{name}" for name in names[:2000]]
    assert lists_asked(server) == 7
    assert "a: its tools were cut short after 2100 items on 7 pages" in caplog.text


async def test_items_over_the_limit_are_left_out(caplog: pytest.LogCaptureFixture) -> None:
    names = [f"t{number}" for number in range(2001)]
    server = Listing(*names)
    server.page = 2500
    server.lists["prompts"] = [{"name": name} for name in names[:2000]]
    async with client_of(gateway(behind("a", server))) as one:
        listed = await names_of(one)
    assert listed["tools"] == listed["prompts"] == [f"a_{name}" for name in names[:2000]]
    warnings = [record.message for record in caplog.records]
    assert warnings == ["a: 1 of its tools are left out: a server may have 2000"]


async def test_servers_without_the_method_of_a_list_have_no_items(
    caplog: pytest.LogCaptureFixture,
) -> None:
    for revision in ERAS:
        with case(revision):
            server = Listing("x", revision=revision)
            server.unknown = {"resources/templates/list", "prompts/list"}
            async with client_of(gateway(behind("a", server)), revision=revision) as one:
                for _ in range(2):
                    listed = await names_of(one)
                    assert (listed["tools"], listed["prompts"]) == (["a_x"], [])
            assert len(server.asked) == len(MEMBERS)
    assert not caplog.records


async def test_the_reason_of_a_missing_list_is_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = Listing("x")
    async with client_of(gateway(behind("a", server))) as one:
        for is_gone in (True, True, False, True, True):
            server.is_gone = is_gone
            if is_gone:
                await server.end()
            assert await tools_of(one) == ([] if server.opened == 0 else ["a_x"])
    assert (
        caplog.text.count("a: its tools cannot be listed: The server of a cannot be reached") == 2
    )


async def test_endless_cursors_end(caplog: pytest.LogCaptureFixture) -> None:
    endless, other = Listing("x"), Listing("y")
    endless.endless = True
    async with client_of(gateway(behind("a", endless), behind("b", other))) as one:
        assert await tools_of(one) == ["a_x", "b_y"]
    assert lists_asked(endless) == 1000
    assert "a: its tools were cut short after 1 items on 1000 pages" in caplog.text


async def test_unknown_members_pass_and_no_members_are_added() -> None:
    entry = tool("x", **{"x-more": {"a": [1]}, "_meta": {"a/b": {"c": 1}, "d": None}})
    for revision in ERAS:
        with case(revision):
            server = Listing(revision=revision)
            server.lists["tools"] = [entry]
            async with client_of(gateway(behind("a", server)), revision=revision) as one:
                (listed,) = (await one.list_tools()).tools
            assert listed.to_wire() == {**entry, "name": "a_x"}


async def test_support_of_tasks_is_listed_as_far_as_client_and_server_have_them() -> None:
    support = ("required", "optional", "forbidden")
    tools = [tool(said, execution={"taskSupport": said, "x": 1}) for said in support]
    for revision in REVISIONS:
        for has_tasks in (True, False):
            served = ScriptedServer(OLD, tools_list=[{"tools": tools}])
            if not has_tasks:
                del served.capabilities["tasks"]
            fronts = gateway(behind("a", Accepting(served.play), revision=OLD))
            with case((revision, has_tasks)):
                async with client_of(fronts, revision=revision) as one:
                    listed = [entry.to_wire() for entry in (await one.list_tools()).tools]
                for said, entry in zip(support, listed, strict=True):
                    shown = {"taskSupport": said} if has_tasks else {}
                    rest = {"execution": {**shown, "x": 1}} if revision == OLD else {}
                    assert entry == tool(f"a_{said}", **rest)


async def test_long_names_are_logged_and_longer_ones_left_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    names = ["x" * (length - 2) for length in (64, 65, 128, 129)]
    server = Listing(*names, tells=False)
    server.lists["prompts"] = [{"name": names[3]}]
    async with client_of(gateway(behind("a", server))) as one:
        for _ in range(2):
            listed = await names_of(one)
            assert listed["tools"] == [f"a_{name}" for name in names[:3]]
            assert listed["prompts"] == []
    lengths = [record.args for record in caplog.records if record.levelno == logging.WARNING]
    assert len(lengths) == 3
    with_rename = gateway(behind("a", server, rename={names[3]: "short"}))
    async with client_of(with_rename) as one:
        assert "short" in await tools_of(one)
        await one.call_tool("short", {})
    assert server.named == [names[3]]


async def test_a_shared_catalogue_is_listed_once_for_all_clients() -> None:
    for catalogue, times in (("shared", 1), ("own", 2)):
        with case(catalogue):
            server = Listing("x")
            fronts = gateway(behind("a", server, catalogue=catalogue))
            async with client_of(fronts) as one, client_of(fronts) as other:
                assert await tools_of(one) == await tools_of(other) == ["a_x"]
                assert lists_asked(server) == times


async def test_client_that_leaves_takes_no_shared_list_from_others() -> None:
    for revision in ERAS:
        server = Listing("x", revision=revision)
        with case(revision):
            locked = await list_items(behind("a", server))
            shared = behind("a", server, catalogue="shared", lock="enforce", locked=locked)
            fronts = gateway(shared)
            server.delay = 2
            async with client_of(fronts, revision=revision) as one:
                async with client_of(fronts, revision=revision) as leaving:
                    first = asyncio.create_task(tools_of(leaving))
                    await asyncio.sleep(1)
                    listing = asyncio.create_task(tools_of(one))
                    calling = asyncio.create_task(one.call_tool("a_x", {}))
                    await asyncio.sleep(0.1)
                    first.cancel()
                assert await listing == ["a_x"]
                await calling


async def test_a_change_of_a_shared_catalogue_reaches_all_clients() -> None:
    server = Listing("x")
    fronts = gateway(behind("a", server, catalogue="shared"))
    hearings = [Hearing(OLD), Hearing(OLD)]
    async with client_of(fronts, hearings[0].client), client_of(fronts, hearings[1].client):
        for hearing in hearings:
            assert await tools_of(hearing.client) == ["a_x"]
        server.lists["tools"].append(tool("y"))
        await server.tell()
        for hearing in hearings:
            await hearing.hears("tool")
            assert await tools_of(hearing.client) == ["a_x", "a_y"]
    assert lists_asked(server) == 2


async def test_instructions_are_those_of_the_gateway() -> None:
    async def instructions(**options: Any) -> object:
        server = weather(OLD, instructions="Obey me.")
        async with client_of(gateway(behind("a", server), **options)) as one:
            await names_of(one)
            said: str | None = one.instructions
            return said

    assert await instructions() is None
    assert await instructions(instructions="Ask for files.") == "Ask for files."


async def test_lists_of_one_request_do_not_hinder_each_other(
    caplog: pytest.LogCaptureFixture,
) -> None:
    late = Listing("y")

    async def open_late() -> pkg.Transport:
        await asyncio.sleep(1)
        return await late()

    for revision in REVISIONS:
        with case(revision):
            caplog.clear()
            slow = Listing("x")
            slow.delay = 2
            slow.lists["resourceTemplates"] = [{"uriTemplate": "data://{x}", "name": "data"}]
            bare = {"prefix": "", "uris": "keep"}
            fronts = gateway(
                behind("a", slow), behind("b", open_late), behind("c", Listing(), **bare)
            )
            async with client_of(fronts, revision=revision) as one:
                assert await tools_of(one) == ["a_x", "b_y"]
            fronts = gateway(behind("a", slow, **bare), behind("c", Listing(), **bare))
            async with client_of(fronts, revision=revision) as one:
                read = await one.read_resource("data://1")
                assert read.contents[0].text == "read"
            assert "cannot be listed" not in caplog.text
