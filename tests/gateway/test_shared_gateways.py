"""Processes of a gateway that share sessions: any of them answers any request."""

import asyncio
import itertools
from typing import Any

import pytest
from mcp_protogen.runtime.testing import in_memory
from support.auth.guarding import ADA, BEN, GUARD
from support.gateway.gateways import behind, gateway_settings, serve_gateway
from support.gateway.listing import Listing, tools_of
from support.gateway.sharing import STATE_KEY, GatewayProcesses, gateway_processes
from support.revisions import ERAS, HANDSHAKE, OLD, STATELESS
from support.sessions.talking import pkg, request
from support.sharing.faults import Engine, at
from support.tables import case
from support.tasks.gateway import CLIENTS, OPTIONS, SERVERS
from support.toolkit.mounting import ASKING, Hearing, app, names_of, only, text_of, weather

pytestmark = pytest.mark.skips_time


async def test_any_process_answers_any_request() -> None:
    for upstream in ERAS:
        for spoken in ERAS:
            server = behind("w", only(weather(upstream)))
            settings = gateway_settings(server, state_keys=(STATE_KEY,))
            # Such a question waits in the process that asked it.
            waits = upstream in HANDSHAKE and spoken == STATELESS
            asks = {upstream, spoken} <= {*ASKING} and not waits
            hearing = Hearing(spoken)
            with case((upstream, spoken)):
                async with (
                    gateway_processes(settings) as processes,
                    processes.connect(hearing.client) as one,
                ):
                    for _ in range(3):
                        assert "w_forecast" in (await names_of(one))["tools"]
                        assert await text_of(one, "w_forecast", place="Oslo") == "rain in Oslo"
                        if asks:
                            assert await text_of(one, "w_age") == "42 years"
                    assert {*processes.passed} == {0, 1}


async def test_question_of_a_server_with_sessions_waits_in_the_process_that_asked() -> None:
    settings = gateway_settings(behind("w", only(weather(OLD))), state_keys=(STATE_KEY,))
    async with (
        gateway_processes(settings) as processes,
        processes.connect(Hearing(STATELESS).client) as one,
    ):
        with pytest.raises(pkg.McpError, match="requestState has expired"):
            await one.call_tool("w_age", {})
    async with (
        gateway_processes(settings) as processes,
        processes.connect(Hearing(STATELESS).client, place=1) as one,
    ):
        assert await text_of(one, "w_age") == "42 years"


async def call_at(processes: GatewayProcesses, place: int, one: Any) -> None:
    """Make a request of a client reach one process."""
    processes.next = place
    assert await tools_of(one)


async def test_updates_reach_a_client_once_wherever_its_stream_and_requests_are() -> None:
    for revision, stream_place, other_place in itertools.product((OLD, STATELESS), (0, 1), (0, 1)):
        server, hearing = only(weather(revision)), Hearing(OLD)
        async with gateway_processes(gateway_settings(behind("w", server))) as processes:
            processes.next = stream_place
            with case((revision, stream_place, other_place)):
                async with processes.connect(hearing.client) as one:
                    await asyncio.sleep(1)
                    await call_at(processes, stream_place, one)
                    await call_at(processes, other_place, one)
                    await one.subscribe("data://w/now")
                    await asyncio.sleep(5)
                    hearing.heard.clear()
                    for _ in range(3):
                        await server.resource_updated("data://now")
                        await asyncio.sleep(1)
                    assert hearing.heard == ["data://w/now"] * 3
                    server.remove_tool("touch")
                    await asyncio.sleep(1)
                    # Each process with a connection to the server announces it.
                    assert hearing.heard[3:] == ["tool"] * len({stream_place, other_place})


