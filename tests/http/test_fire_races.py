"""Concurrency: one id twice, streams twice, cancellation beside answers."""

import asyncio
from typing import Any

import pytest
from support.http.fire import (
    Fields,
    call,
    http,
    leftovers,
    modern,
    modern_call,
    of_modern,
    on_each_stack,
    run,
    serve_under_attack,
    until,
    wire,
)
from support.json_types import JsonObject


def cancellation(id: object) -> JsonObject:
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}


@on_each_stack
async def test_an_id_that_is_in_use_is_refused_and_the_first_request_served(stack: str) -> None:
    async with serve_under_attack(stack) as site:
        mine, other = await site.session(), await site.session()
        first = asyncio.create_task(site.ask(http(call("wait", 1), **mine)))
        await until(lambda: site.attacked.begun == 1)
        for _ in range(3):
            second = await site.ask(http(call("echo", 1), **mine))
            assert (second.status, second.message["error"]["code"]) == (400, -32600)
            assert "id" not in second.message
        assert (await site.ask(http(call("echo", 1), **other))).status == 200
        assert (await site.ask(http(call("echo", "1"), **mine))).status == 200
        site.attacked.go.set()
        assert (await first).message["result"]
        assert (await site.ask(http(call("echo", 1), **mine))).status == 200
        await site.is_fine()


@pytest.mark.parametrize("tool", ["echo", "wait", "talk", "ask"])
@on_each_stack
async def test_a_cancellation_beside_the_answer_leaves_one_or_the_other(
    tool: str, stack: str
) -> None:
    async def both(site: Any, mine: Fields, id: int, steps: int) -> bytes:
        asked = asyncio.create_task(site.ask(http(call(tool, id), **mine)))
        for _ in range(steps):
            await asyncio.sleep(0)
        if tool in ("wait", "talk") and id % 2:
            site.attacked.go.set()
        assert (await site.ask(http(cancellation(id), **mine))).status == 202
        if tool != "echo":
            # The first may have come too late to count as the first.
            await until(lambda: site.attacked.begun >= 1)
            await site.ask(http(cancellation(id), **mine))
        answer = await asked
        assert answer.status == 200
        return bytes(answer.body)

    async with serve_under_attack(stack) as site:
        mine = await site.session()
        for steps in range(25):
            body = await both(site, mine, steps, steps)
            answers = body.count(b'"result":') + body.count(b'"error":')
            assert answers <= 1
            site.attacked.go.clear()
        await site.is_fine()


@pytest.mark.shows("S3-33")
@on_each_stack
async def test_of_two_streams_of_a_session_the_new_one_speaks_and_the_old_one_ends(
    stack: str,
) -> None:
    async with serve_under_attack(stack) as site:
        mine = await site.session()
        async with wire(site.port) as old, wire(site.port) as new:
            for stream in (old, new):
                await stream.send(http(b"", "GET", **mine))
                assert (await stream.head()).status == 200
                await stream.event()
            assert [piece async for piece in old.pieces()] == []
            await site.attacked.server.tools_list_changed()
            assert b"list_changed" in await new.event()
        await site.is_fine()


@on_each_stack
async def test_streams_that_begin_while_their_session_ends_end_with_it(stack: str) -> None:
    async with serve_under_attack(stack) as site:
        for number in range(20):
            mine = await site.session()
            asked = [http(b"", "GET", **mine)] * 20
            asked.insert(number, http(b"", "DELETE", **mine))
            answers = await asyncio.gather(*map(site.ask, asked))
            assert {answer.status for answer in answers} <= {200, 204, 404}
        await site.is_fine()


@pytest.mark.shows("S3-44")
@on_each_stack
async def test_a_session_that_ends_ends_all_that_is_under_way_in_it(stack: str) -> None:
    async with serve_under_attack(stack) as site:
        mine = await site.session()
        asked = [
            asyncio.create_task(site.ask(http(call(tool, n), **mine)))
            for n, tool in enumerate(["wait", "talk", "ask"] * 5)
        ]
        asked.append(asyncio.create_task(site.ask(http(b"", "GET", **mine))))
        await until(
            lambda: site.attacked.begun == 15 and leftovers(site.app).get("streams", 0) > 10
        )
        ended = await asyncio.gather(*[site.ask(http(b"", "DELETE", **mine)) for _ in range(5)])
        assert sorted(answer.status for answer in ended) == [204, 404, 404, 404, 404]
        for task in asked:
            assert (await task).status == 200
        assert site.attacked.finished == 15
        late = [
            http(call("echo", 99), **mine),
            *(http(b"", verb, **mine) for verb in ("GET", "DELETE")),
        ]
        assert [(await site.ask(data)).status for data in late] == [404] * 3
        await site.is_fine()


def test_a_server_whose_list_of_tools_fails_still_serves_them() -> None:
    async def fails(*_: object) -> Any:
        raise RuntimeError("no list today")

    async def script() -> None:
        async with serve_under_attack() as site:
            type(site.attacked.server).on_list_tools = fails
            assert (await site.ask(modern_call("echo"))).status == 200
            listed = await site.ask(http(modern("tools/list"), **of_modern("tools/list")))
            assert (listed.status, listed.message["error"]["code"]) == (200, -32603)

    with pytest.raises(AssertionError, match="no list today"):
        # It is the server's own fault, and logged as one.
        run(script())
