"""Clients that leave in the middle, stop reading, or half-close the connection."""

import asyncio
from typing import Any

import pytest
from support.http.fire import (
    Site,
    Wire,
    call,
    http,
    leftovers,
    modern,
    modern_call,
    of_modern,
    on_each_stack,
    serve_under_attack,
    until,
    wire,
)
from support.patience import PATIENCE

LISTEN = modern("subscriptions/listen", 7, notifications={"toolsListChanged": True})
MANY = 20


async def wait_for_calls(site: Site, number: int) -> None:
    await until(lambda: site.attacked.begun >= number)


@pytest.mark.parametrize("tool", ["wait", "talk"])
@on_each_stack
async def test_to_leave_a_call_of_the_stateless_era_is_to_cancel_it(stack: str, tool: str) -> None:
    async with serve_under_attack(stack) as site:
        for number in range(1, MANY + 1):
            async with wire(site.port) as one:
                await one.send(modern_call(tool))
                await wait_for_calls(site, number)
                if tool == "talk":
                    await one.head()
                one.vanish()
        await until(lambda: site.attacked.cancelled == MANY)
        await site.is_fine()


@pytest.mark.shows("S3-24")
@pytest.mark.parametrize("tool", ["wait", "talk"])
@on_each_stack
async def test_to_leave_a_call_of_a_session_cancels_nothing(stack: str, tool: str) -> None:
    async with serve_under_attack(stack) as site:
        mine = await site.session()
        for number in range(1, MANY + 1):
            async with wire(site.port) as one:
                await one.send(http(call(tool, number), **mine))
                await wait_for_calls(site, number)
                if tool == "talk":
                    await one.head()
                one.vanish()
        async with wire(site.port) as last:
            await last.send(http(call("echo", 99), **mine))
            assert (await last.answer()).status == 200
        assert site.attacked.cancelled == 0
        assert leftovers(site.app)["requests"] == MANY
        site.attacked.go.set()
        await site.is_fine()
        assert site.attacked.finished == MANY + 3


@on_each_stack
async def test_a_connection_closed_by_half_counts_as_closed(stack: str) -> None:
    """ASGI servers tell of either in the same way: `http.disconnect`."""
    async with serve_under_attack(stack) as site:
        mine = await site.session()
        for number, data in enumerate(
            [http(call("wait"), **mine), modern_call("wait"), modern_call("talk")], 1
        ):
            async with wire(site.port) as one:
                await one.send(data)
                await wait_for_calls(site, number)
                one.writer.write_eof()
                await one.is_closed()
        await until(lambda: site.attacked.cancelled == 2)
        site.attacked.go.set()
        await site.is_fine()


@on_each_stack
async def test_streams_of_changes_that_are_left_are_let_go(stack: str) -> None:
    async with serve_under_attack(stack) as site:
        mine = await site.session()
        for data in (http(b"", "GET", **mine), http(LISTEN, **of_modern("subscriptions/listen"))):
            for _ in range(MANY):
                async with wire(site.port) as one:
                    await one.send(data)
                    assert (await one.head()).status == 200
                    await one.event()
                    one.vanish()
        await until(lambda: len(site.attacked.server.sessions) == 1)
        await site.attacked.server.tools_list_changed()
        await site.is_fine()


# More than the buffers of both ends of a local connection hold.
FLOOD = {"times": 300, "size": 100_000}


async def unread(site: Site, one: Wire, data: bytes) -> None:
    """Send a request, and read nothing until the server cannot write any more."""
    one.read(False)
    await one.send(data)
    await site.stuck()


@pytest.mark.parametrize("era", ["a session", "stateless"])
@on_each_stack
async def test_who_does_not_read_its_stream_is_given_up_after_a_time(stack: str, era: str) -> None:
    async with serve_under_attack(stack, send_timeout=0.2) as site:
        data = modern_call("flood", **FLOOD)
        if era == "a session":
            data = http(call("flood", **FLOOD), **await site.session())
        async with wire(site.port) as one:
            await unread(site, one, data)
            await until(lambda: site.attacked.finished == 1)
            await site.is_fine()


@on_each_stack
async def test_who_does_not_read_its_answers_takes_up_no_place_for_long(stack: str) -> None:
    async with serve_under_attack(stack, send_timeout=0.2, max_requests=1) as site:
        mine = await site.session()
        big = http(call("big", 1, size=20_000_000), **mine)
        async with wire(site.port) as one:
            # The second is handled after the first was written, and cannot be written.
            await unread(site, one, big + http(call("echo", 2), **mine))
            await wait_for_calls(site, 2)
            await site.is_fine()


# The log entry of uvicorn for a response that is cut off.
CUT = "ASGI callable returned without completing response."


async def stall_stream(site: Site, one: Wire, mine: Any) -> None:
    """Open the stream of a session, and stop reading when writes to it block."""
    await one.send(http(b"", "GET", **mine))
    await one.head()
    one.read(False)
    (session,) = site.app._running.state.sessions
    note = (
        b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"%b"}}'
    )
    session.streams.standalone.put(note % (b"x" * 20_000_000))
    await site.stuck()


@on_each_stack
async def test_a_client_that_does_not_read_its_stream_counts_as_gone(stack: str) -> None:
    # uvicorn waits for a reader before the write after the one that is too long: a comment.
    async with serve_under_attack(stack, send_timeout=0.2, keep_alive=0.2) as site:
        mine = await site.session()
        async with wire(site.port) as stuck:
            await stall_stream(site, stuck, mine)
            await until(lambda: not len(site.app._running.state.keep_alive.open))
        await site.is_fine()


@on_each_stack
async def test_a_client_can_open_its_stream_anew_while_the_one_before_is_stuck(stack: str) -> None:
    async with serve_under_attack(stack, send_timeout=0.2, keep_alive=60) as site:
        mine = await site.session()
        async with wire(site.port) as stuck, wire(site.port) as anew:
            await stall_stream(site, stuck, mine)
            await anew.send(http(b"", "GET", **mine))
            assert (await anew.head()).status == 200
            assert (await anew.event()).startswith(b"id: ")
        await site.is_fine()


@on_each_stack
async def test_a_session_can_be_ended_while_its_stream_is_stuck(stack: str) -> None:
    async with serve_under_attack(stack, send_timeout=0.2, keep_alive=60) as site:
        mine = await site.session()
        async with wire(site.port) as stuck:
            await stall_stream(site, stuck, mine)
            assert (await site.ask(http(b"", "DELETE", **mine))).status == 204
        await site.is_fine()


@on_each_stack
async def test_a_server_can_be_closed_while_a_client_does_not_read(stack: str) -> None:
    async with serve_under_attack(stack, CUT, send_timeout=60, keep_alive=60, drain=0.1) as site:
        mine = await site.session()
        async with wire(site.port) as stuck, asyncio.timeout(PATIENCE):
            await stall_stream(site, stuck, mine)
            await site.app.close()


@on_each_stack
async def test_a_session_that_ends_while_its_answer_cannot_be_written_is_no_failure(
    stack: str,
) -> None:
    async with serve_under_attack(stack, send_timeout=60) as site:
        mine = await site.session()
        big = http(call("big", 1, size=20_000_000), **mine)
        async with wire(site.port) as one:
            await unread(site, one, big + http(call("echo", 2), **mine))
            await wait_for_calls(site, 2)
            assert (await site.ask(http(b"", "DELETE", **mine))).status == 204
            one.read(True)
            assert (await one.answer()).status == 200
            one.vanish()
        await site.is_fine()
