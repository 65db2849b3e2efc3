"""The behaviour of every engine, and of servers in trouble: one table for all."""

import asyncio
import gc
import os
import pickle
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from mcp_protogen.runtime.core.tasks import Tasks
from mcp_protogen.runtime.features.sharing.shared_worker import SharedWorker
from mcp_protogen.runtime.storage.engine import (
    Appended,
    Delivery,
    DirectMessage,
    EngineConnection,
    EngineUnavailable,
    Event,
    Events,
    Gap,
    Mail,
    Receive,
    Saved,
    SessionStore,
    StoredSession,
)
from mcp_protogen.runtime.storage.memory import MemoryEngine
from support import tables
from support.sharing.workers import (
    ENGINES,
    PATIENCE,
    SERVERS,
    SharedEngine,
    Worker,
    shared_engine,
    until,
    wait_for_engine,
    working,
)
from support.slow_proxy import SlowProxy

LIFETIME = 60.0
NOBODY = frozenset[str]()


@pytest.fixture(params=ENGINES)
def shared_engines(request: pytest.FixtureRequest) -> SharedEngine:
    """Each engine."""
    return shared_engine(request.param, request)


@pytest.fixture(params=SERVERS)
def remote(request: pytest.FixtureRequest) -> SharedEngine:
    """Each engine that is a server."""
    return shared_engine(request.param, request)


# Sessions.


async def begin_session(worker: Worker, key: str = "key", lifetime: float = LIFETIME) -> None:
    """Save a new session."""
    sessions = worker.connection.sessions
    saved = await sessions.save(key, worker.name, b"new", version=0, lifetime=lifetime)
    assert saved == Saved(1, NOBODY)


async def test_a_record_is_written_in_the_place_of_the_version_that_was_read(
    shared_engines: SharedEngine,
) -> None:
    async with working(shared_engines.engine(), "a", "b") as (a, b):
        sessions, others = a.connection.sessions, b.connection.sessions
        assert await sessions.open("key", "a") is None
        assert await sessions.save("key", "a", b"x", version=1, lifetime=LIFETIME) is None
        await begin_session(a)
        assert await others.save("key", "b", b"x", version=0, lifetime=LIFETIME) is None
        assert await others.open("key", "b") == StoredSession(b"new", 1, "a", 1, 0)
        record = bytes(range(256)) * 40
        saved = await sessions.save("key", "a", record, version=1, lifetime=LIFETIME)
        assert saved == Saved(2, frozenset({"b"}))
        assert await others.save("key", "b", b"x", version=1, lifetime=LIFETIME) is None
        assert await others.open("key", "b") == StoredSession(record, 2, "a", 1, 0)
        await others.leave("key", "b")
        saved = await sessions.save("key", "a", b"", version=2, lifetime=LIFETIME)
        assert saved == Saved(3, NOBODY)
        assert await sessions.open("key", "a") == StoredSession(b"", 3, "a", 1, 0)


async def test_of_writers_of_one_version_one_gets_through(shared_engines: SharedEngine) -> None:
    async with working(shared_engines.engine(), "a", "b", "c") as workers:
        await begin_session(workers[0])
        for version in range(1, 6):
            outcomes = await asyncio.gather(
                *(
                    worker.connection.sessions.save(
                        "key", worker.name, worker.name.encode(), version=version, lifetime=LIFETIME
                    )
                    for worker in workers
                    for _ in range(4)
                )
            )
            (saved,) = [outcome for outcome in outcomes if outcome is not None]
            assert saved.version == version + 1


