"""Peers that break the schema: strict sides refuse, lenient ones mend, and all forgive nulls."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest
from support.json_types import Json, JsonObject
from support.revisions import HANDSHAKE, OLD, REVISIONS, STATELESS
from support.sessions.bridging import serve_bridged
from support.sessions.talking import (
    CAPABILITIES,
    META,
    Accepting,
    Hand,
    client,
    discover_result,
    error,
    hello,
    notification,
    pkg,
    request,
    serve_by_hand,
    server,
    shaken,
    tools,
    welcome,
)
from support.sessions.wiretap import over, result, shake, until
from support.tables import case

pytestmark = pytest.mark.skips_time

SERVER_INFO = "io.modelcontextprotocol/serverInfo"
SOUND = {"name": "sound", "inputSchema": {"type": "object"}}
BROKEN = {"name": "broken", "inputSchema": "none"}

Change = Callable[[JsonObject], JsonObject]


def return_unchanged(message: JsonObject) -> JsonObject:
    return message


def playing(
    revision: str,
    *results: JsonObject,
    change: Change = return_unchanged,
    opening: Change = return_unchanged,
) -> Accepting:
    """A server of a revision that gives these results in turn, after changes to its messages."""

    async def play(hand: Hand) -> None:
        asked = await hand.take()
        if revision in HANDSHAKE and asked["method"] == "server/discover":
            await hand.send(change(error(asked["id"], -32601)))
            asked = await hand.take()
        if revision in HANDSHAKE:
            answer = welcome(asked["id"], revision, tools={})
        else:
            answer = discover_result(asked["id"], revision, tools={})
        await hand.send(change({**answer, "result": opening(answer["result"])}))
        if revision in HANDSHAKE:
            await hand.take()
        for members in results:
            asked = await hand.take()
            await hand.send(change(result(asked["id"], **members)))
        await hand.take()

    return Accepting(play)


def listing(revision: str, *tools: object, **members: object) -> JsonObject:
    usual = {} if revision in HANDSHAKE else {"resultType": "complete"}
    return {**usual, "tools": [*tools], **members}


async def tools_of(theirs: Accepting, revision: str, **options: Any) -> list[Json]:
    async with over(client(revision), theirs, **options) as ours:
        listed = await ours.list_tools()
        return [tool.to_wire() for tool in listed.tools]


async def test_strict_client_refuses_list_with_one_broken_tool() -> None:
    for revision in REVISIONS:
        with case(revision), pytest.raises(pkg.RemoteError, match="/result/tools/1/inputSchema"):
            await tools_of(playing(revision, listing(revision, SOUND, BROKEN)), revision)


async def test_lenient_client_keeps_other_tools_and_warns(caplog: pytest.LogCaptureFixture) -> None:
    for revision in REVISIONS:
        with case(revision):
            lost: list[pkg.Loss] = []
            caplog.clear()
            theirs = playing(revision, listing(revision, SOUND, BROKEN, nextCursor=None))
            listed = await tools_of(theirs, revision, lenient=True, on_loss=lost.append)
            assert listed == [SOUND]
            assert [(loss.method, loss.pointer, loss.what) for loss in lost] == [
                ("tools/list", "/result/nextCursor", "dropped"),
                ("tools/list", "/result/tools/1", "dropped"),
            ]
            assert [(loss.own, loss.wire) for loss in lost] == [("", "")] * 2
            null, broken = (record.getMessage() for record in caplog.records)
            assert "/result/nextCursor" in null and "null" in null
            assert "'broken' is left out" in broken and "'/inputSchema'" in broken
            assert {record.levelno for record in caplog.records} == {logging.WARNING}


async def test_lenient_client_of_any_revision_reads_broken_servers_of_all() -> None:
    for own in (REVISIONS[0], OLD, STATELESS):
        for spoken in REVISIONS:
            with case((own, spoken)):
                theirs = playing(spoken, listing(spoken, SOUND, BROKEN, None, _meta=None))
                assert await tools_of(theirs, own, lenient=True) == [SOUND]


async def test_lenient_client_reports_alike_nulls_once_and_entries_by_place() -> None:
    lost: list[pkg.Loss] = []
    nulls = [{**SOUND, "name": f"t{number}", "title": None} for number in range(5)]
    theirs = playing(OLD, listing(OLD, *nulls, *[{"x": 1}] * 3))
    listed = await tools_of(theirs, OLD, lenient=True, on_loss=lost.append)
    assert len(listed) == 5 and "title" not in listed[0]
    assert [loss.pointer for loss in lost] == [
        "/result/tools/0/title",
        *(f"/result/tools/{number}" for number in (5, 6, 7)),
    ]


async def test_lenient_client_connects_to_server_with_nulls_in_its_capabilities() -> None:
    def opening(result: JsonObject) -> JsonObject:
        nulls = {"tools": {"listChanged": None}, "logging": None, "experimental": {"x": None}}
        return {**result, "capabilities": nulls, "_meta": None, "instructions": None}

    for revision in REVISIONS:
        with case(revision):
            theirs = playing(revision, opening=opening)
            async with over(client(revision), theirs, lenient=True) as ours:
                capabilities = ours.server_capabilities.to_wire()
                assert capabilities == {"tools": {}, "experimental": {}}
                assert ours.instructions is None
            with pytest.raises(pkg.RemoteError, match="capabilities/logging"):
                await tools_of(playing(revision, opening=opening), revision)


async def test_lenient_client_shows_what_is_left_of_malformed_server_info() -> None:
    for revision in REVISIONS:
        for info, shown in (
            ({"name": "x"}, ("x", "unknown")),
            ({"name": "x", "version": 2, "title": None}, ("x", "unknown")),
            ("x 1.0", ("unknown", "unknown")),
        ):

            def opening(result: JsonObject, info: Json = info, revision: str = revision) -> Json:
                if revision in HANDSHAKE:
                    return {**result, "serverInfo": info}
                return {**result, "_meta": {SERVER_INFO: info}}

            with case((revision, info)):
                theirs = playing(revision, opening=opening)
                async with over(client(revision), theirs, lenient=True) as ours:
                    found = ours.server_info
                    assert found is not None and (found.name, found.version) == shown


async def test_lenient_client_still_refuses_results_that_cannot_be_mended() -> None:
    broken: list[Json] = [None, {}, 5]
    for listed in broken:
        with case(listed), pytest.raises(pkg.RemoteError, match="/result/tools"):
            await tools_of(playing(OLD, {"tools": listed}), OLD, lenient=True)


async def test_lenient_client_reads_messages_with_null_in_place_of_an_absent_member() -> None:
    def change(message: JsonObject) -> JsonObject:
        absent = "result" if "error" in message else "error"
        return {**message, absent: None, "method": None}

    for revision in REVISIONS:
        with case(revision):
            theirs = playing(revision, listing(revision, SOUND), change=change)
            assert await tools_of(theirs, revision, lenient=True) == [SOUND]


async def test_lenient_client_answers_requests_with_nulls() -> None:
    heard: list[Json] = []
    answers: list[Json] = []

    async def on_elicit(self: object, params: Any) -> object:
        heard.append(params.to_wire()["requestedSchema"])
        return pkg.load(OLD).models.ElicitResult(action="decline")

    fields = {name: {"type": "string", "title": None} for name in "abcde"}
    schema = {"type": "object", "properties": fields, "required": None}
    asked = {"message": "?", "requestedSchema": schema, "_meta": None}

    async def play(hand: Hand) -> None:
        await shake(hand)
        answers.append(await hand.ask("elicitation/create", 7, **asked))
        await hand.take()

    async with over(client(OLD, on_elicit=on_elicit), Accepting(play), lenient=True):
        await until(lambda: answers)
    assert answers[0]["result"] == {"action": "decline"}
    bare = {name: {"type": "string"} for name in "abcde"}
    assert heard == [{"type": "object", "properties": bare}]


async def test_lenient_bridge_carries_the_sound_part_between_revisions() -> None:
    for spoken in (REVISIONS[0], OLD):
        with case(spoken):
            theirs = playing(spoken, listing(spoken, SOUND, BROKEN, nextCursor=None))
            revisions = [known for known in pkg.REVISIONS if known.id == spoken]
            async with serve_bridged(theirs, revisions, lenient=True) as hand:
                await hand.send(hello("2025-06-18"))
                await hand.take()
                await hand.send(notification("notifications/initialized"))
                answer = await hand.ask("tools/list", 2)
                assert answer["result"] == {"tools": [SOUND]}


async def greet(session: Any, params: Any) -> str:
    return "hello"


async def list_tools(self: object, session: Any, params: Any) -> object:
    return pkg.load(OLD).models.ListToolsResult(tools=[])


async def test_server_reads_null_as_absent(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "mcp_protogen.runtime")
    messages: list[JsonObject] = [
        {**request("ping"), "params": None},
        request("ping", _meta=None),
        {**request("tools/list"), "params": None},
        request("tools/list", cursor=None),
        request("tools/list", cursor=None, _meta={"progressToken": None}),
        request("tools/call", name="x", arguments=None),
        request("tools/call", name="x", task=None, _meta=None),
    ]
    async with shaken(tools(OLD, greet, on_list_tools=list_tools)) as hand:
        for message in messages:
            with case(message):
                caplog.clear()
                await hand.send(message)
                assert "result" in await hand.take()
                assert "although they break the schema at /params" in caplog.text


async def test_server_takes_capabilities_with_null() -> None:
    greeting = hello(OLD, sampling=None, elicitation={"form": None}, roots={"listChanged": None})
    async with serve_by_hand(server(OLD)) as hand:
        await hand.send(greeting)
        assert "result" in await hand.take()
    called = {**META, CAPABILITIES: {"sampling": None}, "progressToken": None}
    async with serve_by_hand(tools(STATELESS, greet)) as hand:
        assert "result" in await hand.ask("tools/call", 1, _meta=called, name="x", arguments=None)


async def test_server_reads_params_anew_at_most_eight_times() -> None:
    for count, member in [(8, "result"), (9, "error")]:
        icons = [{"src": "https://x.example/i.png", "sizes": None}] * count
        greeting = hello(OLD)
        greeting["params"]["clientInfo"]["icons"] = icons
        with case(count):
            async with serve_by_hand(server(OLD)) as hand:
                await hand.send(greeting)
                assert member in await hand.take()


async def test_cancellation_counts_in_spite_of_null_and_whole_floats() -> None:
    cancelled: list[object] = []

    async def wait(session: Any, params: Any) -> str:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(params.name)
            raise
        return "done"

    called: JsonObject = {"name": "x", "_meta": META}
    ways: list[JsonObject] = [{"reason": None}, {"_meta": None}, {"requestId": 4.0}]
    for revision in (OLD, STATELESS):
        for given in ways:
            with case((revision, given)):
                connect = shaken if revision == OLD else serve_by_hand
                async with connect(tools(revision, wait)) as hand:
                    await hand.send(request("tools/call", 4, **called))
                    await asyncio.sleep(1)
                    params: dict[str, Json] = {"requestId": 4, **given}
                    await hand.send(notification("notifications/cancelled", **params))
                    assert await hand.is_silent(1)
                    assert cancelled.pop() == "x"
