"""The official client, as a process, against toolkits over stdio."""

import json
import os
import sys
from pathlib import Path

from support.generated.package_copy import copy_folder
from support.json_types import JsonObject
from support.peers.places import python_with
from support.peers.spoken import GENERATION_2
from support.programs import run_program
from support.tables import case

SERVER = """
from typing import Annotated, Literal

from mcp_revisions import REVISIONS, ResourceNotFound, Toolkit, ToolError, prompt, resource
from mcp_revisions import run_stdio, tool
from mcp_revisions import v2025_11_25 as mcp
from mcp_revisions.v2025_11_25 import models as m
from pydantic import BaseModel, Field


class Forecast(BaseModel):
    place: str
    celsius: float


class Weather(Toolkit, mcp.Server):
    info = m.Implementation(name="weather", version="1")
    SENDS = frozenset({"notifications/tools/list_changed"})

    @tool
    async def forecast(self, place: str, days: Annotated[int, Field(le=7)] = 1) -> list[Forecast]:
        "Forecast the weather."
        if place == "Atlantis":
            raise ToolError("Nobody knows.")
        return [Forecast(place=place, celsius=1.5)] * days

    @tool
    def grow(self, name: str) -> str:
        self.add_tool(plain, name=name)
        return name

    @resource("town://{place}", completions={"place": ["Oslo", "Bergen"]})
    def town(self, place: str) -> str:
        if place == "Atlantis":
            raise ResourceNotFound
        return f"fine in {place}"

    @prompt
    def pack(self, place: str, style: Literal["short", "long"] = "short") -> str:
        return f"{place} {style}"


def plain(text: str) -> str:
    return text


run_stdio(Weather(), revisions=REVISIONS)
"""

CLIENT = """
import asyncio, json, sys, warnings
from typing import Any
import mcp.client.session as session_module
import mcp_types as types
from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters

warnings.simplefilter("ignore")
revisions, *command = sys.argv[1:]


async def outcome(asked: Any) -> Any:
    try:
        return (await asked).model_dump(by_alias=True, exclude_none=True, mode="json")
    except MCPError as error:
        return {"code": error.code}


async def use(revision: str) -> dict[str, Any]:
    session_module.LATEST_HANDSHAKE_VERSION = revision
    server = StdioServerParameters(command=command[0], args=command[1:], env=None)
    mode = "auto" if revision == "2026-07-28" else "legacy"
    async with Client(server, mode=mode, cache=None) as client:
        reference = types.ResourceTemplateReference(type="ref/resource", uri="town://{place}")
        return {
            "revision": client.protocol_version,
            "tools": await outcome(client.list_tools()),
            "forecast": await outcome(client.call_tool("forecast", {"place": "Oslo", "days": 2})),
            "wrong": await outcome(client.call_tool("forecast", {"place": "Oslo", "days": 9})),
            "failed": await outcome(client.call_tool("forecast", {"place": "Atlantis"})),
            "unknown": await outcome(client.call_tool("nothing", {})),
            "templates": await outcome(client.list_resource_templates()),
            "read": await outcome(client.read_resource("town://Oslo")),
            "lost": await outcome(client.read_resource("town://Atlantis")),
            "prompt": await outcome(client.get_prompt("pack", {"place": "Oslo", "style": "long"})),
            "completed": await outcome(client.complete(reference, {"name": "place", "value": "o"})),
            "grown": await outcome(client.call_tool("grow", {"name": "more"})),
            "more": await outcome(client.call_tool("more", {"text": "hi"})),
        }


async def main() -> None:
    print(json.dumps([await use(revision) for revision in revisions.split()]))


asyncio.run(main())
"""


def test_the_python_sdk_of_generation_2_uses_a_toolkit(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(SERVER)
    (tmp_path / "client.py").write_text(CLIENT)
    server = ["env", f"PYTHONPATH={copy_folder()}", sys.executable, str(tmp_path / "server.py")]
    output = run_program(
        python_with("mcp-2"),
        tmp_path / "client.py",
        " ".join(GENERATION_2),
        *server,
        timeout=60,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
    )
    for revision, seen in zip(GENERATION_2, json.loads(output), strict=True):
        with case(revision):
            check_seen(revision, seen)


def check_seen(revision: str, seen: JsonObject) -> None:
    """Require what a client of a revision must have got."""
    assert seen["revision"] == revision
    assert [tool["name"] for tool in seen["tools"]["tools"]] == ["forecast", "grow"]
    value = [{"place": "Oslo", "celsius": 1.5}] * 2
    said = seen["forecast"]["content"][0]["text"]
    if revision >= "2025-06-18":
        assert seen["forecast"]["structuredContent"] == {"result": value}
        assert json.loads(said) == {"result": value}
    assert json.loads(said) in (value, {"result": value})
    if revision >= "2025-11-25":
        assert "/days: Input should be less than or equal to 7" in (
            seen["wrong"]["content"][0]["text"]
        )
    else:
        assert seen["wrong"] == {"code": -32602}
    assert seen["failed"]["isError"] is True
    assert seen["failed"]["content"][0]["text"] == "Nobody knows."
    assert seen["unknown"] == {"code": -32602}
    assert seen["templates"]["resourceTemplates"][0]["uriTemplate"] == "town://{place}"
    assert seen["read"]["contents"][0]["text"] == "fine in Oslo"
    assert seen["lost"] == {"code": -32602 if revision == "2026-07-28" else -32002}
    assert seen["prompt"]["messages"][0]["content"]["text"] == "Oslo long"
    assert seen["completed"]["completion"]["values"] == ["Oslo"]
    assert seen["more"]["content"][0]["text"] == "hi"
