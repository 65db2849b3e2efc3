"""User interfaces of tools: the metadata of servers, its receivers, and the resources (apps)."""

from collections.abc import Mapping
from importlib import import_module
from itertools import product
from typing import Any, ClassVar

import pytest
from mcp_revisions import RemoteError, v2025_11_25, v2026_07_28
from mcp_revisions.v2026_07_28.ext import apps
from support.sessions.talking import pkg
from support.tables import case
from support.toolkit.kits import McpError, Toolkit, resource, tool

REVISIONS = ("2025-06-18", "2025-11-25", "2026-07-28")
IDENTIFIER = "io.modelcontextprotocol/ui"
MIME_TYPE = "text/html;profile=mcp-app"
URI = "ui://weather/view"
m = apps.models


def ext_of(revision: str) -> Any:
    return import_module(f"{pkg.load(revision).__name__}.ext.apps")


def client_of(revision: str, *, is_host: bool = True) -> Any:
    bases = (ext_of(revision).AppsClient,) if is_host else ()
    return type("Mine", (*bases, pkg.load(revision).Client), {})()


def server_of(revision: str = "2026-07-28", /, **members: Any) -> Any:
    """Make a class of a revision with the extension and these members, most of them marked."""
    bases = (ext_of(revision).AppsServer, Toolkit, pkg.load(revision).Server)
    return type("Weather", bases, members)


@tool(ui=URI, meta={"example.com/mine": 1})
def forecast(self: object, city: str) -> str:
    return f"rain in {city}"


@tool(ui=m.McpUiToolMeta(resource_uri=URI, visibility=["app"]))
def refresh(self: object) -> str:
    return "refreshed"


CSP = m.McpUiResourceCsp(connect_domains=["https://weather.example"])
META = m.McpUiResourceMeta(csp=CSP, prefers_border=True)
WIRE = {"csp": {"connectDomains": ["https://weather.example"]}, "prefersBorder": True}


@resource(URI, ui=META)
def view(self: object) -> str:
    return "<!doctype html>"


ALL: Mapping[str, Any] = {"forecast": forecast, "refresh": refresh, "view": view}


def connect(client: Any, server: Any) -> Any:
    return pkg.connect_in_memory(server, client, revisions=pkg.REVISIONS)


async def metadata(client: Any) -> dict[str, Any]:
    listed = await client.list_tools()
    return {tool.name: tool.to_wire().get("_meta") for tool in listed.tools}


async def test_hosts_get_user_interfaces_in_every_pair_of_revisions() -> None:
    for own, spoken in product(REVISIONS, REVISIONS):
        server, client = server_of(own, **ALL)(), client_of(spoken)
        with case(f"{own} {spoken}"):
            async with connect(client, server):
                assert client.server_capabilities.to_wire()["extensions"] == {IDENTIFIER: {}}
                assert await metadata(client) == {
                    "forecast": {"example.com/mine": 1, "ui": {"resourceUri": URI}},
                    "refresh": {"ui": {"resourceUri": URI, "visibility": ["app"]}},
                }
                assert (await client.call_tool("refresh")).text == "refreshed"
                [tool, hidden] = (await client.list_tools()).tools
                assert client.is_visible(tool, "model") and client.is_visible(tool, "app")
                assert client.is_visible(hidden, "app") and not client.is_visible(hidden, "model")
                models = ext_of(spoken).models
                assert client.ui_of(tool) == models.McpUiToolMeta(resource_uri=URI)
                page = await client.read_ui(tool)
                assert (page.uri, page.html) == (URI, "<!doctype html>")
                assert page.meta == models.McpUiResourceMeta.from_wire(WIRE)


async def test_other_clients_get_tools_without_user_interfaces_and_none_for_apps_alone() -> None:
    class Declaring(v2026_07_28.Client):
        DECLARES: ClassVar = {"extensions": {IDENTIFIER: {"mimeTypes": ["text/html"]}}}

    others = [client_of(revision, is_host=False) for revision in REVISIONS]
    for client in (*others, Declaring()):
        with case(client):
            async with connect(client, server_of(**ALL)()):
                assert await metadata(client) == {"forecast": {"example.com/mine": 1}}
                assert (await client.call_tool("forecast", {"city": "Oslo"})).text == "rain in Oslo"
                with pytest.raises(McpError, match="Unknown tool: refresh"):
                    await client.call_tool("refresh")


