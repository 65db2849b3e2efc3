"""Several processes behind one address: features that work at once, and those that need help."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import cycle
from typing import Any

from mcp_revisions import v2025_11_25 as mcp
from mcp_revisions.v2025_11_25.models import CallToolRequestParams
from support.engines import redis_running
from support.http.serving import (
    WORKER,
    Events,
    Session,
    Site,
    app_of,
    calling,
    outcome,
    run_app,
    start_module,
    text_in,
)
from support.json_types import JsonObject
from support.revisions import STATELESS
from support.sessions.talking import content_of, models, pkg, request, run, tools

UPDATED = "notifications/resources/updated"


async def pid_of(site: Site) -> str:
    """The process that answers a new connection."""
    fields = {"connection": "close"}
    return text_in(await site.modern("tools/call", name="who", headers=fields))


async def publish(site: Site, pid: str) -> None:
    """Make one of the processes publish its own change."""
    said = ""
    while said != pid:
        answer = await site.modern(
            "tools/call", name="publish", arguments={"pid": pid}, headers={"connection": "close"}
        )
        said = text_in(answer)


def test_two_workers_share_the_requests_of_the_stateless_era() -> None:
    arguments = ["uvicorn", WORKER, "--port", "PORT", "--workers", "2"]

    async def script() -> None:
        async with start_module(*arguments) as process, calling(process.port) as site:
            pids: set[str] = set()
            while len(pids) < 2:
                pids |= set(await asyncio.gather(*(pid_of(site) for _ in range(8))))
            await each_stream_hears_its_own_worker(site, sorted(pids))

    run(script(), 40)


async def each_stream_hears_its_own_worker(site: Site, pids: list[str]) -> None:
    """A listen stream only gets changes that its own process publishes.

    A server with several workers must publish in each of them, such as by a message bus.
    """
    uris = [f"file:///{pid}" for pid in pids]
    async with AsyncExitStack() as stack:
        streams: list[Events] = [
            await stack.enter_async_context(site.listening(number, resourceSubscriptions=uris))
            for number in range(8)
        ]
        for pid in pids * 2:
            await publish(site, pid)
        heard = [[(await stream.take())["params"]["uri"] for _ in range(2)] for stream in streams]
        # One that heard of both would have heard of one, and then of the other.
        assert all(first == second for first, second in heard)
        assert {first for first, _ in heard} <= set(uris)


class Router:
    """A router that sends a session to its application, and other requests in turn."""

    def __init__(self, *apps: Any) -> None:
        self._apps = cycle(apps)
        self._home: dict[bytes, Any] = {}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        id = dict(scope["headers"]).get(b"mcp-session-id", b"")
        app = self._home.get(id) or next(self._apps)

        async def noting(message: Any) -> None:
            for name, value in message.get("headers", ()):
                if name == b"mcp-session-id":
                    self._home[value] = app
            await send(message)

        await app(scope, receive, noting)


async def test_sessions_work_behind_a_router_that_keeps_each_at_its_place() -> None:
    async def asks(session: mcp.Session, params: CallToolRequestParams) -> str:
        return str(len((await session.list_roots()).roots))

    servers = [tools("2025-11-25", asks, SENDS={UPDATED}) for _ in range(2)]
    apps = [app_of(server) for server in servers]
    async with run_app(Router(*apps), lifespan="off") as port, calling(port) as site:
        sessions = [await site.initialize(roots={}) for _ in range(4)]
        assert [len(server.sessions) for server in servers] == [2, 2]
        for session in sessions:
            async with session.calling("x") as events:
                asked = await events.take()
                roots = {"roots": [{"uri": "file:///r"}]}
                await session.post({"jsonrpc": "2.0", "id": asked["id"], "result": roots})
                assert (await events.take())["result"]["content"][0]["text"] == "1"
        for app in apps:
            await app.close()


def roots_answer(asked: Any, *uris: str) -> JsonObject:
    """The answer to a question for roots."""
    roots = [{"uri": uri} for uri in uris]
    return {"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": roots}}


@asynccontextmanager
async def two_places(call: Any) -> AsyncGenerator[tuple[Site, Site], None]:
    """Two applications that share their sessions, as two processes would."""
    shared = pkg.Shared(engine=pkg.MemoryEngine())
    apps = [app_of(tools("2025-11-25", call), shared=shared) for _ in range(2)]
    async with run_app(apps[0]) as here, run_app(apps[1]) as there:
        async with calling(here) as site, calling(there) as elsewhere:
            yield site, elsewhere
        for app in apps:
            await app.close()


async def asks_for_roots(session: mcp.Session, params: CallToolRequestParams) -> str:
    return str(len((await session.list_roots(on_progress=print)).roots))


async def test_an_answer_that_comes_to_another_process_is_taken_to_who_has_asked() -> None:
    async with two_places(asks_for_roots) as (site, elsewhere):
        session = await site.initialize(roots={})
        other = Session(elsewhere, session.revision, session.id, {})
        async with session.calling("x", 1) as events, other.calling("x", 2) as others:
            asked, asked_there = await events.take(), await others.take()
            tokens = {
                question["params"]["_meta"]["progressToken"] for question in (asked, asked_there)
            }
            assert tokens == {asked["id"], asked_there["id"]}
            assert len(tokens) == 2
            # Some clients turn numeric strings into numbers.
            assert all(token[0].isalpha() and len(token) < 16 for token in tokens)
            stray = await other.post(roots_answer(asked, "file:///1"))
            assert stray.status_code == 202
            assert (await events.take())["result"]["content"][0]["text"] == "1"
            # A second answer has no receiver.
            await session.post(roots_answer(asked, "file:///1", "file:///2"))
            await other.post(roots_answer(asked_there))
            assert (await others.take())["result"]["content"][0]["text"] == "0"


def test_two_processes_that_share_an_engine_need_no_such_router() -> None:
    arguments = ["uvicorn", WORKER, "--port", "PORT"]

    async def script() -> None:
        with redis_running() as redis:
            await two_processes({"WORKER_REDIS": redis.url})

    async def two_processes(environment: dict[str, str]) -> None:
        async with (
            start_module(*arguments, environment=environment) as one,
            start_module(*arguments, environment=environment) as two,
            calling(one.port) as here,
            calling(two.port) as there,
        ):
            await wandering(here, there)

    run(script(), 40)


async def wandering(here: Site, there: Site) -> None:
    """One session whose requests come to either process in turn."""
    places = cycle([there, here])
    session = await here.initialize(roots={})

    def on() -> Any:
        session.site = next(places)
        return session

    assert len({text_in(await on().call("who", id)) for id in range(4)}) == 2
    level = request("logging/setLevel", 5, level="error")
    assert outcome(await on().post(level)) == (200, None)
    # Both can replay each other's events, and settings of one apply at the other.
    ids: list[str | None] = []
    for id in (6, 7):
        async with on().calling("says", id) as events:
            seen = await events.all()
        assert [event.message.get("id") for event in seen if event.data] == [None, id]
        ids += [event.id for event in seen]
        async with on().get(seen[0].id) as events:
            again = await events.all()
        assert [event.data for event in again] == [event.data for event in seen[1:]]
        session.site = next(places)
    for _ in range(4):
        async with on().get() as events:
            first = await events.event()
            assert first is not None
            ids.append(first.id)
    assert len(set(ids)) == len(ids)
    assert (await on().delete()).status_code == 204
    for _ in range(2):
        assert (await on().call("who")).status_code == 404


async def test_a_question_inside_a_result_may_be_answered_at_another_process() -> None:
    async def asks(session: mcp.Session, params: CallToolRequestParams) -> str:
        m = models(STATELESS)
        message = m.SamplingMessage(role="user", content=m.TextContent(text="?"))
        answer = await session.create_message([message], 1)
        return str(content_of(answer).text)

    key = b"k" * 32
    meta: JsonObject = {
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientCapabilities": {"sampling": {}},
    }
    apps = [app_of(tools(STATELESS, asks), state_keys=[key]) for _ in range(2)]
    async with (
        run_app(apps[0]) as here,
        run_app(apps[1]) as there,
        calling(here) as site,
        calling(there) as elsewhere,
    ):
        first = (await site.modern("tools/call", meta=meta, name="x")).json()["result"]
        ((name, _),) = first["inputRequests"].items()
        content = {"type": "text", "text": "yes"}
        said = {"role": "assistant", "model": "m", "content": content}
        again = await elsewhere.modern(
            "tools/call",
            id=2,
            meta=meta,
            name="x",
            requestState=first["requestState"],
            inputResponses={name: said},
        )
        assert text_in(again) == "yes"
