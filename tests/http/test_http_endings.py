"""Ends over HTTP: of the server, of cut-off requests, and of idle sessions."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp_protogen.runtime.http.server.sessions import registry
from mcp_revisions import v2025_11_25 as mcp
from mcp_revisions.v2025_11_25.models import CallToolRequestParams
from support.http.fire import until, wait_until_idle
from support.http.serving import (
    POSTED,
    Session,
    Site,
    app_of,
    calling,
    outcome,
    run_app,
    serving,
    stateless_request,
    text_in,
)
from support.json_types import JsonObject
from support.revisions import ERAS, OLD
from support.sessions.talking import hello, pkg, request, run, tools
from support.tables import case

CHANGED = "notifications/tools/list_changed"
PROMPTS = "notifications/prompts/list_changed"
PROGRESS: JsonObject = {"_meta": {"progressToken": "p"}}


class HeldTool:
    """A tool that logs on request, and continues when released."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.go = asyncio.Event()

    async def __call__(self, session: mcp.Session, params: CallToolRequestParams) -> str:
        if params.name == "quick":
            return "quick"
        await session.progress(1, 2)
        self.begun.set()
        await self.go.wait()
        return "done"


def ours(call: Any, revision: str = OLD) -> Any:
    return tools(revision, call, SENDS=frozenset({CHANGED, PROMPTS}))


class Front:
    """A front of an application that can cut off requests, or leave responses unread."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self.tasks: list[asyncio.Task[None]] = []
        self.unread: dict[int, asyncio.Event] = {}
        self.waits = asyncio.Event()
        """Something cannot be written."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        number = len(self.tasks)

        async def sending(message: object) -> None:
            if number in self.unread:
                self.waits.set()
                await self.unread[number].wait()
            await send(message)

        task = asyncio.create_task(self.app(scope, receive, sending))
        self.tasks.append(task)
        await asyncio.wait([task])
        if not task.cancelled():
            task.result()

    async def cut(self) -> None:
        """Cancel the newest request's task, as a middleware with a time limit does."""
        task = self.tasks[-1]
        task.cancel()
        await asyncio.wait([task])

    def leave_unread(self, number: int) -> Callable[[], None]:
        """Stop reading responses until the result is called."""
        self.unread[number] = asyncio.Event()
        return self.unread[number].set


@asynccontextmanager
async def serve_with_front(servers: Any, **chosen: Any) -> AsyncGenerator[tuple[Site, Front], None]:
    """Serve all revisions over HTTP with a `Front`; `chosen` as in `app_of`."""
    app = app_of(servers, pkg.REVISIONS, **chosen)
    front = Front(app)
    async with run_app(front, lifespan="off") as port:
        try:
            async with calling(port) as site:
                site.app = app
                yield site, front
        finally:
            await app.close()