async def test_an_owner_is_followed_by_another_with_the_next_epoch(
    shared_engines: SharedEngine,
) -> None:
    async with working(shared_engines.engine(), "a", "b") as (a, b):
        mine, other = a.connection.sessions, b.connection.sessions
        assert await mine.claim("key", "a") is None
        assert not await mine.deliver("key", "a", 1, 3)
        await begin_session(a)
        assert await mine.deliver("key", "a", 1, 3)
        assert await other.claim("key", "b") == StoredSession(b"new", 1, "a", 1, 3)
        assert not await mine.deliver("key", "a", 1, 9)
        assert not await mine.deliver("key", "a", 2, 9)
        assert not await other.deliver("key", "b", 1, 9)
        assert await other.deliver("key", "b", 2, 5)
        assert await other.deliver("key", "b", 2, 4)
        assert await mine.open("key", "a") == StoredSession(b"new", 1, "b", 2, 5)
        saved = await mine.save("key", "a", b"new", version=1, lifetime=LIFETIME)
        assert saved == Saved(2, frozenset({"b"}))
        await other.leave("key", "b")
        assert await mine.claim("key", "a") == StoredSession(b"new", 2, None, 2, 5)
        assert await mine.deliver("key", "a", 3, 6)
        claims = [worker.connection.sessions.claim("key", worker.name) for worker in (a, b) * 5]
        epochs = [found.epoch for found in await asyncio.gather(*claims) if found is not None]
        assert sorted(epochs) == [*range(3, 13)]


async def test_ended_session_cannot_be_written_again(shared_engines: SharedEngine) -> None:
    async with working(shared_engines.engine(), "a", "b") as (a, b):
        sessions, events = a.connection.sessions, a.connection.events
        assert await sessions.end("key", LIFETIME) is None
        await begin_session(a)
        await b.connection.sessions.open("key", "b")
        for stream in ("~", "other"):
            await events.append("key", stream, 1, [b"x"], lifetime=LIFETIME, end=stream != "~")
        assert await sessions.end("key", LIFETIME) == {"a", "b"}
        assert await sessions.end("key", LIFETIME) is None
        # Who did not hear the answer asks for it.
        assert await sessions.end("key", LIFETIME, again=True) == {"a", "b"}
        assert await sessions.open("key", "a") is None
        assert await sessions.claim("key", "a") is None
        assert not await sessions.deliver("key", "a", 1, 1)
        await sessions.leave("key", "b")
        await sessions.refresh(["key"], LIFETIME)
        for version in (0, 1, 2):
            saved = await sessions.save("key", "a", b"x", version=version, lifetime=LIFETIME)
            assert saved is None
        for stream, number in (("~", 2), ("~", 1), ("third", 0)):
            appended = await events.append("key", stream, number, [b"x"], lifetime=LIFETIME)
            assert (appended.accepted, appended.ended) == (False, True)
        for stream in ("~", "other", "third"):
            assert await read(a, stream, 0) == Events([], True)
            assert await read(a, stream, 1) is None


async def test_a_session_lapses_with_its_events_unless_it_is_refreshed(
    shared_engines: SharedEngine,
) -> None:
    async with working(shared_engines.engine(), "a") as a:
        sessions, events = a.connection.sessions, a.connection.events
        for key in ("short", "ended"):
            await begin_session(a, key, 0.3)
            await events.append(key, "~", 1, [b"x"], lifetime=0.3)
        await sessions.end("ended", 0.3)
        found: StoredSession | None = None
        # On a slow machine, it may lapse before it is refreshed.
        while found is None:
            await begin_session(a, "refreshed", 0.3)
            await events.append("refreshed", "~", 1, [b"x"], lifetime=0.3)
            await sessions.refresh(["unknown", "refreshed"], LIFETIME)
            found = await sessions.open("refreshed", "a")
        await asyncio.sleep(0.32)
        assert await sessions.open("refreshed", "a") == StoredSession(b"new", 1, "a", 1, 0)
        assert await read(a, "~", 0, "refreshed") == Events([Event(1, b"x")], False)
        for key in ("short", "ended"):
            assert await sessions.open(key, "a") is None
            assert await read(a, "~", 1, key) is None
            await begin_session(a, key)
            assert await read(a, "~", 0, key) == Events([], False)
            appended = await events.append(key, "~", 1, [b"y"], lifetime=LIFETIME)
            assert appended.accepted


