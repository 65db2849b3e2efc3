"""Limits of each principal beside the total: a greedy one is refused alone."""

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import httpx2
import pytest
from mcp_protogen.runtime.core.quotas import NoRoom, Quota
from mcp_protogen.runtime.http.server.options import quota_of
from mcp_revisions.v2025_11_25 import Session
from mcp_revisions.v2025_11_25.models import CallToolRequestParams
from support.auth.guarding import ADA, BEN, GUARD
from support.http.serving import Session as Client
from support.http.serving import app_of, serving, text_in
from support.json_types import JsonObject
from support.revisions import OLD, STATELESS
from support.sessions.talking import hello, notification, pkg, request, tools
from support.sharing.faults import Engine, shared_by
from support.tables import case


class Waiting:
    """A handler of calls that waits until released."""

    def __init__(self) -> None:
        self.waiting = 0
        self.go = asyncio.Event()

    async def call(self, session: Session, params: CallToolRequestParams) -> str:
        if params.name == "wait":
            self.waiting += 1
            await self.go.wait()
        return str(params.name)

    async def all_wait(self, number: int) -> None:
        while self.waiting < number:
            await asyncio.sleep(0.005)


def serve(server: Any, waiting: Waiting | None = None, **chosen: Any) -> Any:
    """Serve a server, or that of a revision, whose clients show tokens."""
    if isinstance(server, str):
        server = tools(server, (waiting or Waiting()).call)
    return serving(server, authentication=GUARD, **chosen)


def check_refused(response: httpx2.Response, option: str) -> None:
    assert response.status_code == 429
    assert int(response.headers["retry-after"]) > 0
    error = response.json()["error"]
    assert (error["code"], f"of one principal; see {option}" in error["message"]) == (-32600, True)


class TestRequests:
    async def test_principal_with_too_many_calls_in_sessions_is_refused_alone(self) -> None:
        waiting = Waiting()
        async with serve(OLD, waiting, max_requests=4, max_requests_per_principal=2) as site:
            adas = [await site.initialize(headers=ADA) for _ in range(3)]
            calls = [asyncio.create_task(session.call("wait")) for session in adas[:2]]
            await waiting.all_wait(2)
            check_refused(await adas[2].call("x"), "max_requests_per_principal")
            bens = await site.initialize(headers=BEN)
            assert text_in(await bens.call("x")) == "x"
            waiting.go.set()
            assert [text_in(await task) for task in calls] == ["wait"] * 2
            assert text_in(await adas[2].call("x")) == "x"

    async def test_limit_of_a_principal_is_named_before_that_of_its_session(self) -> None:
        waiting = Waiting()
        async with serve(OLD, waiting, max_requests_per_principal=2, max_in_flight=2) as site:
            session = await site.initialize(headers=ADA)
            calls = [asyncio.create_task(session.call("wait", id)) for id in (1, 2)]
            await waiting.all_wait(2)
            check_refused(await session.call("x", 3), "max_requests_per_principal")
            waiting.go.set()
            assert [text_in(await task) for task in calls] == ["wait"] * 2

    async def test_answers_and_cancellations_need_no_place(self) -> None:
        waiting = Waiting()
        server = tools(OLD, waiting.call, on_cancelled=ignore)
        async with serve(server, max_requests=1) as site:
            session = await site.initialize(headers=ADA)
            call = asyncio.create_task(session.call("wait"))
            await waiting.all_wait(1)
            answer: JsonObject = {"jsonrpc": "2.0", "id": 7, "result": {}}
            for message in (answer, notification("notifications/cancelled", requestId=1)):
                with case(message):
                    assert (await session.post(message)).status_code == 202
            assert (await call).status_code == 200

    async def test_clients_without_tokens_share_the_limit_in_all(self) -> None:
        waiting = Waiting()
        server = tools(STATELESS, waiting.call)
        async with serving(server, max_requests=3, max_requests_per_principal=1) as site:

            async def call(name: str, address: str) -> httpx2.Response:
                where: JsonObject = {"x-forwarded-for": address, "forwarded": f"for={address}"}
                return await site.modern("tools/call", name=name, headers=where)

            # The header fields say who they are, which any client could invent.
            calls = [asyncio.create_task(call("wait", f"10.0.0.{number}")) for number in (1, 1, 2)]
            await waiting.all_wait(3)
            assert (await call("x", "10.0.0.3")).status_code == 503
            waiting.go.set()
            assert [text_in(await task) for task in calls] == ["wait"] * 3

    async def test_route_with_tokens_counts_for_its_principal(self) -> None:
        waiting = Waiting()

        async def slow(request: Any) -> str:
            waiting.waiting += 1
            await waiting.go.wait()
            return str(request.principal.id)

        route = pkg.Route("/slow", slow, authenticated=True)
        app = app_of(
            tools(OLD, waiting.call),
            authentication=GUARD,
            max_requests_per_principal=1,
            routes=[route],
        )
        client = httpx2.AsyncClient(
            transport=httpx2.ASGITransport(app), base_url="http://localhost"
        )
        async with client:
            first = asyncio.create_task(client.get("/slow", headers=ADA))
            await waiting.all_wait(1)
            check_refused(await client.get("/slow", headers=ADA), "max_requests_per_principal")
            second = asyncio.create_task(client.get("/slow", headers=BEN))
            await waiting.all_wait(2)
            waiting.go.set()
            assert [(await task).text for task in (first, second)] == ["ada", "ben"]
        await app.close()

    async def test_calls_count_while_the_engine_is_asked_before_they_begin(self) -> None:
        engine, waiting = Engine(), Waiting()
        server = tools(OLD, waiting.call, on_roots_list_changed=ignore)
        chosen: JsonObject = {"shared": shared_by(engine), "revisions": pkg.REVISIONS}
        async with serve(server, max_requests_per_principal=1, **chosen) as site:
            session = await site.initialize("2025-03-26", headers=ADA)
            changed = notification("notifications/roots/list_changed")
            call = request("tools/call", 1, name="x")
            for message, taken in ((changed, 202), ([changed, call], 200)):
                with case(taken):
                    engine.calls.clear()
                    held = engine.block("sessions.save")
                    first = asyncio.create_task(session.post(message))
                    while "sessions.save" not in engine.calls:
                        await asyncio.sleep(0.005)
                    check_refused(await session.post(message), "max_requests_per_principal")
                    del engine.held["sessions.save"]
                    held.set()
                    assert (await first).status_code == taken