class TestShutdown:
    """Requests during the shutdown of a server are refused and start nothing."""

    async def test_all_that_would_begin_is_told_to_retry(self) -> None:
        wanted = {"toolsListChanged": True}
        rows: dict[str, Callable[[Site, Session], Any]] = {
            "a session": lambda site, _: site.post(hello()),
            "a request of a session": lambda _, session: session.call("quick", 2),
            "the stream of a session": lambda _, session: session.get(),
            "the end of a session": lambda _, session: session.delete(),
            "a request by itself": lambda site, _: site.modern("tools/call", name="quick"),
            "a listen stream": lambda site, _: site.modern_stream(
                "subscriptions/listen", notifications=wanted
            ),
            "a stream of the old transport": lambda site, _: site.get(path="/sse"),
        }
        for name, begin in rows.items():
            held = HeldTool()
            async with serving(ours(held), pkg.REVISIONS, drain=10, old_sse=True) as site:
                session = await site.initialize()
                under_way = asyncio.create_task(session.call("held"))
                await held.begun.wait()
                closing = asyncio.create_task(site.app.close())
                await asyncio.sleep(0)
                with case(name):
                    if "stream" in name:
                        async with begin(site, session) as events:
                            response = events.response
                    else:
                        response = await begin(site, session)
                    refused = response.status_code, response.headers["retry-after"]
                    assert refused == (503, "1")
                held.go.set()
                assert text_in(await under_way) == "done"
                await closing

    @pytest.mark.parametrize("sessions", [True, False])
    async def test_requests_outside_of_sessions_end_with_an_error_when_their_time_is_up(
        self, sessions: bool
    ) -> None:
        begun, cancelled = asyncio.Event(), asyncio.Event()

        async def waits(session: Any, params: Any) -> str:
            begun.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.set()
                raise
            return ""

        async with serving(ours(waits), pkg.REVISIONS, drain=0.01, sessions=sessions) as site:
            calling = (
                site.modern("tools/call", name="waits")
                if sessions
                else site.post(
                    request("tools/call", 1, name="waits"), {"mcp-protocol-version": OLD}
                )
            )
            under_way = asyncio.create_task(calling)
            await begun.wait()
            assert not cancelled.is_set()
            await site.app.close()
            await cancelled.wait()
            error = (await under_way).json()["error"]
            assert error["message"] == "The server is shutting down"

    async def test_token_of_what_comes_is_not_verified(self) -> None:
        held, verified = HeldTool(), list[str]()

        async def verify(token: str) -> Any:
            verified.append(token)
            return pkg.Principal("ada")

        guard = pkg.Authentication(verify=verify)
        headers = {"authorization": "Bearer x"}
        async with serving(ours(held), authentication=guard) as site:
            session = await site.initialize(headers=headers)
            under_way = asyncio.create_task(session.call("held"))
            await held.begun.wait()
            closing = asyncio.create_task(site.app.close())
            await asyncio.sleep(0)
            verified.clear()
            assert (await site.post(hello(), headers)).status_code == 503
            assert verified == []
            held.go.set()
            await asyncio.gather(under_way, closing)

    async def test_a_body_that_still_comes_is_refused_at_once(self) -> None:
        app: Any = app_of(ours(HeldTool()))
        async with run_app(app, lifespan="off") as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            host = b"host: localhost\r\ncontent-type: application/json\r\n"
            writer.write(b"POST /mcp HTTP/1.1\r\n%bcontent-length: 100\r\n\r\n{" % host)
            await until(lambda: app._running is not None)
            await app.close()
            assert b" 503 " in await asyncio.wait_for(reader.readline(), 10)
            writer.close()

    async def test_request_authenticated_after_close_is_not_started(self) -> None:
        asks, known = asyncio.Event(), asyncio.Event()

        async def verify(_: str) -> pkg.Principal:
            asks.set()
            await known.wait()
            return pkg.Principal("ada")

        guard = pkg.Authentication(verify=verify)
        async with serving(ours(HeldTool()), authentication=guard) as site:
            posting = asyncio.create_task(site.post(hello(), {"authorization": "Bearer t"}))
            await asks.wait()
            await site.app.close()
            known.set()
            assert (await posting).status_code == 503


class Clock:
    """The time of sessions, moved by the test."""

    def __init__(self) -> None:
        self.now = 1000.0
        self._later: list[tuple[float, Callable[[], None]]] = []

    def time(self) -> float:
        return self.now

    def call_later(self, after: float, call: Callable[[], None]) -> Any:
        entry = self.now + after, call
        self._later.append(entry)
        return Cancel(lambda: self._later.remove(entry))

    def pass_by(self, seconds: float) -> None:
        """Advance the time, and run what is due once."""
        self.now += seconds
        due = [entry for entry in self._later if entry[0] <= self.now]
        for entry in due:
            self._later.remove(entry)
            entry[1]()


class Cancel:
    """A stand-in for a timer."""

    def __init__(self, cancel: Callable[[], None]) -> None:
        self.cancel = cancel


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Generator[Clock, None, None]:
    """Sessions live by this clock."""
    one = Clock()
    monkeypatch.setattr(registry, "get_running_loop", lambda: one)
    yield one


