"""What one worker publishes, and the clients of all workers hear."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
from mcp_protogen.runtime.features.sharing.record import Choices
from mcp_protogen.runtime.server.connection import ServerConnection
from mcp_protogen.runtime.storage.engine import Change
from mcp_revisions import v2025_11_25 as mcp
from mcp_revisions.v2025_11_25.models import CallToolRequestParams, PaginatedRequestParams
from support.http.fire import quiet, until
from support.http.serving import Events, Session, Site, outcome, serving
from support.revisions import OLD, STATELESS
from support.sessions.talking import models, pkg, request, tools
from support.sharing import faults
from support.sharing.faults import Engine
from support.tables import case

TOOLS = "notifications/tools/list_changed"
PROMPTS = "notifications/prompts/list_changed"
UPDATED = "notifications/resources/updated"
URI = "file:///a"
ALL = frozenset({TOOLS, PROMPTS, "notifications/resources/list_changed", UPDATED})


async def echo(session: object, params: CallToolRequestParams) -> str:
    return str(params.name)


def ours(revision: str = STATELESS, **members: Any) -> Any:
    return tools(revision, echo, **{"SENDS": ALL, **members})


def workers(
    engine: object, *servers: Any, **chosen: Any
) -> AbstractAsyncContextManager[list[Site]]:
    """Serve all revisions by one application per server."""
    return faults.workers(*servers, engine=engine, revisions=pkg.REVISIONS, **chosen)


@asynccontextmanager
async def listening(site: Site, uri: str = URI) -> AsyncGenerator[list[Events], None]:
    """A client of each era that wants to hear of everything."""
    async with site.listening(
        toolsListChanged=True, promptsListChanged=True, resourceSubscriptions=[uri]
    ) as stream:
        session = await site.initialize()
        async with session.get() as standalone:
            yield [stream, standalone]


async def read_methods(events: Events, number: int = 1) -> list[str]:
    return [(await events.take())["method"] for _ in range(number)]


async def test_all_clients_of_all_workers_hear_once_what_one_publishes() -> None:
    servers = ours(), ours()
    async with (
        workers(Engine(), *servers) as (one, two),
        listening(one) as first,
        listening(two) as second,
    ):
        for server in servers:
            await server.tools_list_changed()
            await server.prompts_list_changed()
        for events in (*first, *second):
            assert await read_methods(events, 4) == [TOOLS, PROMPTS] * 2
            assert await events.is_silent()


async def test_a_resource_is_updated_for_those_who_subscribed() -> None:
    servers = ours(), ours()
    wanted = {"resourceSubscriptions": [URI]}
    other = {"resourceSubscriptions": ["file:///b"]}
    async with (
        workers(Engine(), *servers) as (one, two),
        one.listening(**wanted) as first,
        two.listening(**other) as second,
    ):
        await servers[1].resource_updated(URI)
        assert (await first.take())["params"]["uri"] == URI
        assert await second.is_silent()


async def test_sessions_without_a_subscription_cost_nothing_when_a_resource_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    uris = list[str | None]()
    publish = ServerConnection.publish

    async def note(self: ServerConnection, method: str, uri: str | None) -> None:
        uris.append(uri)
        await publish(self, method, uri)

    monkeypatch.setattr(ServerConnection, "publish", note)
    server = ours()
    async with (
        workers(Engine(), server) as (one,),
        one.listening(resourceSubscriptions=[URI]) as first,
    ):
        for _ in range(3):
            await one.initialize()
        for uri in ("file:///b", URI):
            await server.resource_updated(uri)
        assert (await first.take())["params"]["uri"] == URI
        assert uris == [URI]


async def test_a_server_of_two_applications_publishes_once_for_each_engine() -> None:
    server, engines = ours(), [Engine(), Engine()]
    async with AsyncExitStack() as stack:
        streams: list[Events] = []
        for engine in (engines[0], engines[0], engines[1]):
            (site,) = await stack.enter_async_context(workers(engine, server))
            streams.append(await stack.enter_async_context(site.listening(toolsListChanged=True)))
        alone = await stack.enter_async_context(serving(server))
        streams.append(await stack.enter_async_context(alone.listening(toolsListChanged=True)))
        await server.tools_list_changed()
        for events in streams:
            assert await read_methods(events) == [TOOLS]
            assert await events.is_silent()
        assert [len(engine.published) for engine in engines] == [1, 1]


async def test_changes_of_other_server_are_not_heard() -> None:
    other: Any = type("Other", (ours().__class__,), {})
    servers = ours(), other()
    async with (
        workers(Engine(), *servers) as (one, two),
        one.listening(toolsListChanged=True) as first,
        two.listening(toolsListChanged=True) as second,
    ):
        await servers[1].tools_list_changed()
        assert await read_methods(second) == [TOOLS]
        assert await first.is_silent()


async def test_of_servers_with_one_name_that_of_the_revision_publishes() -> None:
    pairs = [(ours(OLD), ours()) for _ in range(2)]
    async with (
        workers(Engine(), *pairs) as (one, two),
        listening(one) as first,
        listening(two) as second,
    ):
        for number, server in enumerate(pairs[0]):
            await server.tools_list_changed()
            for streams in (first, second):
                stream, standalone = streams
                assert await read_methods(standalone if number == 0 else stream) == [TOOLS]
        for events in (*first, *second):
            assert await events.is_silent(0.02)


async def test_workers_of_another_release_hear_of_it_by_the_name() -> None:
    # While one is replaced by the other, the class of the server may be of another revision.
    servers = ours(OLD), ours()
    async with (
        workers(Engine(), *servers) as (one, two),
        one.listening(toolsListChanged=True) as events,
        two.listening(),
    ):
        await servers[1].tools_list_changed()
        assert await read_methods(events) == [TOOLS]


async def test_changes_of_mounted_server_are_heard_under_its_prefix() -> None:
    def mounting() -> tuple[Any, Any]:
        inner = mcp.App("inner")
        inner.resource("note:///a")(lambda: "text")
        above = mcp.App("above")
        above.mount("in", inner)
        return above, inner

    (above, inner), (other, _) = mounting(), mounting()
    async with workers(Engine(), above, other) as (one, two):
        uri = "note:///in/a"
        async with listening(one, uri) as first, listening(two, uri) as second:
            await inner.resource_updated("note:///a")
            for stream, _ in (first, second):
                assert (await stream.take())["params"]["uri"] == uri
            # Called in a thread, as by a plain function.
            await asyncio.to_thread(lambda: inner.resource("note:///b")(lambda: "text"))
            for stream, standalone in (first, second):
                assert await read_methods(standalone) == ["notifications/resources/list_changed"]
                assert await stream.is_silent(0.02)


async def test_a_server_of_one_session_publishes_to_that_alone() -> None:
    kind: Any = ours().__class__
    async with workers(Engine(), kind, kind) as (one, two):
        sessions = [await site.initialize() for site in (one, one, two)]
        async with AsyncExitStack() as stack:
            streams = [await stack.enter_async_context(session.get()) for session in sessions]
            stream = await stack.enter_async_context(two.listening(toolsListChanged=True))
            server = next(iter(one.app._running.state.sessions)).connection.server
            await server.tools_list_changed()
            assert await read_methods(streams[0]) == [TOOLS]
            for events in (*streams[1:], stream):
                assert await events.is_silent(0.02)


async def test_only_the_worker_that_owns_a_session_sends_to_it() -> None:
    servers = ours(), ours()
    async with workers(Engine(), *servers) as (one, two):
        session = await one.initialize()
        async with session.get() as events:
            (own,) = one.app._running.state.sessions
            own.connection.is_owner = False
            assert servers[0].sessions == ()
            await servers[1].tools_list_changed()
            own.connection.is_owner = True
            await servers[1].prompts_list_changed()
            assert await read_methods(events) == [PROMPTS]
        async with two.listening():
            pass


async def test_changes_wait_while_the_engine_is_away_each_once() -> None:
    engine, servers = Engine(), (ours(), ours())
    async with (
        workers(engine, *servers) as (one, two),
        listening(one) as first,
        listening(two) as second,
    ):
        engine.away = True
        for _ in range(3):
            await servers[0].tools_list_changed()
            await servers[0].resource_updated(URI)
        engine.away = False
        for streams in (first, second):
            assert await read_methods(streams[0], 2) == [TOOLS, UPDATED]
            assert await read_methods(streams[1]) == [TOOLS]
            for events in streams:
                assert await events.is_silent(0.02)


async def test_too_many_waiting_changes_become_one_for_all() -> None:
    engine, servers = Engine(), (ours(), ours())
    async with workers(engine, *servers) as (one, two), listening(one) as first, listening(two):
        engine.away = True
        for number in range(1100):
            await servers[1].resource_updated(f"file:///{number}")
        engine.away = False
        assert await read_methods(first[0], 3) == [PROMPTS, TOOLS, UPDATED]
        assert len(engine.published) == 1


async def test_change_for_all_is_published_alone_after_failed_attempt() -> None:
    engine, servers = Engine(), (ours(), ours())
    async with workers(engine, *servers) as (one, two), listening(one) as first, listening(two):
        engine.away = True
        for number in range(1100):
            await servers[1].resource_updated(f"file:///{number}")
        engine.slow.add("mail.publish")
        attempts = engine.calls.count("mail.publish")
        await until(lambda: engine.calls.count("mail.publish") > attempts)
        await servers[1].resource_updated("file:///late")
        await until(lambda: engine.calls.count("mail.publish") > attempts + 1)
        engine.away = False
        assert await read_methods(first[0], 3) == [PROMPTS, TOOLS, UPDATED]
        assert len(engine.published) == 1


async def test_change_for_everything_follows_gap() -> None:
    engine, server = Engine(), ours(SENDS=frozenset({TOOLS, UPDATED}))
    with quiet():
        async with workers(engine, server) as (site,), listening(site) as streams:
            counted = dict(server.__mcp_runtime__.changes)
            engine.lose()
            assert await read_methods(streams[0], 2) == [TOOLS, UPDATED]
            assert await read_methods(streams[1]) == [TOOLS]
            for events in streams:
                assert await events.is_silent(0.02)
            changes = server.__mcp_runtime__.changes
            assert all(changes[method] > counted.get(method, 0) for method in (TOOLS, UPDATED))


async def test_subscription_that_was_made_during_a_gap_gets_the_change_that_it_hid() -> None:
    engine, servers = Engine(), (ours(), ours())
    async with workers(engine, *servers) as (one, two):
        session = await one.initialize()
        async with session.get() as events:
            engine.workers[0].kill()
            elsewhere = Session(two, session.revision, session.id, session.headers)
            subscribe = request("resources/subscribe", uri=URI)
            assert outcome(await elsewhere.post(subscribe)) == (200, None)
            await servers[1].resource_updated(URI)
            engine.workers[0].revive()
            while await read_methods(events) != [UPDATED]:
                pass


async def test_nonsense_on_the_bus_is_ignored() -> None:
    engine, server = Engine(), ours()
    nonsense = [
        b"",
        b"{",
        b"[]",
        b'{"method": 1}',
        b'{"method": "notifications/tools/list_changed", "uri": "file:///a", "server": "Ours"}',
        b'{"method": "notifications/resources/updated", "server": "Ours"}',
        b'{"method": "notifications/cancelled", "server": "Ours"}',
        b'{"method": "notifications/x/list_changed", "server": "Ours"}',
        b'{"method": "notifications/tools/list_changed", "server": "another"}',
        b'{"method": "notifications/tools/list_changed", "session": "another"}',
        b"\xff" * 1000,
    ]
    async with workers(engine, server) as (site,), listening(site) as streams:
        for data in nonsense:
            with case(data):
                for receive in engine.receivers:
                    receive(Change(data))
        await server.prompts_list_changed()
        for events in streams:
            assert await read_methods(events) == [PROMPTS]
        assert set(server.__mcp_runtime__.changes) == {PROMPTS}


async def test_tool_headers_are_read_again_after_change_elsewhere() -> None:
    m, asked = models(STATELESS), list[str]()
    schema = {
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
    }

    def listing(worker: str) -> Any:
        async def on_list_tools(
            self: object, session: object, params: PaginatedRequestParams
        ) -> object:
            asked.append(worker)
            return m.ListToolsResult(tools=[m.Tool(name="x", input_schema=schema)])

        return ours(on_list_tools=on_list_tools)

    servers = listing("one"), listing("two")
    async with workers(Engine(), *servers) as sites:

        async def call() -> None:
            for site in sites:
                fields = {"mcp-param-region": "us"}
                arguments = {"region": "us"}
                answer = await site.modern(
                    "tools/call", name="x", arguments=arguments, headers=fields
                )
                assert outcome(answer) == (200, None)

        await call()
        await call()
        assert asked == ["one", "two"]
        before = servers[1].__mcp_runtime__.changes.get(TOOLS, 0)
        await servers[0].tools_list_changed()
        await until(lambda: servers[1].__mcp_runtime__.changes.get(TOOLS, 0) > before)
        await call()
        assert asked == ["one", "two"] * 2


async def test_waiting_changes_are_published_before_worker_leaves() -> None:
    engine, servers = Engine(), (ours(), ours())
    async with workers(engine, servers[0]) as (one,):
        async with one.listening(toolsListChanged=True) as events:
            async with workers(engine, servers[1]) as (two,):
                assert (await two.http.get("/ready")).status_code == 200
                async with two.listening():
                    pass
                engine.away = True
                await servers[1].tools_list_changed()
                engine.away = False
            assert await read_methods(events) == [TOOLS]
        assert not servers[1].__mcp_runtime__.relays


async def test_who_publishes_while_a_worker_leaves_is_not_kept_waiting() -> None:
    engine, server = Engine(), ours()
    async with workers(engine, server) as (site,):
        assert (await site.http.get("/ready")).status_code == 200
        publishing = engine.block("mail.publish")
        first = asyncio.create_task(server.tools_list_changed())
        await until(lambda: "mail.publish" in engine.calls)
        second = asyncio.create_task(server.prompts_list_changed())
        await asyncio.sleep(0)
        publishing.set()
        engine.failing.add("mail.publish")
    await asyncio.wait_for(asyncio.gather(first, second), 30)


def switching() -> mcp.App:
    """Return a server with a mounted one and a tool that reports the session's switches."""
    inner, app = mcp.App("inner"), mcp.App("app")

    @app.tool
    @inner.tool
    def plain() -> str:
        return "said"

    @app.tool
    def switch(session: mcp.Session, names: list[str], on: bool) -> str:
        (app.enable if on else app.disable)(*names, session=session)
        return "switched"

    @inner.tool
    def hide(session: mcp.Session) -> str:
        inner.disable("plain", session=session)
        return "hidden"

    @app.tool(tags={"admin"})
    def delete() -> str:
        return "deleted"

    app.mount("in", inner)
    return app


