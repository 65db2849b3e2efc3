"""One message in a POST of the handshake revisions, and its response."""

import logging
from typing import Any

import pytest
from mcp_revisions.v2025_11_25 import Session
from mcp_revisions.v2025_11_25.models import CallToolRequestParams
from support.http.serving import EVENTS, JSON, outcome, serving, text_in
from support.json_types import JsonObject
from support.revisions import HANDSHAKE, OLD, STATELESS
from support.sessions.talking import INITIALIZED, hello, notification, pkg, request, run, tools
from support.tables import case

STREAMABLE = HANDSHAKE[1:]


async def call(session: Session, params: CallToolRequestParams) -> str:
    if params.name == "steps":
        await session.progress(1, 2)
    return str(params.name)


def dual() -> Any:
    """A server that speaks everything."""
    return {"servers": tools(STATELESS, call), "revisions": pkg.REVISIONS}


async def test_VH03_DS07_a_request_is_answered_in_each_revision() -> None:
    async with serving(**dual()) as site:
        for revision in HANDSHAKE:
            with case(revision):
                session = await site.initialize(revision)
                answer = await session.call("x", 5)
                assert answer.headers["content-type"] == JSON
                assert answer.json()["id"] == 5
                assert text_in(answer) == "x"


@pytest.mark.shows("S3-18", "S3-20")
async def test_an_answer_is_json_and_becomes_a_stream_when_something_comes_before_it() -> None:
    for revision in STREAMABLE:
        with case(revision):
            async with serving(tools(revision, call)) as site:
                session = await site.initialize(revision)
                assert (await session.call("x")).headers["content-type"] == JSON
                params = {"_meta": {"progressToken": "p"}}
                async with session.calling("steps", 2, **params) as events:
                    assert events.response.headers["content-type"] == EVENTS
                    assert events.response.headers["x-accel-buffering"] == "no"
                    assert (await events.take())["params"]["progressToken"] == "p"
                    assert (await events.take())["id"] == 2


@pytest.mark.shows("S3-16")
async def test_RJ03_what_needs_no_answer_is_accepted_with_202_and_no_body() -> None:
    for revision in STREAMABLE:
        with case(revision):
            async with serving(tools(revision, call)) as site:
                session = await site.initialize(revision)
                messages: list[JsonObject] = [
                    notification("notifications/cancelled", requestId=99),
                    notification("notifications/of/which/nobody/has/heard"),
                    {"jsonrpc": "2.0", "id": 99, "result": {}},
                    {"jsonrpc": "2.0", "id": 99, "error": {"code": 1, "message": "no"}},
                ]
                for message in messages:
                    response = await session.post(message)
                    assert response.status_code == 202
                    assert response.content == b""


@pytest.mark.shows("S3-17")
async def test_RJ02_what_needs_no_answer_and_belongs_nowhere_gets_an_error_without_id() -> None:
    for revision in STREAMABLE:
        with case(revision):
            async with serving(tools(revision, call)) as site:
                session = await site.initialize(revision)
                answer: JsonObject = {"jsonrpc": "2.0", "id": 1, "result": {}}
                for message in (INITIALIZED, answer):
                    missing = await session.post(message, {"mcp-session-id": None})
                    unknown = await session.post(message, {"mcp-session-id": "x" * 43})
                    assert (missing.status_code, unknown.status_code) == (400, 404)
                    assert "id" not in missing.json()
                    assert "id" not in unknown.json()


def test_a_flood_of_rubbish_is_no_flood_of_log_entries(caplog: pytest.LogCaptureFixture) -> None:
    async def script() -> None:
        async with serving(tools(OLD, call)) as site:
            session = await site.initialize()
            for _ in range(100):
                assert outcome(await session.post(b"{")) == (400, -32700)

    with caplog.at_level(logging.INFO, "mcp_protogen.runtime"):
        run(script())
    refused = [message for message in caplog.messages if "refused a request" in message]
    assert len(refused) == 7
    assert "(100 of these within a minute" in refused[-1]


async def test_RJ15_an_unknown_method_is_an_error_and_no_failure_of_http() -> None:
    for revision in STREAMABLE:
        with case(revision):
            async with serving(tools(revision, call)) as site:
                session = await site.initialize(revision)
                answer = await session.post(request("no/such", 3))
                assert outcome(answer) == (200, -32601)
                assert answer.json()["id"] == 3


