"""Connections to and from a made-up revision with moved values and other names."""

import importlib
import sys
from collections.abc import Callable
from itertools import permutations
from typing import Any

import pytest
from mcp_protogen.pipeline.parts import parse_parts
from support.generated.connecting import WAYS
from support.generated.moved_results import options_with_outputs
from support.generated.next_revision import NEXT
from support.generating import write_files
from support.made_once import generated_once
from support.revisions import NEWEST, REVISIONS

Json = dict[str, Any]

OLD, MIDDLE = REVISIONS[0], REVISIONS[-2]
NAME = "package_with_moved_results"
TEXT = {"type": "text", "text": "hi"}
OBJECTS = {"type": "object"}


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("moved")
    options = options_with_outputs(OLD, MIDDLE, NEWEST)
    parts = parse_parts(["bridge,tasks,testing"])
    options = options._replace(parts=parts, runtime="mcp_protogen.runtime")
    write_files(generated_once(options).files, folder / NAME)
    sys.path.insert(0, str(folder))
    yield importlib.import_module(NAME)
    sys.path.remove(str(folder))


def items_of(revision: str) -> str:
    return "items" if revision == NEXT else "tools"


def make_server(package: Any, revision: str) -> Any:
    """Return a server with one tool, which has results with a text and a structured value."""
    module = package.load(revision)
    m = module.models
    cached = {"ttlMs": 0, "cacheScope": "private"} if revision >= NEWEST else {}

    async def on_call_tool(self: Any, session: Any, params: Any) -> Any:
        structured = {"structuredContent": {"a": 1}} if revision >= MIDDLE else {}
        result: Json = {"content": [TEXT], **structured}
        if revision == NEXT:
            content = {"kind": "content", "content": [TEXT]}
            result = {"outputs": [content, {"kind": "structured", "value": {"a": 1}}]}
        return m.CallToolResult.from_wire({"resultType": "complete", **result})

    async def on_list_tools(self: Any, session: Any, params: Any) -> Any:
        tool: Json = {"name": "x", "inputSchema": OBJECTS}
        if revision == NEXT:
            tool["outputVariants"] = {"s": {"kind": "structured", "schema": OBJECTS}}
        elif revision >= MIDDLE:
            tool["outputSchema"] = OBJECTS
        page = {items_of(revision): [tool], "resultType": "complete", **cached}
        return m.ListToolsResult.from_wire(page)

    handlers = {"on_call_tool": on_call_tool, "on_list_tools": on_list_tools}
    made: Any = type("Echo", (module.Server,), handlers)()
    return made


def structured_values(result: Json) -> list[Any]:
    outputs = [output["value"] for output in result.get("outputs", ()) if "value" in output]
    return [*outputs, *([result["structuredContent"]] if "structuredContent" in result else [])]


@pytest.mark.parametrize("connect", WAYS)
@pytest.mark.parametrize(
    ("own", "wire"),
    [pair for pair in permutations((OLD, MIDDLE, NEWEST, NEXT), 2) if NEXT in pair],
)
async def test_moved_results_reach_both_sides_under_both_names(
    package: Any, own: str, wire: str, connect: Callable[..., Any]
) -> None:
    client = package.load(wire).Client()
    async with connect(package, client, make_server(package, own)) as connected:
        (listed,) = getattr(await connected.list_tools(), items_of(wire))
        result, tool = (await connected.call_tool("x")).to_wire(), listed.to_wire()
    has_both = OLD not in (own, wire)
    assert structured_values(result) == ([{"a": 1}] if has_both else [])
    if wire == NEXT:
        assert result["outputs"][0] == {"kind": "content", "content": [TEXT]}
        kinds = [variant["kind"] for variant in tool["outputVariants"].values()]
        assert kinds == (["content", "structured"] if has_both else ["content"])
    else:
        assert result["content"] == [TEXT, {"type": "text", "text": '{"a":1}'}]
        assert tool.get("outputSchema") == (OBJECTS if has_both else None)
    assert ("outputs" in result) == (wire == NEXT)