async def test_updates_reach_a_client_whose_stream_moves_to_another_process() -> None:
    server, hearing = only(weather(OLD)), Hearing(OLD)
    async with gateway_processes(gateway_settings(behind("w", server))) as processes:
        processes.next = 0
        async with processes.connect(hearing.client) as one:
            await one.subscribe("data://w/now")
            await call_at(processes, 1, one)
            for processes.next in (1, 0, 1):
                processes.cut()
                await asyncio.sleep(30)
                hearing.heard.clear()
                await server.resource_updated("data://now")
                await asyncio.sleep(1)
                assert hearing.heard == ["data://w/now"]


async def test_levels_follow_a_session_to_servers_of_other_processes() -> None:
    for level in ("debug", "error"):
        asked: list[str] = []
        made = app(OLD, "notes")

        @made.tool
        async def note(text: str) -> str:
            return text

        async def note_level(call: Any, next: Any, asked: list[str] = asked) -> Any:
            if call.method == "logging/setLevel":
                asked.append(call.params.level)
            return await next(call)

        made.middleware = (note_level,)
        settings = gateway_settings(behind("n", only(made)))
        with case(level):
            async with (
                gateway_processes(settings) as processes,
                processes.connect(Hearing(OLD).client) as one,
            ):
                for processes.next in (0, 1):
                    assert await tools_of(one) == ["n_note"]
                processes.next = None
                assert asked == []
                await one.set_level(level)
                await asyncio.sleep(1)
                assert asked == [level] * 2


async def test_session_of_a_principal_is_unknown_to_another_at_all_processes() -> None:
    settings, engine = gateway_settings(behind("a", Listing("x"))), pkg.MemoryEngine()
    http: dict[str, Any] = {"shared": pkg.Shared(engine=engine), "authentication": GUARD}
    async with serve_gateway(settings, **http) as one, serve_gateway(settings, **http) as two:
        session = await one.initialize(OLD, ADA)
        for site in (two, one):
            there = at(session, site)
            calls = [await there.post(request("tools/list"), whose) for whose in (BEN, ADA)]
            assert [call.status_code for call in calls] == [404, 200]


async def test_sessions_go_on_when_a_process_is_killed() -> None:
    server, hearing = only(weather(OLD)), Hearing(OLD)
    async with (
        gateway_processes(gateway_settings(behind("w", server))) as processes,
        processes.connect(hearing.client) as one,
        hearing.hearing("data://w/now"),
    ):
        await asyncio.sleep(5)
        await processes.kill(0)
        await asyncio.sleep(30)
        hearing.heard.clear()
        await server.resource_updated("data://now")
        await asyncio.sleep(1)
        assert hearing.heard == ["data://w/now"]
        assert await text_of(one, "w_forecast", place="Oslo") == "rain in Oslo"


async def test_task_is_unknown_at_another_process() -> None:
    for spoken in (OLD, STATELESS):
        theirs = SERVERS[OLD]()
        opener = in_memory(theirs, options=pkg.Options(**OPTIONS))
        settings = gateway_settings(behind("up", opener))
        with case(spoken):
            async with (
                gateway_processes(settings) as processes,
                processes.connect(CLIENTS[spoken]()) as one,
            ):
                processes.next = 0
                handle = await one.start_task("up_slow")
                processes.next = 1
                with pytest.raises(pkg.McpError) as raised:
                    await handle.status()
                assert raised.value.code == -32602
                processes.next = 0
                theirs.go_on.set()
                assert (await handle.result()).text == "slow is done"


async def test_gateway_without_its_engine_answers_at_once() -> None:
    engine, settings = Engine(), gateway_settings(behind("a", Listing("x")))
    async with (
        gateway_processes(settings, engine) as processes,
        processes.connect(pkg.load(OLD).Client()) as one,
        processes.connect(pkg.load(STATELESS).Client()) as stateless,
    ):
        await asyncio.sleep(1)
        engine.away = True
        with pytest.raises(pkg.McpError, match="engine shared by the workers is unavailable"):
            await tools_of(one)
        assert await tools_of(stateless) == ["a_x"]
        engine.away = False
        assert await tools_of(one) == ["a_x"]