# Events.


async def read(worker: Worker, stream: str, after: int, key: str = "key") -> Events | None:
    """Read events into a list for comparison."""
    found = await worker.connection.events.read(key, stream, after)
    return None if found is None else Events([*found.events], found.ended)


# The number that is given, how many events, whether it ends, and whether it is accepted.
APPENDS: tuple[tuple[tuple[int, int, bool, bool], ...], ...] = (
    ((0, 1, False, True), (1, 3, False, True), (4, 1, True, True), (5, 1, False, False)),
    ((1, 1, False, True), (1, 1, False, False), (3, 1, False, False), (2, 2, False, True)),
    ((2, 1, False, False), (-1, 1, False, False), (1, 2, False, True), (0, 1, False, False)),
    ((0, 1, False, True), (0, 1, False, False), (1, 0, True, True), (1, 1, True, False)),
    ((1, 0, True, True), (1, 1, False, False)),
    ((0, 700, False, True), (700, 1, True, True)),
)


async def test_events_are_appended_that_follow_the_last_one(shared_engines: SharedEngine) -> None:
    async with working(shared_engines.engine(), "a") as a:
        await begin_session(a)
        events = a.connection.events
        for row, appends in enumerate(APPENDS):
            stream, last, kept, ended = f"s{row}", 0, list[Event](), False
            for number, length, end, accepted in appends:
                with tables.case((row, number)):
                    messages = [f"{number + i}".encode() for i in range(length)]
                    if accepted:
                        kept += [Event(number + i, message) for i, message in enumerate(messages)]
                        last, ended = max(number + length - 1, 0), end
                    appended = await events.append(
                        "key", stream, number, messages, lifetime=LIFETIME, end=end
                    )
                    assert appended == Appended(accepted, last, ended, None)
                    for after in {-1, 0, last - 1, last}:
                        found = await read(a, stream, after)
                        wanted = [event for event in kept if event.number > after]
                        assert after > last or found == Events(wanted, ended)
                    assert await read(a, stream, last + 1) is None


async def test_of_writers_of_one_number_one_gets_through(shared_engines: SharedEngine) -> None:
    async with working(shared_engines.engine(), "a", "b", "c") as workers:
        await begin_session(workers[0])
        wins = list[Event]()
        for number in range(1, 9):
            tries = [(worker, f"{worker.name} {i}".encode()) for worker in workers for i in (1, 2)]
            outcomes = await asyncio.gather(
                *(
                    worker.connection.events.append("key", "~", number, [said], lifetime=LIFETIME)
                    for worker, said in tries
                )
            )
            assert {outcome.last for outcome in outcomes} == {number}
            (won,) = [i for i, outcome in enumerate(outcomes) if outcome.accepted]
            wins.append(Event(number, tries[won][1]))
        found = await read(workers[0], "~", 0)
        assert found == Events(wins, False)


async def test_an_event_is_any_bytes_and_may_be_large(shared_engines: SharedEngine) -> None:
    messages = [b"", bytes(range(256)), b"x" * 3_000_000]
    async with working(shared_engines.engine(), "a") as a:
        await begin_session(a)
        events = a.connection.events
        await events.append("key", "~", 1, messages, lifetime=LIFETIME)
        found = await read(a, "~", 0)
        assert found is not None and [event.message for event in found.events] == messages


async def test_the_oldest_events_of_a_long_stream_may_be_gone_which_is_said(
    shared_engines: SharedEngine,
) -> None:
    async with working(shared_engines.engine(max_events=10), "a") as a:
        await begin_session(a)
        events = a.connection.events
        for number in range(1, 301, 3):
            messages = [str(number + i).encode() for i in range(3)]
            assert (await events.append("key", "~", number, messages, lifetime=LIFETIME)).accepted
        assert await read(a, "~", 0) is None
        assert await read(a, "~", 289) is None
        kept = [Event(number, str(number).encode()) for number in range(291, 301)]
        assert await read(a, "~", 290) == Events(kept, False)