async def tools_of(session: Session) -> set[str]:
    answer = await session.post(request("tools/list"))
    return {tool["name"] for tool in answer.json()["result"]["tools"]}


async def test_switches_of_session_apply_at_all_workers() -> None:
    everything = {"plain", "switch", "delete", "in_plain", "in_hide"}
    async with workers(Engine(), switching(), switching()) as (one, two):
        here = await one.initialize()
        there = Session(two, here.revision, here.id, {})
        other = await two.initialize()
        for _ in range(2):
            for session in (here, there):
                assert await tools_of(session) == everything
        await here.call("switch", arguments={"names": ["delete", "plain"], "on": False})
        await there.call("in_hide")
        for session in (here, there):
            assert await tools_of(session) == {"switch", "in_hide"}
            refused = await session.call("delete")
            assert refused.json()["error"]["code"] == -32602
        await there.call("switch", arguments={"names": ["plain"], "on": True})
        for session in (there, here):
            assert await tools_of(session) == {"plain", "switch", "in_hide"}
        assert await tools_of(other) == everything


async def test_a_client_hears_of_a_switch_when_all_workers_know() -> None:
    app = switching()
    async with workers(Engine(), app, switching()) as (one, two):
        session = await one.initialize()
        there = Session(two, session.revision, session.id, {})
        async with session.get() as events:
            assert "delete" in await tools_of(there)
            (own,) = app.sessions
            # Not in a request, whose answer would wait until they know.
            app.disable("delete", session=own)
            assert await read_methods(events) == [TOOLS]
            assert "delete" not in await tools_of(there)


