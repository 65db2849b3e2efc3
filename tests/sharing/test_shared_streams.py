"""Streams of sessions that several workers serve: nothing is lost, wherever one comes back."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from itertools import product
from random import Random
from typing import Any

import pytest
from mcp_protogen.runtime.http.server.sessions.worker import key_of
from mcp_revisions import v2025_11_25 as mcp
from mcp_revisions.v2025_11_25.models import CallToolRequestParams
from support import tables
from support.http.serving import Event, Events, Session, Site, outcome
from support.revisions import OLD
from support.sessions.talking import notification, request, tools
from support.sharing import faults
from support.sharing.faults import Engine, at
from support.tables import case

CHANGED = "notifications/tools/list_changed"
MESSAGE = "notifications/message"

# Long enough for nothing to happen only because time passes.
LONG = 60.0
SHORT = 0.2


class Cancelled:
    """A response whose request is cancelled as it begins."""

    async def write(self, data: bytes) -> None:
        raise asyncio.CancelledError

    def close_soon(self) -> None:
        pass


class Steps:
    """Tools of one worker: one that says a step at a time, and one whose session is kept."""

    def __init__(self) -> None:
        self.may: defaultdict[str, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(0))
        self.ended: list[str] = []
        self.sessions: list[mcp.Session] = []
        self.breaks = False

    async def __call__(self, session: mcp.Session, params: CallToolRequestParams) -> str:
        self.sessions.append(session)
        try:
            for step in range(1, 4 if params.name != "plain" else 1):
                await self.may[params.name].acquire()
                if self.breaks and (task := asyncio.current_task()) is not None:
                    # As application servers do to requests that they wait for no longer.
                    task.cancel()
                    await asyncio.sleep(0)
                await session.log("info", f"{params.name} {step}")
        finally:
            self.ended.append(params.name)
        return params.name

    def go(self, steps: int = 1, name: str = "a") -> None:
        for _ in range(steps):
            self.may[name].release()


class Workers:
    """Applications on one engine, and what their tools do."""

    def __init__(self) -> None:
        self.engine = Engine()
        self._memory: Any = self.engine.memory
        self.tools: list[Steps] = []
        self.servers: list[Any] = []
        self.sites: list[Site] = []

    @property
    def owners(self) -> list[int]:
        """Return the workers that send published changes to a session."""
        return [worker for worker, server in enumerate(self.servers) if server.sessions]

    def stream_record(self, session: Session) -> Any:
        """What is stored of a session."""
        return self._memory.sessions._sessions[key_of(session.id)]

    def last(self, session: Session, stream: str = "~") -> int:
        """The number of the last event that is stored of a stream."""
        streams = self._memory.events._sessions.get(key_of(session.id), {})
        return int(streams[stream].last) if stream in streams else -1

    def forget_events(self, session: Session) -> None:
        self._memory.events._sessions.pop(key_of(session.id))

    def has_reached(self, session: Session, stream: str, number: int) -> bool:
        """Return whether the event of that number is stored."""
        return self.last(session, stream) >= number

    def at(self, session: Session, worker: int) -> Session:
        """The same session, at another worker."""
        return at(session, self.sites[worker])

    @asynccontextmanager
    async def calling(self) -> AsyncGenerator[tuple[Session, Events, Event], None]:
        """A call in a new session of the first worker, which has said one thing."""
        session = await self.sites[0].initialize()
        self.tools[0].go()
        async with session.calling("a", 5) as events:
            first, _ = await next_of(events)
            yield session, events, first

    async def broken_off(self) -> tuple[Session, Event]:
        """Return the session of such a call, and its messages, after its client has gone."""
        async with self.calling() as (session, _, first):
            return session, first

    async def says(self, session: Session, worker: int) -> mcp.Session:
        """What says something at a worker that belongs to no request."""
        assert outcome(await self.at(session, worker).call("plain", "p")) == (200, None)
        return self.tools[worker].sessions[-1]

    async def tell_without_looks(self, speaker: mcp.Session, standing: Events) -> None:
        """Say something that workers hear only if they are told, since looks fail."""
        await asyncio.sleep(1)
        self.engine.failing.add("events.news")
        await speaker.log("info", "b")
        assert await next_said(standing) == "b"


@asynccontextmanager
async def workers(
    number: int = 2,
    revision: str = OLD,
    lease: float = LONG,
    sends: frozenset[str] = frozenset({MESSAGE}),
    **chosen: Any,
) -> AsyncGenerator[Workers, None]:
    these = Workers()
    these.tools = [Steps() for _ in range(number)]
    these.servers = [tools(revision, steps, SENDS=sends) for steps in these.tools]
    given: dict[str, Any] = {"engine": these.engine, "lease": lease, "drain": 0.05, **chosen}
    async with faults.workers(*these.servers, **given) as these.sites:
        yield these


async def next_of(events: Events) -> tuple[Event, Any]:
    """The next event that says something, and what."""
    while True:
        event = await events.event()
        assert event is not None
        if event.data:
            message = event.message
            return event, message.get("params", message).get("data", message)


async def next_said(events: Events) -> Any:
    event, what = await next_of(events)
    return "answer" if "result" in event.message else what


def number_of(event: Event) -> int:
    assert event.id is not None
    return int(event.id.rpartition(".")[2])


async def until(what: Any) -> None:
    while not what():
        await asyncio.sleep(0.002)


async def engine_called(engine: Engine, call: str, times: int) -> None:
    """Wait for this number of engine calls."""
    await until(lambda: engine.calls.count(call) >= times)


async def all_said(events: Events, last: object) -> list[Any]:
    """Return all texts up to the last, or to the end of the stream."""
    came: list[Any] = []
    while (message := await events.take()) is not None:
        came.append(message["params"]["data"])
        if came[-1] == last:
            break
    return came


class TestRequests:
    async def test_another_worker_goes_on_with_a_stream_until_its_end(self) -> None:
        for revision in ("2025-03-26", "2025-06-18", OLD):
            with case(revision):
                async with workers(revision=revision) as these:
                    session = await these.sites[0].initialize(revision)
                    these.tools[0].go()
                    async with session.calling("a", 5) as events:
                        last, what = await next_of(events)
                        assert what == "a 1"
                    these.tools[0].go()
                    async with these.at(session, 1).get(last.id) as events:
                        assert await next_said(events) == "a 2"
                        # Later appends depend on messages, not on time.
                        these.tools[0].go()
                        assert await next_said(events) == "a 3"
                        event, answer = await next_of(events)
                        assert answer["id"] == 5
                        assert number_of(event) == number_of(last) + 3
                        assert await events.event() is None

    async def test_the_first_event_is_enough_to_come_back_anywhere(self) -> None:
        async with workers() as these:
            session = await these.sites[0].initialize()
            these.tools[0].go()
            async with session.calling("a") as events:
                first = await events.event()
            assert first is not None
            assert (first.data, first.id is None) == ("", False)
            these.tools[0].go(2)
            async with these.at(session, 1).get(first.id) as events:
                assert [await next_said(events) for _ in range(4)] == [
                    "a 1",
                    "a 2",
                    "a 3",
                    "answer",
                ]

    async def test_complete_stream_can_be_replayed_anywhere(self) -> None:
        async with workers(3) as these:
            session = await these.sites[0].initialize()
            these.tools[0].go(3)
            async with session.calling("a", 5) as events:
                ids = [event.id for event in await events.all()]
            for worker in (1, 2, 0, 1):
                async with these.at(session, worker).get(ids[1]) as events:
                    assert [event.id for event in await events.all()] == ids[2:]

    async def test_who_goes_on_elsewhere_takes_the_stream_from_the_connection_before(self) -> None:
        async with workers(3) as these:
            session = await these.sites[0].initialize()
            these.tools[0].go()
            async with AsyncExitStack() as stack:
                before = await stack.enter_async_context(session.calling("a"))
                last, _ = await next_of(before)
                # From who writes it to a follower, to another, to who writes it, and once more.
                for worker in (1, 2, 0, 1):
                    get = these.at(session, worker).get(last.id)
                    after = await stack.enter_async_context(get)
                    assert await before.take() is None
                    before = after
                these.tools[0].go(2)
                assert [await next_said(before) for _ in range(3)] == ["a 2", "a 3", "answer"]

    async def test_two_at_one_follower_are_one_after_the_other(self) -> None:
        async with workers() as these:
            session = await these.sites[0].initialize()
            these.tools[0].go()
            async with session.calling("a") as events:
                last, _ = await next_of(events)
            there = these.at(session, 1)
            async with there.get(last.id) as before, there.get(last.id) as after:
                assert await before.take() is None
                these.tools[0].go(2)
                assert [await next_said(after) for _ in range(3)] == ["a 2", "a 3", "answer"]

    async def test_a_request_that_is_cancelled_is_over_for_who_follows(self) -> None:
        async with workers() as these:
            session = await these.sites[0].initialize()
            these.tools[0].go()
            async with session.calling("a", 1) as events:
                last, _ = await next_of(events)
            there = these.at(session, 1)
            async with there.get(last.id) as events:
                await there.post(notification("notifications/cancelled", requestId=1))
                assert await events.take() is None

    async def test_unknown_event_id_is_refused_anywhere(self) -> None:
        async with workers() as these:
            session, other = [await these.sites[0].initialize() for _ in range(2)]
            these.tools[0].go(3)
            async with session.calling("a") as events:
                known = (await events.all())[-1].id or ""
            name, _, _ = known.rpartition(".")
            for what, id, whose in (
                ("of another session", known, other),
                ("its head in another session", f"{name}.0", other),
                ("to come", f"{name}.99", session),
                ("of a stream that never was", f"{name[:-16]}{'0' * 16}.0", session),
                ("of the session, to come", "~.99", session),
                ("no id", "x", session),
            ):
                with case(what):
                    async with these.at(whose, 1).get(id) as events:
                        assert events.response.status_code == 400

    async def test_response_ends_once_the_engine_has_lost_its_events(self) -> None:
        async with workers() as these, asyncio.timeout(10):
            session = await these.sites[0].initialize()
            these.tools[0].go()
            async with session.calling("a", 5) as events:
                start = await events.event()
                assert start is not None and number_of(start) == 0
                await next_of(events)
                these.forget_events(session)
                async with session.get(start.id) as again:
                    assert await again.event() is None

    async def test_without_ids_nothing_of_a_request_is_stored(self) -> None:
        async with workers(resumable=False) as these:
            session = await these.sites[0].initialize()
            these.tools[0].go(3)
            async with session.calling("a") as events:
                assert [event.id for event in await events.all()] == [None] * 4
            assert "events.append" not in these.engine.calls


class TestStoredFirst:
    async def test_events_are_stored_before_they_are_sent(self) -> None:
        async with workers() as these:
            session = await these.sites[0].initialize()
            may, engine = these.engine.block("events.append"), these.engine

            async def first() -> Any:
                async with session.calling("a") as events:
                    return await next_said(events)

            these.tools[0].go(3)
            coming = asyncio.create_task(first())
            await until(lambda: "events.append" in engine.calls)
            await asyncio.sleep(0.03)
            assert not coming.done()
            may.set()
            assert await coming == "a 1"

    async def test_all_that_waits_is_stored_at_once_and_the_answer_with_it(self) -> None:
        async with workers() as these:
            session = await these.sites[0].initialize()
            may = these.engine.block("events.append")

            async def events_of_call() -> list[Event]:
                async with session.calling("a", 5) as events:
                    return await events.all()

            these.tools[0].go(3)
            coming = asyncio.create_task(events_of_call())
            await until(lambda: these.tools[0].ended)
            may.set()
            assert [bool(event.data) for event in await coming] == [False, True, True, True, True]
            assert these.engine.calls.count("events.append") == 1
            name, _, _ = (coming.result()[-1].id or "").rpartition(".")
            key = key_of(session.id)
            stored = await these.engine.memory.events.read(key, name, 0)
            assert stored is not None
            assert (len(stored.events), stored.ended) == (4, True)

    async def test_event_of_uncertain_append_is_not_stored_twice(self) -> None:
        for made in (False, True):
            with case(made):
                async with workers() as these:
                    engine = these.engine
                    async with these.calling() as (session, events, first):
                        engine.keeps_leases = True
                        may = engine.block("events.append")
                        engine.away = not made
                        these.tools[0].go(2)
                        if made:
                            name, _, _ = (first.id or "").rpartition(".")
                            await until(
                                partial(these.has_reached, session, name, number_of(first) + 1)
                            )
                        else:
                            await engine_called(engine, "events.append", 2)
                        engine.away = True
                        may.set()
                        await asyncio.sleep(0.03)
                        engine.away = False
                        rest = await events.all()
                    numbers = [number_of(event) for event in rest]
                    assert numbers == [number_of(first) + number for number in (1, 2, 3)]
                    assert rest[-1].message["id"] == 5
                    async with these.at(session, 1).get(first.id) as events:
                        assert await events.all() == rest


class TestEngineAway:
    async def test_a_get_is_refused_for_now_and_open_streams_stay(self) -> None:
        async with workers() as these:
            engine = these.engine
            session = await these.sites[0].initialize()
            these.tools[0].go()
            async with session.get() as standing, session.calling("a", 5) as events:
                last, _ = await next_of(events)
                engine.away = engine.keeps_leases = True
                these.tools[0].go()
                for id in (None, last.id, "~.1"):
                    async with session.get(id) as refused:
                        assert refused.response.status_code == 503
                        assert refused.response.headers["retry-after"] == "1"
                engine.away = False
                assert await next_said(events) == "a 2"
                these.tools[0].go()
                assert [await next_said(events), await next_said(events)] == ["a 3", "answer"]
                await (await these.says(session, 1)).log("info", "still there")
                assert await next_said(standing) == "still there"

    async def test_who_follows_goes_on_when_it_is_back(self) -> None:
        async with workers(lease=SHORT) as these:
            engine = these.engine
            session = await these.sites[0].initialize()
            these.tools[0].go()
            async with session.calling("a") as events:
                last, _ = await next_of(events)
            async with these.at(session, 1).get(last.id) as events:
                these.tools[0].go()
                assert await next_said(events) == "a 2"
                engine.away = engine.keeps_leases = True
                these.tools[0].go()
                # Long enough for it to have looked.
                await asyncio.sleep(SHORT)
                engine.away = False
                assert [await next_said(events), await next_said(events)] == ["a 3", "answer"]

    async def test_a_server_that_closes_does_not_wait_for_it(self) -> None:
        async with workers() as these:
            session = await these.sites[0].initialize()
            these.tools[0].go()
            async with session.get() as standing, session.calling("a") as events:
                await next_of(events)
                these.engine.away = True
                these.tools[0].go()
                async with asyncio.timeout(5):
                    await these.sites[0].app.close()
                assert await events.take() is None
                assert await standing.take() is None
            these.engine.away = False


class TestTakingOver:
    async def test_requests_of_a_worker_that_is_gone_are_answered_with_errors(self) -> None:
        for when in ("before", "meanwhile"):
            with case(when):
                async with workers(lease=SHORT) as these:
                    session, last = await these.broken_off()
                    if when == "before":
                        these.engine.workers[0].kill()
                    async with these.at(session, 1).get(last.id) as events:
                        if when == "meanwhile":
                            these.tools[0].go()
                            assert await next_said(events) == "a 2"
                            these.engine.workers[0].kill()
                        answer = await events.take()
                        assert (answer["id"], answer["error"]["code"]) == (5, -32603)
                        assert await events.event() is None
                    # From now on that is so wherever one asks.
                    async with these.at(session, 1).get(last.id) as events:
                        assert (await events.all())[-1].message == answer

    async def test_each_request_of_a_batch_is(self) -> None:
        async with workers(revision="2025-03-26", lease=SHORT) as these:
            session = await these.sites[0].initialize("2025-03-26")
            batch = [request("tools/call", id, name="a") for id in (7, "seven")]
            these.tools[0].go(2)
            async with these.sites[0].stream(batch, session.headers) as events:
                last, _ = await next_of(events)
            these.engine.workers[0].kill()
            async with these.at(session, 1).get(last.id) as events:
                ids = [event.message.get("id") for event in await events.all()]
            assert [id for id in ids if id is not None] == [7, "seven"]

    async def test_who_was_only_slow_is_refused(self, caplog: pytest.LogCaptureFixture) -> None:
        async with workers(lease=SHORT) as these:
            slow = these.engine.workers[0]
            async with these.calling() as (session, old, last):
                slow.kill()
                async with these.at(session, 1).get(last.id) as events:
                    assert (await events.take())["error"]["code"] == -32603
                # It is heard of again, and does not know what happened.
                slow.killed = False
                these.engine.memory.workers[slow.name] = (slow.take, asyncio.get_running_loop())
                these.tools[0].go(2)
                assert await old.take() is None
            assert "another worker has ended" in caplog.text
            async with these.at(session, 1).get(last.id) as events:
                assert ["error" in event.message for event in await events.all()] == [True]

    async def test_who_was_only_slow_has_no_stream_that_others_ended(self) -> None:
        async with workers(lease=SHORT) as these:
            slow = these.engine.workers[0]
            session, last = await these.broken_off()
            slow.kill()
            async with these.at(session, 1).get(last.id) as events:
                answer = await events.take()
            slow.revive()
            # Its client comes back before it has noticed.
            async with session.get(last.id) as events:
                assert (await events.all())[-1].message == answer

    async def test_a_head_that_makes_no_sense_names_nobody(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        for head in (b"", b"{}", b'[{"a": 1}]', b"[1.5]", b"[null]"):
            with case(head):
                async with workers(lease=SHORT) as these:
                    session = await these.sites[0].initialize()
                    name = f"sgonegone-{'0' * 16}"
                    events = these.engine.memory.events
                    key = key_of(session.id)
                    await events.append(key, name, 0, [head, b'"x"'], lifetime=9)
                    async with these.at(session, 1).get(f"{name}.0") as get:
                        assert [event.data for event in await get.all()] == ['"x"']
                    assert "the first event of a stream is invalid" in caplog.text

    async def test_a_request_that_broke_off_is_answered_with_an_error(self) -> None:
        async with workers() as these:
            session, last = await these.broken_off()
            async with these.at(session, 1).get(last.id) as events:
                these.tools[0].breaks = True
                these.tools[0].go()
                answer = await events.take()
                assert (answer["id"], answer["error"]["code"]) == (5, -32603)
                assert await events.event() is None


class TestStandalone:
    async def test_listener_receives_notifications_of_any_worker(self) -> None:
        async with workers(3) as these:
            session = await these.sites[0].initialize()
            saying = [await these.says(session, worker) for worker in range(3)]
            for listening in range(3):
                async with these.at(session, listening).get() as events:
                    for worker, speaker in enumerate(saying):
                        await speaker.log("info", f"{worker} at {listening}")
                        assert await next_said(events) == f"{worker} at {listening}"

    async def test_each_comes_once_in_the_order_of_who_says_it(self) -> None:
        async with workers(3) as these:
            session = await these.sites[0].initialize()
            saying = [await these.says(session, worker) for worker in range(3)]

            async def say(one: mcp.Session, worker: int) -> None:
                for number in range(30):
                    await one.log("info", [worker, number])
                    if number % 5 == worker:
                        await asyncio.sleep(0)

            async with these.at(session, 1).get() as events:
                await events.event()
                async with asyncio.TaskGroup() as group:
                    for worker, speaker in enumerate(saying):
                        group.create_task(say(speaker, worker))
                came = [await next_of(events) for _ in range(90)]
            numbers = [number_of(event) for event, _ in came]
            assert numbers == list(range(numbers[0], numbers[0] + 90))
            for worker in range(3):
                assert [n for _, (by, n) in came if by == worker] == list(range(30))

    async def test_a_get_elsewhere_takes_the_stream_and_goes_on_after_what_was_sent(self) -> None:
        async with workers(3) as these:
            session = await these.sites[0].initialize()
            saying = await these.says(session, 2)
            async with AsyncExitStack() as stack:
                before = await stack.enter_async_context(session.get())
                for count, worker in enumerate((1, 1, 0, 2, 0)):
                    await saying.log("info", count)
                    assert await next_said(before) == count
                    get = these.at(session, worker).get()
                    after = await stack.enter_async_context(get)
                    assert await before.take() is None
                    before = after
                await saying.log("info", "last")
                assert await next_said(before) == "last"

    async def test_notifications_without_listener_wait_at_their_worker(self) -> None:
        for resumable in (True, False):
            with case(resumable):
                async with workers(resumable=resumable) as these:
                    session = await these.sites[0].initialize()
                    for worker in (0, 1):
                        await (await these.says(session, worker)).log("info", worker)
                        await until(partial(these.has_reached, session, "~", worker + 1))
                    async with these.at(session, 1).get() as events:
                        assert [await next_said(events), await next_said(events)] == [0, 1]
                    async with session.get() as events:
                        await (await these.says(session, 1)).log("info", 2)
                        event, what = await next_of(events)
                        assert (what, event.id is not None) == (2, resumable)

    async def test_who_never_listened_hears_the_newest(self) -> None:
        async with workers() as these:
            session = await these.sites[0].initialize()
            saying = await these.says(session, 1)
            for number in range(2000):
                await saying.log("info", number)
            await until(lambda: these.has_reached(session, "~", 2000))
            async with session.get() as events:
                came = [await next_said(events)]
                while came[-1] != 1999:
                    came.append(await next_said(events))
            assert len(came) <= 32

    async def test_later_events_are_replayed_at_any_worker(self) -> None:
        async with workers(3) as these:
            session = await these.sites[0].initialize()
            saying = await these.says(session, 2)
            async with session.get() as events:
                for number in (1, 2, 3):
                    await saying.log("info", number)
                came = [await next_of(events) for _ in range(3)]
            await saying.log("info", 4)
            async with these.at(session, 1).get(came[0][0].id) as events:
                assert [await next_said(events) for _ in range(3)] == [2, 3, 4]
                await saying.log("info", 5)
                assert await next_said(events) == 5

    async def test_owner_does_not_read_back_its_events(self) -> None:
        async with workers() as these:
            session = await these.sites[0].initialize()
            saying = await these.says(session, 0)
            async with session.get() as events:
                await events.event()
                await asyncio.sleep(0.02)
                reads = these.engine.calls.count("events.read")
                for number in range(3):
                    await saying.log("info", number)
                    assert await next_said(events) == number
                assert these.engine.calls.count("events.read") == reads

    async def test_the_stream_of_an_owner_that_is_gone_is_gone_on_with(self) -> None:
        async with workers(3, lease=SHORT) as these:
            session = await these.sites[0].initialize()
            saying = await these.says(session, 2)
            async with session.get() as events:
                await saying.log("info", "before")
                event, what = await next_of(events)
                assert what == "before"
                record = these.stream_record(session)
                await until(lambda: record.delivered == number_of(event))
                these.engine.workers[0].kill()
                async with these.at(session, 1).get() as after:
                    await saying.log("info", "after")
                    # The owner does not send noted events again.
                    assert await next_said(after) == "after"

    async def test_an_owner_that_was_not_heard_of_writes_nothing_before_it_knows(self) -> None:
        async with workers(3, lease=SHORT) as these:
            session = await these.sites[0].initialize()
            saying = await these.says(session, 2)
            paused = these.engine.workers[0]
            async with session.get() as old:
                await saying.log("info", 1)
                assert await next_said(old) == 1
                # It gets no messages, and its lease lapses, while it believes that all is well.
                paused.deaf = paused.lapsed = True
                del these.engine.memory.workers[paused.name]
                async with these.at(session, 1).get() as new:
                    await saying.log("info", 2)
                    assert await next_said(new) in (1, 2)
                    receiving = (paused.take, asyncio.get_running_loop())
                    these.engine.memory.workers[paused.name] = receiving
                    paused.deaf = paused.lapsed = False
                    these.engine.lose()
                    assert await old.take() is None
                    await saying.log("info", 3)
                    while (what := await next_said(new)) != 3:
                        assert what in (1, 2)

    async def test_an_owner_that_lost_messages_goes_on_if_it_is_the_owner_still(self) -> None:
        async with workers() as these:
            session = await these.sites[0].initialize()
            saying = await these.says(session, 1)
            async with session.get() as events:
                for number in range(3):
                    these.engine.lose()
                    await saying.log("info", number)
                    assert await next_said(events) == number

    async def test_event_of_uncertain_append_is_sent_once(self) -> None:
        for made in (False, True):
            with case(made):
                async with workers() as these:
                    engine = these.engine
                    session = await these.sites[0].initialize()
                    saying = [await these.says(session, worker) for worker in (0, 1)]
                    async with session.get() as events:
                        await saying[0].log("info", "first")
                        assert await next_said(events) == "first"
                        engine.keeps_leases = True
                        may = engine.block("events.append")
                        engine.away = not made
                        calls, last = engine.calls.count("events.append"), these.last(session)
                        await saying[1].log("info", "there")
                        await saying[0].log("info", "here")
                        if made:
                            await until(partial(these.has_reached, session, "~", last + 1))
                        else:
                            await engine_called(engine, "events.append", calls + 2)
                        engine.away = True
                        may.set()
                        await asyncio.sleep(0.03)
                        engine.away = False
                        assert {await next_said(events), await next_said(events)} == {
                            "there",
                            "here",
                        }
                        await saying[1].log("info", "last")
                        assert await next_said(events) == "last"

    async def test_events_sent_by_closing_owner_are_not_repeated(self) -> None:
        for closes in (True, False):
            with case(closes):
                async with workers(3) as these:
                    session = await these.sites[0].initialize()
                    saying = await these.says(session, 2)
                    async with session.get() as events:
                        await saying.log("info", "before")
                        assert await next_said(events) == "before"
                        if closes:
                            await these.sites[0].app.close()
                            assert await events.take() is None
                    await engine_called(these.engine, "sessions.deliver", 1)
                    await saying.log("info", "after")
                    async with these.at(session, 1).get() as events:
                        assert await next_said(events) == "after"

    async def test_published_notification_is_sent_by_owner_only(self) -> None:
        async with workers(3, sends=frozenset({MESSAGE, CHANGED})) as these:
            session = await these.sites[0].initialize()
            saying = await these.says(session, 2)
            for worker in (1, 2, 0):
                async with these.at(session, worker).get() as events:
                    for server in these.servers:
                        await server.tools_list_changed()
                        assert (await events.take())["method"] == CHANGED
                        await saying.log("info", "next")
                        assert await next_said(events) == "next"

    async def test_who_owns_it_is_not_taken_from_what_was_read_before(self) -> None:
        for reads in (0, 1):
            with case(f"worker {reads} reads while 1 takes the stream from 0"):
                async with workers(sends=frozenset({MESSAGE, CHANGED})) as these:
                    session, engine = await these.sites[0].initialize(), these.engine
                    second = these.at(session, 1)
                    assert outcome(await second.post(request("ping"))) == (200, None)
                    reading = engine.block("sessions.open")
                    engine.calls.clear()
                    # The other one makes it read the stored events again.
                    level = request("logging/setLevel", level="error")
                    choosing = asyncio.create_task(these.at(session, 1 - reads).post(level))
                    await engine_called(engine, "sessions.open", 1)
                    async with second.get():
                        while these.owners != [1]:
                            await asyncio.sleep(0.002)
                        reading.set()
                        assert outcome(await choosing) == (200, None)
                        assert these.owners == [1]

    async def test_the_owner_before_lets_go_also_if_who_claims_does_not_begin(self) -> None:
        async with workers() as these:
            session, two = await these.sites[0].initialize(), these.sites[1]
            assert outcome(await these.at(session, 1).post(request("ping"))) == (200, None)
            async with session.get() as events:
                found = two.app._running.state.sessions.get(session.id)
                with pytest.raises(asyncio.CancelledError):
                    await found.streams.standalone.attach(Cancelled(), None)
                assert await events.take() is None
            assert these.owners == [1]

    async def test_a_claim_of_which_nobody_heard_ends_the_stream_there_was(self) -> None:
        for worker in (0, 1):
            with case(worker):
                async with workers(lease=SHORT) as these:
                    engine = these.engine
                    session = await these.sites[0].initialize()
                    saying = await these.says(session, 1)
                    async with session.get() as before:
                        await saying.log("info", 1)
                        assert await next_said(before) == 1
                        engine.keeps_leases, may = True, engine.block("sessions.claim")
                        record = these.stream_record(session)
                        epoch = record.epoch

                        async def claim(site: Site, whose: Session) -> int:
                            async with site.get(whose.headers) as events:
                                return events.response.status_code

                        claiming = asyncio.create_task(claim(these.sites[worker], session))
                        while record.epoch == epoch:
                            await asyncio.sleep(0.002)
                        engine.away = True
                        may.set()
                        assert await claiming == 503
                        engine.away = False
                        await saying.log("info", 2)
                        while (what := await before.take()) is not None:
                            assert what["params"]["data"] == 2
                    async with session.get() as events:
                        await saying.log("info", 3)
                        while (what := await next_said(events)) != 3:
                            assert what == 2

    async def test_two_who_claim_at_once_are_one_after_the_other(self) -> None:
        async with workers(3) as these:
            session = await these.sites[0].initialize()
            saying = await these.says(session, 2)
            may = these.engine.block("sessions.claim")
            async with AsyncExitStack() as stack:

                async def open_listener(worker: int) -> Events:
                    get = these.at(session, worker).get()
                    return await stack.enter_async_context(get)

                opening = [asyncio.create_task(open_listener(worker)) for worker in (0, 1, 1, 2, 0)]
                await engine_called(these.engine, "sessions.claim", 5)
                may.set()
                streams = [await task for task in opening]
                for number in range(20):
                    await saying.log("info", number)
                came = [asyncio.create_task(all_said(events, 19)) for events in streams]
                done, _ = await asyncio.wait(came)
                assert sorted(n for task in done for n in task.result()) == list(range(20))

    async def test_standing_stream_ends_with_its_session(self) -> None:
        async with workers() as these:
            session = await these.sites[0].initialize()
            these.tools[0].go()
            async with (
                session.get() as standing,
                session.calling("a") as events,
            ):
                last, _ = await next_of(events)
                async with these.at(session, 1).get(last.id) as followed:
                    assert (await these.at(session, 1).delete()).status_code == 204
                    assert await followed.take() is None
                    assert await standing.take() is None
            async with session.get() as events:
                assert events.response.status_code == 404


@pytest.mark.skips_time
class TestLooking:
    async def test_open_streams_need_calls_of_a_worker_for_many_at_once(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        worker = "mcp_protogen.runtime.features.sharing.shared_worker"
        monkeypatch.setattr(f"{worker}._TOGETHER", 20)
        for number, batches in ((1, 1), (20, 1), (21, 2)):
            with case(number):
                async with workers(lease=1.0) as these, AsyncExitStack() as stack:
                    for _ in range(number):
                        for site in these.sites:
                            session = await site.initialize()
                            await stack.enter_async_context(session.get())
                    await asyncio.sleep(1.7)
                    calls = these.engine.calls
                    calls.clear()
                    await asyncio.sleep(5)
                    assert Counter(calls) == {"events.news": len(these.sites) * 10 * batches}

    async def test_events_are_found_although_their_worker_could_not_tell(self) -> None:
        async with workers(lease=1.0) as these, AsyncExitStack() as stack:
            sessions = [await these.sites[0].initialize() for _ in range(3)]
            speakers = [await these.says(session, 1) for session in sessions]
            streams = [await stack.enter_async_context(session.get()) for session in sessions]
            await asyncio.sleep(0.1)
            these.engine.failing.add("mail.send")
            for speaker in speakers:
                await speaker.log("info", "a")
            assert [await next_said(stream) for stream in streams] == ["a", "a", "a"]

    async def test_looks_go_on_after_any_error_of_an_engine(
        self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        async def fail(seen: object) -> None:
            raise LookupError("a fault of the engine")

        async with workers(lease=1.0) as these:
            session = await these.sites[0].initialize()
            speaker = await these.says(session, 1)
            async with session.get() as standing:
                with monkeypatch.context() as broken:
                    broken.setattr(these.engine.memory.events, "news", fail)
                    await asyncio.sleep(2)
                assert "LookupError: a fault of the engine" in caplog.text
                these.engine.failing.add("mail.send")
                await speaker.log("info", "a")
                assert await next_said(standing) == "a"

    async def test_worker_that_is_back_is_told_of_events_again(self) -> None:
        async with workers(lease=1.0) as these:
            slow = these.engine.workers[0]
            session = await these.sites[0].initialize()
            speaker = await these.says(session, 1)
            async with session.get() as standing:
                await asyncio.sleep(1)
                slow.kill()
                await speaker.log("info", "a")
                await asyncio.sleep(1)
                slow.revive()
                assert await next_said(standing) == "a"
                await these.tell_without_looks(speaker, standing)

    async def test_stream_of_a_worker_that_another_followed_late_is_followed_again(self) -> None:
        async with workers(lease=1.0) as these:
            session = await these.sites[0].initialize()
            speaker = await these.says(session, 1)
            async with session.get() as standing:
                await asyncio.sleep(1)
                await these.engine.memory.events.follow(key_of(session.id), "~", "late")
                await speaker.log("info", "a")
                assert await next_said(standing) == "a"
                await these.tell_without_looks(speaker, standing)

    async def test_progress_of_a_stream_is_stored_once_nothing_more_comes(self) -> None:
        async with workers(lease=1.0) as these:
            session = await these.sites[0].initialize()
            speaker = await these.says(session, 0)
            async with session.get() as standing:
                for text in "ab":
                    await speaker.log("info", text)
                    assert await next_said(standing) == text
                await asyncio.sleep(2)
                assert these.stream_record(session).delivered == these.last(session)


class Reader:
    """A client that reads a stream at one worker after another, each time after what it has."""

    def __init__(self, these: Workers, session: Session, random: Random) -> None:
        self.said: list[Any] = []
        self._these = these
        self._session = session
        self._random = random
        self._last: str | None = None

    async def read(self, stream: AbstractAsyncContextManager[Events]) -> None:
        """Read a response for a while."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._random.uniform(0.0, 0.3)), stream as events:
                while (event := await events.event()) is not None:
                    self._last = event.id or self._last
                    if event.data:
                        message = event.message
                        self.said.append(message.get("params", message).get("data", "answer"))

    async def read_all(self, number: int) -> list[Any]:
        while len(self.said) < number:
            await asyncio.sleep(self._random.uniform(0.0, 0.1))
            session = self._these.at(self._session, self._random.randrange(3))
            await self.read(session.get(self._last))
        return self.said


