"""Servers that are mounted in others: what clients see of them, over all wires and revisions."""

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import product
from typing import Annotated, Any

import pytest
from mcp_protogen.runtime.toolkit.mounts import Prefix
from mcp_revisions import v2026_07_28 as new
from pydantic import AnyUrl
from support.revisions import ERAS, HANDSHAKE, OLD, REVISIONS, STATELESS
from support.sessions.talking import META, client, modern, serve_by_hand
from support.tables import case, some
from support.toolkit.kits import Toolkit, mcp, pkg, prompt, resource, tool
from support.toolkit.mounting import (
    Hearing,
    Waiting,
    app,
    in_memory,
    mounting,
    names_of,
    only,
    text_of,
    use_weather,
    weather,
)

CLIENT_INFO = "io.modelcontextprotocol/clientInfo"


def test_uri_with_a_prefix_is_unique_and_survives_the_types_of_the_official_sdk() -> None:
    prefix, found = Prefix("weather", "_"), set[str]()
    for uri in ("file:///a", "file:///a/{b}", "file://a", "file://a/b", "a:b", "a:/b", "a:///b"):
        with case(uri):
            full = prefix.key("resources", uri)
            assert prefix.strip("resources", full) == uri
            # Without a template it is a URL there, and slashes in a row may become one.
            assert "{" in full or str(AnyUrl(full)) == full
            found.add(full)
    assert "file:///weather/a" in found and len(found) == 7


async def test_mounted_items_work_in_every_revision() -> None:
    cases = [*product(REVISIONS, REVISIONS, REVISIONS)]
    for above, own, spoken in some(cases, 30, "mounted"):
        with case((above, own, spoken)):
            hearing = Hearing(spoken)
            async with in_memory(hearing.client, mounting(above, own)) as one:
                await use_weather(hearing, one, above, own)
                given = {"place": "Oslo"}
                for name in ("weather_forcast", "forecast"):
                    wrong = f"Unknown tool: {name}; did you mean weather_forecast"
                    with pytest.raises(pkg.McpError, match=wrong):
                        await one.call_tool(name, given)
                with pytest.raises(pkg.McpError) as refused:
                    await one.read_resource("other://weather/now")
                assert refused.value.data == {"uri": "other://weather/now"}


def asker() -> new.App:
    """An app that asks the client for all there is, by awaiting and in its result."""
    made, m = new.App("asker"), new.models

    @made.tool
    async def sample(session: new.Session) -> str:
        asked = m.SamplingMessage(role="user", content=m.TextContent(text="hi"))
        answer: Any = await session.create_message(messages=[asked], max_tokens=5)
        return str(answer.content.text)

    @made.tool
    async def roots(session: new.Session) -> str:
        return str([root.uri for root in (await session.list_roots()).roots])

    @made.tool
    async def twice(session: new.Session) -> str:
        answers: list[Any] = [await session.ask(text, int) for text in ("a", "bb")]
        return str([answer.value for answer in answers])

    @made.tool
    async def by_hand(
        session: new.Session,
    ) -> new.models.CallToolResult | new.models.InputRequiredResult:
        if session.inputs is None:
            return session.input_required({"roots": m.ListRootsRequest()}, state={"step": 1})
        answer = session.inputs.response("roots", m.ListRootsResult)
        assert answer is not None
        text = f"{len(answer.roots)} {session.inputs.state}"
        return m.CallToolResult(content=[m.TextContent(text=text)])

    return made


def answering(revision: str) -> Any:
    """A client that answers what servers ask."""
    m: Any = pkg.load(revision).models

    async def on_create_message(_: object, params: Any) -> Any:
        content = m.TextContent(text=f"to {params.messages[0].content.text}")
        return m.CreateMessageResult(role="assistant", model="x", content=content)

    async def on_list_roots(_: object, params: Any) -> Any:
        return m.ListRootsResult(roots=[m.Root(uri="file:///a")])

    async def on_elicit(_: object, params: Any) -> Any:
        return m.ElicitResult(action="accept", content={"value": len(params.message)})

    asked = (on_create_message, on_list_roots, on_elicit)
    return client(revision, **{handler.__name__: handler for handler in asked})


