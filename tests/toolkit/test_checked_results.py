"""Clients that check results against the schemas of the tools."""

import asyncio
import logging
import sys
from typing import Any

import pytest
from mcp_protogen.runtime.core import recent_names
from mcp_protogen.runtime.testing import in_memory
from mcp_revisions.v2025_11_25 import Session
from mcp_revisions.v2025_11_25.models import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
)
from support.json_types import JsonObject
from support.revisions import OLD, STATELESS
from support.tables import case
from support.toolkit.kits import CheckedResults, RemoteError, mcp, pkg, run

SCHEMA: Any = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def serving(revision: str, results: JsonObject, schemas: JsonObject) -> Any:
    """Return a handwritten server, which may break its own schemas."""
    m = pkg.load(revision).models

    base: Any = pkg.load(revision).Server

    class Server(base):  # type: ignore[misc]
        listed = 0

        async def on_list_tools(self, session: Session, params: PaginatedRequestParams) -> object:
            self.listed += 1
            plain = {"type": "object"}
            tools = [
                m.Tool(name=name, input_schema=plain, output_schema=schemas.get(name))
                for name in results
            ]
            return m.ListToolsResult(tools=tools)

        async def on_call_tool(self, session: Session, params: CallToolRequestParams) -> object:
            return m.CallToolResult(content=[], **results[params.name])

    return Server()


def checking(revision: str = OLD) -> Any:
    return type("Mine", (CheckedResults, pkg.load(revision).Client), {})()


RESULTS: JsonObject = {
    "good": {"structured_content": {"n": 1}},
    "bad": {"structured_content": {"n": "x"}},
    "missing": {},
    "failed": {"is_error": True},
    "free": {"structured_content": {"n": "x"}},
}
SCHEMAS: JsonObject = dict.fromkeys(("good", "bad", "missing", "failed"), SCHEMA)


@pytest.mark.shows("S2-37")
async def test_a_result_that_does_not_fit_its_schema_is_an_error() -> None:
    for revision in ["2025-06-18", OLD, STATELESS]:
        with case(revision):
            server = serving(revision, RESULTS, SCHEMAS)
            async with pkg.connect_in_memory(checking(revision), server) as ours:
                for name in ("good", "failed", "free"):
                    await ours.call_tool(name)
                assert server.listed == 1
                for name, message in (("bad", "'x' is not of type"), ("missing", "Field required")):
                    with pytest.raises(RemoteError) as raised:
                        await ours.call_tool(name)
                    assert message in str(raised.value)
                    assert "/result/structuredContent" in str(raised.value)


async def test_of_a_list_without_end_the_newest_schemas_are_remembered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recent_names, "_MOST", 800)
    results = {name: RESULTS[name] for name in ("good", "free", "failed", "bad")}
    async with pkg.connect_in_memory(checking(), serving(OLD, results, SCHEMAS)) as ours:
        await ours.list_tools()
        known = ours.__dict__["_checked_tools"].checks
        assert [name in known for name in results] == [False, False, True, True]
        with pytest.raises(RemoteError):
            await ours.call_tool("bad")


@pytest.mark.skips_time
@pytest.mark.parametrize("listing", ["fails", "lacks the tool", "is late", "is too late"])
async def test_a_result_that_did_not_fit_is_no_better_for_a_list_that_says_nothing_new(
    listing: str,
) -> None:
    m = mcp.models
    results: JsonObject = dict.fromkeys(("x", "y"), RESULTS["bad"])
    limit = 0.02 if listing == "is too late" else 5
    base: Any = serving(OLD, results, dict(SCHEMAS, x=SCHEMA, y=SCHEMA)).__class__

    class Listing(base):  # type: ignore[misc]
        async def on_list_tools(self, session: Session, params: PaginatedRequestParams) -> object:
            above: Any = super()
            said = await above.on_list_tools(session, params)
            if self.listed > 1 and listing.endswith("late"):
                # Meanwhile other results are checked with the known schemas.
                await asyncio.sleep(0.005 if listing == "is late" else 30)
            elif self.listed > 1 and listing == "fails":
                raise RuntimeError("no list today")
            elif self.listed > 1:
                said = m.ListToolsResult(tools=[])
            return said

    async with pkg.connect_in_memory(checking(), Listing()) as ours:
        await ours.list_tools()
        ended = await asyncio.gather(
            *(ours.call_tool(name, timeout=limit) for name in ("x", "y", "x")),
            return_exceptions=True,
        )
        assert ["does not fit its output schema" in str(error) for error in ended] == [True] * 3


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "title": "x" * 2**20},
        {"type": "object", "properties": {"n": {"$ref": "https://example.com/n.json"}}},
        {"$schema": "https://example.com/mine", "type": "object"},
        {"type": 7},
    ],
)
def test_a_schema_that_nobody_can_use_is_left_out_of_account(
    schema: object, caplog: pytest.LogCaptureFixture
) -> None:
    async def script() -> None:
        server = serving(OLD, {"tool": RESULTS["bad"]}, {"tool": schema})
        async with pkg.connect_in_memory(checking(), server) as ours:
            await ours.call_tool("tool")

    with caplog.at_level(logging.WARNING):
        run(script())
    assert "results are not checked: the output schema of tool" in caplog.text


