"""Tools and clients of made-up revisions that have the results of tools elsewhere."""

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp_protogen.pipeline.config import GenerationOptions, GivenFile
from mcp_protogen.pipeline.generate import generate
from mcp_protogen.pipeline.package import Package
from support.folders import ROOT
from support.generated.golden_package import PACKAGE
from support.generated.moved_results import add_outputs, with_tool_result, write_programs
from support.generated.next_revision import NEXT, Checkout, copy_checkout
from support.generating import write_files
from support.programs import run_program
from support.revisions import HANDSHAKE, NEWEST

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("moved results")]

DRAFT = "2024-10-07"
CALLED = ("point", "text", "open", "picture", "nothing", "fail", "own")
IMAGE = {"type": "image", "data": "MTIz", "mimeType": "image/png"}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A copy of this checkout whose commands speak a revision with `outputs`."""
    made = copy_checkout(tmp_path_factory.mktemp("outputs"))
    add_outputs(made)
    own = {"resultType": "complete", "outputs": outputs("mine")}
    write_programs(made.folder, PACKAGE.name, NEXT, own)
    return made


def outputs(text: str, *structured: object) -> list[dict[str, Any]]:
    """Return outputs with one text, and perhaps a structured value."""
    return [
        {"kind": "content", "content": [{"type": "text", "text": text}]},
        *({"kind": "structured", "value": value} for value in structured),
    ]


def test_app_and_client_use_outputs(checkout: Checkout) -> None:
    said = json.loads(checkout.run("client.py"))
    done = {"resultType": "complete"}
    assert said == {
        **said,
        "point": [{**done, "outputs": outputs('{"x":1}', {"x": 1})}, '{"x":1}', {"x": 1}],
        "text": [{**done, "outputs": outputs("ä%2", "ä%2")}, "ä%2", "ä%2"],
        "open": [{**done, "outputs": outputs('{"x":3}')}, '{"x":3}', None],
        "picture": [{**done, "outputs": [{"kind": "content", "content": [IMAGE]}]}, "", None],
        "nothing": [{**done, "outputs": outputs("null", None)}, "null", None],
        "own": [{**done, "outputs": outputs("mine")}, "mine", None],
        "fail": [
            {**done, "isError": True, "outputs": outputs("no points left")},
            "no points left",
            None,
        ],
        "point as Point": "Point(x=1)",
        "own as str": "'mine'",
        "point as bool": "InvalidAnswer: the result of tools/invoke does not fit the type;"
        " /result/outputs/1/value: Input should be a valid boolean",
        "fail as int": "ToolFailed: tools/invoke: no points left",
    }
    variants = {tool["name"]: tool["outputVariants"] for tool in said["tools"]}
    content = {"content": {"kind": "content"}}
    schema = {"type": "string"}
    assert variants["text"] == {**content, "structured": {"kind": "structured", "schema": schema}}
    assert variants["open"] == content
    assert tuple(variants) == CALLED


def test_call_gets_the_outputs_that_it_requests(checkout: Checkout) -> None:
    program = """
import asyncio
from mcp_revisions import ProtocolError, connect
from server import app, mcp

@app.tool(output_schema={"type": "object"})
def half():
    return mcp.models.CallToolResult.from_wire(HALF)

async def main():
    async with connect(app) as client:
        for name, *kinds in (
            ("point",), ("point", "structured"), ("point", "structured", "content"),
            ("point", "content", "content"), ("picture", "structured"), ("fail", "structured"),
            ("half", "content"),
        ):
            given = {"x": 1} if name == "point" else {}
            choices = [mcp.models.OutputChoice(kind=kind) for kind in kinds]
            chosen = {"requested_outputs": choices} if choices else {}
            try:
                result = await client.call_tool(name, given, **chosen)
                print([output.kind for output in result.outputs], result.text, result.data)
            except ProtocolError as error:
                print(error.code, *error.data["problems"][0].values())

asyncio.run(main())
"""
    half = {"resultType": "complete", "outputs": outputs("", {"x": 1})[1:]}
    (checkout.folder / "choosing.py").write_text(program.replace("HALF", repr(half)))
    assert checkout.run("choosing.py").splitlines() == [
        """['content'] {"x":1} None""",
        "['structured']  {'x': 1}",
        """['structured', 'content'] {"x":1} {'x': 1}""",
        "-32602 /params/requestedOutputs/1 Requested twice",
        "-32602 /params/requestedOutputs/0 picture has no such output",
        "['content'] no points left None",
        "['content'] half lacks a requested output. None",
    ]


def test_header_fields_repeat_arguments_of_tools_in_a_list_of_another_name(
    checkout: Checkout,
) -> None:
    program = """
