"""Ways from a client to a server of a generated package: directly, and through a bridge."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Final

from mcp_protogen.runtime.testing import in_memory
from mcp_protogen.runtime.transports.memory import memory_pair


@asynccontextmanager
async def connect_directly(package: Any, client: Any, server: Any) -> AsyncGenerator[Any, None]:
    async with package.connect_in_memory(server, client, revisions=package.REVISIONS) as connected:
        yield connected


@asynccontextmanager
async def connect_by_bridge(package: Any, client: Any, server: Any) -> AsyncGenerator[Any, None]:
    ours, middle = memory_pair()
    running = asyncio.create_task(package.Bridge(middle, in_memory(server)).run())

    async def open() -> Any:
        return ours

    async with package.connect(open, client) as connected:
        yield connected
    await running


WAYS: Final = (connect_directly, connect_by_bridge)