async def test_missing_jsonschema_is_reported_for_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jsonschema", None)
    server = serving(OLD, RESULTS, SCHEMAS)
    async with pkg.connect_in_memory(checking(), server) as ours:
        with pytest.raises(ImportError, match="pip install jsonschema"):
            await ours.call_tool("good")


class Endless(mcp.Server):
    """A server that lists the same tool on endless pages."""

    def __init__(self, waits: float = 0) -> None:
        self.listed = 0
        self.waits = waits

    async def on_list_tools(
        self, session: Session, params: PaginatedRequestParams
    ) -> ListToolsResult:
        self.listed += 1
        await asyncio.sleep(self.waits)
        m = mcp.models
        one = m.Tool(name="other", input_schema={"type": "object"})
        return m.ListToolsResult(tools=[one], next_cursor=str(self.listed))

    async def on_call_tool(self, session: Session, params: CallToolRequestParams) -> CallToolResult:
        return mcp.models.CallToolResult(content=[])


async def test_a_list_without_end_is_an_error_of_the_server() -> None:
    for revision in (OLD, STATELESS):
        options = pkg.Options(max_pages=7)
        endless = Endless()
        ours = pkg.load(revision).Client()
        opener = in_memory(endless, revisions=pkg.REVISIONS)
        async with pkg.connect(opener, ours, options=options) as client:
            with pytest.raises(RemoteError, match=r"more than 7 pages; raise Options\.max_pages"):
                async for tool in client.iter_tools():
                    assert tool.name == "other"
        assert endless.listed == 7
    assert pkg.Options().max_pages == 1000


@pytest.mark.skips_time
async def test_a_list_without_end_takes_no_more_than_the_time_of_the_call() -> None:
    for limits in ({"timeout": 0.02}, {"max_timeout": 0.02}):
        endless = Endless(waits=0.001)
        async with pkg.connect_in_memory(checking(), endless) as ours:
            with pytest.raises(pkg.RequestTimeout, match=r"tools/call .* 0\.02 s"):
                await ours.call_tool("tool", **limits)
        assert endless.listed < 30


@pytest.mark.skips_time
async def test_a_list_takes_from_the_time_of_the_call_and_a_bad_one_no_more(
    caplog: pytest.LogCaptureFixture,
) -> None:
    given: list[Any] = []

    base: Any = mcp.Client

    class Noting(base):  # type: ignore[misc]
        async def request(self, spec: Any, params: Any, **options: Any) -> Any:
            given.append(options)
            above: Any = super()
            return await above.request(spec, params, **options)

    mine: Any = type("Mine", (CheckedResults, Noting), {})()
    params = mcp.models.CallToolRequestParams(name="tool")
    options = pkg.Options(max_pages=3)
    async with pkg.connect(in_memory(Endless(waits=0.01)), mine, options=options) as ours:
        assert (
            await ours.request(ours.TABLE.requests["tools/call"], params, timeout=5)
        ).content == []
        assert (
            await ours.request(
                ours.TABLE.requests["tools/call"], params, timeout=5, reset_on_progress=True
            )
        ).content == []
    assert "more than 3 pages" in caplog.text
    *listed, first, second = given
    assert listed == [{}] * 3
    assert first["timeout"] <= 4.97
    assert first["max_timeout"] <= 599.97
    assert second == {"timeout": 5, "reset_on_progress": True}


@pytest.mark.skips_time
async def test_after_a_change_of_the_list_results_are_held_to_the_new_schemas() -> None:
    fits: JsonObject = {"tool": {"structured_content": {"n": 1}}}
    for ours, theirs, cached in ((OLD, OLD, False), (STATELESS, STATELESS, True)):
        with case(f"{ours} to {theirs}"):
            m = pkg.load(ours).models
            schemas: JsonObject = {"tool": SCHEMA}
            server = serving(theirs, fits, schemas)
            type(server).SENDS = frozenset({"notifications/tools/list_changed"})
            client = checking(ours)
            listening: asyncio.Task[object] | None = None
            async with pkg.connect(server, client):
                if cached:
                    client.cache = pkg.Cache()
                    wanted = m.SubscriptionFilter(tools_list_changed=True)
                    listening = asyncio.create_task(client.subscriptions_listen(wanted))
                await client.call_tool("tool")
                schemas["tool"] = {"type": "object", "required": ["z"]}
                await server.tools_list_changed()
                await asyncio.sleep(0.05)
                for listed in (2, 3):
                    with pytest.raises(RemoteError, match="'z' is a required property"):
                        await client.call_tool("tool")
                    assert server.listed == listed
                if listening is not None:
                    listening.cancel()


async def test_a_list_that_is_kept_is_not_what_a_result_is_held_to_again() -> None:
    schemas: JsonObject = {"tool": {"type": "object", "required": ["z"]}}
    server: Any = serving(STATELESS, {"tool": {"structured_content": {"n": 1}}}, schemas)
    listing: Any = server.__class__.on_list_tools

    async def list_cached(self: object, session: Session, params: PaginatedRequestParams) -> object:
        result: Any = await listing(self, session, params)
        result.ttl_ms = 60_000
        return result

    server.__class__.on_list_tools = list_cached
    client = checking(STATELESS)
    async with pkg.connect(server, client):
        client.cache = pkg.Cache()
        assert [tool.name async for tool in client.iter_tools()] == ["tool"]
        schemas["tool"] = SCHEMA
        result = await client.call_tool("tool")
        assert result.structured_content == {"n": 1}
        assert server.listed == 2
