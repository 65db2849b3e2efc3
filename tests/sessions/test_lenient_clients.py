"""Clients at servers that break the schema: strict ones refuse, lenient ones mend and warn."""

import logging
from collections.abc import Callable
from typing import Any

import pytest
from support.json_types import Json, JsonObject
from support.revisions import HANDSHAKE, OLD, REVISIONS, STATELESS
from support.sessions.bridging import serve_bridged
from support.sessions.talking import (
    Accepting,
    Hand,
    client,
    discover_result,
    error,
    hello,
    notification,
    pkg,
    request,
    welcome,
)
from support.sessions.wiretap import over, result, shake
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
    for tools in broken:
        with case(tools), pytest.raises(pkg.RemoteError, match="/result/tools"):
            await tools_of(playing(OLD, {"tools": tools}), OLD, lenient=True)


async def test_lenient_client_reads_messages_with_null_in_place_of_an_absent_member() -> None:
    def change(message: JsonObject) -> JsonObject:
        absent = "result" if "error" in message else "error"
        return {**message, absent: None, "method": None}

    for revision in REVISIONS:
        with case(revision):
            theirs = playing(revision, listing(revision, SOUND), change=change)
            assert await tools_of(theirs, revision, lenient=True) == [SOUND]


def asking(answers: list[Json], *messages: JsonObject) -> Accepting:
    """Return a server that sends its own messages, and records answers."""

    async def play(hand: Hand) -> None:
        await shake(hand)
        await hand.send(*messages)
        expected = sum(message.get("id") is not None for message in messages)
        pings: list[Json] = []
        while not pings or len(answers) < expected:
            message = await hand.take()
            (pings if "method" in message else answers).append(message)
        await hand.send(result(pings[0]["id"]))

    return Accepting(play)


async def test_lenient_client_answers_requests_with_nulls() -> None:
    heard: list[Json] = []
    answers: list[Json] = []

    async def on_elicit(self: object, params: Any) -> object:
        heard.append(params.to_wire()["requestedSchema"])
        return pkg.load(OLD).models.ElicitResult(action="decline")

    fields = {name: {"type": "string", "title": None} for name in "abcde"}
    schema = {"type": "object", "properties": fields, "required": None}
    asked = request("elicitation/create", 7, message="?", requestedSchema=schema, _meta=None)
    async with over(client(OLD, on_elicit=on_elicit), asking(answers, asked), lenient=True) as ours:
        await ours.ping()
    assert [answer["result"] for answer in answers] == [{"action": "decline"}]
    bare = {name: {"type": "string"} for name in "abcde"}
    assert heard == [{"type": "object", "properties": bare}]


async def test_lenient_client_hears_notifications_with_nulls() -> None:
    heard: list[Json] = []

    async def on_logging_message(self: object, params: Any) -> None:
        heard.append(params.to_wire())

    async def on_tool_list_changed(self: object, params: Any) -> None:
        heard.append("changed")

    handlers = {
        "on_logging_message": on_logging_message,
        "on_tool_list_changed": on_tool_list_changed,
    }
    logged = notification("notifications/message", level="info", data=None, logger=None)
    changed = {**notification("notifications/tools/list_changed"), "params": None, "id": None}
    async with over(client(OLD, **handlers), asking([], logged, changed), lenient=True) as ours:
        await ours.ping()
    assert heard == [{"level": "info", "data": None}, "changed"]


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
