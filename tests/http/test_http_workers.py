"""Several processes behind one address: features that work at once, and those that need help."""

import asyncio
from contextlib import AsyncExitStack
from itertools import cycle
from typing import Any

from mcp_revisions import v2025_11_25 as mcp
from mcp_revisions.v2025_11_25.models import CallToolRequestParams
from support.engines import redis_running
from support.http.serving import (
    WORKER,
    Events,
    Site,
    app_of,
    calling,
    outcome,
    run_app,
    text_in,
)
from support.json_types import JsonObject
from support.peers.http_peers import serve_module
from support.revisions import STATELESS
from support.sessions.talking import content_of, models, request, run, tools


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
        async with serve_module(*arguments) as process, calling(process.port) as site:
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


def test_two_processes_that_share_an_engine_serve_one_session() -> None:
    arguments = ["uvicorn", WORKER, "--port", "PORT"]

    async def script() -> None:
        with redis_running() as redis:
            await two_processes({"WORKER_REDIS": redis.url})

    async def two_processes(environment: dict[str, str]) -> None:
        async with (
            serve_module(*arguments, environment=environment) as one,
            serve_module(*arguments, environment=environment) as two,
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