async def ignore(*_: object) -> None:
    """Handle a notification, which says nothing."""


class TestSessions:
    async def test_new_session_ends_the_idle_one_of_the_same_principal(self) -> None:
        async with serve(OLD, max_sessions=9, max_sessions_per_principal=2) as site:
            bens = await site.initialize(headers=BEN)
            first, second = [await site.initialize(headers=ADA) for _ in range(2)]
            assert text_in(await first.call("x")) == "x"
            third = await site.initialize(headers=ADA)
            sessions = (bens, first, second, third)
            assert [(await session.call("x")).status_code for session in sessions] == [
                200,
                200,
                404,
                200,
            ]
            # Finished requests do not count.
            assert (await first.delete()).status_code == 204
            await site.initialize(headers=ADA)
            assert (await third.call("x")).status_code == 200

    async def test_principal_without_idle_sessions_is_refused_alone(self) -> None:
        async with serve(OLD, max_sessions=9, max_sessions_per_principal=2) as site:
            first, second = [await site.initialize(headers=ADA) for _ in range(2)]
            async with first.get(), second.get():
                check_refused(await site.post(hello(), ADA), "max_sessions_per_principal")
                assert (await site.post(hello(), BEN)).status_code == 200
            while (await site.post(hello(), ADA)).status_code == 429:
                await asyncio.sleep(0.01)
            assert len(site.app._running.state.sessions) == 3

    async def test_principal_who_begins_as_many_as_there_may_be_ends_only_its_own(self) -> None:
        async with serve(OLD, max_sessions=8) as site:
            bens = await site.initialize(headers=BEN)
            for _ in range(20):
                await site.initialize(headers=ADA)
            assert len(site.app._running.state.sessions) == 3
            assert text_in(await bens.call("x")) == "x"

    async def test_expired_sessions_count_no_more(self) -> None:
        async with serve(OLD, max_sessions_per_principal=1, session_lifetime=0.05) as site:
            await site.initialize(headers=ADA)
            while len(site.app._running.state.sessions):
                await asyncio.sleep(0.01)
            session = await site.initialize(headers=ADA)
            async with session.get():
                check_refused(await site.post(hello(), ADA), "max_sessions_per_principal")

    async def test_sessions_of_clients_without_tokens_count_in_all_alone(self) -> None:
        async with serving(
            tools(OLD, Waiting().call), max_sessions=3, max_sessions_per_principal=1
        ) as site:
            sessions = [await site.initialize() for _ in range(4)]
            found = [(await session.call("x")).status_code for session in sessions]
            assert found == [404, 200, 200, 200]

    async def test_worker_lets_go_of_a_copy_of_the_same_principal(self) -> None:
        shared = pkg.Shared(engine=pkg.MemoryEngine())
        chosen: JsonObject = {"shared": shared, "max_sessions": 9, "max_sessions_per_principal": 1}
        async with serve(OLD, **chosen) as site, serve(OLD, **chosen) as other:
            bens, first = await site.initialize(headers=BEN), await site.initialize(headers=ADA)
            second = await site.initialize(headers=ADA)
            assert len(site.app._running.state.sessions) == 2
            for session in (bens, first, second):
                # It continues at any worker.
                for where in (site, other):
                    asked = Client(where, OLD, session.id, session.headers)
                    assert text_in(await asked.call("x")) == "x"