class TestLifetime:
    """The lifetime of a session runs from the end of its latest activity."""

    @staticmethod
    async def pings(session: Session) -> int:
        return (await session.post(request("ping", 9))).status_code

    async def test_session_lifetime_runs_from_end_of_request(self, clock: Clock) -> None:
        held = HeldTool()
        async with serving(ours(held), session_lifetime=100) as site:
            session = await site.initialize()
            under_way = asyncio.create_task(session.call("held"))
            await held.begun.wait()
            clock.pass_by(150)
            held.go.set()
            await under_way
            await wait_until_idle(site.app)
            clock.pass_by(90)
            assert await self.pings(session) == 200

    async def test_session_expires_after_stream(self, clock: Clock) -> None:
        for seconds, status in ((90, 200), (150, 404)):
            async with serving(ours(HeldTool()), session_lifetime=100) as site:
                session = await site.initialize()
                async with session.get():
                    clock.pass_by(150)
                await wait_until_idle(site.app)
                clock.pass_by(seconds)
                with case(seconds):
                    assert await self.pings(session) == status

    async def test_the_one_whose_stream_ended_last_does_not_make_room(self) -> None:
        async with serving(ours(HeldTool()), max_sessions=2) as site:
            listens = await site.initialize()
            async with listens.get():
                idle = await site.initialize()
            await wait_until_idle(site.app)
            await site.initialize()
            assert [await self.pings(idle_session) for idle_session in (listens, idle)] == [
                200,
                404,
            ]


async def call(site: Site, session: Session) -> Any:
    return session.calling("held", 7, **PROGRESS)


async def stateless_call(site: Site, session: Session) -> Any:
    meta: JsonObject = {"progressToken": "p"}
    message, headers = stateless_request("tools/call", 7, name="held")
    message["params"]["_meta"] |= meta
    return site.stream(message, headers)


async def listen(site: Site, session: Session) -> Any:
    wanted = {"toolsListChanged": True}
    return site.modern_stream("subscriptions/listen", id=7, notifications=wanted)


async def get(site: Site, session: Session) -> Any:
    return session.get()


async def old_sse(site: Site, session: Session) -> Any:
    return site.get(path="/sse")


Opening = Callable[[Site, Session], Coroutine[Any, Any, Any]]

OPENINGS = pytest.mark.parametrize("opening", [call, stateless_call, listen, get, old_sse])


class TestCutOff:
    """A server may cancel a request's task: nothing of it remains."""

    @staticmethod
    async def cut_off(site: Site, front: Front, session: Session, opening: Opening) -> None:
        """Open a stream, and cut it off after its first event."""
        async with await opening(site, session) as events:
            assert await events.event() is not None
            await front.cut()

    @OPENINGS
    async def test_cut_off_leaves_nothing_open(self, opening: Opening) -> None:
        async with serve_with_front(ours(HeldTool()), old_sse=True) as (site, front):
            session = await site.initialize()
            await self.cut_off(site, front, session, opening)
            await wait_until_idle(site.app)

    async def test_the_id_of_the_request_may_be_used_again(self) -> None:
        async with serve_with_front(ours(HeldTool())) as (site, front):
            session = await site.initialize()
            await self.cut_off(site, front, session, call)
            assert text_in(await session.call("quick", 7)) == "quick"

    async def test_the_session_counts_as_idle(self) -> None:
        async with serve_with_front(ours(HeldTool()), max_sessions=1) as (site, front):
            session = await site.initialize()
            await self.cut_off(site, front, session, call)
            await wait_until_idle(site.app)
            assert (await site.post(hello())).status_code == 200

    async def test_notification_after_session_stream_waits_for_next(self) -> None:
        server = ours(HeldTool())
        async with serve_with_front(server) as (site, front):
            session = await site.initialize()
            await self.cut_off(site, front, session, get)
            await wait_until_idle(site.app)
            await server.tools_list_changed()
            async with session.get() as events:
                assert (await events.take())["method"] == CHANGED

    async def test_a_request_that_was_not_answered_yet_in_json_is_cut_off_as_well(self) -> None:
        held = HeldTool()
        async with serve_with_front(ours(held)) as (site, front):
            session = await site.initialize()
            under_way = asyncio.create_task(session.call("held", 7))
            await held.begun.wait()
            await front.cut()
            assert (await under_way).status_code == 500
            await wait_until_idle(site.app)
            assert outcome(await session.call("quick", 7)) == (200, None)


