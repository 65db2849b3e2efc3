"""Servers that are connected to and mounted: by command, URL or opener, one for each client."""

import asyncio
import logging
import os
import sys
from contextlib import AsyncExitStack
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from mcp_protogen.runtime.toolkit import remote_mounts
from mcp_protogen.runtime.toolkit.remote_mounts import RemoteMount
from mcp_protogen.runtime.toolkit.remotes import RemoteSettings
from mcp_protogen.runtime.transports.memory import memory_pair
from support.http.serving import run_app
from support.json_types import JsonObject
from support.revisions import ERAS, OLD, STATELESS
from support.sessions.talking import (
    CAPABILITIES,
    INITIALIZED,
    META,
    Accepting,
    Hand,
    hello,
    modern,
    notification,
    request,
    serve_by_hand,
)
from support.sessions.wiretap import TOOLS_CHANGED, result, shake
from support.tables import case
from support.toolkit.kits import mcp, pkg
from support.toolkit.mounting import (
    Hearing,
    app,
    in_memory,
    mount_remote,
    names_of,
    only,
    over_http,
    program,
    serving_over_http,
    text_of,
    until,
    use_weather,
    wait_for_connections,
    weather,
)


def above(revision: str, address: Any) -> Any:
    """Return an app in which a remote weather is mounted."""
    made = app(revision)
    made.mount("weather", connect_to=address)
    return made


def alone(revision: str) -> Any:
    """The weather, which speaks one revision and no other."""
    return only(weather(revision))


async def test_a_remote_server_is_used_in_the_revision_that_is_agreed_on_with_it() -> None:
    for of_remote, own, spoken in product(ERAS, ERAS, ERAS):
        with case((of_remote, own, spoken)):
            hearing = Hearing(spoken)
            async with in_memory(hearing.client, above(own, alone(of_remote))) as one:
                await use_weather(hearing, one)
                with pytest.raises(pkg.McpError, match="Unknown tool: forcast"):
                    await one.call_tool("weather_forcast", {"place": "Oslo"})


async def test_each_client_has_a_connection_from_its_first_need_to_its_end() -> None:
    for spoken in ERAS:
        remote = alone(OLD)
        server = above(OLD, remote)
        with case(spoken):
            async with in_memory(pkg.load(spoken).Client(), server) as one:
                assert remote.sessions == ()
                for _ in range(2):
                    await text_of(one, "weather_touch")
                    assert len(remote.sessions) == 1
                async with in_memory(pkg.load(spoken).Client(), server) as other:
                    await text_of(other, "weather_touch")
                    assert len(remote.sessions) == 2
                await wait_for_connections(remote, 1)
            await wait_for_connections(remote, 0)


async def test_a_remote_server_is_reached_over_any_wire(tmp_path: Path) -> None:
    path = tmp_path / "weather.py"
    for of_remote, own, spoken in ((OLD, STATELESS, OLD), (STATELESS, OLD, STATELESS)):
        path.write_text(program(f"weather({of_remote!r})"))
        served = weather(of_remote).http()
        async with run_app(served) as port:
            for address in (str(path), f"http://127.0.0.1:{port}/mcp"):
                with case((of_remote, own, spoken, address)):
                    hearing = Hearing(spoken)
                    async with over_http(hearing.client, above(own, address)) as one:
                        await use_weather(hearing, one)
            await served.close()