async def test_whatever_a_mounted_server_asks_its_client_answers() -> None:
    answers = {
        "sample": "to hi",
        "roots": "['file:///a']",
        "twice": "[1, 2]",
        "by_hand": "1 {'step': 1}",
    }
    for above, spoken, is_remote in product(ERAS, ERAS, (False, True)):
        top, child = app(above), asker()
        if is_remote:
            top.mount("x", connect_to=child)
        else:
            top.mount("x", child)
        async with in_memory(answering(spoken), top) as one:
            for name, expected in answers.items():
                with case((above, spoken, is_remote, name)):
                    assert await text_of(one, f"x_{name}") == expected


def mount_with_note(above: str, own: str, given: list[Any]) -> Any:
    """An app with a mounted one that notes the `_meta` it gets."""

    async def note(call: pkg.MethodCall, next: pkg.CallNext) -> Any:
        params: Any = call.params
        given.append(params.to_wire().get("_meta", {}))
        return await next(call)

    top, child = app(above), app(own, "child")
    child.middleware = [note]
    child.add_tool(lambda: "", name="look")
    top.mount("x", child)
    return top


async def test_client_without_a_name_is_unknown_to_a_mounted_server_of_the_other_era() -> None:
    given: list[Any] = []
    unknown, known = {"name": "unknown", "version": "0"}, {"name": "page", "version": "1"}
    async with serve_by_hand([mount_with_note(OLD, STATELESS, given)]) as hand:
        for meta in (META, {**META, CLIENT_INFO: known}):
            await hand.send(modern("tools/call", name="x_look", arguments={}, _meta=meta))
            assert "result" in await hand.take()
    assert [meta[CLIENT_INFO] for meta in given] == [unknown, known]


async def test_mounted_server_of_the_same_era_gets_no_envelope() -> None:
    given: list[Any] = []
    top = mount_with_note(HANDSHAKE[-1], HANDSHAKE[0], given)
    async with in_memory(client(HANDSHAKE[-1]), top) as one:
        assert await text_of(one, "x_look") == ""
    assert given == [{}]


async def test_later_changes_of_mounts_show_and_notify_clients() -> None:
    async def late() -> str:
        return "late"

    for own, spoken in ((own, spoken) for own in ERAS for spoken in ERAS):
        with case((own, spoken)):
            child, between, above = weather(own), app(own, "between"), app(OLD)
            between.mount("inner", child, separator=".")
            above.mount("outer", between)
            hearing = Hearing(spoken)
            async with in_memory(hearing.client, above) as one, hearing.hearing():
                assert "outer_inner.forecast" in (await names_of(one))["tools"]
                child.add_tool(late)
                assert await text_of(one, "outer_inner.late") == "late"
                await hearing.hears("tool")
                # A plain function, which runs in a thread.
                between.add_tool(child.remove_tool, name="shrink")
                await hearing.hears("tool")
                await one.call_tool("outer_shrink", {"name": "late"})
                await hearing.hears("tool")
                with pytest.raises(pkg.McpError, match="Unknown tool"):
                    await one.call_tool("outer_inner.late", {})
                above.mount("more", weather(own))
                await hearing.hears("tool", "prompt", "resource")
                assert await text_of(one, "more_forecast", place="x") == "rain in x"


async def test_updates_of_mounted_resources_have_the_uri_that_clients_know() -> None:
    for own in ERAS:
        for spoken in ERAS:
            with case((own, spoken)):
                hearing = Hearing(spoken)
                uri = "data://weather/now"
                async with (
                    in_memory(hearing.client, mounting(OLD, own)) as one,
                    hearing.hearing(uri),
                ):
                    await text_of(one, "weather_touch")
                    await hearing.hears(uri)