@pytest.mark.shows("S3-09")
async def test_DS09_get_and_delete_belong_to_the_handshake_with_or_without_a_slash_at_the_end() -> (
    None
):
    for path in ("/mcp", "/mcp/"):
        async with serving(**dual(), path=path) as site:
            for spelling in ("/mcp", "/mcp/"):
                with case((path, spelling)):
                    site.path = spelling
                    session = await site.initialize(OLD)
                    assert text_in(await session.call("x")) == "x"
                    async with session.get() as events:
                        assert events.response.status_code == 200
                    assert (await session.delete()).status_code == 204
                    answer = await site.modern("tools/call", name="x")
                    assert answer.json()["result"]["resultType"] == "complete"
                    # Streams are of the handshake alone.
                    fields = {"mcp-protocol-version": STATELESS}
                    async with session.get(headers=fields) as events:
                        assert events.response.status_code == 405


async def test_slash_at_the_end_of_a_path_needs_a_token_too() -> None:
    async def anything(scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError("an application in place of the endpoint")

    guard = pkg.Authentication(verify=pkg.static_tokens({}))
    async with serving(
        tools(OLD, call), routes=[pkg.Route("/", anything)], authentication=guard
    ) as site:
        for spelling in ("/mcp", "/mcp/"):
            site.path = spelling
            assert (await site.post(hello())).status_code == 401


async def test_other_paths_are_not_found() -> None:
    async with serving(tools(OLD, call), path="/here") as site:
        assert (await site.post(hello())).status_code == 200
        for path in ("/", "/mcp", "/here//", "/here/more", "/sse", "/messages"):
            assert (await site.http.get(path)).status_code == 404


class TestVersionHeader:
    async def test_VH01_DS06_without_one_a_session_knows_its_revision(self) -> None:
        async with serving(**dual()) as site:
            for revision in STREAMABLE:
                with case(revision):
                    session = await site.initialize(revision)
                    message = request("tools/call", name="x")
                    answer = await session.post(message, {"mcp-protocol-version": None})
                    assert text_in(answer) == "x"
                    assert "resultType" not in answer.json()["result"]

    @pytest.mark.shows("S3-49")
    async def test_VH02_RJ10_DS08_without_one_and_without_a_session_it_is_2025_03_26(self) -> None:
        seen: list[str] = []

        async def note(session: Session, params: CallToolRequestParams) -> str:
            seen.append(session.revision)
            return "x"

        async with serving(tools(STATELESS, note), pkg.REVISIONS, sessions=False) as site:
            message = request("tools/call", name="x")
            assert text_in(await site.post(message)) == "x"
            assert text_in(await site.post(message, {"mcp-protocol-version": OLD})) == "x"
        assert seen == ["2025-03-26", OLD]

    async def test_VH02_DS08_a_server_without_2025_03_26_assumes_nothing(self) -> None:
        async with serving(tools(OLD, call), sessions=False) as site:
            assert (await site.post(request("ping"))).status_code == 400

    async def test_VH04_another_revision_than_that_of_the_session_gets_400(self) -> None:
        async with serving(**dual()) as site:
            for spoken in [*HANDSHAKE[:3]]:
                with case(spoken):
                    session = await site.initialize(OLD)
                    wrong = {"mcp-protocol-version": spoken}
                    assert (await session.post(request("ping"), wrong)).status_code == 400
                    async with session.get(headers=wrong) as events:
                        assert events.response.status_code == 400
                    assert (await session.delete(wrong)).status_code == 400
                    assert text_in(await session.call("x")) == "x"

    @pytest.mark.shows("S3-50")
    async def test_VH05_RJ09_a_revision_that_is_not_spoken_gets_400(self) -> None:
        async with serving(tools(OLD, call)) as site:
            for version in ["1999-01-01", "x", "", "2025-11-25x", "2025-11-25, x"]:
                with case(version):
                    session = await site.initialize()
                    wrong = {"mcp-protocol-version": version}
                    assert (await session.post(request("ping"), wrong)).status_code == 400
                    assert (await session.post(INITIALIZED, wrong)).status_code == 400
                    async with session.get(headers=wrong) as events:
                        assert events.response.status_code == 400
                    assert (await session.delete(wrong)).status_code == 400
                    refused = await site.post(hello(), wrong)
                    assert refused.status_code == 400
                    assert refused.json()["error"]["data"]["supported"] == [OLD]

    async def test_VH07_the_stateless_revision_gets_400_where_it_is_not_spoken(self) -> None:
        async with serving(tools(OLD, call)) as site:
            session = await site.initialize()
            assert (await site.modern("server/discover")).status_code == 400
            headers = {"mcp-session-id": session.id}
            assert (await site.modern("tools/list", headers=headers)).status_code == 400
