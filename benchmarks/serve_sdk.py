"""An echo server made with the SDK's low-level server."""

import asyncio
from typing import Any

import mcp_types as types
from mcp.server import Server
from mcp.server.stdio import stdio_server


async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    """Echo, whatever the tool."""
    text = str((params.arguments or {})["text"])
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)])


async def main() -> None:
    """Serve until the input ends."""
    server: Any = Server("echo", version="1", on_call_tool=call_tool)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


asyncio.run(main())
