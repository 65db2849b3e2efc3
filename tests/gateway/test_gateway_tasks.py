"""Tasks of servers behind a gateway, for clients of both forms of tasks."""

from asyncio import wait_for
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp_protogen.runtime.testing import in_memory
from mcp_revisions import McpError, TaskCancelled
from support.gateway.gateways import (
    behind,
    client_of,
    gateway,
)
from support.gateway.listing import tool
from support.revisions import OLD
from support.sessions.talking import Accepting, pkg
from support.tasks.by_hand import ScriptedServer, core_task, task_created, task_details
from support.tasks.gateway import CLIENTS, OPTIONS, PAIRS, SERVERS

BOTH_WAYS = pytest.mark.parametrize(("client", "server"), PAIRS)

pytestmark = pytest.mark.skips_time


@asynccontextmanager
async def calling(client: Any, **servers: Any) -> AsyncGenerator[Any, None]:
    """Connect a client to a gateway before some servers."""
    options = pkg.Options(**OPTIONS)
    openers = {name: in_memory(server, options=options) for name, server in servers.items()}
    everything = frozenset({"elicitation", "sampling", "roots"})
    behinds = [behind(name, opener, questions=everything) for name, opener in openers.items()]
    async with client_of(gateway(*behinds), client) as one:
        yield one


@BOTH_WAYS
async def test_call_becomes_a_task_whose_id_names_the_server(client: str, server: str) -> None:
    theirs = SERVERS[server]()
    async with calling(CLIENTS[client](), up=theirs) as one:
        handle = await one.start_task("up_slow")
        assert handle.id.startswith("up:")
        assert (await handle.status()).status == "working"
        theirs.go_on.set()
        assert (await handle.result()).text == "slow is done"
        assert (await handle.status()).status == "completed"
        assert theirs.runs == 1


@BOTH_WAYS
async def test_question_of_a_task_names_the_server(client: str, server: str) -> None:
    ours = CLIENTS[client]()
    async with calling(ours, up=SERVERS[server]()) as one:
        handle = await one.start_task("up_sure")
        assert (await handle.result()).text == "True True"
        assert [asked.message for asked in ours.asked] == ["up: Sure?", "up: Quite?"]
        handle = await one.start_task("up_say")
        assert (await handle.result()).text == "It"
    assert len(ours.asked) == 3


@BOTH_WAYS
async def test_failure_of_a_task_is_that_of_the_server(client: str, server: str) -> None:
    async with calling(CLIENTS[client](), up=SERVERS[server]()) as one:
        handle = await one.start_task("up_wrong", {"how": "isError"})
        result = await handle.result()
        assert result.is_error and "No disk" in result.text
        handle = await one.start_task("up_wrong", {"how": "error"})
        with pytest.raises(McpError) as raised:
            await handle.result()
        assert (raised.value.code, raised.value.data) == (-7, {"more": 1})
        assert (await handle.status()).status == "failed"


@BOTH_WAYS
async def test_a_cancelled_task_stops_at_its_server(client: str, server: str) -> None:
    theirs = SERVERS[server]()
    async with calling(CLIENTS[client](), up=theirs) as one:
        handle = await one.start_task("up_slow")
        await wait_for(theirs.began.wait(), 30)
        await handle.cancel()
        await wait_for(theirs.stopped.wait(), 30)
        with pytest.raises(TaskCancelled):
            await handle.result()
        assert (await handle.status()).status == "cancelled"


@BOTH_WAYS
async def test_equal_ids_of_two_servers_are_two_tasks(client: str, server: str) -> None:
    created = {"task": core_task("t")} if server == OLD else task_created("t")
    servers: dict[str, ScriptedServer] = {}
    for name in ("one", "two"):
        state = core_task if server == OLD else task_details
        got = {**state("t", statusMessage=name), "resultType": "complete"}
        tools = [tool("x", execution={"taskSupport": "optional"})]
        listed = {"tools": tools, "ttlMs": 0, "cacheScope": "private", "resultType": "complete"}
        answers: dict[str, Any] = {"tools_list": [listed], "tasks_get": [got]}
        servers[name] = ScriptedServer(server, tools_call=[created], **answers)
    behinds = [
        behind(name, Accepting(played.play), revision=server) for name, played in servers.items()
    ]
    async with client_of(gateway(*behinds), CLIENTS[client]()) as one:
        handles = [await one.start_task(f"{name}_x") for name in servers]
        assert [handle.id for handle in handles] == ["one:t", "two:t"]
        for name, handle in zip(servers, handles, strict=True):
            assert (await handle.status()).message == name
            (params,) = servers[name].params("tasks/get")
            assert params["taskId"] == "t"