async def test_pages_have_their_media_type_and_metadata_whatever_a_function_returns() -> None:
    models = v2026_07_28.models

    @resource("ui://bytes")
    def as_bytes(self: object) -> bytes:
        return b"<p>\xc3\xa6</p>"

    @resource("ui://file", ui=META)
    def as_file(self: object) -> Any:
        return pkg.File(data=b"<p>", name="a.html", mime_type="text/html")

    @resource("ui://own", ui=META)
    def as_contents(self: object) -> Any:
        own = {"ui": {"prefersBorder": False}}
        return models.TextResourceContents(uri="ui://own", text="<p>", meta=own)

    @resource("ui://of/{name}")
    def of_name(self: object, name: str) -> str:
        return name

    server = server_of(as_bytes=as_bytes, as_file=as_file, own=as_contents, of_name=of_name)
    client = client_of("2026-07-28")
    async with connect(client, server()):
        read: dict[str, Any] = {}
        for uri in ("ui://bytes", "ui://file", "ui://own", "ui://of/oslo"):
            [contents] = (await client.read_resource(uri)).to_wire()["contents"]
            assert contents["mimeType"] == MIME_TYPE
            read[uri] = contents.get("_meta")
        assert read == {
            "ui://bytes": None,
            "ui://file": {"ui": WIRE},
            "ui://own": {"ui": {"prefersBorder": False}},
            "ui://of/oslo": None,
        }
        named = models.Tool(
            name="a", input_schema={"type": "object"}, meta={"ui/resourceUri": "ui://bytes"}
        )
        page = await client.read_ui(named)
        assert page.html == "<p>æ</p>"


def wrong(kind: Any, message: str, **members: Any) -> None:
    with case(message), pytest.raises(kind, match=message):
        server_of(**members)()


def test_mistakes_are_refused_when_the_server_is_made() -> None:
    def mark_tool(**options: Any) -> Any:
        return staticmethod(tool(name="a", **options)(lambda: "text"))

    def page(uri: str, **options: Any) -> Any:
        return staticmethod(resource(uri, **options)(lambda: "<p>"))

    wrong(ValueError, "'https://a' must be a ui:// URI", a=mark_tool(ui="https://a"))
    other = m.McpUiToolMeta(resource_uri="a")
    wrong(ValueError, "'a' must be a ui:// URI", a=mark_tool(ui=other))
    wrong(TypeError, "ui must be a McpUiToolMeta, got 3", a=mark_tool(ui=3))
    wrong(ValueError, "ui must not be in meta, too", a=mark_tool(ui=URI, meta={"ui": {}}))
    wrong(TypeError, "ui must be a McpUiResourceMeta, got 'a'", a=page(URI, ui="a"))
    wrong(ValueError, "'data://a' must be a ui:// URI", a=page("data://a", ui=META))
    wrong(ValueError, f"ui:// resource must be {MIME_TYPE}", a=page(URI, mime_type="text/html"))
    with pytest.raises(TypeError, match=r"--extension apps, and write AppsServer before Toolkit"):
        type("Plain", (Toolkit, v2025_11_25.Server), {"forecast": forecast})()


async def test_a_user_interface_that_is_not_there_ends_the_server_at_its_start() -> None:
    server = server_of(forecast=forecast)()
    with pytest.raises(ValueError, match=rf"forecast: ui: the resource {URI} is missing: add it"):
        async with connect(client_of("2026-07-28"), server):
            pass

    def page(name: str) -> str:
        return name

    server.add_resource(page, "ui://weather/{name}")
    async with connect(client_of("2026-07-28"), server) as client:
        [tool] = (await client.list_tools()).tools
        assert (await client.read_ui(tool)).html == "view"


async def test_user_interface_can_be_added_before_the_start_and_stays_while_it_is_needed() -> None:
    app: Any = type("App", (apps.AppsServer, v2026_07_28.App), {})("weather")
    app.tool(name="rain", ui=URI)(lambda: "rain")
    client = client_of("2026-07-28")
    app.resource(URI, name="view")(lambda: "<p>")
    async with connect(client, app):
        with pytest.raises(ValueError, match=f"the resource {URI} is missing"):
            app.remove_resource(URI)
        with pytest.raises(ValueError, match="the resource ui://b is missing"):
            app.add_tool(lambda: "b", name="b", ui="ui://b")
        [tool] = (await client.list_tools()).tools
        assert (await client.read_ui(tool)).html == "<p>"


async def test_hosts_refuse_what_servers_must_not_say() -> None:
    models = v2026_07_28.models

    def tool_with_meta(**meta: Any) -> Any:
        return models.Tool(name="a", input_schema={"type": "object"}, meta=meta)

    host = client_of("2026-07-28")
    assert host.ui_of(tool_with_meta()) is None
    assert host.is_visible(tool_with_meta(), "model")
    for meta in ({"ui": 1}, {"ui": {"resourceUri": "https://a"}}, {"ui": {"visibility": "app"}}):
        with case(str(meta)), pytest.raises(RemoteError):
            host.ui_of(tool_with_meta(**meta))

    class Server(Toolkit, v2026_07_28.Server):
        @resource("ui://text", mime_type="text/html")
        def text(self) -> str:
            return "<p>"

        @resource("ui://bytes", mime_type=MIME_TYPE)
        def bytes(self) -> bytes:
            return b"\xff"

    async with connect(host, Server()):
        for uri in ("ui://text", "ui://bytes"):
            with case(uri), pytest.raises(RemoteError):
                await host.read_ui(tool_with_meta(ui={"resourceUri": uri}))
        assert await host.read_ui(tool_with_meta(ui={"visibility": ["app"]})) is None
