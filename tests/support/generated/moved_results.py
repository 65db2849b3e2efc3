"""Made-up revisions whose results of tools are elsewhere.

One is the newest revision with `outputs` in place of `content` and `structuredContent` of results,
and `outputVariants` in place of `outputSchema` of tools. With rules of translation, a method and a
type have other names, too.
"""

import json
import shutil
from pathlib import Path
from typing import Any, Final

from mcp_protogen.base.names import module_name
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.pipeline.config import GenerationOptions, GivenFile
from mcp_protogen.pipeline.inputs.facts import load
from support.generated.golden_package import PACKAGE
from support.generated.next_revision import NEXT, Checkout
from support.revisions import NEWEST, REVISIONS
from support.unit.schemas import full_record, ref

Json = dict[str, Any]

PAGE: Final = "server/tools#outputs"


def with_outputs(schema: Json) -> Json:
    """Return a schema with `outputs` in place of content and structured content.

    A tool declares all its variants, by name, and a call requests some of them. The list in a page
    has another name.
    """
    types: Json = schema["$defs"]
    result, tool = types["CallToolResult"], types["Tool"]
    blocks = result["properties"].pop("content")
    value = result["properties"].pop("structuredContent")
    declared = tool["properties"].pop("outputSchema")
    types["ContentOutput"] = full_record(kind=_constant("content"), content=blocks)
    types["StructuredOutput"] = full_record(kind=_constant("structured"), value={**value})
    types["ToolOutput"] = {"anyOf": [ref("ContentOutput"), ref("StructuredOutput")]}
    result["properties"]["outputs"] = {"type": "array", "items": ref("ToolOutput")}
    result["required"] = ["outputs", *(name for name in result["required"] if name != "content")]
    kind = {"type": "string", "enum": ["content", "structured"]}
    types["OutputVariant"] = {
        "type": "object",
        "properties": {"kind": kind, "schema": declared, "note": {"type": "string"}},
        "required": ["kind"],
    }
    tool["properties"]["outputVariants"] = {
        "type": "object",
        "additionalProperties": ref("OutputVariant"),
    }
    tool["required"].append("outputVariants")
    types["OutputChoice"] = full_record(kind=kind)
    called = types["CallToolRequestParams"]["properties"]
    called["requestedOutputs"] = {"type": "array", "items": ref("OutputChoice")}
    page = types["ListToolsResult"]
    page["properties"]["items"] = page["properties"].pop("tools")
    page["required"] = ["items", *(name for name in page["required"] if name != "tools")]
    return schema


def options_with_outputs(*others: str) -> GenerationOptions:
    """Return the options of a package of other revisions, by default all, and of this one."""
    schema = json.dumps(publish_outputs())
    return GenerationOptions(
        (*(others or REVISIONS), NEXT),
        {NEXT: GivenFile("moved.json", schema.encode())},
        rules={NEXT: GivenFile("moved-rules.json", json.dumps(_RULES).encode())},
    )


def publish_outputs() -> Json:
    """Return the newest schema with `outputs`, and other names."""
    text = (schema_folder() / NEWEST / "schema.json").read_text()
    for old, new in NAMES.items():
        text = text.replace(f'"{old}"', f'"{new}"').replace(f'"#/$defs/{old}"', f'"#/$defs/{new}"')
    return with_outputs(json.loads(text))


def _rule(at: str, **actions: Json) -> Json:
    return {"at": [at], **actions, "reason": "Values moved.", "source": PAGE}


NAMES: Final = {
    "tools/call": "tools/invoke",
    "tools/list": "tools/catalog",
    "Implementation": "PeerInfo",
}
_PARTS: Json = {
    "[kind=content].content": "content",
    "[kind=structured].value": "structuredContent",
}
_VARIANTS: Json = {"[kind=content]": None, "[kind=structured].schema": "outputSchema"}
_FIRST: Json = {"content": {"kind": "content"}}
MOVES: Final = (
    _rule("CallToolResult.content", up={"move": "outputs[kind=content].content"}),
    _rule("CallToolResult.structuredContent", up={"move": "outputs[kind=structured].value"}),
    _rule("CallToolResult.outputs", down={"move": _PARTS}),
    _rule("CallToolResult.content", down={"add": []}),
    _rule("CallToolResult", down={"finish": "structured_content_also_as_text"}),
    _rule("Tool.outputSchema", up={"move": "outputVariants[kind=structured].schema"}),
    _rule("Tool.outputVariants", up={"add": _FIRST}, down={"move": _VARIANTS}),
)
"""Where the parts of results and the declarations of tools go."""
_RULES: Json = {
    "older": NEWEST,
    "became": NAMES,
    "rules": [
        *MOVES,
        _rule("CallToolRequestParams.requestedOutputs", down={"drop": "harmless"}),
        _rule("ListToolsResult.tools", up={"move": "items"}),
        _rule("ListToolsResult.items", down={"move": "tools"}),
    ],
    "errors": [],
}