async def test_a_stream_keeps_a_thousand_events_by_default(shared_engines: SharedEngine) -> None:
    async with working(shared_engines.engine(), "a") as a:
        await begin_session(a)
        await a.connection.events.append("key", "~", 1, [b"x"] * 1003, lifetime=LIFETIME)
        assert await read(a, "~", 3) == Events([Event(n, b"x") for n in range(4, 1004)], False)


async def test_who_appends_learns_who_follows(shared_engines: SharedEngine) -> None:
    async with working(shared_engines.engine(), "a", "b") as (a, b):
        await begin_session(a)
        events, other = a.connection.events, b.connection.events
        for _ in range(2):
            await other.follow("key", "~", "b")
        assert await read(a, "~", -1) == Events([], False)
        appended = await events.append("key", "~", 1, [b"x"], lifetime=LIFETIME)
        assert appended == Appended(True, 1, False, "b")
        await events.follow("key", "~", "a")
        assert (await events.append("key", "~", 1, [b"y"], lifetime=LIFETIME)).last == 1
        appended = await events.append("key", "~", 2, [b"x"], lifetime=LIFETIME, end=True)
        assert appended == Appended(True, 2, True, "a")
        assert await read(a, "~", 1) == Events([Event(2, b"x")], True)


async def test_news_of_many_followed_streams_come_in_one_call(
    shared_engines: SharedEngine,
) -> None:
    async with working(shared_engines.engine(), "a", "b") as (a, b):
        events, other = a.connection.events, b.connection.events
        for key in ("key", "ended"):
            await begin_session(a, key)
            for stream in ("~", "b-0", "new"):
                await events.follow(key, stream, "a")
        for number in (1, 2):
            await other.append("key", "~", number, [b"x"], lifetime=LIFETIME)
        await other.append("key", "b-0", 0, [b"head"], lifetime=LIFETIME)
        seen = {("key", "~"): 2, ("key", "b-0"): 0, ("key", "new"): 0, ("ended", "~"): 0}
        assert [*await events.news({})] == []
        assert [*await events.news(seen)] == []
        assert {*await events.news({**seen, ("key", "~"): 1})} == {("key", "~")}
        await other.append("key", "b-0", 1, [], lifetime=LIFETIME, end=True)
        await b.connection.sessions.end("ended", LIFETIME)
        assert {*await events.news(seen)} == {("key", "b-0"), ("ended", "~")}


# Messages and changes.


async def test_messages_arrive_in_the_order_in_which_they_were_sent(
    shared_engines: SharedEngine,
) -> None:
    async with working(shared_engines.engine(), "a", "b", "c") as (a, b, c):
        mail = a.connection.mail
        assert await mail.send([]) == NOBODY
        messages = [("b", b"1"), ("gone", b"2"), ("c", b""), ("b", bytes(range(256))), ("a", b"5")]
        assert await mail.send(messages) == {"gone"}
        sent = [str(i).encode() for i in range(500)]
        outcomes = await asyncio.gather(*(mail.send([("b", content)]) for content in sent))
        assert {*outcomes} == {NOBODY}
        await until(lambda: len(b.messages) == 502 and c.messages and a.messages)
        assert b.messages == [b"1", bytes(range(256)), *sent]
        assert (a.messages, c.messages) == ([b"5"], [b""])
        assert a.gaps + b.gaps + c.gaps == 0


