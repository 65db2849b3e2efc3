"""Calls of tools that a server makes tasks of the extension."""

import asyncio
from typing import Any

import pytest
from mcp_revisions.v2026_07_28 import Client as Plain
from mcp_revisions.v2026_07_28 import models as m
from mcp_revisions.v2026_07_28.ext.tasks import TasksClient
from pydantic import BaseModel
from support.coroutines import until
from support.json_types import JsonObject
from support.revisions import STATELESS
from support.sessions.talking import Accepting, Hand, pkg
from support.tasks.by_hand import (
    DECLARED,
    Clock,
    ScriptedServer,
    Since,
    calling,
    form_question,
    set_clock,
    task_created,
    task_details,
    text,
)

# All is in memory.
pytestmark = pytest.mark.skips_time


class Answering(Since):
    """A client that answers questions with its age, and counts them."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def on_elicit(self, params: m.ElicitRequestParams) -> m.ElicitResult:
        self.asked.append(params.message)
        return m.ElicitResult(action="accept", content={"age": 36})


class Point(BaseModel):
    """What a tool gives."""

    x: int


def play_server(*states: Any, **answers: Any) -> ScriptedServer:
    """A server that makes a task of a call, which is then found in these states."""
    usual: Any = {"tools_call": [task_created("t")], "tasks_get": states, "tasks_cancel": [_ACK]}
    return ScriptedServer(STATELESS, **{**usual, "tasks_update": [_ACK], **answers})


_ACK = {"resultType": "complete"}


def got(status: str = "working", **members: Any) -> Any:
    """The answer to `tasks/get`."""
    return {"resultType": "complete", **task_details("t", status, **members)}


DONE = got("completed", result=text("done"))


@pytest.mark.shows("TX-01", "TX-05", "TX-09")
async def test_a_call_waits_for_its_task_as_often_as_the_server_says() -> None:
    server, clock = play_server(got(pollIntervalMs=2000), got(pollIntervalMs=100), DONE), Clock()
    async with calling(set_clock(Since(), clock), server) as client:
        result = await client.call_tool("slow", {"n": 1})
    assert isinstance(result, m.CallToolResult) and result.text == "done"
    assert clock.waits == [5, 2, 0.1]
    (call,) = server.params("tools/call")
    declared = call["_meta"]["io.modelcontextprotocol/clientCapabilities"]
    assert declared["extensions"] == DECLARED["extensions"]
    assert [params["taskId"] for params in server.params("tasks/get")] == ["t"] * 3


@pytest.mark.shows("TX-05")
async def test_a_plain_result_and_a_tool_that_fails_are_results_as_ever() -> None:
    failed = got("completed", result=text("no", isError=True))
    server = play_server(failed, tools_call=[text("at once"), task_created("t")])
    async with calling(set_clock(Since(), Clock()), server) as client:
        assert (await client.call_tool("fast")).text == "at once"
        result = await client.call_tool("slow")
        assert result.is_error and result.text == "no"
        with pytest.raises(pkg.ToolFailed):
            await client.call_tool("slow", as_=Point)


@pytest.mark.shows("TX-05")
async def test_a_task_in_answer_to_another_method_or_unasked_is_an_invalid_answer() -> None:
    server = play_server(DONE, prompts_get=[task_created("t")])
    server.capabilities["prompts"] = {}
    async with calling(Since(), server) as client:
        with pytest.raises(pkg.RemoteError):
            await client.get_prompt("p")
    async with calling(Plain(), server) as client:
        with pytest.raises(pkg.RemoteError):
            await client.call_tool("slow")
    assert server.params("tasks/get") == []


async def test_a_task_that_failed_raises_its_error_and_one_that_was_cancelled_says_so() -> None:
    error = {"code": -32602, "message": "bad", "data": {"n": 1}}
    server = play_server(got("failed", error=error))
    async with calling(set_clock(Since(), Clock()), server) as client:
        with pytest.raises(pkg.McpError) as refused:
            await client.call_tool("slow")
        assert (refused.value.code, refused.value.data) == (-32602, {"n": 1})
        server.answers["tasks/get"] = [got("cancelled", statusMessage="too dear")]
        with pytest.raises(pkg.TaskCancelled, match="too dear"):
            await client.call_tool("slow")
    assert "tasks/cancel" not in server.methods()


async def test_a_result_that_is_no_result_of_the_method_is_an_invalid_answer() -> None:
    server = play_server(got("completed", result={"content": 1}))
    async with calling(set_clock(Since(), Clock()), server) as client:
        with pytest.raises(pkg.RemoteError):
            await client.call_tool("slow")
        server.answers["tasks/get"] = [got("completed", result=task_created("again"))]
        with pytest.raises(pkg.RemoteError):
            await client.call_tool("slow")


@pytest.mark.shows("TX-13")
async def test_each_question_is_answered_once_by_the_usual_handler() -> None:
    one = {"a": form_question("first")}
    two = {**one, "b": form_question("second")}
    server = play_server(
        got("input_required", inputRequests=one),
        got("input_required", inputRequests=one),
        got("input_required", inputRequests=two),
        got(),
        DONE,
    )
    ours = set_clock(Answering(), Clock())
    async with calling(ours, server) as client:
        assert (await client.call_tool("slow")).text == "done"
    assert ours.asked == ["first", "second"]
    sent = [params["inputResponses"] for params in server.params("tasks/update")]
    answer = {"action": "accept", "content": {"age": 36}}
    assert sent == [{"a": answer}, {"b": answer}]


@pytest.mark.shows("TX-13")
async def test_a_question_that_the_client_has_not_declared_is_an_invalid_answer() -> None:
    server = play_server(got("input_required", inputRequests={"a": form_question("first")}))
    async with calling(set_clock(Since(), Clock()), server) as client:
        with pytest.raises(pkg.RemoteError):
            await client.call_tool("slow")
        await until(lambda: "tasks/cancel" in server.methods())
    assert server.params("tasks/update") == []


@pytest.mark.shows("TX-09", "TX-21")
async def test_the_wait_is_bounded_by_max_timeout_and_by_the_life_of_the_task() -> None:
    server, clock = play_server(got()), Clock()
    async with calling(set_clock(Since(), clock), server) as client:
        with pytest.raises(pkg.RequestTimeout, match="within 12 s"):
            await client.call_tool("slow", timeout=1, max_timeout=12)
        assert sum(clock.waits) == 12
        await until(lambda: "tasks/cancel" in server.methods())
        server.answers["tasks/get"] = [got(ttlMs=7000)]
        clock.waits.clear()
        with pytest.raises(pkg.RequestTimeout, match="within 7 s"):
            await client.call_tool("slow")
        assert clock.waits == [5, 2]


@pytest.mark.shows("TX-16")
async def test_whoever_cancels_the_call_cancels_the_task_and_no_request() -> None:
    polled = asyncio.Event()

    async def never(hand: Hand, message: Any) -> None:
        polled.set()

    server = play_server(never)
    async with calling(set_clock(Since(), Clock()), server) as client:
        calling_it = asyncio.create_task(client.call_tool("slow"))
        await polled.wait()
        calling_it.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling_it
        await until(lambda: "tasks/cancel" in server.methods())
    assert server.methods() == ["tools/call", "tasks/get", "tasks/cancel"]


async def test_a_late_answer_about_a_task_is_asked_for_again() -> None:
    async def never(hand: Hand, message: Any) -> None:
        """Says nothing."""

    server = play_server(got(), never, DONE)
    async with pkg.connect(
        Accepting(server.play), set_clock(Since(), Clock()), options=pkg.Options(timeout=0.2)
    ) as client:
        assert (await client.call_tool("slow")).text == "done"


async def test_a_server_that_cannot_tell_now_is_asked_again_for_a_while() -> None:
    away: JsonObject = {"error": {"code": -32603, "message": "ask again"}}
    question = got("input_required", inputRequests={"a": form_question("first")})
    server = play_server(away, question, away, question, DONE, tasks_update=[away, _ACK])
    async with calling(set_clock(Answering(), Clock()), server) as client:
        assert (await client.call_tool("slow")).text == "done"
        assert client.asked == ["first"] and len(server.params("tasks/update")) == 2
        server.answers["tasks/get"] = [away]
        with pytest.raises(pkg.McpError, match="ask again"):
            await client.call_tool("slow")
    assert 10 < len(server.params("tasks/get")) < 100


async def test_a_clock_of_the_day_that_is_set_ends_no_wait() -> None:
    server, clock = play_server(got(ttlMs=20_000), got(ttlMs=20_000), DONE), Clock()
    set_by = 0.0
    client = set_clock(Since(), clock, day=lambda: clock() + set_by)
    async with calling(client, server):
        handle = await client.start_task("slow")
        set_by = 1e6
        assert (await handle.result()).text == "done"


async def test_who_follows_a_task_answers_what_it_asks() -> None:
    question = got("input_required", inputRequests={"a": form_question("first")})
    server = play_server(question, got(), DONE)
    async with calling(set_clock(Answering(), Clock()), server) as client:
        handle = await client.start_task("slow")
        statuses = [state.status async for state in handle]
        assert statuses == ["input_required", "working", "completed"]
        assert client.asked == ["first"] and len(server.params("tasks/update")) == 1


@pytest.mark.shows("TX-17")
async def test_notification_replaces_next_poll() -> None:
    server, clock = play_server(got()), Clock()

    async def notify() -> None:
        await server.notify("notifications/tasks", **task_details("other", "failed"))
        done = task_details("t", "completed", result=text("told"))
        await server.notify("notifications/tasks", **done)

    clock.notified = notify
    async with calling(set_clock(Since(), clock), server) as client:
        assert (await client.call_tool("slow")).text == "told"
    assert server.methods() == ["tools/call"]


@pytest.mark.shows("TX-09")
async def test_a_handle_is_kept_and_taken_up_over_another_connection() -> None:
    question = got("input_required", inputRequests={"a": form_question("first")})
    server, clock = play_server(question, got(), DONE), Clock()
    first, second = set_clock(Answering(), clock), set_clock(Answering(), clock)
    async with calling(first, server) as client:
        handle = await client.start_task("slow", {"n": 1})
        assert handle.id == "t" and server.methods() == ["tools/call"]
        with pytest.raises(pkg.RequestTimeout):
            await handle.result(max_timeout=4)
        stored = handle.to_json()
    assert "tasks/cancel" not in server.methods()
    server.answers["tasks/get"] = [question, got(), DONE]
    async with calling(second, server) as client:
        assert (await client.task(stored).result(as_=str)) == "done"
    assert first.asked == ["first"] and second.asked == []


async def test_a_call_that_is_answered_at_once_is_a_handle_with_its_result() -> None:
    server = play_server(DONE, tools_call=[text("at once")])
    async with calling(Since(), server) as client:
        handle = await client.start_task("fast")
        assert handle.id is None and (await handle.status()).has_ended
        await handle.cancel()
        again = client.task(handle.to_json())
        assert (await again.result()).text == "at once"
    assert server.methods() == ["tools/call"]


async def test_foreign_handle_is_refused() -> None:
    async with calling(Since(), play_server(DONE)) as client:
        core: JsonObject = {"tool": "x", "began": 1, "form": "core", "taskId": "t", "answered": []}
        some: list[JsonObject] = [{}, {"tool": "x", "began": 1}, core]
        for wrong in some:
            with pytest.raises(pkg.LocalError):
                client.task(wrong)


async def test_results_of_tasks_are_checked_too() -> None:
    schema = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
    tool = {"name": "slow", "inputSchema": {"type": "object"}, "outputSchema": schema}
    listed = {"resultType": "complete", "tools": [tool], "ttlMs": 0, "cacheScope": "public"}
    right = got("completed", result=text("", structuredContent={"x": 1}))
    wrong = got("completed", result=text("", structuredContent={"x": "1"}))

    class After(pkg.CheckedResults, Since):
        pass

    class Around(TasksClient, pkg.CheckedResults, Plain):
        pass

    for cls in (After, Around):
        server = play_server(right, wrong, tools_list=[listed])
        async with calling(set_clock(cls(), Clock()), server) as client:
            assert (await client.call_tool("slow", as_=Point)).x == 1
            with pytest.raises(pkg.RemoteError):
                await client.call_tool("slow")
            with pytest.raises(pkg.RemoteError):
                await (await client.start_task("slow")).result()
