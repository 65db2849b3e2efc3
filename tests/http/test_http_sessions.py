"""Sessions of the handshake revisions: their beginning, their end, and their owners."""

from typing import Any

import pytest
from support.http.serving import echo, outcome, serving, text_in
from support.revisions import HANDSHAKE, OLD, STATELESS
from support.sessions.talking import INITIALIZED, hello, pkg, request, tools
from support.tables import case

STREAMABLE = HANDSHAKE[1:]


def ours(revision: str = OLD) -> Any:
    return tools(revision, echo)


class TestBeginning:
    @pytest.mark.shows("S3-39", "S3-41")
    async def test_HS10_the_answer_to_initialize_brings_an_id_of_visible_ascii(self) -> None:
        for revision in STREAMABLE:
            with case(revision):
                async with serving(ours(revision)) as site:
                    begun = await site.post(hello(revision))
                    id = begun.headers["mcp-session-id"]
                    assert id
                    assert all("!" <= char <= "~" for char in id)
                    pinged = await site.post(request("ping"), {"mcp-session-id": id})
                    assert "mcp-session-id" not in pinged.headers

    @pytest.mark.shows("S3-40")
    async def test_no_two_sessions_have_the_same_id_and_none_can_be_guessed(self) -> None:
        async with serving(ours()) as site:
            ids = {(await site.initialize()).id for _ in range(20)}
            assert len(ids) == 20
            # 128 bits take 22 characters at least, of 64 kinds.
            assert min(map(len, ids)) >= 22
            for at in range(22):
                assert len({id[at] for id in ids}) > 1

    async def test_HS04_a_handshake_that_fails_begins_no_session(self) -> None:
        async with serving(ours()) as site:
            for missing in ["protocolVersion", "capabilities", "clientInfo"]:
                with case(missing):
                    message = hello()
                    del message["params"][missing]
                    refused = await site.post(message)
                    assert outcome(refused)[1] == -32602
                    assert "mcp-session-id" not in refused.headers

    async def test_HS02_an_unknown_revision_begins_a_session_in_the_newest(self) -> None:
        async with serving(ours(STATELESS), pkg.REVISIONS) as site:
            for asked in ("1999-01-01", "2099-01-01", STATELESS):
                begun = await site.post(hello(asked))
                assert begun.json()["result"]["protocolVersion"] == OLD
                assert begun.headers["mcp-session-id"]


class TestWithoutOne:
    @pytest.mark.shows("S3-43")
    async def test_RJ07_a_request_without_the_id_gets_400(self) -> None:
        for revision in STREAMABLE:
            with case(revision):
                async with serving(ours(revision)) as site:
                    fields = {"mcp-protocol-version": revision}
                    for message in (request("ping"), request("tools/list"), INITIALIZED):
                        assert (await site.post(message, fields)).status_code == 400
                    async with site.get(fields) as events:
                        assert events.response.status_code == 400
                    assert (await site.http.delete(site.path, headers=fields)).status_code == 400


class TestEnding:
    async def test_the_other_sessions_go_on(self) -> None:
        async with serving(ours()) as site:
            one, other = await site.initialize(), await site.initialize()
            await one.delete()
            assert text_in(await other.call("x")) == "x"

    @pytest.mark.shows("S3-47")
    async def test_RJ06_delete_gets_405_where_there_are_no_sessions(self) -> None:
        for revision in STREAMABLE:
            with case(revision):
                async with serving(ours(revision), sessions=False) as site:
                    fields = {"mcp-protocol-version": revision, "mcp-session-id": "x"}
                    assert (await site.http.delete(site.path, headers=fields)).status_code == 405