async def test_all_get_changes_in_one_order(shared_engines: SharedEngine) -> None:
    async with working(shared_engines.engine(), "a", "b", "c") as workers:

        async def publish(worker: Worker) -> None:
            for i in range(20):
                said = f"{worker.name} {i}".encode()
                await worker.connection.mail.publish([said, said + b"+"])

        await workers[0].connection.mail.publish([])
        await asyncio.gather(*(publish(worker) for worker in workers))
        await until(lambda: all(len(worker.changes) == 120 for worker in workers))
        assert workers[0].changes == workers[1].changes == workers[2].changes
        for worker in workers:
            own = [change for change in worker.changes if change.startswith(worker.name.encode())]
            names = (f"{worker.name} {i}{end}" for i in range(20) for end in ("", "+"))
            assert [change.decode() for change in own] == [*names]
            assert worker.gaps == 0


async def test_a_worker_hears_nothing_of_before_it_came(shared_engines: SharedEngine) -> None:
    engine = shared_engines.engine()
    async with working(engine, "a") as a:
        await a.connection.mail.publish([b"before"])
        async with working(engine, "b") as b:
            await a.connection.mail.publish([b"after"])
            await until(lambda: b.changes)
            assert b.heard == b.heard[:1] and b.changes == [b"after"]


async def test_who_is_asked_about_may_become_fewer_meanwhile(shared_engines: SharedEngine) -> None:
    async with working(shared_engines.engine(), "a", "b") as (a, _):
        workers = {"a", "b", "c"}
        asking = asyncio.create_task(a.connection.mail.alive(workers))
        await asyncio.sleep(0)
        workers.discard("b")
        assert await asking - {"b"} == {"a"}


async def test_a_worker_that_has_left_counts_as_gone_at_once(shared_engines: SharedEngine) -> None:
    engine = shared_engines.engine()
    async with working(engine, "a") as a:
        async with working(engine, "b") as b:
            assert await a.connection.mail.alive(["a", "b", "c"]) == {"a", "b"}
            assert a.connection.current and b.connection.current
        assert await a.connection.mail.alive(["a", "b", "c"]) == {"a"}
        assert await a.connection.mail.alive([]) == NOBODY
        assert await a.connection.mail.send([("b", b"x"), ("a", b"y")]) == {"b"}


async def test_a_name_that_nobody_can_have_is_that_of_nobody(shared_engines: SharedEngine) -> None:
    async with working(shared_engines.engine(), "a") as a:
        await begin_session(a)
        mail: Mail = a.connection.mail
        sessions: SessionStore = a.connection.sessions
        for name in ("\0", "a\0b", "\ud800", "}", "x" * 100_000):
            with tables.case(repr(name[:9])):
                sent, living, found, other = await asyncio.gather(
                    mail.send([(name, b"x"), ("a", b"y")]),
                    mail.alive([name, "a"]),
                    read(a, name, 1),
                    sessions.open("key", "a"),
                )
                assert sent == {name}
                assert living == {"a"}
                assert found is None
                assert other == StoredSession(b"new", 1, "a", 1, 0)
        await until(lambda: len(a.messages) == 5)


# Calls.


async def test_a_call_that_is_cancelled_disturbs_no_other(shared_engines: SharedEngine) -> None:
    async with working(shared_engines.engine(), "a") as a:
        await begin_session(a)
        events = a.connection.events
        for number in range(1, 20):
            calls = [
                asyncio.create_task(
                    events.append("key", f"s{i}", number, [b"x"], lifetime=LIFETIME)
                )
                for i in range(4)
            ]
            for _ in range(number % 5):
                await asyncio.sleep(0)
            calls[number % 4].cancel()
            outcomes = await asyncio.gather(*calls, return_exceptions=True)
            for i, outcome in enumerate(outcomes):
                if isinstance(outcome, asyncio.CancelledError):
                    assert i == number % 4
                    appended = await events.append(
                        "key", f"s{i}", number, [b"x"], lifetime=LIFETIME
                    )
                    assert appended.last == number
                else:
                    assert isinstance(outcome, Appended) and outcome.accepted


