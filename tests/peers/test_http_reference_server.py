"""A client made of our stubs against the reference server of the TypeScript SDK, over HTTP."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

import mcp_revisions as pkg
import pytest
from support.coroutines import until
from support.peers.features import client_of
from support.peers.http_peers import ONLY_LOOPBACK
from support.peers.http_wire import Wire, wire_to
from support.peers.places import node_modules
from support.peers.spoken import GENERATION_1
from support.peers.visits import Peers

PATHS: Final = {"streamableHttp": "/mcp", "sse": "/sse"}
URI: Final = "demo://resource/dynamic/text/1"


@asynccontextmanager
async def reference(
    peers: Peers, kind: str, *, cut_after: bytes | None = None
) -> AsyncGenerator[tuple[str, Wire], None]:
    """The server, its URL, and the proxy in front of it."""
    modules = node_modules()
    program = modules / "@modelcontextprotocol" / "server-everything" / "dist" / "index.js"
    command = ("node", "--require", ONLY_LOOPBACK, program, kind)
    running = await peers.server(*command)
    async with wire_to(running.port, cut_after=cut_after) as wire:
        yield f"http://127.0.0.1:{wire.port}{PATHS[kind]}", wire


def with_reference(
    peers: Peers,
    kind: str,
    own: str,
    script: Callable[[Any, Any, Any, Wire], Awaitable[None]],
    *,
    cut_after: bytes | None = None,
) -> Wire:
    """Run a script with a client of our class; return the traffic."""
    mcp = pkg.load(own)

    async def main() -> Wire:
        async with asyncio.timeout(30), reference(peers, kind, cut_after=cut_after) as (url, wire):
            mine = client_of(mcp)
            async with pkg.connect_http(url, mine) as client:
                await script(client, mine, mcp.models, wire)
        return wire

    return peers.run(main())


async def text(client: Any, m: Any, tool: str, /, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    return "\n".join(getattr(block, "text", "") for block in result.content)


async def everything(client: Any, mine: Any, m: Any, wire: Wire) -> None:
    """What the server offers to clients of all revisions, once each."""
    names = {tool.name async for tool in client.iter_tools()}
    # Only for clients that declare the needed capabilities.
    assert {"echo", "get-roots-list", "trigger-sampling-request"} <= names
    assert "hi" in await text(client, m, "echo", message="hi")
    assert "sampled" in await text(client, m, "trigger-sampling-request", prompt="?", maxTokens=9)
    if client.revision == "2025-11-25":
        assert "ada" in await text(client, m, "trigger-elicitation-request")
    elif client.revision == "2025-06-18":
        # It asks for lists, which forms of this revision lack, whatever was negotiated.
        assert "-32602" in await text(client, m, "trigger-elicitation-request")
    seen: list[Any] = []
    arguments = {"duration": 0.09, "steps": 3}
    name = "trigger-long-running-operation"
    await client.call_tool(name, arguments, on_progress=seen.append)
    assert [tuple(progress)[:2] for progress in seen] == [(1, 3), (2, 3), (3, 3)]
    assert [resource async for resource in client.iter_resources()]
    read = await client.read_resource(URI)
    assert read.contents[0].uri == URI
    mine.changes.clear()
    await client.subscribe(URI)
    await text(client, m, "toggle-subscriber-updates")
    await until(lambda: "resource" in mine.changes)
    await client.unsubscribe(URI)
    with pytest.raises(pkg.RequestTimeout):
        await client.call_tool(name, {"duration": 60, "steps": 1}, timeout=0.1)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("own", GENERATION_1)
def test_reference_server_serves_each_revision_with_sessions(peers: Peers, own: str) -> None:
    wire = with_reference(peers, "streamableHttp", own, everything)
    (opening,) = wire.posts_of("initialize")
    assert opening.message["params"]["protocolVersion"] == own
    assert f'"protocolVersion":"{own}"'.encode() in opening.answer
    rest = [exchange for exchange in wire.exchanges if exchange != opening]
    session = opening.answered["mcp-session-id"]
    assert {exchange.asked.get("mcp-session-id") for exchange in rest} == {session}
    assert wire.versions() == {own}
    assert wire.posts_of("notifications/cancelled")
    assert [exchange.status for exchange in wire.verbs("DELETE")] == [200]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("own", GENERATION_1)
def test_reference_server_serves_each_revision_on_old_transport(peers: Peers, own: str) -> None:
    wire = with_reference(peers, "sse", own, everything)
    (stream,) = [exchange for exchange in wire.verbs("GET") if exchange.status == 200]
    assert f'"protocolVersion":"{own}"'.encode() in stream.answer
    assert wire.posts_of("notifications/cancelled")


def test_a_stream_that_breaks_within_a_call_is_taken_up_again(peers: Peers) -> None:
    async def script(client: Any, mine: Any, m: Any, wire: Wire) -> None:
        seen: list[Any] = []
        result = await client.call_tool(
            "trigger-long-running-operation", {"duration": 0.3, "steps": 3}, on_progress=seen.append
        )
        assert "completed" in result.content[0].text
        assert [tuple(progress)[:2] for progress in seen] == [(1, 3), (2, 3), (3, 3)]

    wire = with_reference(peers, "streamableHttp", "2025-11-25", script, cut_after=b'"progress":2')
    assert wire.cuts == 1
    assert [
        exchange.status for exchange in wire.verbs("GET") if "last-event-id" in exchange.asked
    ] == [200]
