"""Made-up revisions whose results of tools are elsewhere."""

from typing import Any, Final

Json = dict[str, Any]

PAGE: Final = "server/tools#outputs"


def with_outputs(schema: Json) -> Json:
    """Return a schema with `outputs` in place of content and structured content.

    A tool declares its variants, by name.
    """
    types: Json = schema["$defs"]
    result, tool = types["CallToolResult"], types["Tool"]
    blocks = result["properties"].pop("content")
    value = result["properties"].pop("structuredContent")
    declared = tool["properties"].pop("outputSchema")
    types["ContentOutput"] = _object(kind=_constant("content"), content=blocks)
    types["StructuredOutput"] = _object(kind=_constant("structured"), value={**value})
    types["ToolOutput"] = {"anyOf": [_ref("ContentOutput"), _ref("StructuredOutput")]}
    result["properties"]["outputs"] = {"type": "array", "items": _ref("ToolOutput")}
    result["required"] = ["outputs", *(name for name in result["required"] if name != "content")]
    kind = {"type": "string", "enum": ["content", "structured"]}
    types["OutputVariant"] = {
        "type": "object",
        "properties": {"kind": kind, "schema": declared},
        "required": ["kind"],
    }
    tool["properties"]["outputVariants"] = {
        "type": "object",
        "additionalProperties": _ref("OutputVariant"),
    }
    return schema


def facts_of_outputs(inherits: str) -> Json:
    """Return the facts of such a revision."""
    return {
        "inherits": inherits,
        "types": {
            "json_schemas": {
                "Tool.outputSchema": None,
                "OutputVariant.schema": {"source": PAGE},
            }
        },
        "unions": {
            "ToolOutput": {"arms": ["ContentOutput", "StructuredOutput"], "source": "schema.ts"}
        },
        "enums": {
            "OutputVariant.kind": {"values": ["content", "structured"], "source": "schema.ts"}
        },
        "places": {
            "tool_content": {"path": "outputs[kind=content].content", "source": PAGE},
            "tool_structured": {"path": "outputs[kind=structured].value", "source": PAGE},
            "tool_output_schema": {
                "path": "outputVariants[kind=structured].schema",
                "source": PAGE,
            },
        },
    }


def with_tool_result(schema: Json) -> Json:
    """Return a schema with any value as the result of a tool, like drafts of 2024."""
    types: Json = schema["$defs"]
    result = types["CallToolResult"]
    meta = result["properties"]["_meta"]
    result["properties"] = {"_meta": meta, "toolResult": {}}
    result["required"] = ["toolResult"]
    return schema


def _ref(name: str) -> Json:
    return {"$ref": f"#/$defs/{name}"}


def _constant(value: str) -> Json:
    return {"type": "string", "const": value}


def _object(**members: Json) -> Json:
    return {"type": "object", "properties": members, "required": sorted(members)}
