"""User interfaces of tools, with the official SDK for them at the other end."""

import asyncio
import json
import os
import sys
from functools import cache
from importlib import import_module
from typing import Any

import mcp_revisions
import pytest
from support.generated.package_copy import copy_folder
from support.json_types import JsonObject
from support.peers.places import PROGRAMS, Command, node_modules, run_command
from support.tables import case

URI = "ui://weather/view"
UI: JsonObject = {
    "csp": {"connectDomains": ["https://weather.example"]},
    "permissions": {"geolocation": {}},
    "prefersBorder": True,
}
OURS: Command = (sys.executable, PROGRAMS / "our_apps_server.py")


def theirs() -> Command:
    return ("node", PROGRAMS / "apps_server.mjs", node_modules())


@cache
def host_view(server: Command, mode: str, *, is_host: bool = True) -> Any:
    """Return the view of the SDK's host."""
    host = ("node", PROGRAMS / "apps_host.mjs", node_modules(), mode, str(is_host).lower())
    return json.loads(run_command([*host, *server]))


@pytest.fixture(autouse=True, scope="module")
def _sdk_path() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.fspath(copy_folder()))
        yield


def test_the_host_of_the_sdk_finds_and_accepts_user_interfaces_of_our_server() -> None:
    page: JsonObject = {"html": "<!doctype html>", "isApp": True, "fits": True, "meta": {"ui": UI}}
    page["allows"] = "geolocation"
    shared: JsonObject = {"fits": True, "modelOnly": False, "uri": URI, "page": page}
    for mode in ("auto", "legacy"):
        with case(mode):
            found = host_view(OURS, mode)
            assert found["extensions"] == {"io.modelcontextprotocol/ui": {}}
            assert found["resources"] == {
                URI: {"mimeType": "text/html;profile=mcp-app", "meta": {"ui": UI}}
            }
            hidden = {"resourceUri": URI, "visibility": ["app"]}
            assert found["tools"] == {
                "forecast": {**shared, "meta": {"ui": {"resourceUri": URI}}, "appOnly": False},
                "refresh": {**shared, "meta": {"ui": hidden}, "appOnly": True},
            }


def test_a_client_of_the_sdk_that_is_no_host_gets_a_tool_like_any_other() -> None:
    for mode in ("auto", "legacy"):
        with case(mode):
            tools: JsonObject = host_view(OURS, mode, is_host=False)["tools"]
            assert list(tools) == ["forecast"]
            assert (tools["forecast"]["meta"], tools["forecast"]["uri"]) == (None, None)


def test_our_server_says_what_that_of_the_sdk_says_without_deprecated_keys() -> None:
    def plain(entry: JsonObject) -> JsonObject:
        return {key: value for key, value in entry["meta"].items() if key != "ui/resourceUri"}

    ours, own = host_view(OURS, "legacy"), host_view(theirs(), "legacy")
    assert plain(ours["tools"]["forecast"]) == plain(own["tools"]["forecast"])
    assert ours["tools"]["forecast"]["page"] == own["tools"]["forecast"]["page"]
    assert ours["resources"][URI]["mimeType"] == own["resources"][URI]["mimeType"]


def test_our_client_reads_user_interfaces_of_a_server_of_the_sdk() -> None:
    async def talk(revision: str) -> None:
        mcp: Any = mcp_revisions.load(revision)
        ext: Any = import_module(f"{mcp.__name__}.ext.apps")
        client: Any = type("Mine", (ext.AppsClient, mcp.Client), {})()
        launch = mcp_revisions.stdio_client(theirs(), inherit=True)
        async with asyncio.timeout(60), mcp_revisions.connect(launch, client):
            tools = {tool.name: tool async for tool in client.iter_tools()}
            forecast, refresh = tools["forecast"], tools["refresh"]
            assert client.is_visible(forecast, "model") and client.is_visible(refresh, "app")
            assert not client.is_visible(refresh, "model")
            # One describes its page in the contents, the other in the list.
            for tool, uri in ((forecast, URI), (refresh, "ui://weather/listed")):
                page = await client.read_ui(tool)
                assert (page.uri, page.html) == (uri, "<!doctype html>")
                assert page.meta == ext.models.McpUiResourceMeta.from_wire(UI)
            assert await client.read_ui(tools["host"]) is None
            declared = json.loads((await client.call_tool("host")).text)
            assert declared == {"mimeTypes": ["text/html;profile=mcp-app"]}

    for revision in ("2025-06-18", "2025-11-25", "2026-07-28"):
        with case(revision):
            asyncio.run(talk(revision))