import asyncio
from typing import Annotated
import httpx2
from mcp_revisions import McpError, connect_http, http_app
from pydantic import Field
from server import app, mcp

@app.tool
def move(zone: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Zone"})]) -> str:
    return zone

async def main():
    bent = {}

    async def bend(post):
        print(post.headers["mcp-method"], post.headers.get("mcp-param-zone"))
        post.headers.update(bent)

    transport = httpx2.ASGITransport(http_app(app))
    async with (
        httpx2.AsyncClient(transport=transport, event_hooks={"request": [bend]}) as http,
        connect_http("http://localhost/mcp", mcp.Client(), http=http) as client,
    ):
        await client.list_tools()
        print((await client.call_tool("move", {"zone": "x"})).text)
        bent["mcp-param-zone"] = "other"
        try:
            await client.call_tool("move", {"zone": "x"})
        except McpError as error:
            print(error)

asyncio.run(main())
"""
    (checkout.folder / "marking.py").write_text(program)
    assert checkout.run("marking.py").splitlines() == [
        "server/discover None",
        "tools/catalog None",
        "tools/invoke x",
        "x",
        "tools/invoke x",
        # A refused call makes the client list the tools again.
        "tools/catalog None",
        "Header mismatch: mcp-param-zone differs from the argument zone",
    ]


def test_result_without_a_promised_output_is_refused(checkout: Checkout) -> None:
    program = """
import asyncio
from mcp_revisions import CheckedResults, RemoteError, connect
from server import app, mcp

class Checked(CheckedResults, mcp.Client): ...

@app.tool(output_schema={"type": "object"})
def promise():
    return mcp.models.CallToolResult.from_wire(OWN)

class Plain(mcp.Server):
    async def on_list_tools(self, session, params):
        variants = {"a": {"kind": "structured", "schema": {"type": "object"}}}
        tool = {"name": "promise", "inputSchema": {"type": "object"}, "outputVariants": variants}
        return mcp.models.ListToolsResult(items=[mcp.models.Tool.from_wire(tool)])

    async def on_call_tool(self, session, params):
        return mcp.models.CallToolResult.from_wire(OWN)

async def main():
    for server in (app, Plain()):
        async with connect(server, Checked()) as client:
            try:
                result = await client.call_tool("promise")
                print(result.is_error, result.text)
            except RemoteError as error:
                print(error)

asyncio.run(main())
"""
    own = {"resultType": "complete", "outputs": outputs("mine")}
    (checkout.folder / "promising.py").write_text(program.replace("OWN", repr(own)))
    assert checkout.run("promising.py").splitlines() == [
        "True promise returned a value that its output schema does not allow.",
        "the result of promise has no structured content, which its output schema requires;"
        " /result/outputs: Field required",
    ]


def test_commands_read_outputs(checkout: Checkout) -> None:
    server = shlex.join(["env", f"PYTHONPATH={checkout.path}", sys.executable, "server.py"])

    def run(*arguments: str, code: int = 0) -> str:
        return checkout.run("-m", "mcp_protogen", *arguments, code=code)

    assert json.loads(run("call", server, "point", "x=1")) == {"x": 1}
    assert run("call", server, "picture").startswith("[image image/png, 3 bytes")
    assert run("call", server, "fail", code=1) == ""
    assert "breaks no rule" in run("inspect", server, "--call", "point", "--call", "text")
    run("client", server, "--out", "points.py", "--package", PACKAGE.name)
    program = """
import asyncio
from points import PointsClient
from server import app, mcp

class Telling(mcp.Client):
    async def call_tool(self, name, *given, **options):
        print(name, *(choice.kind for choice in options["requested_outputs"]), end=": ")
        return await super().call_tool(name, *given, **options)

class Points(PointsClient):
    CLIENT = Telling

async def main():
    async with Points.connect(app) as client:
        print(await client.point(x=1), await client.text(x=2))

asyncio.run(main())
"""
    (checkout.folder / "typed.py").write_text(program)
    requested = "content structured"
    assert checkout.run("typed.py") == f"point {requested}: text {requested}: x=1 ä%2\n"


def test_mounted_server_has_full_uris_in_outputs(checkout: Checkout) -> None:
    program = """
import asyncio
from mcp_revisions import connect
from server import mcp

inner, front = mcp.App("inner"), mcp.App("front")

@inner.resource("notes://1")
def note() -> str:
    return "milk"

@inner.tool
def link() -> mcp.models.ResourceLink:
    return mcp.models.ResourceLink(name="note", uri="notes://1")

front.mount("shop", inner)

async def main():
    async with connect(front) as client:
        (output,) = (await client.call_tool("shop_link")).outputs
        (block,) = output.content
        print(block.uri, (await client.read_resource(block.uri)).contents[0].text)

asyncio.run(main())
"""
    (checkout.folder / "mounting.py").write_text(program)
    assert checkout.run("mounting.py") == "notes://shop/1 milk\n"


def test_mounted_tool_gives_all_outputs_to_a_server_that_cannot_request_them(
    checkout: Checkout,
) -> None:
    program = """
import asyncio
from both import REVISIONS, connect, in_memory, load

inner, front = load("NEXT").App("inner"), load("NEWEST").App("front")

@inner.tool
def add(a: int, b: int) -> int:
    return a + b

front.mount("shop", inner)

async def main():
    opener = in_memory(front, revisions=REVISIONS)
    async with connect(opener, load("NEWEST").Client(), revisions=REVISIONS[-1:]) as client:
        assert client.revision == "NEXT"
        print((await client.call_tool("shop_add", {"a": 1, "b": 2})).data)

asyncio.run(main())
"""
    program = program.replace("NEWEST", NEWEST).replace("NEXT", NEXT)
    revisions = ("--revision", NEWEST, "--revision", NEXT)
    parts = ("--with", "toolkit", "--with", "testing")
    arguments = (*revisions, *parts, "--runtime", "mcp_protogen.runtime")
    checkout.run("-m", "mcp_protogen", *arguments, "--out", str(checkout.folder / "both"))
    (checkout.folder / "requesting.py").write_text(program)
    assert checkout.run("requesting.py") == "3\n"


@pytest.fixture(scope="module")
def draft(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Package]:
    """A folder with a package of a revision like drafts of 2024, which has no facts."""
    folder = tmp_path_factory.mktemp("draft")
    schema = json.loads((ROOT / "schema" / HANDSHAKE[0] / "schema.json").read_bytes())
    given = GivenFile("draft.json", json.dumps(with_tool_result(schema)).encode())
    package = generate(GenerationOptions((DRAFT,), schemas={DRAFT: given}))
    write_files(package.files, folder / "drafted")
    return folder, package


def test_app_and_client_use_a_tool_result(draft: tuple[Path, Package]) -> None:
    folder, _ = draft
    write_programs(folder, "drafted", DRAFT, {"toolResult": "mine"})
    output = run_program(sys.executable, "client.py", cwd=folder)
    said = json.loads(output)
    assert said == {
        **said,
        "point": [{"toolResult": {"x": 1}}, '{"x":1}', {"x": 1}],
        "text": [{"toolResult": "ä%2"}, "ä%2", "ä%2"],
        "open": [{"toolResult": {"x": 3}}, '{"x":3}', {"x": 3}],
        "picture": [{"toolResult": [IMAGE]}, json.dumps([IMAGE], separators=(",", ":")), [IMAGE]],
        "nothing": [{"toolResult": None}, "", None],
        "own": [{"toolResult": "mine"}, "mine", "mine"],
        "fail": "McpError: no points left",
        "point as Point": "Point(x=1)",
        "own as str": "'mine'",
        "point as bool": "InvalidAnswer: the result of tools/call does not fit the type;"
        " /result/toolResult: Input should be a valid boolean",
        "fail as int": "McpError: no points left",
    }
    assert [tool["name"] for tool in said["tools"]] == list(CALLED)


def test_facts_that_a_draft_contradicts_are_warnings(draft: tuple[Path, Package]) -> None:
    _, package = draft
    found = [warning.pointer for warning in package.warnings if "/places/" in warning.pointer]
    assert found == ["/places/tool_content", "/places/tool_error"]
