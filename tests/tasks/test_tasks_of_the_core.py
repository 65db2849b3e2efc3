"""Calls of tools as tasks of 2025-11-25."""

from typing import Any

import pytest
from mcp_protogen.runtime.core.errors import InvalidAnswer
from mcp_revisions.v2025_11_25 import models as m
from support.coroutines import until
from support.revisions import OLD
from support.sessions.talking import Hand, pkg
from support.tasks.by_hand import (
    Before,
    Clock,
    ScriptedServer,
    calling,
    core_task,
    elicit,
    set_clock,
    text,
)

# All is in memory.
pytestmark = pytest.mark.skips_time

CREATED = {"task": core_task("t")}
DONE = text("done", _meta={"io.modelcontextprotocol/related-task": {"taskId": "t"}})
NO_PLAIN_CALL = {"error": {"code": -32601, "message": "only as a task"}}


class Answering(Before):
    """A client that answers questions."""

    async def on_elicit(self, params: m.ElicitRequestParams) -> m.ElicitResult:
        return m.ElicitResult(action="accept", content={"age": 36})


def play_server(support: str | None = "required", **answers: Any) -> ScriptedServer:
    """A server with one tool, which is called as a task as it says."""
    tool = {"name": "slow", "inputSchema": {"type": "object"}}
    execution = {} if support is None else {"execution": {"taskSupport": support}}
    usual: Any = {
        "tools_list": [{"tools": [{**tool, **execution}]}],
        "tools_call": [CREATED],
        "tasks_result": [DONE],
        "tasks_cancel": [core_task("t", "cancelled")],
    }
    return ScriptedServer(OLD, **{**usual, **answers})


@pytest.mark.shows("TC-02", "TC-04", "TC-05", "TC-12")
async def test_a_tool_that_has_to_be_a_task_is_called_as_one() -> None:
    server = play_server()
    async with calling(set_clock(Before(), Clock()), server) as client:
        await client.list_tools()
        result = await client.call_tool("slow", {"n": 1})
    assert isinstance(result, m.CallToolResult) and result.text == "done"
    (call,) = server.params("tools/call")
    # It need not be kept for longer than it is waited for.
    assert call == {"name": "slow", "arguments": {"n": 1}, "task": {"ttl": 600_000}}
    assert server.methods() == ["tools/list", "tools/call", "tasks/result"]


async def test_a_user_says_for_how_long_to_keep_a_task() -> None:
    server = play_server()
    async with calling(set_clock(Before(), Clock()), server) as client:
        await client.list_tools()
        await client.start_task("slow", ttl=60)
        created = await client.call_as_task("slow", task=m.TaskMetadata(ttl=1234))
        assert isinstance(created, m.CreateTaskResult)
    asked = [call["task"] for call in server.params("tools/call")]
    assert asked == [{"ttl": 60_000}, {"ttl": 1234}]


@pytest.mark.shows("TC-04")
async def test_a_tool_that_is_not_known_is_looked_up_once_it_is_refused() -> None:
    server = play_server(tools_call=[NO_PLAIN_CALL, CREATED])
    async with calling(set_clock(Before(), Clock()), server) as client:
        assert (await client.call_tool("slow")).text == "done"
        assert (await client.call_tool("slow")).text == "done"
    asked = ["task" in params for params in server.params("tools/call")]
    assert asked == [False, True, True]
    server = play_server("optional", tools_call=[NO_PLAIN_CALL])
    async with calling(set_clock(Before(), Clock()), server) as client:
        with pytest.raises(pkg.McpError):
            await client.call_tool("slow")
    assert server.methods() == ["tools/call", "tools/list"]


@pytest.mark.shows("TC-02", "TC-03", "TC-04")
async def test_tool_without_task_support_is_not_called_as_task() -> None:
    for support in ("forbidden", None):
        server = play_server(support, tools_call=[text("plain")])
        async with calling(set_clock(Before(), Clock()), server) as client:
            with pytest.raises(pkg.LocalError, match="slow"):
                await client.start_task("slow")
            assert (await client.call_tool("slow")).text == "plain"
        assert server.params("tools/call") == [{"name": "slow"}]
    server = play_server(tools_call=[text("plain")])
    server.capabilities = {"tools": {}}
    async with calling(set_clock(Before(), Clock()), server) as client:
        await client.list_tools()
        assert (await client.call_tool("slow")).text == "plain"
        with pytest.raises(pkg.MissingCapability):
            await client.start_task("slow")
    assert server.params("tools/call") == [{"name": "slow"}]