class TestStreams:
    async def test_streams_of_sessions_are_limited_for_each_principal(self) -> None:
        async with serve(OLD, max_streams_per_principal=1) as site:
            first, second = [await site.initialize(headers=ADA) for _ in range(2)]
            bens = await site.initialize(headers=BEN)
            async with first.get(), bens.get() as events, second.get() as refused:
                assert events.response.status_code == 200
                assert refused.response.status_code == 429
            async with second.get() as events:
                assert events.response.status_code == 200

    async def test_streams_count_while_the_engine_is_asked_before_they_begin(self) -> None:
        engine = Engine()
        async with serve(OLD, max_streams_per_principal=1, shared=shared_by(engine)) as site:
            first, second = [await site.initialize(headers=ADA) for _ in range(2)]
            held = engine.block("sessions.claim")
            async with asyncio.TaskGroup() as tasks, AsyncExitStack() as stack:
                opened = tasks.create_task(stack.enter_async_context(first.get()))
                while "sessions.claim" not in engine.calls:
                    await asyncio.sleep(0.005)
                async with second.get() as refused:
                    assert refused.response.status_code == 429
                held.set()
                assert (await opened).response.status_code == 200

    async def test_listen_streams_count_while_middleware_runs_before_they_begin(self) -> None:
        begun, go = asyncio.Event(), asyncio.Event()

        async def slow(call: Any, go_on: Any) -> Any:
            begun.set()
            await go.wait()
            return await go_on(call)

        server = tools(STATELESS, Waiting().call, middleware=(slow,))
        wanted = {"notifications": {"toolsListChanged": True}}
        async with serve(server, max_streams_per_principal=1) as site:

            def listen() -> Any:
                return site.modern_stream("subscriptions/listen", headers=ADA, **wanted)

            async with asyncio.TaskGroup() as tasks, AsyncExitStack() as stack:
                opened = tasks.create_task(stack.enter_async_context(listen()))
                await begun.wait()
                async with listen() as refused:
                    assert refused.response.status_code == 429
                go.set()
                assert (await opened).response.status_code == 200

    async def test_listen_streams_are_limited_for_each_principal(self) -> None:
        async with serve(STATELESS, max_streams_per_principal=1) as site, AsyncExitStack() as stack:
            wanted = {"notifications": {"toolsListChanged": True}}

            async def listen(who: JsonObject) -> int:
                opened = site.modern_stream("subscriptions/listen", headers=who, **wanted)
                return int((await stack.enter_async_context(opened)).response.status_code)

            assert [await listen(who) for who in (ADA, ADA, BEN)] == [200, 429, 200]
            # They are not requests in progress.
            requests = site.app._running.state.requests
            assert (requests.used, dict(requests._used_by)) == (0, {})
        assert (requests.used, dict(requests._used_by)) == (0, {})


