"""Tasks between a client and a server of the same kind, and of different ones, with a bridge."""

from asyncio import wait_for

import pytest
from mcp_revisions import McpError, TaskCancelled, client_of, in_memory, open_http
from support.http.serving import serving
from support.revisions import OLD
from support.sessions.talking import client as plain_client
from support.tables import case
from support.tasks.gateway import CLIENTS, OPTIONS, PAIRS, SERVERS, connect_bridged
from support.tasks.principals import WHO, of
from support.toolkit.mounting import app

BOTH_WAYS = pytest.mark.parametrize(("client", "server"), PAIRS)


@BOTH_WAYS
async def test_question_of_task_reaches_client(client: str, server: str) -> None:
    ours = CLIENTS[client]()
    async with connect_bridged(ours, SERVERS[server]()) as one:
        handle = await one.start_task("sure")
        assert (await handle.result()).text == "True True"
        assert [asked.message for asked in ours.asked] == ["Sure?", "Quite?"]
        handle = await one.start_task("say")
        assert (await handle.result()).text == "It"
    assert len(ours.asked) == 3


@BOTH_WAYS
async def test_failure_of_task_has_kind_of_client(client: str, server: str) -> None:
    async with connect_bridged(CLIENTS[client](), SERVERS[server]()) as one:
        handle = await one.start_task("wrong", {"how": "isError"})
        result = await handle.result()
        assert result.is_error and "No disk" in result.text
        failed = await handle.status()
        handle = await one.start_task("wrong", {"how": "error"})
        with pytest.raises(McpError) as raised:
            await handle.result()
        assert (raised.value.code, raised.value.data) == (-7, {"more": 1})
        assert (await handle.status()).status == "failed"
    assert failed.status == ("failed" if client == OLD else "completed")


@BOTH_WAYS
async def test_a_cancelled_task_stops_at_the_server(client: str, server: str) -> None:
    theirs = SERVERS[server]()
    async with connect_bridged(CLIENTS[client](), theirs) as one:
        handle = await one.start_task("slow")
        await wait_for(theirs.began.wait(), 30)
        await handle.cancel()
        await wait_for(theirs.stopped.wait(), 30)
        with pytest.raises(TaskCancelled):
            await handle.result()
        assert (await handle.status()).status == "cancelled"
        # The client's handle handles the answer of each kind to a second one.
        await handle.cancel()


@BOTH_WAYS
async def test_a_server_over_http_knows_whose_task_it_is(client: str, server: str) -> None:
    """A bridge has one client, and is to the server who its connection says it is."""
    theirs = SERVERS[server]()
    async with serving(theirs, authentication=WHO, **OPTIONS) as site:
        bridges = [open_http(site.url, headers=of(name)) for name in ("ann", "bob")]
        async with connect_bridged(CLIENTS[client](), bridges[0]) as ann:
            handle = await ann.start_task("sure")
            assert (await handle.result()).text == "True True"
            async with connect_bridged(CLIENTS[client](), bridges[1]) as bob:
                for ask in ("status", "cancel", "result"):
                    with case(ask), pytest.raises(McpError) as raised:
                        await getattr(bob.task(handle.to_json()), ask)()
                    assert raised.value.code == -32602
        # Its id is that of the server, which another bridge asks as well.
        async with connect_bridged(CLIENTS[client](), bridges[0]) as again:
            assert (await again.task(handle.to_json()).result()).text == "True True"


@pytest.mark.parametrize(("above", "server"), PAIRS)
async def test_a_tool_of_a_mounted_server_that_is_always_a_task_is_waited_for(
    above: str, server: str
) -> None:
    top = app(above)
    top.mount("far", connect_to=in_memory(SERVERS[server]()))
    async with client_of(top, plain_client(above)) as one:
        assert (await one.call_tool("far_needed", {})).text == "needed is done"
        listed = [tool.to_wire() for tool in (await one.list_tools()).tools]
    assert len(listed) == 7
    if above != server:
        assert not any("execution" in tool for tool in listed)