async def test_who_gives_task_gets_the_task() -> None:
    server = play_server()
    async with calling(Before(), server) as client:
        await client.list_tools()
        result = await client.call_as_task("slow", task=m.TaskMetadata(ttl=1234))
        assert isinstance(result, m.CreateTaskResult) and result.task.task_id == "t"
    assert server.params("tools/call") == [{"name": "slow", "task": {"ttl": 1234}}]


@pytest.mark.shows("TC-10")
async def test_who_follows_a_task_answers_what_it_asks() -> None:
    async def ask(hand: Hand, message: Any) -> None:
        await hand.send(elicit(7, "How old?"))

    async def look(hand: Hand, message: Any) -> Any:
        answers = [
            came_message["result"]["content"]
            for came_message in server.came
            if came_message.get("id") == 7 and "result" in came_message
        ]
        return core_task("t", "completed" if answers == [{"age": 36}] else "input_required")

    server = play_server("optional", tasks_result=[ask], tasks_get=[look])
    async with calling(set_clock(Answering(), Clock()), server) as client:
        handle = await client.start_task("slow")
        assert [state.status async for state in handle] == ["input_required", "completed"]
        assert server.methods().count("tasks/result") == 1


async def test_a_server_that_cannot_tell_the_result_now_is_asked_again_for_a_while() -> None:
    away = {"error": {"code": -32603, "message": "ask again"}}
    server = play_server(tasks_result=[away, away, DONE], tasks_get=[core_task("t"), away])
    async with calling(set_clock(Before(), Clock()), server) as client:
        await client.list_tools()
        assert (await client.call_tool("slow")).text == "done"
        server.answers.update({"tasks/result": [away], "tasks/get": [core_task("t")]})
        with pytest.raises(pkg.McpError, match="ask again"):
            await client.call_tool("slow")
        server.answers["tasks/get"] = [core_task("t", "failed")]
        before = len(server.params("tasks/result"))
        with pytest.raises(pkg.McpError, match="ask again"):
            await client.call_tool("slow")
        assert len(server.params("tasks/result")) == before + 1


@pytest.mark.shows("TC-12", "TC-18")
async def test_a_task_that_failed_answers_as_its_call_would_have() -> None:
    refused = {"error": {"code": -32602, "message": "bad"}}
    server = play_server(
        tasks_result=[refused, text("no", isError=True), refused],
        tasks_get=[core_task("t", "failed"), core_task("t", "cancelled", statusMessage="dear")],
    )
    async with calling(set_clock(Before(), Clock()), server) as client:
        await client.list_tools()
        with pytest.raises(pkg.McpError, match="bad"):
            await client.call_tool("slow")
        assert (await client.call_tool("slow")).is_error
        with pytest.raises(pkg.TaskCancelled, match="dear"):
            await client.call_tool("slow")


async def test_an_empty_result_is_that_of_a_task_that_was_cancelled_or_no_result() -> None:
    server = play_server(
        tasks_result=[{}], tasks_get=[core_task("t", "cancelled"), core_task("t", "completed")]
    )
    async with calling(set_clock(Before(), Clock()), server) as client:
        await client.list_tools()
        with pytest.raises(pkg.TaskCancelled):
            await client.call_tool("slow")
        with pytest.raises(InvalidAnswer):
            await client.call_tool("slow")


@pytest.mark.shows("TC-17")
async def test_to_cancel_what_has_ended_changes_nothing() -> None:
    server = play_server(
        tasks_cancel=[{"error": {"code": -32602, "message": "it has ended"}}],
        tasks_get=[core_task("t", "completed"), core_task("t")],
    )
    async with calling(set_clock(Before(), Clock()), server) as client:
        handle = await client.start_task("slow")
        await handle.cancel()
        with pytest.raises(pkg.McpError):
            await handle.cancel()


async def test_call_without_end_asks_for_a_task_without_a_time_to_live() -> None:
    server = play_server()
    async with calling(set_clock(Before(), Clock()), server) as client:
        await client.list_tools()
        assert (await client.call_tool("slow", max_timeout=float("inf"))).text == "done"
    (call,) = server.params("tools/call")
    assert call["task"] == {}


async def test_the_wait_for_a_result_is_bounded_by_max_timeout() -> None:
    async def never(hand: Hand, message: Any) -> None:
        """Says nothing."""

    server = play_server(tasks_result=[never])
    async with calling(set_clock(Before(), Clock()), server) as client:
        await client.list_tools()
        with pytest.raises(pkg.RequestTimeout, match=r"tools/call .* within 0\.1 s"):
            await client.call_tool("slow", max_timeout=0.1)
        await until(lambda: "tasks/cancel" in server.methods())
