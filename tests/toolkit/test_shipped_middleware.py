"""The middleware that comes with a package: times, limits, kept results, telemetry."""

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from itertools import product
from typing import Any

import pytest
from mcp_protogen.runtime.toolkit import middleware
from mcp_revisions import McpError, MethodCall, RateLimit, ResultCache, Timing, ToolError
from support.json_types import JsonObject
from support.revisions import ERAS, OLD, STATELESS
from support.sessions.talking import CAPABILITIES, META, client, models, modern, pkg, serve_by_hand
from support.tables import case
from support.toolkit.kits import kit, resource, tool

PAIRS = [*product(ERAS, ERAS)]


class Clock:
    """A clock that is moved by hand."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        monkeypatch.setattr(middleware, "monotonic", lambda: self.now)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


@tool
def echo(self: object, text: str) -> str:
    if text == "bad":
        raise ToolError("bad")
    return text


@asynccontextmanager
async def calling(own: str, spoken: str, *one: Any, **members: Any) -> AsyncGenerator[Any, None]:
    ours, mine = kit(own, echo=echo, middleware=one, **members)(), client(spoken)
    async with pkg.connect_in_memory(mine, ours, revisions=pkg.REVISIONS) as caller:
        vars(caller)["ours"] = ours
        yield caller


async def say(caller: Any, text: str, tool: str = "echo") -> Any:
    return await caller.call_tool(tool, {"text": text})


async def test_timing_logs_method_target_and_outcome(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    for own, spoken in PAIRS:
        with case((own, spoken)):
            caplog.clear()
            async with calling(own, spoken, Timing()) as caller:
                await say(caller, "a")
                await say(caller, "bad")
                with pytest.raises(McpError):
                    await say(caller, "a", "missing")
                await caller.list_tools()
            said = [record.message for record in caplog.records if "tools/" in record.message]
            assert [line for line in said if " in " in line][:4] == [
                "tools/call 'echo': ok in 0.000000 s",
                "tools/call 'echo': tool_error in 0.000000 s",
                "tools/call 'missing': -32602 in 0.000000 s",
                "tools/list: ok in 0.000000 s",
            ]


def key(call: MethodCall) -> str:
    return str(call.params.arguments["text"])


async def test_a_rate_limit_has_a_bucket_for_each_key(clock: Clock) -> None:
    for own, spoken in PAIRS:
        with case((own, spoken)):
            limit = RateLimit(0.5, 2, methods={"tools/call"}, key=key)
            async with calling(own, spoken, limit) as caller:
                await say(caller, "a")
                await say(caller, "a")
                with pytest.raises(McpError, match="try again in 2 s") as raised:
                    await say(caller, "a")
                assert (raised.value.code, raised.value.data) == (-32000, {"retryAfter": 2})
                await say(caller, "b")
                await caller.list_tools()
                clock.now += 2
                await say(caller, "a")
                with pytest.raises(McpError):
                    await say(caller, "a")


def test_limits_that_let_nothing_through_are_refused() -> None:
    for wrong in ((0, None), (-1, None), (1, 0)):
        with pytest.raises(ValueError, match="allows no requests"):
            RateLimit(*wrong)


def test_methods_that_are_one_text_are_refused() -> None:
    for make in (lambda: RateLimit(1, methods="ping"), lambda: ResultCache(1, methods="ping")):
        with pytest.raises(
            TypeError, match=r"methods must be a collection, not a single string: write \{'ping'\}"
        ):
            make()


async def test_a_logger_that_takes_no_notice_costs_no_text() -> None:
    class Silent(logging.Logger):
        def log(self, *_: object, **__: object) -> None:
            raise AssertionError

    async with calling(OLD, OLD, Timing(logger=Silent("silent", logging.ERROR))) as caller:
        await say(caller, "a")


async def test_a_rate_limit_forgets_the_keys_that_were_used_longest_ago(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(middleware, "_MOST", 2)
    async with calling(OLD, OLD, RateLimit(1, methods={"tools/call"}, key=key)) as caller:
        for text in ("a", "b", "c", "a"):
            await say(caller, text)
        with pytest.raises(McpError):
            await say(caller, "c")


async def test_results_are_kept_until_their_time_is_over_or_the_server_changes(
    clock: Clock,
) -> None:
    for own, spoken in PAIRS:
        with case((own, spoken)):
            read = 0

            @resource("note://one")
            def note(self: object) -> str:
                nonlocal read
                read += 1
                return str(read)

            cache = ResultCache(10)
            changed = frozenset({"notifications/tools/list_changed"})
            async with calling(own, spoken, cache, note=note, SENDS=changed) as caller:
                get = partial(caller.read_resource, "note://one")
                result = await get()
                clock.now += 4
                again = await get()
                assert result.contents[0].text == again.contents[0].text == "1"
                if own == spoken == STATELESS:
                    assert (result.ttl_ms, again.ttl_ms) == (10_000, 6_000)
                clock.now += 6
                assert (await get()).contents[0].text == "2"
                assert [tool.name async for tool in caller.iter_tools()] == ["echo"]
                caller.ours.add_tool(echo, name="second")
                names = [tool.name async for tool in caller.iter_tools()]
                assert names == ["echo", "second"]
                cache.clear()
                assert (await get()).contents[0].text == "3"


async def test_questions_to_the_client_are_not_kept(clock: Clock) -> None:
    m: Any = models(STATELESS)
    asked = 0

    async def on_read_resource(self: Any, session: Any, params: Any) -> Any:
        nonlocal asked
        asked += 1
        return session.input_required({"a": m.ListRootsRequest()})

    made: Any = type("Ours", (pkg.load(STATELESS).Server,), {"on_read_resource": on_read_resource})
    made.middleware = (ResultCache(10),)
    meta: JsonObject = {**META, CAPABILITIES: {"roots": {}}}
    async with serve_by_hand(made()) as hand:
        for number in (1, 2):
            await hand.send(modern("resources/read", number, uri="note://one", _meta=meta))
            assert (await hand.take())["result"]["resultType"] == "input_required"
            assert asked == number
