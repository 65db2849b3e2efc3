"""Streams of the handshake revisions: their messages, beginnings and ends."""

import asyncio
from typing import Any

import pytest
from mcp_revisions.v2025_11_25 import Session
from mcp_revisions.v2025_11_25.models import CallToolRequestParams
from support.http.serving import EVENTS, outcome, serving, text_in
from support.json_types import JsonObject
from support.revisions import HANDSHAKE, OLD
from support.sessions.talking import INITIALIZED, hello, models, notification, tools
from support.tables import case

STREAMABLE = HANDSHAKE[1:]
CHANGED = "notifications/tools/list_changed"
MESSAGE = "notifications/message"
TOLD = frozenset({CHANGED, MESSAGE})
PROGRESS: JsonObject = {"_meta": {"progressToken": "p"}}
SAMPLED = {"role": "assistant", "model": "m", "content": {"type": "text", "text": "yes"}}


class Tools:
    """Tools of a server that wait for events of the test."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.begun = asyncio.Event()
        self.ended: list[str] = []

    async def __call__(self, session: Session, params: CallToolRequestParams) -> str:
        self.begun.set()
        try:
            return str(await getattr(self, params.name)(session))
        except asyncio.CancelledError:
            self.ended.append("cancelled")
            raise

    async def plain(self, session: Any) -> str:
        return "plain"

    async def waits(self, session: Any) -> str:
        await self.go.wait()
        self.ended.append("done")
        return "waited"

    async def steps(self, session: Any) -> str:
        await session.progress(1, 2)
        await self.go.wait()
        await session.log("info", "half")
        await session.progress(2, 2)
        return "stepped"

    async def asks(self, session: Any) -> str:
        m = models(session.revision)
        asked = m.SamplingMessage(role="user", content=m.TextContent(text="?"))
        answer = await session.create_message([asked], 1)
        return str(answer.content.text)


def ours(revision: str, call: Any = None) -> Any:
    """A server with those tools, which tells of changes."""
    return tools(revision, call or Tools(), SENDS=TOLD)


@pytest.mark.shows("S3-21", "S3-22", "S3-23")
async def test_notifications_precede_answer_that_ends_stream() -> None:
    for revision in STREAMABLE:
        with case(revision):
            call = Tools()
            async with serving(ours(revision, call)) as site:
                session = await site.initialize(revision)
                async with session.calling("steps", 4, **PROGRESS) as events:
                    assert (await events.take())["params"]["progress"] == 1
                    call.go.set()
                    said = [await events.take() for _ in range(3)]
                    assert [message.get("method") for message in said] == [
                        MESSAGE,
                        "notifications/progress",
                        None,
                    ]
                    assert said[-1]["id"] == 4
                    assert await events.event() is None


async def test_an_error_of_the_client_ends_the_wait_for_its_answer() -> None:
    async with serving(ours(OLD)) as site:
        session = await site.initialize(sampling={})
        async with session.calling("asks") as events:
            asked = await events.take()
            refused = {"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -1, "message": ""}}
            assert (await session.post(refused)).status_code == 202
            assert (await events.take())["error"]["code"] == -1


async def test_an_answer_in_another_session_is_no_answer() -> None:
    async with serving(ours(OLD)) as site:
        session = await site.initialize(sampling={})
        other = await site.initialize(sampling={})
        async with session.calling("asks") as events:
            asked = await events.take()
            answer = {"jsonrpc": "2.0", "id": asked["id"], "result": SAMPLED}
            await other.post({**answer, "result": {**SAMPLED, "content": {"type": "x"}}})
            await session.post(answer)
            assert (await events.take())["result"]["content"][0]["text"] == "yes"


@pytest.mark.shows("S3-27", "S3-30")
async def test_a_get_opens_a_stream_for_what_belongs_to_no_request() -> None:
    for revision in STREAMABLE:
        with case(revision):
            server = ours(revision)
            async with serving(server) as site:
                session = await site.initialize(revision)
                async with session.get() as events:
                    assert events.response.status_code == 200
                    await server.tools_list_changed()
                    assert (await events.take())["method"] == CHANGED


@pytest.mark.shows("S3-29")
async def test_a_get_is_answered_with_a_stream_of_events_at_once() -> None:
    async with serving(ours(OLD)) as site:
        session = await site.initialize()
        async with session.get() as events:
            assert events.response.status_code == 200
            assert events.response.headers["content-type"] == EVENTS
        async with session.get(headers={"accept": "application/json"}) as events:
            assert events.response.status_code == 406


async def test_RJ05_a_get_without_support_for_streams_gets_405() -> None:
    for revision in STREAMABLE:
        with case(revision):
            async with (
                serving(ours(revision), sessions=False) as site,
                site.get({"mcp-protocol-version": revision}) as events,
            ):
                assert events.response.status_code == 405
                assert events.response.headers["allow"] == "POST"


@pytest.mark.shows("S3-31", "S3-34")
async def test_each_message_goes_out_on_one_stream() -> None:
    call = Tools()
    server = ours(OLD, call)
    async with serving(server) as site:
        session = await site.initialize()
        async with (
            session.get() as standing,
            session.calling("steps", 1, **PROGRESS) as first,
            session.calling("steps", 2, **PROGRESS) as second,
        ):
            await first.take()
            await second.take()
            await server.tools_list_changed()
            call.go.set()
            changed = CHANGED in [event.message.get("method") for event in await first.all()]
            assert not changed
            changed = CHANGED in [event.message.get("method") for event in await second.all()]
            assert not changed
            assert (await standing.take())["method"] == CHANGED
            assert await standing.is_silent()


@pytest.mark.shows("S3-32")
async def test_a_client_may_close_the_stream_of_its_session_and_open_it_again() -> None:
    server = ours(OLD)
    async with serving(server) as site:
        session = await site.initialize()
        for _ in range(3):
            async with session.get() as events:
                await server.tools_list_changed()
                assert (await events.take())["method"] == CHANGED
        assert text_in(await session.call("plain")) == "plain"


async def test_who_never_listens_costs_a_few_messages_and_hears_the_latest() -> None:
    server = ours(OLD)
    async with serving(server) as site:
        session = await site.initialize()
        (open_session,) = server.sessions
        for number in range(1000):
            await open_session.log("info", number)
        async with session.get() as events:
            kept = [await events.take()]
            while kept[-1]["params"]["data"] != 999:
                kept.append(await events.take())
            assert len(kept) < 100


async def test_HS09_nothing_is_told_before_the_client_is_ready() -> None:
    server = ours(OLD)
    async with serving(server) as site:
        begun = await site.post(hello())
        fields = {"mcp-session-id": begun.headers["mcp-session-id"]}
        async with site.get(fields) as events:
            await server.tools_list_changed()
            await site.post(INITIALIZED, fields)
            (session,) = server.sessions
            await session.log("info", "first")
            assert (await events.take())["params"]["data"] == "first"


class TestCancelling:
    async def test_a_cancelled_stream_ends(self) -> None:
        call = Tools()
        async with serving(ours(OLD, call)) as site:
            session = await site.initialize()
            async with session.calling("steps", 9, **PROGRESS) as events:
                await events.take()
                await session.post(notification("notifications/cancelled", requestId=9))
                assert await events.take() is None
            assert call.ended == ["cancelled"]

    async def test_another_session_cannot_cancel_it(self) -> None:
        call = Tools()
        async with serving(ours(OLD, call)) as site:
            session, other = await site.initialize(), await site.initialize()
            asking = asyncio.create_task(session.call("waits", "r"))
            await call.begun.wait()
            await other.post(notification("notifications/cancelled", requestId="r"))
            call.go.set()
            assert text_in(await asking) == "waited"


class TestKeepingAlive:
    async def test_a_silent_stream_of_a_request_is_kept_alive_by_comments(self) -> None:
        call = Tools()
        async with serving(ours(OLD, call), keep_alive=0.02) as site:
            session = await site.initialize()
            async with session.calling("steps", 1, **PROGRESS) as events:
                await events.take()
                await events.comment()
                call.go.set()
                assert (await events.all())[-1].message["id"] == 1

    async def test_a_silent_stream_of_a_session_is_too(self) -> None:
        server = ours(OLD)
        async with serving(server, keep_alive=0.02) as site:
            session = await site.initialize()
            async with session.get() as events:
                await events.comment()
                await events.comment()
                await server.tools_list_changed()
                assert (await events.take())["method"] == CHANGED


class TestPriming:
    async def test_in_2025_11_25_a_stream_begins_with_an_id_and_a_time_to_come_back(self) -> None:
        call = Tools()
        call.go.set()
        async with serving(ours(OLD, call), retry=0.25) as site:
            session = await site.initialize()
            async with session.calling("steps", 1, **PROGRESS) as events:
                first = await events.event()
                assert first is not None
                assert (first.data, first.retry) == ("", "250")
                assert first.id
            async with session.get() as events:
                first = await events.event()
                assert first is not None
                assert (first.data, first.retry) == ("", "250")
                assert first.id

    async def test_before_it_there_is_neither(self) -> None:
        for revision in STREAMABLE[:2]:
            with case(revision):
                call = Tools()
                call.go.set()
                server = ours(revision, call)
                async with serving(server) as site:
                    session = await site.initialize(revision)
                    async with session.calling("steps", 1, **PROGRESS) as events:
                        seen = await events.all()
                        assert all(event.data and event.retry is None for event in seen)
                    async with session.get() as events:
                        await server.tools_list_changed()
                        first = await events.event()
                        assert first is not None
                        assert first.message["method"] == CHANGED


@pytest.mark.shows("S1-32")
async def test_a_server_that_closes_ends_all_streams_and_fails_what_waits() -> None:
    call = Tools()
    server = ours(OLD, call)
    async with serving(server, drain=0.05) as site:
        session = await site.initialize()
        async with session.get() as standing, session.calling("steps", **PROGRESS) as events:
            await events.take()
            await site.app.close()
            assert await standing.take() is None
            left = await events.all()
            assert not any("result" in event.message for event in left)
        assert call.ended == ["cancelled"]
        assert outcome(await session.call("plain"))[0] == 404
        assert server.sessions == ()
