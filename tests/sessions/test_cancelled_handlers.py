"""Handlers with an internal cancellation fail like any other."""

import asyncio
from typing import Any

import pytest
from mcp_revisions.v2025_11_25 import Session
from mcp_revisions.v2025_11_25.models import CallToolRequestParams
from support.http.serving import Site, outcome, serving
from support.revisions import HANDSHAKE, REVISIONS, STATELESS
from support.sessions.talking import (
    modern,
    pkg,
    serve_by_hand,
    shaken,
    tools,
)

FAILED = -32603


class Cancelling:
    """Tools that run into a cancellation."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.ended = asyncio.Event()

    async def __call__(self, session: Session, params: CallToolRequestParams) -> str:
        return str(await getattr(self, params.name)(session))

    async def plain(self, session: Any) -> str:
        return "plain"

    async def at_once(self, session: Any) -> str:
        raise asyncio.CancelledError

    async def later(self, session: Any) -> str:
        helper = asyncio.create_task(self.begun.wait())
        await asyncio.sleep(0)
        helper.cancel()
        await helper
        return "not reached"

    async def waits(self, session: Any) -> str:
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended.set()
        return "not reached"


WAYS = pytest.mark.parametrize("name", ["at_once", "later"])


class TestInMemory:
    @WAYS
    @pytest.mark.parametrize("revision", HANDSHAKE)
    async def test_the_request_is_answered_with_an_error(self, revision: str, name: str) -> None:
        async with shaken(tools(revision, Cancelling()), revision) as hand:
            answer = await hand.ask("tools/call", 7, name=name)
            assert (answer["id"], answer["error"]["code"]) == (7, FAILED)

    @WAYS
    async def test_self_cancelled_handler_answers_error_in_stateless_era(self, name: str) -> None:
        async with serve_by_hand(tools(STATELESS, Cancelling())) as hand:
            await hand.send(modern("tools/call", 7, name=name))
            answer = await hand.take()
            assert (answer["id"], answer["error"]["code"]) == (7, FAILED)

    async def test_self_cancellation_is_logged(self, caplog: pytest.LogCaptureFixture) -> None:
        async with shaken(tools("2025-11-25", Cancelling())) as hand:
            await hand.ask("tools/call", 7, name="later")
        (entry,) = [record for record in caplog.records if record.levelname == "ERROR"]
        assert entry.getMessage() == "the handler of 'tools/call' failed"
        assert entry.exc_info is not None


async def call_tool(site: Site, revision: str, name: str) -> Any:
    """The response to a call in a revision."""
    if revision not in HANDSHAKE:
        return await site.modern("tools/call", id=7, name=name)
    session = await site.initialize(revision)
    return await session.call(name, 7)


class TestHttp:
    @WAYS
    @pytest.mark.parametrize("revision", REVISIONS[1:])
    async def test_the_request_is_answered_with_an_error(self, revision: str, name: str) -> None:
        async with serving(tools(revision, Cancelling()), pkg.REVISIONS) as site:
            stated = pkg.load(revision).methods.TABLE.errors.get(FAILED)
            status = 200 if stated is None else stated.status
            assert outcome(await call_tool(site, revision, name)) == (status, FAILED)

    async def test_a_client_that_goes_away_still_ends_the_handler(self) -> None:
        call = Cancelling()
        async with serving(tools(STATELESS, call), pkg.REVISIONS) as site:
            waiting = asyncio.create_task(call_tool(site, STATELESS, "waits"))
            await call.begun.wait()
            waiting.cancel()
            await call.ended.wait()
