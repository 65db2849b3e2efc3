"""Tasks of servers that leave a gateway at a reload."""

import gc
from asyncio import create_task, sleep
from dataclasses import replace
from typing import Any
from weakref import WeakSet

import pytest
from mcp_protogen.runtime.testing import in_memory
from mcp_protogen.servers.gateway.fronts.mounts import GatewayMount
from mcp_protogen.servers.gateway.gateway import Gateway
from mcp_protogen.servers.gateway.upstreams.leaving import DRAIN
from mcp_revisions import McpError
from support.gateway.gateways import behind, client_of, gateway_settings
from support.sessions.talking import pkg
from support.tasks.gateway import CLIENTS, OPTIONS, PAIRS, SERVERS

BOTH_WAYS = pytest.mark.parametrize(("client", "server"), PAIRS)

pytestmark = pytest.mark.skips_time


def changing(server: str) -> tuple[Any, Gateway, Any]:
    """Return a server, the gateway before it, and what changes the server in the file."""
    theirs = SERVERS[server]()
    settings = behind("up", in_memory(theirs, options=pkg.Options(**OPTIONS)))
    gateway = Gateway(gateway_settings(settings), pkg)

    def change() -> None:
        digest = f"{gateway.settings.servers[0].opener_digest}+"
        gateway.apply(gateway_settings(replace(settings, opener_digest=digest)))

    return theirs, gateway, change


@BOTH_WAYS
async def test_task_has_as_long_to_end_as_a_request(client: str, server: str) -> None:
    theirs, gateway, change = changing(server)
    async with client_of(gateway.fronts, CLIENTS[client]()) as one:
        handles = [await one.start_task("up_slow") for _ in range(3)]
        change()
        await handles[2].cancel()
        assert (await handles[0].status()).status == "working"
        theirs.go_on.set()
        assert (await handles[0].result()).text == "slow is done"
        await sleep(DRAIN)
        with pytest.raises(McpError) as raised:
            await handles[1].status()
        assert raised.value.code == -32602


@BOTH_WAYS
async def test_call_that_becomes_a_task_later_is_one(client: str, server: str) -> None:
    theirs, gateway, change = changing(server)
    async with client_of(gateway.fronts, CLIENTS[client]()) as one:
        await one.call_tool("up_quick")
        starting = create_task(one.start_task("up_slow"))
        await theirs.began.wait()
        change()
        handle = await starting
        assert handle.id.startswith("up:")
        theirs.go_on.set()
        assert (await handle.result()).text == "slow is done"


@BOTH_WAYS
async def test_connections_of_a_left_server_end_with_its_tasks(client: str, server: str) -> None:
    _, gateway, change = changing(server)
    async with client_of(gateway.fronts, CLIENTS[client]()) as one:
        await one.start_task("up_slow")
        fronts: list[Any] = gateway.fronts
        mounts: WeakSet[GatewayMount] = WeakSet()
        for front in fronts:
            mounts.update(front.__mcp_runtime__.mounts)
        change()
        await sleep(DRAIN + 1)
        # The last servers to leave are known until others do.
        change()
        gc.collect()
        assert not mounts