async def test_calls_that_are_under_way_when_a_worker_ends_are_answered_or_fail(
    shared_engines: SharedEngine,
) -> None:
    engine, calls = shared_engines.engine(), list[asyncio.Task[Any]]()
    async with working(engine, "a") as a:
        await begin_session(a)
        for number in range(200):
            append = a.connection.events.append("key", f"s{number}", 1, [b"x"], lifetime=LIFETIME)
            calls.append(asyncio.create_task(append))
            calls.append(asyncio.create_task(a.connection.mail.send([("a", b"x")])))
        await asyncio.sleep(0)
    for outcome in await asyncio.gather(*calls, return_exceptions=True):
        assert isinstance(outcome, (EngineUnavailable, Appended, frozenset))


def test_workers_of_several_loops_share_an_engine(shared_engines: SharedEngine) -> None:
    engine = shared_engines.engine()
    there, told = threading.Event(), threading.Event()

    async def other() -> None:
        heard = list[tuple[Delivery, int]]()
        receive: Receive = lambda one: heard.append((one, threading.get_ident()))  # noqa: E731
        async with engine.connect("b", 10.0, receive):
            there.set()
            await until(lambda: heard)
            assert heard == [(DirectMessage(b"1"), threading.get_ident())]
            told.set()

    async def first() -> None:
        async with working(engine, "a") as a:
            assert await asyncio.to_thread(there.wait, 30)
            await a.connection.mail.send([("b", b"1")])
            assert await asyncio.to_thread(told.wait, 30)

    with ThreadPoolExecutor() as threads:
        for done in [threads.submit(asyncio.run, run()) for run in (other, first)]:
            done.result()


# Trouble with the server.


def calls_of(connection: EngineConnection) -> dict[str, Callable[[], Awaitable[object]]]:
    """Return each thing that a worker asks of an engine."""
    sessions, events = connection.sessions, connection.events
    return {
        "open": lambda: sessions.open("key", "a"),
        "save": lambda: sessions.save("key", "a", b"x", version=9, lifetime=LIFETIME),
        "refresh": lambda: sessions.refresh(["key"], LIFETIME),
        "leave": lambda: sessions.leave("key", "z"),
        "end": lambda: sessions.end("unknown", LIFETIME),
        "claim": lambda: sessions.claim("unknown", "a"),
        "deliver": lambda: sessions.deliver("key", "a", 1, 0),
        "append": lambda: events.append("key", "~", 9, [b"x"], lifetime=LIFETIME),
        "read": lambda: events.read("key", "~", 0),
        "follow": lambda: events.follow("key", "~", "z"),
        "news": lambda: events.news({("key", "~"): 0}),
        "send": lambda: connection.mail.send([("nobody", b"x")]),
        "tasks": lambda: connection.tasks.get("unknown"),
        "alive": lambda: connection.mail.alive(["a"]),
        "publish": lambda: connection.mail.publish([b"x"]),
    }


async def all_fail(connection: EngineConnection) -> None:
    """Have each call fail in the way of engines."""
    for name, call in calls_of(connection).items():
        with tables.case(name), pytest.raises(EngineUnavailable):
            await call()


async def test_all_calls_fail_while_the_server_is_away_and_go_on_afterwards(
    remote: SharedEngine,
) -> None:
    async with working(remote.engine(), "a", lease=0.5) as a:
        await begin_session(a)
        await a.connection.events.append("key", "~", 1, [b"x"], lifetime=LIFETIME)
        remote.running.stop()
        try:
            await all_fail(a.connection)
            await until(lambda: not a.connection.current)
        finally:
            remote.running.start()
        await wait_for_engine(a.connection)
        await until(lambda: a.connection.current)
        # Before it was current again, it has learned that it may have missed something.
        assert a.gaps >= 1
        found = await a.connection.sessions.open("key", "a")
        assert found == StoredSession(b"new", 1, "a", 1, 0)
        found_events = await read(a, "~", 0)
        assert found_events == Events([Event(1, b"x")], False)
        for call in calls_of(a.connection).values():
            await call()
        await a.connection.mail.send([("a", b"message")])
        await until(lambda: a.messages)