def facts_of_outputs(inherits: str) -> Json:
    stated = load(schema_folder(), inherits)
    methods, keys = stated.methods, stated.document["meta_keys"].items()
    renamed = {old: new for old, new in NAMES.items() if old in methods}
    return {
        "inherits": inherits,
        "methods": {
            **dict.fromkeys(renamed),
            **{new: dict(methods[old]) for old, new in renamed.items()},
        },
        "meta_keys": {
            key: {**fact, "type": NAMES[fact["type"]]}
            for key, fact in keys
            if fact["type"] in NAMES
        },
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
            name: {"values": ["content", "structured"], "source": "schema.ts"}
            for name in ("OutputVariant.kind", "OutputChoice.kind")
        },
        "places": {
            "requested_outputs": {"path": "requestedOutputs[kind=content]", "source": PAGE},
            "tool_content": {"path": "outputs[kind=content].content", "source": PAGE},
            "tool_structured": {"path": "outputs[kind=structured].value", "source": PAGE},
            "tool_content_variant": {"path": "outputVariants[kind=content]", "source": PAGE},
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


def _constant(value: str) -> Json:
    return {"type": "string", "const": value}


SERVER: Final = """
'''A server of tools that return, or raise, one thing each.'''

from pydantic import BaseModel

from PACKAGE import Image, ToolError
from PACKAGE import REVISION as mcp


class Point(BaseModel):
    x: int


app = mcp.App("points")


@app.tool
def point(x: int) -> Point:
    return Point(x=x)


@app.tool
def text(x: int) -> str:
    return f"ä%{x}"


@app.tool
def open(x: int):
    return {"x": x}


@app.tool
def picture() -> Image:
    return Image(data=b"123", format="png")


@app.tool
def nothing() -> None: ...


@app.tool
def fail() -> int:
    raise ToolError("no points left")


@app.tool
def own() -> mcp.models.CallToolResult:
    return mcp.models.CallToolResult.from_wire(OWN)


if __name__ == "__main__":
    app.run()
"""

CLIENT: Final = """
'''A client that prints what it gets from that server.'''

import asyncio
import json

from PACKAGE import CheckedResults, ProtocolError, connect
from PACKAGE import REVISION as mcp
from server import Point, app

CALLS = {
    "point": {"x": 1},
    "text": {"x": 2},
    "open": {"x": 3},
    "picture": {},
    "nothing": {},
    "own": {},
    "fail": {},
}


class Checked(CheckedResults, mcp.Client):
    pass


async def main() -> None:
    app.page_size = 2
    async with connect(app, Checked()) as client:
        said = {"tools": [tool.to_wire() async for tool in client.iter_tools()]}
        for name, arguments in CALLS.items():
            try:
                result = await client.call_tool(name, arguments)
                wire = result.to_wire()
                wire.pop("_meta", None)
                said[name] = [wire, result.text, result.data]
            except ProtocolError as error:
                said[name] = f"{type(error).__name__}: {error}"
        for as_, name in ((Point, "point"), (str, "own"), (bool, "point"), (int, "fail")):
            try:
                said[f"{name} as {as_.__name__}"] = repr(
                    await client.call_tool(name, CALLS[name], as_=as_)
                )
            except ProtocolError as error:
                said[f"{name} as {as_.__name__}"] = f"{type(error).__name__}: {error}"
        print(json.dumps(said))


asyncio.run(main())
"""


def write_programs(folder: Path, package: str, revision: str, own: Json) -> None:
    """Write a server and a client of a package into a folder; `own` is a result of the server."""
    words = {"PACKAGE": package, "REVISION": module_name(revision), "OWN": repr(own)}
    for name, program in (("server.py", SERVER), ("client.py", CLIENT)):
        for word, meaning in words.items():
            program = program.replace(word, meaning)
        (folder / name).write_text(program)


def add_outputs(checkout: Checkout) -> None:
    """Pin the revision with `outputs`, give it facts, and make the commands speak it alone."""
    schema, published = checkout.schema, checkout.folder / "published.json"
    published.write_text(json.dumps(publish_outputs()))
    checkout.run("-m", "mcp_protogen", "schema", "add", NEXT, "--from", str(published))
    shutil.copy(schema / NEWEST / "patches.json", schema / NEXT)
    (schema / NEXT / "facts.json").write_text(json.dumps(facts_of_outputs(NEWEST)))
    (schema / NEXT / "translation.json").write_text(json.dumps(_RULES))
    arguments = ("--revision", NEXT, "--with", "all", "--runtime", "mcp_protogen.runtime")
    place = str(checkout.generated / PACKAGE.name)
    checkout.run("-m", "mcp_protogen", *arguments, "--out", place)
