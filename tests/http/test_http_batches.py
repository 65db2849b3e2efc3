"""Batches, which only 2025-03-26 has."""

import asyncio
from typing import Any

import pytest
from mcp_revisions.v2025_11_25 import Session
from mcp_revisions.v2025_11_25.models import CallToolRequestParams
from support.http.serving import EVENTS, outcome, serving
from support.json_types import JsonObject
from support.revisions import HANDSHAKE, STATELESS
from support.sessions.talking import hello, notification, pkg, request, tools
from support.tables import case

REVISION = "2025-03-26"


async def call(session: Session, params: CallToolRequestParams) -> str:
    if params.name == "says":
        await session.log("info", "said")
    if params.name == "asks":
        roots = await session.list_roots()
        return str(len(roots.roots))
    return str(params.name)


def ours(revision: str = REVISION) -> Any:
    return tools(revision, call, SENDS={"notifications/message"})


def tool_call(name: str, id: object) -> JsonObject:
    return request("tools/call", id, name=name)


async def test_RJ03_a_batch_without_requests_is_accepted_with_202() -> None:
    async with serving(ours()) as site:
        session = await site.initialize(REVISION)
        batch: list[Any] = [
            notification("notifications/x"),
            {"jsonrpc": "2.0", "id": 9, "result": {}},
        ]
        answer = await session.post(batch)
        assert (answer.status_code, answer.content) == (202, b"")


async def test_HS05_RJ04_initialize_cannot_be_part_of_one() -> None:
    async with serving(ours()) as site:
        for in_session in [True, False]:
            with case(in_session):
                session = await site.initialize(REVISION)
                fields = session.headers if in_session else None
                refused = await site.post([hello(REVISION, 5), request("ping", 6)], fields)
                assert refused.status_code == 400
                assert outcome(refused)[1] == -32600
                assert "mcp-session-id" not in refused.headers


async def test_notifications_of_batch_precede_answers_in_stream() -> None:
    async with serving(ours()) as site:
        session = await site.initialize(REVISION)
        async with site.stream(
            [tool_call("says", 1), tool_call("a", 2)], session.headers
        ) as events:
            assert events.response.headers["content-type"] == EVENTS
            said = [event.message for event in await events.all()]
        assert said[0]["method"] == "notifications/message"
        answers: list[Any] = []
        for message in said[1:]:
            answers += message if isinstance(message, list) else [message]
        assert {answer["id"] for answer in answers} == {1, 2}


async def test_answers_of_the_client_may_come_as_a_batch() -> None:
    async with serving(ours()) as site:
        session = await site.initialize(REVISION, roots={})
        batch = [tool_call("asks", 1), tool_call("asks", 2)]
        async with site.stream(batch, session.headers) as events:
            asked = [await events.take(), await events.take()]
            roots = {"roots": [{"uri": "file:///r"}]}
            answers = [
                {"jsonrpc": "2.0", "id": question["id"], "result": roots} for question in asked
            ]
            assert (await session.post(answers)).status_code == 202
            (rest,) = [event.message for event in await events.all()]
            texts = {answer["id"]: answer["result"]["content"][0]["text"] for answer in rest}
            assert texts == {1: "1", 2: "1"}


async def test_a_translated_server_is_talked_to_in_batches_too() -> None:
    async with serving(ours(STATELESS), pkg.REVISIONS) as site:
        session = await site.initialize(REVISION)
        answer = await session.post([tool_call("a", 1), request("ping", 2)])
        assert {reply["id"] for reply in answer.json()} == {1, 2}


async def test_without_sessions_there_are_batches_where_the_revision_is_assumed() -> None:
    async with serving(ours(), sessions=False) as site:
        answer = await site.post([request("ping", 1), request("ping", 2)])
        assert {message["id"] for message in answer.json()} == {1, 2}


@pytest.mark.shows("S3-15")
async def test_HS06_in_no_other_revision_with_a_handshake() -> None:
    for revision in [revision_name for revision_name in HANDSHAKE if revision_name != REVISION]:
        with case(revision):
            async with serving(ours(revision)) as site:
                session = await site.initialize(revision)
                answer = await session.post([request("ping", 1), request("ping", 2)])
                assert outcome(answer) == (400, -32600)


async def test_handlers_of_notifications_that_go_on_after_a_batch_may_ask_its_client() -> None:
    go_on = asyncio.Event()
    raised = asyncio.get_running_loop().create_future()

    async def on_roots_list_changed(self: object, session: Session, params: object) -> None:
        await go_on.wait()
        try:
            await session.ping(timeout=30)
        except Exception as error:
            raised.set_result(error)

    server = tools(REVISION, call, on_roots_list_changed=on_roots_list_changed)
    async with serving(server, sessions=False) as site:
        batch = [notification("notifications/roots/list_changed"), tool_call("a", 1)]
        answer = await site.post(batch, {"mcp-protocol-version": REVISION})
        assert [message["id"] for message in answer.json()] == [1]
        go_on.set()
        assert isinstance(await raised, pkg.Disconnected)