async def test_switches_of_two_workers_come_together() -> None:

    def chosen(*switched: tuple[str, bool]) -> Any:
        entries = tuple(("", name, False, on) for name, on in switched)
        return Choices(True, "info", frozenset(), entries)

    a, b, c, off = ("a", True), ("b", True), ("c", True), ("a", False)
    for own, base, stored, expected in (
        ([a], [a], [a], [a]),
        ([a], [], [], [a]),
        ([], [], [a], [a]),
        ([a, b], [a], [a, c], [a, c, b]),
        ([a, b], [b, a], [b, a], [a, b]),
        ([b, off], [a, b], [a, b, c], [c, b, off]),
        ([off], [a], [a, b], [b, off]),
    ):
        with case((own, base, stored)):
            merged = chosen(*own).onto(chosen(*base), chosen(*stored))
            assert merged == chosen(*expected)
            assert merged.onto(merged, merged) == merged


async def test_worker_that_takes_over_notifies_client() -> None:
    servers = ours(), ours()
    async with workers(Engine(), *servers) as (one, two):
        session = await one.initialize()
        there = Session(two, session.revision, session.id, {})
        async with there.get() as events:
            # The worker before was there, and has sent all.
            assert await events.is_silent()
        await two.app.close()
        # Nobody is the owner now, who would send it.
        await servers[0].tools_list_changed()
        async with session.get() as events:
            assert TOOLS in await read_methods(events, 3)