async def test_a_change_comes_before_a_message_that_was_sent_later(
    shared_engines: SharedEngine,
) -> None:
    async with working(shared_engines.engine(), "a", "b") as (a, b):
        for number in range(20):
            await a.connection.mail.publish([b"%d" % number])
            await a.connection.mail.send([("b", b"%d" % number)])
        await until(lambda: len(b.messages) == 20)
        order = [(int(message.content), isinstance(message, DirectMessage)) for message in b.heard]
        assert all(order.index((n, False)) < order.index((n, True)) for n in range(20))


async def test_a_server_that_has_lost_everything_is_a_gap(remote: SharedEngine) -> None:
    async with working(remote.engine(), "a", "b", lease=3.0) as (a, b):
        await begin_session(a)
        await a.connection.mail.publish([b"1", b"2", b"3"])
        await until(lambda: len(b.changes) == 3)
        remote.running.stop(keep=False)
        remote.running.start()
        await wait_for_engine(a.connection)
        await until(lambda: a.gaps and b.gaps and a.connection.current and b.connection.current)
        assert await a.connection.sessions.open("key", "a") is None
        await begin_session(a)
        await a.connection.mail.publish([b"4"])
        await a.connection.mail.send([("b", b"5")])
        await until(lambda: len(b.changes) == 4 and b.messages)


async def test_a_silent_server_fails_calls_in_time(remote: SharedEngine) -> None:
    async with working(remote.engine(timeout=0.2), "a", lease=0.5) as a:
        await wait_for_engine(a.connection)
        remote.running.freeze()
        try:
            await all_fail(a.connection)
            outcomes = await asyncio.gather(
                *(a.connection.mail.alive(["a"]) for _ in range(50)), return_exceptions=True
            )
            assert {type(outcome) for outcome in outcomes} == {EngineUnavailable}
            await until(lambda: not a.connection.current)
        finally:
            remote.running.thaw()
        await wait_for_engine(a.connection)
        await until(lambda: a.connection.current)
        assert a.gaps >= 1


async def test_connections_that_were_ended_are_made_anew_and_nothing_is_lost_unsaid(
    remote: SharedEngine,
) -> None:
    async with working(remote.engine(), "a", "b") as (a, b):
        for number in range(5):
            await wait_for_engine(a.connection)
            await asyncio.to_thread(remote.running.disconnect)
            while True:
                try:
                    await a.connection.mail.send([("b", str(number).encode())])
                    break
                except EngineUnavailable:
                    await asyncio.sleep(0.02)
        await until(lambda: b.messages[-1:] == [b"4"])
        # A message that was not answered for may have been sent, and is sent again.
        assert b.gaps or sorted({*b.messages}) == [b"0", b"1", b"2", b"3", b"4"]
        await wait_for_engine(b.connection)


async def test_a_worker_that_is_cancelled_twice_leaves_no_connection(
    remote: SharedEngine,
) -> None:
    def sockets() -> int:
        gc.collect()
        links = (link for link in Path("/proc/self/fd").iterdir() if link.is_symlink())
        return sum("socket" in os.readlink(link) for link in links)

    async def work() -> None:
        async with working(remote.engine(), "a"):
            there.set()
            await asyncio.sleep(PATIENCE)

    there, before = asyncio.Event(), sockets()
    task = asyncio.create_task(work())
    await there.wait()
    remote.running.freeze()
    try:
        for _ in range(2):
            task.cancel()
            await asyncio.sleep(0.05)
        await asyncio.wait((task,))
    finally:
        remote.running.thaw()
    assert task.cancelled()
    # The error names its subject.
    del task
    await until(lambda: sockets() <= before)


