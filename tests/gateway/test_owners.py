"""Names and URIs that several servers have: the first one in the file owns them."""

import asyncio
from typing import Any

import pytest
from support.coroutines import SkippingLoop, run
from support.gateway.gateways import behind, client_of, gateway
from support.gateway.listing import Listing, tools_of
from support.revisions import ERAS
from support.sessions.talking import pkg
from support.tables import case
from support.toolkit.kits import mcp
from support.toolkit.mounting import Hearing, names_of, text_of

pytestmark = pytest.mark.skips_time


def owner_app(name: str) -> Any:
    """Return an app whose items say whose they are."""
    made = mcp.App(name)

    # In threads, they would take time.
    async def say() -> str:
        return name

    for item in ("same", name):
        made.add_tool(say, name=item)
        made.add_prompt(say, name=item)
    for uri in ("data://same", f"data://{name}", "http://example.org/same"):
        made.add_resource(say, uri=uri, name=uri)

    @made.resource("data://{x}/same")
    async def same(x: str) -> str:
        return f"{name} {x}"

    return made


async def test_the_first_server_in_the_file_owns_a_name(caplog: pytest.LogCaptureFixture) -> None:
    for revision in ERAS:
        with case(revision):
            bare = {"prefix": "", "uris": "keep"}
            fronts = gateway(
                behind("b", owner_app("b"), **bare), behind("a", owner_app("a"), **bare)
            )
            async with client_of(fronts, revision=revision) as one:
                assert await names_of(one) == {
                    "tools": ["same", "b", "a"],
                    "prompts": ["same", "b", "a"],
                    "resources": ["data://same", "data://b", "http://example.org/same", "data://a"],
                    "templates": ["data://{x}/same"],
                }
                for name, owner in (("same", "b"), ("b", "b"), ("a", "a")):
                    assert await text_of(one, name) == owner
                    got = await one.get_prompt(name, {})
                    assert got.messages[0].content.text == owner
                    (read,) = (await one.read_resource(f"data://{name}")).contents
                    assert read.text == owner
                for uri, text in (("http://example.org/same", "b"), ("data://1/same", "b 1")):
                    (read,) = (await one.read_resource(uri)).contents
                    assert read.text == text
                with pytest.raises(pkg.McpError, match="Unknown tool: c"):
                    await text_of(one, "c")
    lines = [record.message for record in caplog.records if "is hidden" in record.message]
    expected = "a: 'same' of its tools is hidden: b has an item of that name, too, and comes first"
    assert lines.count(expected) == len(ERAS)


async def test_renamed_items_can_meet_those_of_another_server() -> None:
    servers = (
        behind("a", owner_app("a"), rename={"a": "tool"}),
        behind("b", owner_app("b"), rename={"b": "tool"}),
    )
    fronts = gateway(*servers, behind("tool", owner_app("tool"), prefix=""))
    async with client_of(fronts) as one:
        assert await tools_of(one) == ["a_same", "tool", "b_same", "same"]
        assert await text_of(one, "tool") == "a"


async def test_a_new_name_hides_the_item_that_has_it(caplog: pytest.LogCaptureFixture) -> None:
    server = Listing("x", "y", "z")
    fronts = gateway(behind("a", server, prefix="", rename={"x": "y"}))
    async with client_of(fronts) as one:
        assert await tools_of(one) == ["y", "z"]
        await one.call_tool("y", {})
    assert server.named == ["x"]
    assert "a: 'y' of its tools is hidden: 'x' has the name 'y'" in caplog.text


def test_an_owner_keeps_its_names_while_it_is_gone() -> None:
    async def script() -> None:
        owner, other = Listing("x"), Listing("x", "y")
        fronts = gateway(behind("a", owner, prefix=""), behind("b", other, prefix=""))
        async with client_of(fronts) as one, client_of(fronts) as newcomer:
            assert await tools_of(one) == ["x", "y"]
            await owner.end()
            for client in (one, newcomer):
                assert (await tools_of(client))[-1:] == ["y"]
                await asyncio.sleep(400)
                # Its items are no longer listed, and nothing takes their place.
                assert await tools_of(client) == ["y"]
                with pytest.raises(pkg.McpError, match=r"cannot be reached|unreachable"):
                    await client.call_tool("x", {})
            assert other.named == []

    run(script(), within=3000, loop=SkippingLoop)


async def test_http_uris_go_to_the_server_that_lists_them() -> None:
    fronts = gateway(behind("none"), behind("a", owner_app("a")), behind("b", owner_app("b")))
    async with client_of(fronts) as one:
        uris = (await names_of(one))["resources"]
        own = [f"data://{server}/{name}" for server in "ab" for name in ("same", server)]
        assert uris == [*own[:2], "http://example.org/same", *own[2:]]
        (read,) = (await one.read_resource("http://example.org/same")).contents
        assert (read.uri, read.text) == ("http://example.org/same", "a")


async def test_subscriptions_go_to_the_owner() -> None:
    for revision in ERAS:
        with case(revision):
            owner, other = Listing(), Listing()
            for server in (owner, other):
                server.lists["resources"] = [{"uri": "db://x", "name": "x"}]
            other.lists["resources"].append({"uri": "https://y.org", "name": "y"})
            servers = [behind("a", owner, uris="keep"), behind("b", other, uris="keep")]
            hearing = Hearing(revision)
            async with client_of(gateway(*servers), hearing.client) as one:
                await names_of(one)
                async with hearing.hearing("db://x", "https://y.org", "db://unknown"):
                    await asyncio.sleep(1)
                    assert (owner.named, other.named) == (["db://x"], ["https://y.org"])


async def test_a_server_of_several_clients_is_not_asked_for_a_prefixed_name() -> None:
    server, other = Listing("x"), Listing("y")
    async with client_of(gateway(behind("a", server), behind("b", other))) as one:
        await one.call_tool("a_unlisted", {})
    assert (server.asked, server.named, other.opened) == (["tools/call"], ["unlisted"], 0)
