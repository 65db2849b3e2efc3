"""Calls of tools as tasks of 2025-11-25, on servers of functions."""

from asyncio import Event, create_task, wait_for
from typing import Any

import pytest
from mcp_revisions import McpError, Toolkit, client_of
from mcp_revisions.v2025_11_25 import Client, Server
from mcp_revisions.v2025_11_25 import models as m
from support.revisions import OLD
from support.sessions.talking import INITIALIZED, hello, serve_by_hand
from support.sessions.wiretap import Wire
from support.tables import case
from support.tasks.jobs import (
    OPTIONS,
    RELATED,
    TASK,
    AnsweringClient,
    Jobs,
    begin_task,
    create_job,
    text_of,
)


class Plain(Toolkit, Server):
    """Tools without tasks."""

    quick = Jobs.quick


@pytest.mark.shows("TC-01", "TC-04")
async def test_a_server_declares_tasks_and_each_tool_says_whether_it_can_be_one() -> None:
    async with client_of(Jobs(), Client(), options=OPTIONS) as client:
        declared = client.server_capabilities.to_wire()["tasks"]
        assert declared == {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
        supports = {
            tool.name: tool.execution and tool.execution.task_support
            async for tool in client.iter_tools()
        }
        assert supports == {
            "slow": "optional",
            "needed": "required",
            "quick": None,
            **dict.fromkeys(("wrong", "say", "sure", "name_revision"), "optional"),
            "greet": "optional",
        }

    async with client_of(Plain(), Client(), options=OPTIONS) as client:
        assert "tasks" not in client.server_capabilities.to_wire()


@pytest.mark.shows("TC-06")
async def test_a_server_that_has_no_tasks_passes_over_the_wish_for_one() -> None:
    async with serve_by_hand(Plain()) as hand:
        await hand.send(hello(OLD), INITIALIZED)
        assert "tasks" not in (await hand.take())["result"]["capabilities"]
        result = (await hand.ask("tools/call", 1, name="quick", task={"ttl": 60000}))["result"]
        assert result["content"][0]["text"] == "quick is done"


@pytest.mark.shows("TC-04")
async def test_a_tool_that_forbids_or_requires_a_task_is_called_in_no_other_way() -> None:
    async with client_of(Jobs(), Client(), options=OPTIONS) as client:
        rows: list[tuple[str, dict[str, Any]]] = [("quick", TASK), ("needed", {})]
        for name, given in rows:
            with case(name), pytest.raises(McpError) as raised:
                call: Any = client.call_as_task if given else client.call_tool
                await call(name, {}, **given)
            assert raised.value.code == -32601
        assert text_of(await client.call_tool("quick", {})) == "quick is done"
        task = await begin_task(client, "needed")
        assert text_of(await client.get_task_payload(task.task_id)) == "needed is done"


@pytest.mark.shows("TC-05", "TC-08", "TC-11", "TC-12", "TC-13", "TC-14", "TC-15", "TC-16")
async def test_a_call_becomes_a_task_whose_result_waits() -> None:
    jobs, wire, reports = Jobs(), Wire(), list[Any]()
    async with client_of(jobs, Client(), tap=wire, options=OPTIONS) as client:
        task = await begin_task(client, "slow", on_progress=reports.append)
        assert (task.status, task.ttl, task.poll_interval) == ("working", 60000, 10)
        assert (await client.get_task(task.task_id)).status == "working"
        await jobs.began.wait()
        waiting = create_task(client.get_task_payload(task.task_id))
        shown = (await client.get_task(task.task_id)).to_wire()
        assert [listed.to_wire() async for listed in client.iter_tasks()] == [shown]
        assert not waiting.done()
        jobs.go_on.set()
        payload = await wait_for(waiting, 30)
        assert text_of(payload) == "slow is done"
        assert payload.meta == {RELATED: {"taskId": task.task_id}}
        ended = await client.get_task(task.task_id)
        assert (ended.status, ended.created_at) == ("completed", task.created_at)
        again = await client.get_task_payload(task.task_id)
        assert again == payload
    assert [report.done for report in reports] == [1, 2]
    for method, times in (("notifications/progress", 2), ("notifications/message", 1)):
        related = [params["_meta"][RELATED] for params in wire.calls(method)]
        assert related == [{"taskId": task.task_id}] * times
    (told,) = wire.calls("notifications/tasks/status")
    assert told["status"] == "completed" and "_meta" not in told


@pytest.mark.shows("TC-05", "TC-13", "TC-22")
async def test_a_tool_may_say_what_a_model_is_told_meanwhile() -> None:
    key = "io.modelcontextprotocol/model-immediate-response"
    async with client_of(Jobs(), Client(), options=OPTIONS) as client:
        for name, said in (("needed", {key: "It will come by mail."}), ("slow", {})):
            answer = await create_job(client, name)
            assert answer.meta == {RELATED: {"taskId": answer.task.task_id}, **said}


@pytest.mark.shows("TC-12", "TC-18")
async def test_a_call_that_fails_fails_its_task_and_is_answered_in_the_same_way() -> None:
    async with client_of(Jobs(), Client(), options=OPTIONS) as client:
        plain: Any = await client.call_tool("wrong", {"how": "result"})
        task = await begin_task(client, "wrong", arguments={"how": "result"})
        payload = await client.get_task_payload(task.task_id)
        assert (plain.is_error, text_of(payload)) == (True, text_of(plain))
        ended = await client.get_task(task.task_id)
        assert (ended.status, ended.status_message) == ("failed", text_of(plain))

        task = await begin_task(client, "wrong", arguments={"how": "error"})
        for _ in range(2):
            with pytest.raises(McpError) as raised:
                await client.get_task_payload(task.task_id)
            error = raised.value
            assert (error.code, error.message, error.data) == (-7, "No luck", {"more": 1})
        ended = await client.get_task(task.task_id)
        assert (ended.status, ended.status_message) == ("failed", "No luck")


@pytest.mark.shows("TC-13")
async def test_params_say_which_task_is_meant_whatever_is_related() -> None:
    async with client_of(Jobs(), Client(), options=OPTIONS) as client:
        one, other = await begin_task(client, "needed"), await begin_task(client, "slow")
        meta = m.RequestParamsMeta.from_wire({RELATED: {"taskId": other.task_id}})
        found = await client.get_task(one.task_id, meta=meta)
        assert found.task_id == one.task_id
        assert found.meta is None, "nothing else says which task it is about"
        payload = await client.get_task_payload(one.task_id, meta=meta)
        assert payload.meta == {RELATED: {"taskId": one.task_id}}


@pytest.mark.shows("TC-17", "TC-19")
async def test_a_cancelled_task_ends_its_tool_and_cannot_be_cancelled_again() -> None:
    jobs = Jobs()
    async with client_of(jobs, Client(), options=OPTIONS) as client:
        task = await begin_task(client, "slow")
        await jobs.began.wait()
        waiting = create_task(client.get_task_payload(task.task_id))
        cancelled = await client.cancel_task(task.task_id)
        assert cancelled.status == "cancelled"
        await wait_for(jobs.stopped.wait(), 30)
        assert (await client.get_task(task.task_id)).status == "cancelled"
        with pytest.raises(McpError) as raised:
            await waiting
        assert raised.value.code == -32602
        for id in (task.task_id, "no such task"):
            with case(id), pytest.raises(McpError) as raised:
                await client.cancel_task(id)
            assert raised.value.code == -32602


@pytest.mark.shows("TC-09", "TC-10", "TC-13")
async def test_questions_of_a_task_come_on_the_stream_of_its_result() -> None:
    answerer, wire = AnsweringClient(), Wire()
    async with client_of(Jobs(), answerer, tap=wire, options=OPTIONS) as client:
        task = await begin_task(client, "greet")
        while (await client.get_task(task.task_id)).status != "input_required":
            pass
        assert answerer.asked == [], "nothing is asked before the client waits for the result"
        both = [create_task(client.get_task_payload(task.task_id)) for _ in range(2)]
        texts = [text_of(await wait_for(handle, 30)) for handle in both]
        assert texts == ["F L", "F L"]
        asked = [question.message for question in answerer.asked]
        assert asked == ["First?", "Last?"], "each one once"
    related = [params["_meta"][RELATED] for params in wire.calls("elicitation/create")]
    assert related == [{"taskId": task.task_id}] * 2


@pytest.mark.shows("TC-09")
async def test_a_question_that_was_not_answered_is_asked_on_the_next_stream() -> None:
    asked, released = Event(), Event()

    class Slow(AnsweringClient):
        """A user who needs time for the first question."""

        async def on_elicit(self, params: m.ElicitRequestParams) -> m.ElicitResult:
            if not asked.is_set():
                asked.set()
                await released.wait()
            return await super().on_elicit(params)

    async with client_of(Jobs(), Slow(), options=OPTIONS) as client:
        task = await begin_task(client, "greet")
        first = create_task(client.get_task_payload(task.task_id))
        await asked.wait()
        second = create_task(client.get_task_payload(task.task_id))
        first.cancel()
        assert text_of(await wait_for(second, 30)) == "F L"


@pytest.mark.shows("TC-09")
async def test_a_client_that_answers_with_an_error_fails_what_asked() -> None:
    answerer = AnsweringClient()
    answerer.refuses = True
    async with client_of(Jobs(), answerer, options=OPTIONS) as client:
        task = await begin_task(client, "greet")
        with pytest.raises(McpError) as raised:
            await client.get_task_payload(task.task_id)
        assert (raised.value.code, raised.value.message) == (-1, "Not now")
