"""A made-up revision with the values of results and tools at other places.

It is the newest one with `outputs` in place of `content` and `structuredContent` of results, and
`outputVariants` in place of `outputSchema` of tools, which are unions by `kind`. Besides, a method
and a type have other names.
"""

import json
from typing import Any, Final

from mcp_protogen.base.resources import schema_folder
from mcp_protogen.pipeline.config import GenerationOptions, GivenFile

from support.revisions import NEWEST, REVISIONS

Json = dict[str, Any]

MOVED: Final = f"{int(NEWEST[:4]) + 1}-01-01"
_SCHEMA: Json = {"type": "object", "additionalProperties": {}}


def options_with_moved_results(*others: str) -> GenerationOptions:
    """Return the options of a package with other revisions, by default all, and the made-up one."""
    text = (schema_folder() / NEWEST / "schema.json").read_text()
    for old, new in _NAMES.items():
        text = text.replace(f'"{old}"', f'"{new}"').replace(f'"#/$defs/{old}"', f'"#/$defs/{new}"')
    schema: Json = json.loads(text)
    _move(schema["$defs"])
    return GenerationOptions(
        (*(others or REVISIONS), MOVED),
        {MOVED: GivenFile("moved.json", json.dumps(schema).encode())},
        rules={MOVED: GivenFile("moved-rules.json", json.dumps(_RULES).encode())},
    )


def _move(types: Json) -> None:
    result, tool = types["CallToolResult"], types["Tool"]
    content = result["properties"].pop("content")
    structured = result["properties"].pop("structuredContent")
    result["required"] = ["outputs", *(name for name in result["required"] if name != "content")]
    result["properties"]["outputs"] = _array_of("ToolOutput")
    del tool["properties"]["outputSchema"]
    tool["required"].append("outputVariants")
    tool["properties"]["outputVariants"] = _array_of("ToolVariant")
    types["ContentOutput"] = _arm("content", ("content",), content=content)
    types["StructuredOutput"] = _arm("structured", ("value",), value=structured)
    types["ContentVariant"] = _arm("content")
    types["StructuredVariant"] = _arm("structured", schema=_SCHEMA, note={"type": "string"})
    types["ToolOutput"] = _any_of("ContentOutput", "StructuredOutput")
    types["ToolVariant"] = _any_of("ContentVariant", "StructuredVariant")


def _array_of(name: str) -> Json:
    return {"type": "array", "items": {"$ref": f"#/$defs/{name}"}}


def _any_of(*names: str) -> Json:
    return {"anyOf": [{"$ref": f"#/$defs/{name}"} for name in names]}


def _arm(kind: str, required: tuple[str, ...] = (), **members: Json) -> Json:
    properties = {"kind": {"type": "string", "const": kind}, **members}
    return {"type": "object", "properties": properties, "required": ["kind", *required]}


def _rule(*at: str, **actions: Json) -> Json:
    return {"at": list(at), **actions, "reason": "Values moved.", "source": "server/tools"}


_NAMES = {"tools/call": "tools/invoke", "Implementation": "PeerInfo"}
_PARTS: Json = {
    "[kind=content].content": "content",
    "[kind=structured].value": "structuredContent",
}
_VARIANTS: Json = {"[kind=content]": None, "[kind=structured].schema": "outputSchema"}
_RULES: Json = {
    "older": NEWEST,
    "became": _NAMES,
    "rules": [
        _rule("CallToolResult.content", up={"move": "outputs[kind=content].content"}),
        _rule("CallToolResult.structuredContent", up={"move": "outputs[kind=structured].value"}),
        _rule("CallToolResult.outputs", down={"move": _PARTS}),
        _rule("CallToolResult.content", down={"add": []}),
        _rule("CallToolResult", down={"finish": "structured_content_also_as_text"}),
        _rule("Tool.outputSchema", up={"move": "outputVariants[kind=structured].schema"}),
        _rule("Tool.outputVariants", up={"add": [{"kind": "content"}]}, down={"move": _VARIANTS}),
    ],
    "errors": [],
}
