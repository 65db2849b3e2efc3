"""An echo server made of generated stubs."""

from mcp_revisions import run_stdio
from mcp_revisions import v2025_11_25 as mcp
from mcp_revisions.v2025_11_25 import models as m


class Echo(mcp.Server):
    """A server whose tools echo."""

    async def on_call_tool(
        self, session: mcp.Session, params: m.CallToolRequestParams
    ) -> m.CallToolResult:
        """Echo, whatever the tool."""
        text = str((params.arguments or {})["text"])
        return m.CallToolResult(content=[m.TextContent(text=text)])


run_stdio(Echo())