async def test_an_engine_that_is_away_can_be_entered(remote: SharedEngine) -> None:
    remote.running.stop()
    try:
        async with working(remote.engine(), "a") as a:
            assert not a.connection.current
            await all_fail(a.connection)
            remote.running.start()
            await until(lambda: a.connection.current)
            assert a.gaps == 1
            await wait_for_engine(a.connection)
            await begin_session(a)
    finally:
        remote.running.start()


async def test_a_worker_that_is_not_heard_of_is_gone_and_knows_it(remote: SharedEngine) -> None:
    proxy = SlowProxy(remote.running.url)
    async with (
        proxy.running(),
        working(remote.engine(), "near") as near,
        working(remote.engine(url=proxy.url, timeout=0.4), "far", lease=0.6) as far,
    ):
        while not await near.connection.mail.alive(["far"]):
            await asyncio.sleep(0.02)
        proxy.delay = 3.0
        await until(lambda: not far.connection.current)
        while await near.connection.mail.alive(["far"]):
            await asyncio.sleep(0.02)
        assert not far.connection.current
        assert await near.connection.mail.send([("far", b"never")]) == {"far"}
        gaps, proxy.delay = far.gaps, 0.0
        await until(lambda: far.connection.current)
        assert far.gaps > gaps
        # On a slow machine, its lease may lapse once more.
        while await near.connection.mail.send([("far", b"again")]):
            await asyncio.sleep(0.02)
        await until(lambda: far.messages)
        assert far.messages == [b"again"]


async def test_a_slow_server_loses_no_order(remote: SharedEngine) -> None:
    proxy = SlowProxy(remote.running.url)
    async with proxy.running(), working(remote.engine(url=proxy.url), "a", "b") as (a, b):
        proxy.delay = 0.03
        sent = [str(i).encode() for i in range(30)]
        await begin_session(a)
        mail = a.connection.mail
        outcomes = await asyncio.gather(*(mail.send([("b", content)]) for content in sent))
        assert {*outcomes} == {NOBODY}
        await until(lambda: len(b.messages) == 30)
        assert b.messages == sent
        proxy.delay = 0.0


async def test_the_number_of_connections_does_not_grow_with_sessions(remote: SharedEngine) -> None:
    proxy = SlowProxy(remote.running.url)
    async with proxy.running(), working(remote.engine(url=proxy.url), "a") as a:
        await begin_session(a)

        async def use(number: int) -> None:
            await begin_session(a, f"k{number}")
            await a.connection.events.follow(f"k{number}", "~", "a")
            events = a.connection.events
            await events.append(f"k{number}", "~", 1, [b"x"], lifetime=LIFETIME)

        await asyncio.gather(*(use(number) for number in range(300)))
        assert proxy.connections <= 5


def test_an_engine_can_be_pickled_and_shows_no_password(remote: SharedEngine) -> None:
    url = urlsplit(remote.running.url)
    place = f"{url.hostname}:{url.port}"
    engine = remote.engine(url=f"{url.scheme}://user:s%40cret@{place}{url.path}")
    for text in (repr(engine), str(engine)):
        assert "cret" not in text and "user" not in text
        assert str(url.hostname) in text and str(url.port) in text
    assert repr(pickle.loads(pickle.dumps(engine))) == repr(engine)


@pytest.mark.skips_time
async def test_session_in_memory_lapses_at_the_end_of_its_lifetime() -> None:
    sessions = MemoryEngine().sessions
    await sessions.save("a", "worker", b"", version=0, lifetime=10.0)
    await asyncio.sleep(9.9)
    assert await sessions.open("a", "worker") is not None
    await sessions.refresh(["a"], 0.0)
    assert await sessions.open("a", "worker") is None


async def test_an_engine_of_others_may_make_its_own_gap() -> None:
    worker = SharedWorker(MemoryEngine(), 1.0, "a", LIFETIME, Tasks())
    vars(SharedWorker)["_receive"](worker, Gap())
    assert worker.gaps == 1
