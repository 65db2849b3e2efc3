"""Floods of everything: bounded while they last, and gone afterwards."""

import asyncio
from collections import Counter
from contextlib import AsyncExitStack
from typing import Any

import pytest
from support.http.fire import (
    Answer,
    AttackedServer,
    app_of,
    call,
    http,
    modern,
    modern_call,
    of_modern,
    on_each_stack,
    quiet,
    run,
    serve_under_attack,
    until,
    wait_until_idle,
    wire,
)
from support.json_types import JsonObject
from support.sessions.talking import hello, pkg
from support.tables import count

STREAMS = count(200, 1_000)
BEGIN = http(hello())


async def bare(app: Any, data: bytes) -> Answer:
    """Return the response to one request, without a socket."""
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.split(b"\r\n")
    method, target, _ = first.decode().split(" ")
    headers = [
        (name.strip().lower(), value.strip())
        for name, _, value in (x.partition(b":") for x in lines)
    ]
    scope = {"type": "http", "method": method, "path": target, "headers": headers}
    said: list[JsonObject] = []
    come = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> JsonObject:
        if not come:
            await asyncio.Event().wait()
        return come.pop()

    async def send(message: JsonObject) -> None:
        said.append(message)

    await app({**scope, "query_string": b""}, receive, send)
    fields = [b"%b: %b" % pair for pair in said[0]["headers"]]
    whole = b"".join(reply_part.get("body", b"") for reply_part in said[1:])
    return Answer(said[0]["status"], b"\r\n".join([b"", *fields]), whole)


async def flood(app: Any, number: int) -> None:
    for _ in range(number):
        assert (await bare(app, BEGIN)).status == 200


def test_there_are_never_more_sessions_than_said_and_the_idlest_goes_first() -> None:
    async def script() -> None:
        attacked = AttackedServer()
        app = app_of(attacked.server, max_sessions=100)
        first = await bare(app, BEGIN)
        mine = {"mcp-session-id": first.field("mcp-session-id")}
        other = {"mcp-session-id": (await bare(app, BEGIN)).field("mcp-session-id")}
        for _ in range(1000):
            await flood(app, 1)
            assert (await bare(app, http(call("echo"), **mine))).status == 200
        assert len(app._running.state.sessions) == 100
        await until(lambda: len(attacked.server.sessions) == 100)
        assert (await bare(app, http(call("echo"), **other))).status == 404
        await app.close()

    with quiet():
        run(script())


async def test_sessions_in_use_are_not_ended_to_make_room() -> None:
    async with serve_under_attack(max_sessions=3) as site, AsyncExitStack() as stack:
        for _ in range(3):
            one = await stack.enter_async_context(wire(site.port))
            await one.send(http(b"", "GET", **await site.session()))
            await one.head()
        refused = await site.ask(BEGIN)
        assert (refused.status, refused.field("retry-after")) == (503, "10")
        await stack.aclose()
        await site.is_fine()


@on_each_stack
async def test_many_streams_that_are_dropped_leave_nothing_behind(stack: str) -> None:
    async def hold_stream(port: int, data: bytes) -> None:
        async with wire(port) as one:
            await one.send(data)
            assert (await one.head()).status == 200
            await one.event()
            opened.release()
            await drop.wait()
            one.vanish()

    opened, drop = asyncio.Semaphore(0), asyncio.Event()
    async with serve_under_attack(stack, max_streams=STREAMS) as site:
        listen = modern("subscriptions/listen", 7, notifications={"toolsListChanged": True})
        dropped: list[asyncio.Task[None]] = []
        for _ in range(STREAMS // 2):
            mine = await site.session()
            for data in (
                http(b"", "GET", **mine),
                http(listen, **of_modern("subscriptions/listen")),
            ):
                dropped.append(asyncio.create_task(hold_stream(site.port, data)))
                await opened.acquire()
        service = site.app._running.state
        assert len(service.keep_alive.open) == STREAMS
        refused = await site.ask(http(b"", "GET", **await site.session()))
        assert (refused.status, refused.field("retry-after")) == (503, "1")
        await site.attacked.server.tools_list_changed()
        drop.set()
        await asyncio.gather(*dropped)
        await wait_until_idle(site.app)
        await until(lambda: len(site.app._running.state.sessions) == STREAMS // 2 + 1)
        await site.is_fine()


@pytest.mark.parametrize("era", ["sessions", "stateless"])
@on_each_stack
async def test_requests_beyond_the_limit_are_sent_away_and_the_others_served(
    era: str, stack: str
) -> None:
    async with serve_under_attack(stack, max_requests=50) as site:
        sessions = [await site.session() for _ in range(10)]
        asked = [
            (
                modern_call("wait", n)
                if era == "stateless"
                else http(call("wait", n), **sessions[n % 10])
            )
            for n in range(200)
        ]
        answering = [asyncio.create_task(site.ask(data)) for data in asked]
        await until(lambda: sum(task.done() for task in answering) == 150)
        await until(lambda: site.attacked.begun == 50)
        site.attacked.go.set()
        answers = [await task for task in answering]
        statuses = Counter((answer.status, answer.field("retry-after")) for answer in answers)
        assert statuses == {(200, None): 50, (503, "1"): 150}
        await site.is_fine()


async def test_a_session_has_a_limit_of_its_own_that_answers_and_cancellations_pass() -> None:
    async with serve_under_attack(max_in_flight=5) as site:
        mine, other = await site.session(), await site.session()
        answering = [asyncio.create_task(site.ask(http(call("ask", n), **mine))) for n in range(4)]
        answering.append(asyncio.create_task(site.ask(http(call("wait", 4), **mine))))
        await until(lambda: site.attacked.begun == 5)
        refused = await site.ask(http(call("echo", 9), **mine))
        assert (refused.status, refused.field("retry-after")) == (503, "1")
        assert (await site.ask(http(call("echo", 9), **other))).status == 200
        result = {"role": "assistant", "model": "m", "content": {"type": "text", "text": "!"}}
        last = next(site.app._running.state.shared.ids)
        name, _, number = last.rpartition(".")
        assert number == "5"
        for n in range(1, 5):
            answer = {"jsonrpc": "2.0", "id": f"{name}.{n}", "result": result}
            assert (await site.ask(http(answer, **mine))).status == 202
        cancel = {"requestId": 4}
        note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancel}
        assert (await site.ask(http(note, **mine))).status == 202
        answers = [await task for task in answering]
        assert [reply.status for reply in answers] == [200] * 5
        assert all(reply.message["result"] for reply in answers[:4])
        assert b"data: {" not in answers[4].body
        await site.is_fine()


async def test_the_events_of_many_streams_are_kept_up_to_a_bound() -> None:
    engine = pkg.MemoryEngine(max_events=10, max_bytes=100_000)
    store: Any = engine.events
    async with serve_under_attack(shared=pkg.Shared(engine=engine)) as site:
        mine = await site.session()
        for number in range(100):
            data = call("flood", number, times=20, size=1000)
            assert (await site.ask(http(data, **mine))).status == 200
        streams = [stream for session in store._sessions.values() for stream in session.values()]
        kept = [event for stream in streams for event in stream.events]
        assert 0 < sum(len(event.message) for event in kept) <= 100_000
        assert store._quota.used <= 100_000
        await site.ask(http(b"", "DELETE", **mine))
        assert not store._sessions and not store._orders and not store._quota.used
        await site.is_fine()
