"""Tools that ask nothing of the client: content, errors, progress, log entries, changes."""

import asyncio
from typing import Any, Final

from mcp_revisions import ToolError, Toolkit, tool
from mcp_revisions import v2026_07_28 as mcp
from mcp_revisions.v2026_07_28 import models as m
from support.conformance.everything_reading import AUDIO, IMAGE, embed_text
from support.json_types import JsonObject

# Longer than the runtime lets pass between two reports of progress on one request.
_STEP: Final = 0.06

# Long enough for the client to notice that its stream has ended.
_AWAY: Final = 0.2

REPEATED: Final[JsonObject] = {
    "type": "object",
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
}

FULL_DIALECT: Final[JsonObject] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
"""Words of JSON Schema that no model has members for; they have to arrive as they are."""


class Plain(Toolkit):
    """The tools; the suite calls the first one without arguments."""

    @tool
    async def test_simple_text(self) -> str:
        """Answer with a text."""
        return "This is a simple text."

    @tool
    async def test_image_content(self) -> m.CallToolResult:
        """Answer with a picture."""
        return m.CallToolResult(content=[IMAGE])

    @tool
    async def test_audio_content(self) -> m.CallToolResult:
        """Answer with a sound."""
        return m.CallToolResult(content=[AUDIO])

    @tool
    async def test_embedded_resource(self) -> m.CallToolResult:
        """Answer with the contents of a resource."""
        resource = embed_text("test://embedded-resource", "What is embedded.")
        return m.CallToolResult(content=[resource])

    @tool
    async def test_multiple_content_types(self) -> m.CallToolResult:
        """Answer with a text, a picture and a resource."""
        resource = embed_text("test://mixed-content-resource", "What stands beside a picture.")
        return m.CallToolResult(content=[m.TextContent(text="Several things:"), IMAGE, resource])

    @tool
    async def test_error_handling(self) -> str:
        """Fail, in the way a tool does."""
        raise ToolError("This tool fails on purpose.")

    @tool
    async def test_tool_with_progress(self, session: mcp.Session) -> str:
        """Report how far it has come."""
        for done in (0, 50, 100):
            await session.progress(done, 100, f"{done} of 100")
            await asyncio.sleep(_STEP)
        return "All done."

    @tool
    async def test_tool_with_logging(self, session: mcp.Session) -> str:
        """Say in log entries what it does."""
        for entry in ("started", "working", "finished"):
            await session.log("info", f"The tool has {entry}.", "everything")
            await asyncio.sleep(_STEP)
        return "All logged."

    @tool
    async def test_logging_tool(self, session: mcp.Session) -> str:
        """Log one entry."""
        await session.log("info", "The tool was called.", "everything")
        return "Logged, if that was wanted."

    @tool
    async def test_reconnection(self, session: mcp.Session) -> str:
        """End the stream it was called on, and answer later."""
        await session.close_stream()
        await asyncio.sleep(_AWAY)
        return "This came over another stream."

    @tool(input_schema=REPEATED)
    async def test_x_mcp_header(self, arguments: dict[str, Any]) -> str:
        """Have an argument that HTTP repeats in a header."""
        return f"The region is {arguments.get('region', 'not given')}."

    @tool(input_schema=FULL_DIALECT)
    async def json_schema_2020_12_tool(self, arguments: dict[str, Any]) -> str:
        """Have a schema that uses the whole dialect."""
        return f"Called with {sorted(arguments)}."