async def disturb(these: Workers, random: Random) -> None:
    """Let something go wrong of which clients see nothing but refusals, again and again."""
    engine = these.engine
    while True:
        await asyncio.sleep(random.uniform(0.0, 0.5))
        fault, late = random.randrange(5), random.choice(engine.workers[1:])
        if fault == 0:
            engine.away = engine.keeps_leases = True
        elif fault == 1:
            calls = ("mail.send", "events.append", "events.read", "events.news", "sessions.claim")
            random.choice((engine.failing, engine.losing)).add(random.choice(calls))
        elif fault == 2:
            late.kill()
        elif fault == 3:
            late.deaf = True
        engine.slow = {"events.append"} if random.random() < 0.5 else set()
        await asyncio.sleep(random.uniform(0.0, 1.0))
        engine.away = engine.keeps_leases = late.deaf = False
        engine.failing.clear()
        engine.losing.clear()
        if fault == 2:
            late.revive()
        elif fault > 2:
            engine.lose()


@pytest.mark.skips_time
@pytest.mark.parametrize("seed", range(tables.count(12, 300)))
async def test_clients_hear_all_once_and_in_order_whatever_goes_wrong(seed: int) -> None:
    random = Random(seed)
    async with workers(3, lease=1.0) as these:
        session = await these.sites[0].initialize()
        saying = [await these.says(session, worker) for worker in range(3)]
        standing, calling = (Reader(these, session, random) for _ in range(2))
        disturbing = asyncio.create_task(disturb(these, random))
        these.tools[0].go()
        await calling.read(session.calling("a", 5))
        hearing = [
            asyncio.create_task(standing.read_all(60)),
            asyncio.create_task(calling.read_all(4)),
        ]
        for number, worker in product(range(20), range(3)):
            await asyncio.sleep(random.uniform(0.0, 0.2))
            await saying[worker].log("info", [worker, number])
            if worker == 0 and number < 2:
                these.tools[0].go()
        said, answered = await asyncio.gather(*hearing)
        assert disturbing.cancel(), "it goes on to the end"
    assert answered == ["a 1", "a 2", "a 3", "answer"]
    for worker in range(3):
        assert [n for by, n in said if by == worker] == list(range(20))