class Watching(Toolkit, mcp.Server):
    """A server that hears of subscriptions."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    @resource("a://b")
    def b(self) -> str:
        return ""

    async def on_subscribe(self, session: Any, params: Any) -> Any:
        self.seen.append(params.uri)
        return mcp.models.EmptyResult()


async def test_a_handler_of_subscriptions_hears_of_its_own_uris() -> None:
    for own in ERAS:
        child, above, hearing = Watching(), app(own), Hearing(own)
        above.mount("c", child)
        with case(own):
            async with in_memory(hearing.client, above), hearing.hearing("a://c/b", "x://y"):
                assert child.seen == ["a://b"]


class Noting(Toolkit, mcp.Server):
    """A server with an item of each kind."""

    info = mcp.models.Implementation(name="noting", version="1")
    max_threads = 1

    def __init__(self) -> None:
        self.events: list[str] = []
        self.middleware = [self.outermost]

    async def outermost(self, call: pkg.MethodCall, next: pkg.CallNext) -> Any:
        self.events.append(f"{call.method} {call.target}")
        return await next(call)

    @asynccontextmanager
    async def lifespan(self) -> AsyncGenerator[str, None]:
        self.events.append("open")
        yield "state"
        self.events.append("close")

    @tool
    def look(self, session: mcp.Session, state: Annotated[str, pkg.Depends(lambda: "made")]) -> str:
        from threading import current_thread

        session.from_thread(session.log("error", "in a thread"))
        return f"{session.state} {state} {current_thread().name.split('-')[0]} {session.revision}"

    @tool
    async def fail(self) -> None:
        raise pkg.McpError(-32000, "no")

    @resource("note:{x}")
    def note(self, x: str) -> list[Any]:
        raise pkg.ResourceNotFound

    @tool
    async def linked(self) -> list[mcp.models.ContentBlock]:
        m = mcp.models
        links = ("note:1", "https://example.org/")
        return [m.ResourceLink(name="x", uri=uri) for uri in links]

    @prompt
    async def embedded(self) -> list[Any]:
        m = mcp.models
        inside = m.TextResourceContents(uri="note:1", text="")
        return [m.PromptMessage(role="user", content=m.EmbeddedResource(resource=inside))]


async def test_a_mounted_server_keeps_what_is_its_own() -> None:
    for above in ERAS:
        for spoken in (OLD, STATELESS):
            with case((above, spoken)):
                noting, top = Noting(), app(above)
                top.mount("n", noting)
                hearing = Hearing(spoken)
                async with in_memory(hearing.client, top) as one:
                    assert noting.events == ["open"]
                    assert await text_of(one, "n_look") == f"state made Noting {spoken}"
                    assert [item.name async for item in one.iter_tools()][:2] == [
                        "n_look",
                        "n_fail",
                    ]
                    with pytest.raises(pkg.McpError, match="no"):
                        await one.call_tool("n_fail", {})
                    calls = ["tools/call look", "tools/list None", "tools/call fail"]
                    assert noting.events[1:] == calls
                assert noting.events[-1] == "close"


async def test_uris_in_results_are_those_that_clients_know() -> None:
    for above in ERAS:
        top = app(above)
        top.mount("n", Noting())
        with case(above):
            async with in_memory(pkg.load(above).Client(), top) as one:
                blocks = (await one.call_tool("n_linked", {})).content
                assert [block.uri for block in blocks] == ["note:n/1", "https://example.org/"]
                (message,) = (await one.get_prompt("n_embedded")).messages
                assert message.content.resource.uri == "note:n/1"
                with pytest.raises(pkg.McpError) as refused:
                    await one.read_resource("note:n/1")
                assert refused.value.data == {"uri": "note:n/1"}


async def test_cancellation_reaches_a_mounted_handler() -> None:
    waiting, below, top = Waiting(), app(OLD), app(OLD)
    below.add_tool(waiting.wait)
    top.mount("c", below)
    async with in_memory(mcp.Client(), top) as one:
        await waiting.is_cancelled_by(one, "c_wait")


async def test_handlers_of_a_class_are_asked_for_what_they_alone_know() -> None:
    m = mcp.models

    class Own(Toolkit, mcp.Server):
        async def on_list_tools(self, session: Any, params: Any) -> Any:
            free = m.Tool(name="free", input_schema={"type": "object"})
            # A cursor that leads to the same page again.
            return m.ListToolsResult(tools=[free], next_cursor="again")

        async def on_call_tool(self, session: Any, params: Any) -> Any:
            return m.CallToolResult(content=[m.TextContent(text=params.name)])

    top = app(OLD)
    with pytest.raises(ValueError, match="Own needs a prefix, because it lists tools by handlers"):
        top.mount(Own())
    top.mount("own", Own())
    async with in_memory(mcp.Client(), top) as one:
        assert [item.name async for item in one.iter_tools()] == ["own_free"]
        assert await text_of(one, "own_any") == "any"


def test_invalid_mount_is_refused_with_both_names() -> None:
    def app_with_tools(name: str, **tools: Any) -> Any:
        made = app(OLD, name)
        for tool_name in tools:
            made.add_tool(lambda: None, name=tool_name)
        return made

    loop, inner = app_with_tools("loop"), app_with_tools("inner")
    loop.mount("in", inner)
    taken = app_with_tools("taken", weather_forecast=1)
    mounted, two = app_with_tools("mounted"), app_with_tools("two")
    mounted.mount("a", app_with_tools("one"))
    served = app_with_tools("served")
    served.__mcp_runtime__.handlers_for(OLD)
    cases: list[tuple[Any, tuple[Any, ...], dict[str, Any], type[Exception], str]] = [
        (loop, ("x", loop), {}, ValueError, "loop and loop would contain each other"),
        (inner, ("x", loop), {}, ValueError, "inner and loop would contain each other"),
        (taken, ("weather", weather(OLD)), {}, ValueError,
         "two servers have the tool weather_forecast, that of taken and that of weather"),
        (mounted, ("a_b", two), {}, ValueError, "'a_b' and 'a' could have the same names"),
        (mounted, ("a", two), {"separator": "."}, ValueError, "'a' and 'a' could have"),
        (mounted, ("x y", two), {}, ValueError, "'x y' must only contain"),
        (mounted, ("x", two), {"separator": ""}, ValueError, "must not be empty"),
        (mounted, ("x" * 120, weather(OLD)), {}, ValueError, "must have 1 to 128 characters"),
        (mounted, ("x", Noting), {}, TypeError, "Noting is a class: mount an object, "),
        (mounted, ("x", mcp.Server()), {}, TypeError, "Server is not a server of a toolkit"),
        (mounted, ("x",), {}, TypeError, "write mount"),
        (mounted, (), {"connect_to": "x.py"}, TypeError, "write mount"),
        (mounted, ("x", app_with_tools("y")), {"connect_to": "x"}, TypeError, "write mount"),
        (served, ("x", Noting()), {}, RuntimeError, "mount it before serving"),
    ]  # fmt: skip
    for server, given, options, kind, text in cases:
        with case(text):
            before = server.__mcp_runtime__.catalogue.mounts
            with pytest.raises(kind) as refused:
                server.mount(*given, **options)
            assert text in str(refused.value)
            assert server.__mcp_runtime__.catalogue.mounts == before


def test_a_name_that_is_taken_above_cannot_be_added_below() -> None:
    child, top = app(OLD, "child"), app(OLD, "top")
    top.add_tool(lambda: None, name="c_x")
    top.mount("c", child)
    with pytest.raises(ValueError, match="two servers have the tool c_x, that of top and"):
        child.add_tool(lambda: None, name="x")
    assert child.__mcp_runtime__.catalogue.lists["tools"] == {}


async def test_feature_missing_in_revision_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def number() -> int | dict[str, int]:
        return 1

    for is_remote in (False, True):
        child, top = only(app(STATELESS, "child")), app(OLD)
        child.add_tool(number)
        if is_remote:
            top.mount("c", connect_to=child)
        else:
            top.mount("c", child)
        with case(is_remote), caplog.at_level(logging.WARNING):
            caplog.clear()
            async with in_memory(pkg.load(OLD).Client(), top) as one:
                (listed,) = [tool async for tool in one.iter_tools()]
            assert (listed.name, listed.output_schema) == ("c_number", None)
            assert any("outputSchema" in line and STATELESS in line for line in caplog.messages)


def test_a_server_in_which_nothing_is_mounted_looks_nothing_up() -> None:
    catalogue = weather(OLD).__mcp_runtime__.catalogue
    assert catalogue.lists is catalogue.registered and catalogue.mounts == ()