class TestUnread:
    """Clients that resume while their old connection is stuck."""

    async def test_who_comes_back_twice_gets_the_answer_and_the_end_each_time(self) -> None:
        held = HeldTool()
        async with serve_with_front(ours(held)) as (site, front):
            session = await site.initialize()
            async with session.calling("held", 7, **PROGRESS) as stuck:
                first = await stuck.event()
                assert first is not None
                read = front.leave_unread(len(front.tasks) - 1)
                async with session.get(first.id) as events:
                    await front.waits.wait()
                    held.go.set()
                    once = await events.all()
                async with session.get(first.id) as events:
                    again = await events.all()
                read()
            assert [event.message.get("id") for event in again if event.data][-1] == 7
            assert [event.data for event in again] == [event.data for event in once]

    async def test_waiting_notification_goes_to_newest_of_two_streams(self) -> None:
        server = ours(HeldTool())
        async with serve_with_front(server, resumable=False) as (site, front):
            session = await site.initialize()
            await server.tools_list_changed()
            read = front.leave_unread(len(front.tasks))
            opening = asyncio.create_task(self.read_stream(session))
            await front.waits.wait()
            async with session.get() as events:
                assert (await events.take())["method"] == CHANGED
                read()
                await opening

    async def test_waiting_notification_precedes_later_ones(self) -> None:
        server = ours(HeldTool())
        async with serve_with_front(server, resumable=False) as (site, front):
            session = await site.initialize()
            await server.tools_list_changed()
            read = front.leave_unread(len(front.tasks))
            opening = asyncio.create_task(self.read_stream(session, 2))
            await front.waits.wait()
            await server.prompts_list_changed()
            read()
            assert [message["method"] for message in await opening] == [CHANGED, PROMPTS]

    @staticmethod
    async def read_stream(session: Session, messages: int = 0) -> list[Any]:
        """Open the stream of a session, and take some messages or all."""
        async with session.get() as events:
            if not messages:
                return await events.all()
            return [await events.take() for _ in range(messages)]


@pytest.mark.parametrize("revision", ERAS)
def test_an_application_serves_in_one_loop_after_another(revision: str) -> None:
    async def quick(session: mcp.Session, params: CallToolRequestParams) -> str:
        await session.progress(1, 1)
        return "quick"

    app = app_of(ours(quick, revision), pkg.REVISIONS)

    async def script() -> None:
        async with run_app(app, lifespan="off") as port, calling(port) as site:
            session = await site.initialize()
            async with session.calling("quick", **PROGRESS) as events:
                said = [event.message for event in await events.all() if event.data]
            assert said[-1]["result"]["content"][0]["text"] == "quick"

    run(script())
    run(script())


async def test_request_with_body_after_close_is_not_started() -> None:
    entered: list[str] = []

    class Counting(mcp.Server):
        info = mcp.models.Implementation(name="counting", version="1")

        @asynccontextmanager
        async def lifespan(self) -> AsyncGenerator[None, None]:
            entered.append("in")
            yield

    sent, go = asyncio.Event(), asyncio.Event()
    body = json.dumps(hello()).encode()

    async def pieces() -> AsyncGenerator[bytes, None]:
        yield body[:1]
        sent.set()
        await go.wait()
        yield body[1:]

    async with serving(Counting) as site:
        slow = asyncio.create_task(site.http.post("/mcp", content=pieces(), headers=POSTED))
        await sent.wait()
        # Later readers find the first piece read.
        assert (await site.post(hello())).status_code == 200
        assert site.app is not None
        await site.app.close()
        go.set()
        assert (await slow).status_code == 503
    assert entered == ["in"]
