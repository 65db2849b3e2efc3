"""A server of the official SDK, generation 2, over HTTP on a port: it has tools, and no tasks."""

import sys

from mcp import MCPError
from mcp.server import MCPServer

server = MCPServer("plain")


@server.tool()
async def greet(name: str) -> str:
    return f"Hello, {name}!"


@server.tool()
async def slow_compute(seconds: float, label: str = "") -> str:
    return f"computed {label} in {seconds} s"


@server.tool()
async def failing_job() -> str:
    raise ValueError("This job always fails")


@server.tool()
async def protocol_error_job() -> str:
    raise MCPError(-32603, "This job always breaks")


@server.tool()
async def confirm_delete(filename: str) -> str:
    return f"Kept {filename}"


@server.tool()
async def multi_input() -> str:
    return "nobody was asked"


@server.tool()
async def test_tool_with_task() -> str:
    return "Hello, nobody"


server.run(transport="streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
