"""A plugin for pytest: the interaction tests of the official Python SDK, with a bridge in between.

It runs the tests that are in memory, in both revisions, in the environment of the SDK.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import anyio
import mcp_revisions
import pytest
from mcp.client.client import Client
from mcp.server.mcpserver import MCPServer
from mcp.shared.memory import create_client_server_memory_streams
from mcp.shared.message import SessionMessage
from mcp_revisions._runtime.transports.memory import memory_pair
from mcp_types import jsonrpc_message_adapter
from mcp_types.version import LATEST_HANDSHAKE_VERSION, MODERN_PROTOCOL_VERSIONS

OVER = (anyio.ClosedResourceError, anyio.BrokenResourceError, mcp_revisions.Disconnected)


async def read(transport: Any, stream: Any) -> None:
    """Pass on the messages of our transport to a stream of the SDK."""
    try:
        while messages := await transport.receive():
            for message in messages:
                parsed = jsonrpc_message_adapter.validate_json(message, by_name=False)
                await stream.send(SessionMessage(parsed))
    except OVER:
        pass
    finally:
        await stream.aclose()


async def write(stream: Any, transport: Any) -> None:
    """Pass on the messages of a stream of the SDK to our transport."""
    try:
        async for message in stream:
            text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            await transport.send([text.encode()])
    except OVER:
        pass
    finally:
        await transport.close()


@asynccontextmanager
async def join_bridge(transport: Any) -> AsyncGenerator[tuple[Any, Any], None]:
    """Yield the streams of the SDK at the other end of our transport."""
    async with (
        create_client_server_memory_streams() as (
            (own_read, own_write),
            (far_read, far_write),
        ),
        anyio.create_task_group() as group,
    ):
        group.start_soon(read, transport, far_write)
        group.start_soon(write, far_read, transport)
        try:
            yield own_read, own_write
        finally:
            with anyio.CancelScope(shield=True):
                await own_write.aclose()
                await anyio.sleep(0)
                await transport.close()
            group.cancel_scope.cancel()


@asynccontextmanager
async def connect(
    server: Any, *, spec_version: str = LATEST_HANDSHAKE_VERSION, **options: Any
) -> AsyncGenerator[Client, None]:
    """Connect a client of the SDK to a server of it, through a bridge."""
    ours, of_client = memory_pair()
    to_server, theirs = memory_pair()
    low = server._lowlevel_server if isinstance(server, MCPServer) else server

    async def open_server() -> Any:
        return to_server

    async def serve(streams: Any) -> None:
        await low.run(*streams, low.create_initialization_options())
        await streams[1].aclose()

    mode = spec_version if spec_version in MODERN_PROTOCOL_VERSIONS else "legacy"
    async with AsyncExitStack() as stack:
        streams = await stack.enter_async_context(join_bridge(theirs))
        group = await stack.enter_async_context(anyio.create_task_group())
        group.start_soon(serve, streams)
        running = asyncio.ensure_future(mcp_revisions.Bridge(of_client, open_server).run())
        try:
            async with Client(join_bridge(ours), mode=mode, **options) as client:
                yield client
        finally:
            with anyio.CancelScope(shield=True):
                await ours.close()
                await asyncio.wait([running], timeout=5)
                assert running.done(), "the bridge has not ended with its client"
            group.cancel_scope.cancel()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    from tests.interaction import conftest

    conftest._FACTORIES["in-memory"] = connect
    items[:] = [item for item in items if "[in-memory-" in item.nodeid]
