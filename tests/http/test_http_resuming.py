"""Clients that lose a connection, and resume their stream."""

import asyncio
from collections import defaultdict
from typing import Any

import pytest
from mcp_protogen.runtime.http.server.sessions.worker import key_of
from mcp_revisions import v2025_11_25 as mcp
from mcp_revisions.v2025_11_25.models import CallToolRequestParams
from support.http.serving import Events, Session, serving, text_in
from support.revisions import HANDSHAKE, OLD
from support.sessions.talking import pkg, tools
from support.tables import case

STREAMABLE = HANDSHAKE[1:]
CHANGED = "notifications/tools/list_changed"


class Steps:
    """A tool that reports each step when the test lets it."""

    def __init__(self) -> None:
        self.may: defaultdict[str, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(0))
        self.done = asyncio.Event()

    async def __call__(self, session: mcp.Session, params: CallToolRequestParams) -> str:
        if params.name == "lets_go":
            await session.close_stream()
            await self.may[params.name].acquire()
            return "came back"
        for step in range(1, 4):
            await self.may[params.name].acquire()
            await session.log("info", f"{params.name} {step}")
        self.done.set()
        return str(params.name)

    def go(self, steps: int = 1, name: str = "a") -> None:
        """Let a tool go some steps on."""
        for _ in range(steps):
            self.may[name].release()


def ours(revision: str, call: Any) -> Any:
    return tools(revision, call, SENDS=frozenset({"notifications/message", CHANGED}))


async def next_said(events: Events) -> tuple[str | None, Any]:
    """The id of the next event that says something, and what."""
    while True:
        event = await events.event()
        assert event is not None
        if event.data:
            message = event.message
            said = message["params"]["data"] if "params" in message else "answer"
            return event.id, said


@pytest.mark.shows("S3-26", "S3-37")
async def test_resumed_stream_replays_later_events_and_continues() -> None:
    for revision in STREAMABLE:
        with case(revision):
            call = Steps()
            async with serving(ours(revision, call)) as site:
                session = await site.initialize(revision)
                call.go()
                async with session.calling("a") as events:
                    last, first = await next_said(events)
                    assert first == "a 1"
                call.go()
                async with session.get(last) as events:
                    assert (await next_said(events))[1] == "a 2"
                    call.go()
                    assert (await next_said(events))[1] == "a 3"
                    assert (await next_said(events))[1] == "answer"
                    assert await events.event() is None


@pytest.mark.shows("S3-35")
async def test_event_ids_are_unique_in_a_session() -> None:
    call = Steps()
    server = ours(OLD, call)
    ids: list[str | None] = []
    async with serving(server) as site:
        session = await site.initialize()
        for name in "abcd":
            call.go(3, name)
            async with session.calling(name, name) as events:
                ids += [event.id for event in await events.all()]
        for _ in range(3):
            async with session.get() as events:
                await server.tools_list_changed()
                while event := await events.event():
                    ids.append(event.id)
                    if event.data:
                        break
    assert None not in ids
    assert len(set(ids)) == len(ids) >= 19


async def test_the_stream_of_a_session_is_gone_on_with() -> None:
    server = ours(OLD, Steps())
    async with serving(server) as site:
        session = await site.initialize()
        (open_session,) = server.sessions
        async with session.get() as events:
            await open_session.log("info", 1)
            last, _ = await next_said(events)
            await open_session.log("info", 2)
            await next_said(events)
        await open_session.log("info", 3)
        async with session.get(last) as events:
            assert [(await next_said(events))[1] for _ in range(2)] == [2, 3]
            await open_session.log("info", 4)
            assert (await next_said(events))[1] == 4


async def test_close_stream_lets_go_of_the_connection_and_the_answer_waits() -> None:
    call = Steps()
    async with serving(ours(OLD, call), retry=0.5) as site:
        session = await site.initialize()
        async with session.calling("lets_go", 8) as events:
            (only,) = await events.all()
        assert (only.data, only.retry) == ("", "500")
        async with session.get(only.id) as events:
            call.go(name="lets_go")
            assert (await events.take())["id"] == 8
            assert await events.event() is None


async def test_before_2025_11_25_a_stream_is_not_let_go_of() -> None:
    for revision in STREAMABLE[:2]:
        with case(revision):
            call = Steps()
            call.go(name="lets_go")
            async with serving(ours(revision, call)) as site:
                session = await site.initialize(revision)
                assert text_in(await session.call("lets_go")) == "came back"


async def test_a_stream_that_cannot_be_resumed_is_not_let_go_of() -> None:
    call = Steps()
    call.go(3)
    call.go(name="lets_go")
    async with serving(ours(OLD, call), resumable=False) as site:
        session = await site.initialize()
        async with session.calling("lets_go", 1) as events:
            seen = await events.all()
        assert [event.message["id"] for event in seen if event.data] == [1]
        async with session.calling("a", 2) as events:
            assert [event.id for event in await events.all()] == [None] * 4


async def refusal_status(session: Session, last: str, **fields: str) -> int:
    async with session.get(last, fields) as events:
        return events.response.status_code


async def test_events_that_were_let_go_of_cannot_be_asked_for() -> None:
    call = Steps()
    call.go(3)
    shared = pkg.Shared(engine=pkg.MemoryEngine(max_events=2))
    async with serving(ours(OLD, call), shared=shared) as site:
        session = await site.initialize()
        async with session.calling("a", 1) as events:
            ids = [event.id or "" for event in await events.all()]
        assert len(ids) == 5
        assert [await refusal_status(session, event_id) for event_id in ids] == [
            400,
            400,
            200,
            200,
            200,
        ]


async def test_events_go_with_their_session() -> None:
    call = Steps()
    call.go(3)
    server = ours(OLD, call)
    async with serving(server) as site:
        session = await site.initialize()
        engine = site.app._running.state.worker.engine
        (open_session,) = server.sessions
        await open_session.log("info", "nobody listens")
        async with session.calling("a") as events:
            first = await events.event()
            assert first is not None
            name, _, _ = (first.id or "").rpartition(".")
            await events.all()
        key = key_of(session.id)
        for stream, number in ((name, 4), ("~", 1)):
            stored = await engine.events.read(key, stream, 0)
            assert stored is not None
            assert len(stored.events) == number
        await session.delete()
        for stream in (name, "~"):
            assert await engine.events.read(key, stream, 0) == ((), False)
        # A session that is known nowhere else keeps nothing else.
        assert await engine.sessions.open(key, "s") is None


class TestMemoryEngine:
    async def test_a_single_event_larger_than_all_the_room_is_not_kept(self) -> None:
        events = pkg.MemoryEngine(max_bytes=1000).events
        await events.append("s", "a", 1, [b"x" * 2000], lifetime=9)
        assert await events.read("s", "a", 0) is None
        await events.append("s", "b", 1, [b"x"], lifetime=9)
        assert await events.read("s", "b", 0) is not None

    async def test_many_streams_that_have_ended_take_no_more_than_there_is_room(self) -> None:
        events = pkg.MemoryEngine(max_bytes=1000).events
        for number in range(100):
            await events.append("s", str(number), 0, [b"x" * 50] * 2, lifetime=9, end=True)
        kept = [await events.read("s", str(number), 1) for number in range(100)]
        assert [answer is not None for answer in kept] == [False] * 98 + [True] * 2
