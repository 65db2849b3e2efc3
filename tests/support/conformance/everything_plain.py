"""Tools that ask nothing of the client: content, errors, progress, log entries, changes."""

import asyncio
from typing import Final

from mcp_revisions.v2026_07_28 import models as m

from support.conformance.everything_content import AUDIO, IMAGE, embed_text, text
from support.conformance.everything_toolbox import Answer, Call, Toolbox
from support.json_types import JsonObject

PLAIN: Final = Toolbox()

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


# The suite calls the first listed tool without arguments.
@PLAIN.tool("test_simple_text", "Answers with a text.")
async def simple_text(call: Call) -> Answer:
    return "This is a simple text."


@PLAIN.tool("test_image_content", "Answers with a picture.")
async def image(call: Call) -> Answer:
    return m.CallToolResult(content=[IMAGE])


@PLAIN.tool("test_audio_content", "Answers with a sound.")
async def audio(call: Call) -> Answer:
    return m.CallToolResult(content=[AUDIO])


@PLAIN.tool("test_embedded_resource", "Answers with the contents of a resource.")
async def embedded_resource(call: Call) -> Answer:
    return m.CallToolResult(content=[embed_text("test://embedded-resource", "What is embedded.")])


@PLAIN.tool("test_multiple_content_types", "Answers with a text, a picture and a resource.")
async def mixed_content(call: Call) -> Answer:
    resource = embed_text("test://mixed-content-resource", "What stands beside a picture.")
    return m.CallToolResult(content=[text("Several things:"), IMAGE, resource])


@PLAIN.tool("test_error_handling", "Always fails, in the way a tool does.")
async def error_handling(call: Call) -> Answer:
    return m.CallToolResult(content=[text("This tool fails on purpose.")], is_error=True)


@PLAIN.tool("test_tool_with_progress", "Reports how far it has come.")
async def with_progress(call: Call) -> Answer:
    for done in (0, 50, 100):
        await call.session.progress(done, 100, f"{done} of 100")
        await asyncio.sleep(_STEP)
    return "All done."


@PLAIN.tool("test_tool_with_logging", "Says in log entries what it does.")
async def with_logging(call: Call) -> Answer:
    for entry in ("started", "working", "finished"):
        await call.session.log("info", f"The tool has {entry}.", "everything")
        await asyncio.sleep(_STEP)
    return "All logged."


@PLAIN.tool("test_logging_tool", "Logs one entry.")
async def logging(call: Call) -> Answer:
    await call.session.log("info", "The tool was called.", "everything")
    return "Logged, if that was wanted."


@PLAIN.tool("test_reconnection", "Ends the stream it was called on, and answers later.")
async def reconnection(call: Call) -> Answer:
    await call.session.close_stream()
    await asyncio.sleep(_AWAY)
    return "This came over another stream."


@PLAIN.tool("test_trigger_tool_change", "Tells everyone that the list of tools has changed.")
async def trigger_tool_change(call: Call) -> Answer:
    await call.server.tools_list_changed()
    return "Told."


@PLAIN.tool("test_trigger_prompt_change", "Tells everyone that the list of prompts has changed.")
async def trigger_prompt_change(call: Call) -> Answer:
    await call.server.prompts_list_changed()
    return "Told."


@PLAIN.tool("test_x_mcp_header", "Has an argument that HTTP repeats in a header.", REPEATED)
async def repeated_header(call: Call) -> Answer:
    return f"The region is {call.arguments.get('region', 'not given')}."


@PLAIN.tool("json_schema_2020_12_tool", "Has a schema that uses the whole dialect.", FULL_DIALECT)
async def full_dialect(call: Call) -> Answer:
    return f"Called with {sorted(call.arguments)}."
