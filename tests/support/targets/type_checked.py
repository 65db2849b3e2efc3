"""What targets for Python make, and programs that use it, with lines that checkers must refuse."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from mcp_protogen.pipeline.target import LAYERS, TargetOptions
from support.docs.pages import block_texts
from support.generated.golden_package import REVISIONS
from support.tables import some
from support.targets.made_up_modules import build_module
from support.targets.target_modules import folder

TYPEDDICT: Final = '''
"""What type checkers know of TypedDicts."""

from typing import assert_never

from mcp_types import v2024_11_05, v2026_07_28
from mcp_types.v2025_11_25 import (
    CallToolRequest,
    CallToolRequestParams,
    ClientRequest,
    ContentBlock,
    Tool,
)


def size(block: ContentBlock) -> int:
    block["text"]  # wrong
    if block["type"] == "text":
        block["data"]  # wrong
        return len(block["text"])
    if block["type"] == "image" or block["type"] == "audio":
        return len(block["data"])
    if block["type"] == "resource_link":
        return block.get("size", 0)
    if block["type"] == "resource":
        return len(block["resource"]["uri"])
    assert_never(block)


def subject(request: ClientRequest) -> str:
    if request["method"] == "tools/call":
        return request["params"]["name"]
    if request["method"] == "resources/read":
        request["params"]["name"]  # wrong
        return request["params"]["uri"]
    return request["method"]


def level(params: v2026_07_28.CallToolRequestParams) -> str | None:
    return params["_meta"].get("io.modelcontextprotocol/logLevel")


tool: Tool = {"name": "x", "inputSchema": {"type": "object"}, "icons": [{"src": "x"}]}
nameless: Tool = {"inputSchema": {}}  # wrong
params: CallToolRequestParams = {"name": "x"}
call: CallToolRequest = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
badly: CallToolRequest = {"jsonrpc": "2.0", "id": 1, "method": "x", "params": params}  # wrong
asked: ClientRequest = call
old: v2024_11_05.Tool = {"name": "x", "inputSchema": {}}
tool["titel"]  # wrong
'''

DATACLASSES: Final = '''
"""What type checkers know of dataclasses."""

from typing import Any, assert_never

from mcp_classes import v2025_11_25 as m
from mcp_classes import v2026_07_28 as new


def size(block: m.ContentBlock) -> int:
    block.text  # wrong
    match block:
        case m.TextContent():
            return len(block.text)
        case m.ImageContent() | m.AudioContent():
            return len(block.data)
        case m.ResourceLink(size=size):
            return size or 0
        case m.EmbeddedResource():
            return len(block.resource.uri)
        case m.UnknownContent():
            return len(block.extra_members)
        case _:
            assert_never(block)


def data(result: new.CallToolResult) -> Any:
    return None if result.structured_content is new.ABSENT else result.structured_content


def ttl(task: m.Task) -> int | None:
    return task.ttl


tool: m.Tool = m.from_wire(m.Tool, {"name": "x", "inputSchema": {}})
wire: dict[str, Any] = m.to_wire(tool)
made = m.Tool(name="x", input_schema={}, icons=[m.Icon(src="x")])
made.titel = "X"  # wrong
m.Tool(name="x")  # wrong
m.Tool(name=1, input_schema={})  # wrong
params = new.CallToolRequestParams(name="x")
params.meta.protocol_version.upper()
request = m.CallToolRequest(id=1, params=m.CallToolRequestParams(name="x"))
'''

MSGSPEC: Final = '''
"""What type checkers know of Structs."""

from typing import assert_never

from mcp_structs import v2025_11_25 as m
from mcp_structs import v2026_07_28 as new
from msgspec import UNSET


def size(block: m.ContentBlock) -> int:
    block.text  # wrong
    match block:
        case m.TextContent():
            return len(block.text)
        case m.ImageContent() | m.AudioContent():
            return len(block.data)
        case m.ResourceLink(size=size):
            return 0 if size is UNSET else size
        case m.EmbeddedResource():
            return len(block.resource.uri)
        case _:
            assert_never(block)


def name(message: m.Message) -> str | None:
    match message:
        case m.RequestMessage(params=m.CallToolRequestParams(name=name)):
            return name
        case m.RequestMessage(params=m.ReadResourceRequestParams(uri=uri)):
            return uri
        case _:
            return None


result = m.decode_result("tools/list", b"{}")
first: m.Tool = result.tools[0]
answer: new.CallToolResult | new.InputRequiredResult = new.decode_result("tools/call", b"{}")
m.decode_result("tools/eat", b"{}")  # wrong
known = m.decode_answer("tools/list", b"{}")
if isinstance(known, m.ResultMessage):
    tools: list[m.Tool] = known.result.tools
    tool: m.Tool = known.result.tools  # wrong
made = m.Tool(name="x", input_schema={}, icons=[m.Icon(src="x")])
made.titel = "X"  # wrong
m.Tool(name="x")  # wrong
m.Tool(name=1, input_schema={})  # wrong
absent: bool = made.title is UNSET
'''

OLDEST: Final = REVISIONS[:1]
LATEST: Final = REVISIONS[-1:]
CHECKED: Final = (REVISIONS[0], *REVISIONS[-2:])
USED: Final[Mapping[str, tuple[TargetOptions, tuple[str, ...]]]] = {
    "mcp_types": (TargetOptions("typeddict", LAYERS), CHECKED),
    "mcp_classes": (TargetOptions("dataclasses"), REVISIONS[-2:]),
    "mcp_structs": (TargetOptions("msgspec", LAYERS), REVISIONS[-2:]),
    "mcp_models": (TargetOptions("pydantic", LAYERS), LATEST),
}
OTHERS: Final = {
    "mcp_package": (TargetOptions("dataclasses", LAYERS, "package"), OLDEST),
    "mcp_package_of_structs": (TargetOptions("msgspec", LAYERS, "package"), OLDEST),
    "mcp_package_of_models": (TargetOptions("pydantic", LAYERS, "package"), OLDEST),
    "mcp_package_of_types": (TargetOptions("typeddict", LAYERS, "package"), OLDEST),
    "mcp_sieve": (TargetOptions("pydantic", extra="ignore", root_models=True), LATEST),
    "mcp_tables": (TargetOptions("pydantic", ("methods", "capabilities")), LATEST),
}
# The revisions of the programs, and some others: each makes the type checkers slower.
PACKAGES: Final = {**USED, **dict(some([*OTHERS.items()], 2, "packages of targets"))}
(STRUCTS,) = block_texts("targets-msgspec.md")
PROGRAMS: Final[Mapping[str, str]] = {
    "typeddicts.py": TYPEDDICT.lstrip(),
    "classes.py": DATACLASSES.lstrip(),
    "structs.py": MSGSPEC.lstrip(),
    "page_of_structs.py": STRUCTS,
    **{
        f"page_{number}.py": program
        for number, program in enumerate(block_texts("targets-dependency-free.md"))
    },
}
MADE_UP: Final = {
    f"made_up_as_{target}.py": target for target in ("typeddict", "dataclasses", "msgspec")
}


def write_all(place: Path) -> None:
    """Write what the targets make, and the programs."""
    for name, (options, revisions) in PACKAGES.items():
        shutil.copytree(folder(options, revisions), place / name, dirs_exist_ok=True)
    for name, program in PROGRAMS.items():
        (place / name).write_text(program)
    for name, target in MADE_UP.items():
        file = build_module(target, name)
        (place / file.path).write_bytes(file.content)
