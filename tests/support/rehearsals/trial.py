"""A client and a server of a revision, connected in memory: a list, a call, and an error.

It runs on a copy of the checkout, with the revision, and the one before it, as its arguments.
"""

import asyncio
import sys
from typing import Any

from mcp_revisions import McpError, client_of, load

revision: Any = load(sys.argv[1])
app = revision.App("rehearsal", version="1.0.0")


def add(first: int, second: int) -> int:
    """Add two numbers."""
    return first + second


app.tool(add)


async def talk() -> None:
    """Use the server in its own revision, then with a client of the revision before."""
    for only in (None, sys.argv[2]):
        choice: dict[str, Any] = {"as_": load(only)} if only else {}
        async with client_of(app, **choice) as client:
            tools = [tool.name async for tool in client.iter_tools()]
            assert tools == ["add"], tools
            result = await client.call_tool("add", {"first": 1, "second": 2})
            assert result.text == "3", result
            try:
                await client.call_tool("subtract", {})
            except McpError:
                continue
            raise AssertionError("a tool that is not there was called")


asyncio.run(talk())
