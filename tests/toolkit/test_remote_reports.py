"""Progress, log entries and cancellations of requests to remote servers."""

import asyncio
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from mcp_protogen.runtime.core.options import Progress
from mcp_protogen.runtime.features.bridge.forwarded_request import ForwardedRequest
from support.http.serving import calling_app, serving
from support.json_types import JsonObject
from support.revisions import ERAS, OLD, STATELESS
from support.sessions.talking import (
    META,
    Accepting,
    Hand,
    client,
    discover_result,
    modern,
    notification,
    pkg,
    request,
    serve_by_hand,
    shaken,
)
from support.sessions.wiretap import result, shake
from support.tables import case
from support.toolkit.mounting import (
    Waiting,
    app,
    app_with_remote,
    in_memory,
    only,
    over_http,
    text_of,
    until,
)

LOGGING: JsonObject = {**META, "io.modelcontextprotocol/logLevel": "debug"}


@pytest.mark.parametrize("spoken", ERAS)
@pytest.mark.parametrize("of_remote", ERAS)
async def test_all_progress_comes_in_order_before_the_answer(of_remote: str, spoken: str) -> None:
    remote = only(app(of_remote, "remote"))

    async def work(session: Any) -> str:
        for done in range(50):
            await session.progress(done, 50)
        return "done"

    work.__annotations__["session"] = pkg.load(of_remote).Session
    remote.add_tool(work)
    async with serving(remote, progress_interval=0.0) as site:
        top = app_with_remote(spoken, pkg.open_http(site.url))
        async with over_http(client(spoken), top) as one:
            reports: list[Any] = []
            await one.call_tool("r_work", on_progress=reports.append)
            assert [report.done for report in reports] == [*range(50)]


ENDS = [None, pkg.McpError(1, "no"), OSError("no"), asyncio.CancelledError("no")]


@pytest.mark.parametrize("end", ENDS)
async def test_a_slow_client_gets_progress_before_a_result_or_an_error_and_none_once_cancelled(
    end: BaseException | None,
) -> None:
    heard: list[float] = []

    async def notify(spec: object, params: Any) -> None:
        await asyncio.sleep(0.01)
        heard.append(params.progress)

    async def work() -> str:
        for done in (1, 2):
            asked.report_progress(Progress(done, None, None))
        await asyncio.sleep(0)
        if end is not None:
            raise end
        return "done"

    table = pkg.load(OLD).methods.TABLE
    context: Any = SimpleNamespace(table=table, meta={"progressToken": 1}, notify=notify)
    asked = ForwardedRequest("tools/call", work)
    with nullcontext() if end is None else pytest.raises(type(end)):
        assert await asked.run(context) == "done"
    assert asked.is_over
    if isinstance(end, asyncio.CancelledError):
        await asyncio.sleep(0.05)
        assert heard == [1]
    else:
        assert heard == [1, 2]


@pytest.mark.parametrize("spoken", ERAS)
@pytest.mark.parametrize("of_remote", ERAS)
async def test_cancellation_is_passed_on_and_ends_the_request(of_remote: str, spoken: str) -> None:
    waiting, remote = Waiting(), only(app(of_remote, "remote"))

    def look() -> str:
        return "there"

    remote.add_tool(waiting.wait)
    remote.add_tool(look)
    async with serving(remote) as site:
        for opener in (pkg.open_http(site.url), pkg.in_memory(remote)):
            with case(opener):
                top = app_with_remote(spoken, opener)
                async with in_memory(client(spoken), top) as one:
                    await waiting.is_cancelled_by(one, "r_wait")
                    assert await text_of(one, "r_look") == "there"
                waiting.begun.clear()
                waiting.ended.clear()


async def test_late_answer_to_a_cancelled_request_is_dropped() -> None:
    begun = asyncio.Event()

    async def play(hand: Hand) -> None:
        await shake(hand, tools={})
        asked = await hand.take()
        begun.set()
        assert (await hand.take())["params"]["requestId"] == asked["id"]
        await hand.send(result(asked["id"], content=[{"type": "text", "text": "late"}]))
        following = await hand.take()
        await hand.send(result(following["id"], content=[{"type": "text", "text": "next"}]))
        await hand.take()

    async with shaken(app_with_remote(OLD, Accepting(play))) as hand:
        await hand.send(request("tools/call", 1, name="r_x"))
        await begun.wait()
        await hand.send(notification("notifications/cancelled", requestId=1, reason="no"))
        told = await hand.ask("tools/call", 2, name="r_x")
        assert (told["id"], told["result"]["content"][0]["text"]) == (2, "next")


async def test_cancelled_request_that_waits_for_its_turn_does_not_reach_the_server() -> None:
    seen: list[str] = []
    go = asyncio.Event()

    async def play(hand: Hand) -> None:
        asked = await hand.take()
        await hand.send(discover_result(asked["id"], tools={}))
        while (asked := await hand.take()) is not None:
            seen.append(asked["params"]["name"])
            await go.wait()
            await hand.send(result(asked["id"], resultType="complete", content=[]))

    async with serve_by_hand(app_with_remote(STATELESS, Accepting(play), concurrency=1)) as hand:
        for id, name in enumerate("abc"):
            await hand.send(modern("tools/call", id, name=f"r_{name}"))
        await until(lambda: seen == ["a"])
        await hand.send(notification("notifications/cancelled", requestId=1))
        go.set()
        assert [(await hand.take())["id"] for _ in range(2)] == [0, 2]
    assert seen == ["a", "c"]


async def test_log_entries_that_may_be_of_several_clients_are_logged_here(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def play(hand: Hand) -> None:
        await shake(hand, tools={}, logging={})
        asked: list[JsonObject] = []
        while len(asked) < 2:
            one = await hand.take()
            if one["method"] == "tools/call":
                asked.append(one)
            else:
                await hand.send(result(one["id"]))
        entry = notification("notifications/message", level="info", data="whose?")
        answers = [result(call["id"], content=[]) for call in asked]
        await hand.send(entry, *answers)
        await hand.take()

    served = app_with_remote(STATELESS, Accepting(play)).http()
    caplog.set_level("INFO")
    async with calling_app(served) as site:
        calls = [site.modern("tools/call", id=id, meta=LOGGING, name="r_x") for id in range(2)]
        for told in await asyncio.gather(*calls):
            assert told.headers["content-type"] == "application/json"
            assert told.json()["result"]["content"] == []
    assert any("no one request" in line and "whose?" in line for line in caplog.messages)
