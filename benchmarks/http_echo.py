"""The echo server of generated stubs, in any revision; thin programs serve it."""

from typing import Any

import mcp_revisions

_SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


def server_of(revision: str, tools: int = 1) -> Any:
    """Return a server that lists that many tools; each echoes."""
    mcp: Any = mcp_revisions.load(revision)
    m = mcp.models
    names = ["echo", *(f"echo{number}" for number in range(1, tools))]
    listed = [
        m.Tool(name=name, description="Says what it is told.", input_schema=_SCHEMA)
        for name in names
    ]
    result = m.ListToolsResult(tools=listed)

    class Echo(mcp.Server):  # type: ignore[misc]
        async def on_list_tools(self, session: Any, params: Any) -> Any:
            return result

        async def on_call_tool(self, session: Any, params: Any) -> Any:
            text = str(params.arguments["text"])
            return m.CallToolResult(content=[m.TextContent(text=text)])

    return Echo()
