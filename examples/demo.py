"""The demonstration of `make demo`: a generated package, and a session between its two stubs.

`pkg` must be a package that `mcp-gen` generated for 2025-11-25.
"""

import asyncio
import json
from pathlib import Path
from typing import Any

import pkg
from pkg import v2025_11_25 as mcp

m = mcp.models

WEATHER = m.Tool(
    name="weather",
    description="Current weather at a place.",
    input_schema={
        "type": "object",
        "properties": {"place": {"type": "string"}},
        "required": ["place"],
    },
)


class WeatherServer(mcp.Server):
    """A server with one tool."""

    async def on_list_tools(
        self, session: Any, params: m.PaginatedRequestParams
    ) -> m.ListToolsResult:
        return m.ListToolsResult(tools=[WEATHER])

    async def on_call_tool(self, session: Any, params: m.CallToolRequestParams) -> m.CallToolResult:
        place = (params.arguments or {}).get("place", "nowhere")
        return m.CallToolResult(content=[m.TextContent(text=f"Sunny in {place}")])


def show_tree(package: Path) -> None:
    """Print every generated file with its size."""
    for path in sorted(package.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            print(f"  {path.relative_to(package.parent)}  {path.stat().st_size:,} bytes")


def show_message(sender: str, data: bytes) -> None:
    """Print a message with its direction."""
    arrow = "→" if sender == "client" else "←"
    print(f"  {arrow} {json.dumps(json.loads(data), ensure_ascii=False)}")


async def converse() -> None:
    """List the tools, and call one."""
    server, client = WeatherServer(), mcp.Client()
    print(f"\nThe server declares {server.capabilities().to_wire()}. The messages:")
    async with pkg.connect_in_memory(server, client, tap=show_message):
        listed = await client.list_tools()
        result = await client.call_tool(listed.tools[0].name, {"place": "Lisbon"})
    assert isinstance(result, m.CallToolResult)
    match result.content:
        case [m.TextContent(text=text)]:
            print(f"\nThe tool says: {text}")
        case other:
            raise SystemExit(f"not the expected answer: {other}")


FOLDER = Path(pkg.__file__).parent
print("Written:")
show_tree(FOLDER)
asyncio.run(converse())