class TestEvents:
    async def test_events_of_one_principal_leave_those_of_others(self) -> None:
        engine = pkg.MemoryEngine(max_bytes=9_000, max_bytes_per_principal=3_000)
        store: Any = engine.events

        async def say(session: Session, params: CallToolRequestParams) -> str:
            for _ in range(5):
                await session.log("info", "x" * 50)
            return "x"

        server, shared = tools(OLD, say, SENDS={"notifications/message"}), pkg.Shared(engine=engine)
        async with serving(server, shared=shared, authentication=GUARD) as site:
            bens, adas = await site.initialize(headers=BEN), await site.initialize(headers=ADA)
            last = await first_event(bens)
            for _ in range(30):
                await first_event(adas)
            assert store._quota.used <= 6_000
            async with bens.get(last) as events:
                assert events.response.status_code == 200
            for session in (adas, bens):
                await session.delete()
            assert store._quota.used == 0
            assert not store._owners and not store._orders

    async def test_owner_loses_the_stream_that_has_been_quiet_for_longest(self) -> None:
        events = pkg.MemoryEngine(max_bytes=10_000, max_bytes_per_principal=1_000).events
        for key, owner in (("a", "ada"), ("b", "ben")):
            events.set_owner(key, owner)
        for key, stream in (("b", "1"), ("c", "1"), ("a", "1"), ("a", "2"), ("a", "3")):
            await events.append(key, stream, 1, [b"x" * 200], lifetime=9)
        assert await events.read("a", "1", 0) is None
        for key, stream in (("a", "2"), ("a", "3"), ("b", "1"), ("c", "1")):
            assert await events.read(key, stream, 0) is not None


async def first_event(session: Any) -> str:
    """Return the id of the first event of a call that is answered by a stream."""
    async with session.calling("x") as events:
        ids = [event.id for event in await events.all()]
    return str(ids[0])


class TestQuota:
    def test_limits_that_would_break_are_told_with_the_excess(self) -> None:
        quota = Quota(10, 6)
        quota.take("ada", 5)
        quota.take(None, 4)
        rows: list[tuple[str | None, int, list[tuple[str | None, int]]]] = [
            ("ada", 1, []),
            ("ada", 3, [("ada", 2), (None, 2)]),
            ("ben", 1, []),
            ("ben", 2, [(None, 1)]),
            (None, 1, []),
            (None, 7, [(None, 6)]),
        ]
        for owner, amount, excesses in rows:
            with case((owner, amount)):
                assert list(quota.excesses(owner, amount)) == excesses
        quota.give_back("ada", 5)
        quota.give_back(None, 4)
        assert (quota.used, quota._used_by) == (0, {})  # pyright: ignore[reportPrivateUsage]

    def test_take_beyond_quota_is_refused_without_eviction(self) -> None:
        quota, lacking = Quota(10, 6, name="max_streams"), list[tuple[str | None, int]]()
        quota.take("ada", 6)
        with pytest.raises(NoRoom) as refused:
            quota.require("ada")
        assert (refused.value.quota, refused.value.owner) == ("max_streams", "ada")

        def free(owner: str | None, amount: int) -> bool:
            lacking.append((owner, amount))
            return owner is not None

        quota.require("ada", 2, free)
        with pytest.raises(NoRoom) as refused:
            quota.require("ada", 5, free)
        assert refused.value.owner is None
        assert lacking == [("ada", 2), ("ada", 5), (None, 1)]


def test_usual_options_leave_room_for_others() -> None:
    options = pkg.HttpOptions()
    for name in ("max_sessions", "max_bodies", "max_requests", "max_streams"):
        with case(name):
            assert getattr(options, f"{name}_per_principal") is None
            quota = quota_of(options, name)
            most = getattr(options, name)
            assert list(quota.excesses("ada", most // 4)) == []
            assert [limited for limited, _ in quota.excesses("ada", most // 4 + 1)] == ["ada"]