async def test_undeclared_changes_of_remote_server_pass_and_undeclared_log_entries_do_not(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def play(hand: Hand) -> None:
        await shake(hand, tools={})
        while (asked := await hand.take()) is not None:
            entry = notification("notifications/message", level="error", data="said")
            await hand.send(entry, notification(TOOLS_CHANGED))
            listed = {"tools": [{"name": "touch", "inputSchema": {"type": "object"}}]}
            text = {"content": [{"type": "text", "text": "touched"}]}
            done = listed if asked["method"] == "tools/list" else text
            await hand.send(result(asked["id"], **done))

    hearing = Hearing(OLD)
    async with in_memory(hearing.client, above(OLD, Accepting(play))) as one:
        assert await text_of(one, "weather_touch") == "touched"
        assert await text_of(one, "weather_touch") == "touched"
        # The app above has declared them.
        await hearing.hears("tool", "tool")
    assert hearing.logged == []
    assert {record.name.rpartition(".")[2] for record in caplog.records} == {"losses"}


@pytest.mark.parametrize("revision", ERAS)
async def test_mount_passes_on_what_its_server_sends_against_the_schema(revision: str) -> None:
    rest: JsonObject = {"resultType": "complete"} if revision != OLD else {}
    schema = {"type": "object"}
    listed = [
        {"name": "good", "title": "Good", "inputSchema": schema},
        {"name": "null", "title": None, "annotations": None, "inputSchema": schema},
        {"name": "bad", "inputSchema": 5},
    ]
    content = [{"type": "text", "text": "done", "annotations": None}]
    answers: JsonObject = {
        "tools/list": {"tools": listed, "nextCursor": None},
        "tools/call": {"content": content, "structuredContent": None},
    }

    async def play(hand: Hand) -> None:
        asked = await hand.take()
        opening: JsonObject = {"capabilities": {"tools": {}, "logging": None}}
        if revision == OLD:
            opening |= {"protocolVersion": OLD, "serverInfo": {"name": "s"}}
        else:
            opening |= {"supportedVersions": [revision], "ttlMs": 0, "cacheScope": "public"}
        await hand.send(result(asked["id"], **rest, **opening))
        while (asked := await hand.take()) is not None:
            if asked["method"] == "tools/call":
                token = asked["params"]["_meta"]["progressToken"]
                for report in ({"progress": 1, "total": None}, {"progress": 1}, {"progress": 2}):
                    report = {**report, "progressToken": token}
                    await hand.send(notification("notifications/progress", **report))
            if asked["method"] in answers:
                more = {"ttlMs": 0, "cacheScope": "public"} if rest else {}
                await hand.send(result(asked["id"], **rest, **more, **answers[asked["method"]]))

    hearing = Hearing(revision)
    async with in_memory(hearing.client, above(revision, Accepting(play))) as one:
        names = [tool.name for tool in (await one.list_tools()).tools]
        assert names == ["weather_good", "weather_null"]
        reports: list[Any] = []
        called = await one.call_tool("weather_null", {}, on_progress=reports.append)
        assert called.content[0].text == "done"
        assert [report.done for report in reports] == [1, 1, 2]


async def test_requests_without_a_session_share_one_for_each_principal() -> None:
    names = {f"{name * 16}": pkg.Principal(name) for name in "ab"}
    verify = pkg.static_tokens(names)
    http = pkg.HttpOptions(authentication=pkg.Authentication(verify=verify))
    remote = alone(OLD)
    async with serving_over_http(above(OLD, remote), http=http) as connect:
        for token in (*names, *names):
            one = await connect(Hearing(STATELESS).client, authorization=f"Bearer {token}")
            assert await text_of(one, "weather_age") == "42 years"
        assert len(remote.sessions) == 2
    assert remote.sessions == ()


async def test_requests_without_a_session_share_one_for_each_client() -> None:
    """A listen stream and calls of a client reach one process, whose changes it hears of."""
    remote, uri = alone(OLD), "data://weather/now"
    async with serving_over_http(above(OLD, remote)) as connect:
        hearings: list[Hearing] = []
        for name, version in (("a", "1"), ("a", "2"), ("b", "1"), ("a", "1")):
            hearing = Hearing(STATELESS)
            info = pkg.load(STATELESS).models.Implementation(name=name, version=version)
            hearing.client.info = info
            await text_of(await connect(hearing.client), "weather_touch")
            hearings.append(hearing)
        assert len(remote.sessions) == 3
        first, *others, like_first = hearings
        async with first.hearing(uri), like_first.hearing(uri):
            assert len(remote.sessions) == 3
            await text_of(first.client, "weather_touch")
            for hearing in (first, like_first):
                await hearing.hears(uri)
        async with first.hearing(uri):
            await text_of(like_first.client, "weather_touch")
            await first.hears(uri)
        assert all(hearing.heard == [] for hearing in others)


async def test_longest_idle_connection_makes_room_for_another() -> None:
    remote, top = alone(OLD), app(OLD)
    opener, opened = pkg.connect.opener(remote), 0

    async def open() -> Any:
        nonlocal opened
        opened += 1
        return await opener()

    mount_remote(top, "weather", open, max_connections=2)
    async with AsyncExitStack() as stack:
        clients = [Hearing(spoken).client for spoken in (OLD, STATELESS, OLD)]
        first, second, third = [
            await stack.enter_async_context(in_memory(ours, top)) for ours in clients
        ]
        for caller in (first, second, first, third):
            await text_of(caller, "weather_touch")
        await wait_for_connections(remote, 2)
        for caller, number in ((first, 3), (third, 3), (second, 4)):
            await text_of(caller, "weather_touch")
            assert opened == number
        await wait_for_connections(remote, 2)


async def test_clients_that_vanish_leave_no_process(tmp_path: Path) -> None:
    path, pids = tmp_path / "weather.py", tmp_path / "pids"
    note = f"import os\nopen({str(pids)!r}, 'a').write(f'{{os.getpid()}}\\n')\n"
    path.write_text(note + program(f"weather({OLD!r})"))
    in_process = alone(OLD)
    top = app(OLD)
    mount_remote(top, "near", in_process)
    mount_remote(top, "far", str(path))
    for number in range(82):
        ours, theirs = memory_pair()
        serving = asyncio.create_task(pkg.serve([top], theirs))
        hand = Hand(ours)
        if number % 2:
            await hand.send(hello())
            assert "result" in await hand.take()
            await hand.send(INITIALIZED)
            asking = partial(request, "tools/call")
        else:
            asking = partial(modern, "tools/call")
        far = number % 40 < 2
        await hand.send(asking(1, name=f"{'far' if far else 'near'}_touch"))
        if number % 3:
            # Others do not even wait for the opening.
            assert (await hand.take())["id"] == 1
        await ours.close()
        await serving
    await wait_for_connections(in_process, 0)
    await until(lambda: asyncio.all_tasks() == {asyncio.current_task()})
    for pid in map(int, pids.read_text().split()):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def by(capability: str, id: int, method: str, **params: object) -> JsonObject:
    """A request of a client that has one capability."""
    return request(method, id, _meta={**META, CAPABILITIES: {capability: {}}}, **params)


async def test_a_connection_makes_no_room_for_another_while_it_is_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    few = partial(RemoteMount, settings=RemoteSettings(max_connections=1))
    monkeypatch.setattr(remote_mounts, "RemoteMount", few)
    remote, begun, go = alone(OLD), asyncio.Event(), asyncio.Event()

    async def slowly(call: Any, next: Any) -> Any:
        if call.method == "tools/list":
            begun.set()
            await go.wait()
        return await next(call)

    remote.middleware = (slowly,)
    uri, updated = "data://weather/now", "notifications/resources/updated"
    touch = {"name": "weather_touch"}
    async with serve_by_hand(above(OLD, remote)) as hand:
        with case("a list"):
            await hand.send(by("roots", 1, "tools/list"))
            await begun.wait()
            await hand.send(by("sampling", 2, "tools/call", **touch))
            assert (await hand.take())["id"] == 2
            go.set()
            listed = await hand.take()
            assert len(listed["result"]["tools"]) == 3
        with case("a listen stream"):
            wanted = {"resourceSubscriptions": [uri]}
            await hand.send(by("roots", 3, "subscriptions/listen", notifications=wanted))
            assert (await hand.take())["params"]["notifications"] == wanted
            for id, capability in ((4, "sampling"), (5, "elicitation")):
                await hand.send(by(capability, id, "tools/call", **touch))
                both = [await asyncio.wait_for(hand.take(), 10) for _ in range(2)]
                assert {message.get("method", message.get("id")) for message in both} == {
                    updated,
                    id,
                }
        # The one of roots is listened to, and that of sampling has made room.
        await wait_for_connections(remote, 2)


async def test_who_waits_for_a_connection_hears_of_its_end_before_it_has_begun() -> None:
    remote = alone(OLD)
    top = above(OLD, remote)
    async with in_memory(mcp.Client(), top):
        (session,) = top.sessions
        (mount,) = top.__mcp_runtime__.catalogue.mounts
        params = mcp.models.CallToolRequestParams(name="weather_touch")
        answer = asyncio.create_task(mount.answer("tools/call", session, params))
        # Cancelled in the same tick, before the opening task has run.
        connection = session.__mcp_runtime__.connection
        asyncio.get_running_loop().call_soon(mount.remove_connection, connection)
        with pytest.raises(pkg.McpError, match="The client has gone"):
            await asyncio.wait_for(answer, 10)
        assert remote.sessions == ()


async def test_a_question_is_not_put_to_the_wrong_client_of_a_shared_connection() -> None:
    remote = only(app(OLD, "remote"))
    begun, go = [0], asyncio.Event()

    async def ask(session: Any) -> str:
        begun[0] += 1
        await go.wait()
        answer = await session.ask("Who?", int)
        return str(answer.value)

    ask.__annotations__["session"] = mcp.Session
    remote.add_tool(ask)
    top = app(STATELESS)
    top.mount("r", connect_to=remote)
    async with serving_over_http(top) as connect:
        clients = [await connect(Hearing(STATELESS).client) for _ in range(2)]
        both = [asyncio.create_task(text_of(client, "r_ask")) for client in clients]
        await until(lambda: begun == [2])
        go.set()
        wrong = "elicitation/create is ambiguous: several requests wait"
        for answer in await asyncio.gather(*both, return_exceptions=True):
            assert isinstance(answer, pkg.McpError) and answer.message == wrong
        assert await text_of(clients[0], "r_ask") == "42"


async def test_a_remote_server_that_is_not_there_is_left_out_and_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "weather.py"
    path.write_text("raise SystemExit(3)")
    for spoken in ERAS:
        server = above(OLD, [sys.executable, str(path)])
        server.mount("near", weather(OLD))
        with case(spoken), caplog.at_level(logging.WARNING):
            async with in_memory(pkg.load(spoken).Client(), server) as one:
                path.write_text("raise SystemExit(3)")
                caplog.clear()
                assert (await names_of(one))["tools"][0] == "near_forecast"
                assert "the server mounted as weather cannot be reached" in caplog.text
                with pytest.raises(pkg.McpError, match="The server of weather cannot be reached"):
                    await one.call_tool("weather_forecast", {"place": "x"})
                path.write_text(program(f"weather({OLD!r})"))
                assert await text_of(one, "weather_forecast", place="x") == "rain in x"


async def test_a_name_that_is_hidden_does_not_lead_to_the_remote_server() -> None:
    top = above(OLD, alone(OLD))

    def weather_touch() -> str:
        return "mine"

    top.add_tool(weather_touch, enabled=False)
    async with in_memory(mcp.Client(), top) as one:
        assert "weather_touch" not in (await names_of(one))["tools"]
        with pytest.raises(pkg.McpError, match="Unknown tool: weather_touch"):
            await one.call_tool("weather_touch", {})
        top.enable("weather_touch")
        assert await text_of(one, "weather_touch") == "mine"


def test_a_remote_server_is_mounted_before_it_is_needed() -> None:
    top = app(OLD)
    top.__mcp_runtime__.handlers_for(OLD)
    with pytest.raises(RuntimeError, match="mount it before serving"):
        top.mount("r", connect_to=[sys.executable])
