"""A bridge's messages about tasks; at least one end is played by hand."""

from asyncio import wait_for
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
from mcp_revisions import RequestedTask, TaskReceiver
from mcp_revisions import v2025_11_25 as handshake
from mcp_revisions.v2025_11_25 import models as m
from support.coroutines import until
from support.json_types import Json, JsonObject
from support.revisions import OLD, STATELESS
from support.sessions.bridging import serve_bridged, through
from support.sessions.talking import (
    CAPABILITIES,
    INITIALIZED,
    META,
    Accepting,
    Hand,
    content_of,
    hello,
    modern,
    pkg,
    request,
    tools,
)
from support.tables import case
from support.tasks import asking
from support.tasks.asking import refused, text_in
from support.tasks.by_hand import (
    ScriptedServer,
    core_task,
    elicit,
    task_created,
    task_details,
    text,
)
from support.tasks.gateway import OPTIONS, SERVERS, connect_bridged
from support.tasks.jobs import RELATED

TASKS = asking.TASKS
TASK: JsonObject = {"task": {}}
CALL = "tools/call"


def between(played: ScriptedServer, **options: Any) -> AbstractAsyncContextManager[Hand]:
    """The client's end of a bridge to a server that is played in its revision."""
    spoken = [revision for revision in pkg.REVISIONS if revision.id == played.revision]
    return serve_bridged(Accepting(played.play), spoken, **options)


async def shake(hand: Hand, version: str = OLD) -> Json:
    """Begin as a client of the handshake era; return the server's description."""
    await hand.send(hello(version, elicitation={}, sampling={}))
    said = (await hand.take())["result"]
    await hand.send(INITIALIZED)
    return said["capabilities"]


async def got(hand: Hand, id: str, status: str) -> Json:
    """The task of a client of 2025-11-25, once it has a status."""
    while True:
        found = await hand.ask("tasks/get", "get", taskId=id)
        if found["result"]["status"] == status:
            return found["result"]


def with_tool(support: str, **answers: Any) -> ScriptedServer:
    """A server of 2025-11-25 whose tool may or has to be a task, and becomes one."""
    execution = {"taskSupport": support}
    tool = {"name": "x", "inputSchema": {"type": "object"}, "execution": execution}
    usual: Any = {"tools_list": [{"tools": [tool]}], "tools_call": [{"task": core_task("t")}]}
    return ScriptedServer(OLD, **{**usual, **answers})


class Host(TaskReceiver, handshake.Client):
    """A client that works on questions as tasks."""

    async def on_elicit(self, params: m.ElicitRequestParams) -> m.ElicitResult:
        return m.ElicitResult(action="accept", content={"value": "done"})


def extensions(params: Json) -> Any:
    """The extensions that a request declares."""
    return params["_meta"][CAPABILITIES].get("extensions")


async def test_each_request_declares_to_the_server_what_it_declares_itself() -> None:
    plain = text("plain")
    served = ScriptedServer(STATELESS, tools_call=[plain, plain, task_created("t"), plain])
    rows: list[tuple[Any, Any]] = [
        ({}, None),
        ({"extensions": {"a/b": {"x": 1}}}, {"a/b": {"x": 1}}),
        ({"extensions": {TASKS: {}}}, {TASKS: {}}),
        ({"sampling": {}}, None),
    ]
    async with between(served) as hand:
        for declared, _ in rows:
            await hand.send(modern(CALL, 1, name="x", _meta={**META, CAPABILITIES: declared}))
            assert "result" in await hand.take()
    assert [extensions(params) for params in served.params(CALL)] == [told for _, told in rows]


async def test_a_call_that_asks_for_a_task_declares_the_extension_and_a_plain_one_does_not() -> (
    None
):
    served = ScriptedServer(STATELESS, tools_call=[text("plain"), task_created("t")])
    async with between(served) as hand:
        told = await shake(hand)
        assert told == {"tools": {}, "tasks": {"requests": {"tools": {"call": {}}}, "cancel": {}}}
        assert "content" in (await hand.ask(CALL, 1, name="x"))["result"]
        task = (await hand.ask(CALL, 2, name="x", **TASK))["result"]
    assert [extensions(params) for params in served.params(CALL)] == [None, {TASKS: {}}]
    assert all("task" not in params for params in served.params(CALL))
    assert task["task"]["taskId"] == "t" and task["task"]["pollInterval"] == 5000
    assert task["task"]["ttl"] is None and task["_meta"] == {RELATED: {"taskId": "t"}}


async def test_a_result_that_comes_at_once_is_that_of_a_task_that_the_bridge_keeps() -> None:
    served = ScriptedServer(STATELESS, tools_call=[text("done"), text("not done", isError=True)])
    async with between(served) as hand:
        await shake(hand)
        for status, said in (("completed", "done"), ("failed", "not done")):
            with case(status):
                task = (await hand.ask(CALL, 1, name="x", **TASK))["result"]["task"]
                assert task["status"] == "working"
                id = task["taskId"]
                assert (await got(hand, id, status))["taskId"] == id
                answer = await hand.ask("tasks/result", 2, taskId=id)
                assert text_in(answer) == said
                assert answer["result"]["_meta"][RELATED] == {"taskId": id}
                assert refused(await hand.ask("tasks/cancel", 3, taskId=id)) == -32602
    assert served.methods() == [CALL, CALL]


async def test_questions_of_a_task_come_while_its_result_is_awaited_and_say_whose_they_are() -> (
    None
):
    theirs = SERVERS[STATELESS]()
    async with serve_bridged(theirs, **OPTIONS) as hand:
        await shake(hand)
        id = (await hand.ask(CALL, 1, name="sure", **TASK))["result"]["task"]["taskId"]
        assert "inputRequests" not in await got(hand, id, "input_required")
        # Two that wait for the same result are asked once.
        await hand.send(*(request("tasks/result", request_id, taskId=id) for request_id in (2, 3)))
        for message in ("Sure?", "Quite?"):
            question = await hand.take()
            assert question["method"] == "elicitation/create"
            assert question["params"]["message"] == message
            assert question["params"]["_meta"] == {RELATED: {"taskId": id}}
            # A refusal is an answer, too, where only an answer can be given.
            await hand.send(
                {"jsonrpc": "2.0", "id": question["id"], "error": {"code": -1, "message": "no"}}
            )
        ended = [await hand.take(), await hand.take()]
        assert {answer["id"] for answer in ended} == {2, 3}
        assert [*map(text_in, ended)] == ["False False"] * 2


async def test_any_tool_may_be_called_as_a_task_where_the_server_decides() -> None:
    tool = {"name": "x", "inputSchema": {"type": "object"}}
    listed = {"resultType": "complete", "tools": [tool], "ttlMs": 0, "cacheScope": "private"}
    async with between(ScriptedServer(STATELESS, tools_list=[listed])) as hand:
        await shake(hand)
        told = (await hand.ask("tools/list"))["result"]
    assert told["tools"] == [{**tool, "execution": {"taskSupport": "optional"}}]


async def test_a_cancelled_task_stays_so_for_a_client_of_2025_11_25() -> None:
    done = task_details("t", "completed", resultType="complete", result=text("done"))
    served = ScriptedServer(
        STATELESS,
        tools_call=[task_created("t")],
        tasks_get=[task_details("t", resultType="complete"), done],
        tasks_cancel=[{"resultType": "complete"}],
    )
    async with between(served) as hand:
        await shake(hand)
        await hand.ask(CALL, 1, name="x", **TASK)
        for id, method in enumerate(("tasks/cancel", "tasks/get"), 2):
            assert (await hand.ask(method, id, taskId="t"))["result"]["status"] == "cancelled"
        for id, method in enumerate(("tasks/result", "tasks/cancel"), 4):
            assert refused(await hand.ask(method, id, taskId="t")) == -32602
    assert served.methods().count("tasks/cancel") == 1


async def test_questions_of_2025_11_25_are_shown_under_keys_and_answered_in_part() -> None:
    theirs = SERVERS[OLD]()
    async with serve_bridged(theirs, **OPTIONS) as hand:
        id = await asking.begin_task(hand, "sure")
        keys = list[str]()
        for message in ("Sure?", "Quite?"):
            task = await asking.until(hand, id, "input_required")
            ((key, question),) = task["inputRequests"].items()
            assert question["method"] == "elicitation/create"
            assert question["params"]["message"] == message and key not in keys
            keys.append(key)
            given, wrong = (
                {"action": "accept", "content": {"value": value}} for value in (True, 5)
            )
            unknown: list[JsonObject] = [{"unknown": {"action": "cancel"}}, {key + "x": {}}]
            for answer in unknown:
                told = await asking.answer_task(hand, id, **answer)
                assert told["result"]["resultType"] == "complete"
            assert refused(await asking.answer_task(hand, id, **{key: wrong})) == -32602
            told = (await asking.answer_task(hand, id, **{key: given}))["result"]
            assert told.keys() == {"resultType", "_meta"} and told["resultType"] == "complete"
        task = await asking.until(hand, id, "completed")
        assert text_in(task) == "True True"
        assert "_meta" not in task["result"]
        again = await asking.answer_task(hand, id, **{keys[0]: given})
        assert again["result"]["resultType"] == "complete"
        for ask in (asking.answer_task, asking.cancel_task, asking.got):
            assert refused(await ask(hand, "none")) == -32602


async def test_ended_task_can_be_cancelled_in_extension() -> None:
    rows: list[JsonObject] = [{"cancel": {}}, {}]
    for cancels in rows:
        lost: list[Any] = []
        served = with_tool(
            "optional",
            tasks_get=[core_task("t", "cancelled")],
            tasks_cancel=[{"error": {"code": -32602, "message": "It has ended"}}],
        )
        served.capabilities["tasks"] = {"requests": {"tools": {"call": {}}}, **cancels}
        with case(cancels):
            async with between(served, on_loss=lost.append) as hand:
                id = await asking.begin_task(hand, "x")
                assert (await asking.cancel_task(hand, id))["result"]["resultType"] == "complete"
            assert [loss.method for loss in lost] == ([] if cancels else ["tasks/cancel"])


async def test_progress_of_a_task_goes_on_after_its_creation_in_2025_11_25() -> None:
    seen: list[Any] = []
    theirs = SERVERS[OLD]()
    async with connect_bridged(handshake.Client(), theirs, progress_interval=0) as one:
        task = await one.call_as_task("slow", task=m.TaskMetadata(), on_progress=seen.append)
        assert isinstance(task, m.CreateTaskResult)
        await wait_for(theirs.began.wait(), 30)
        await until(lambda: len(seen) == 1)
        theirs.go_on.set()
        await until(lambda: len(seen) == 2)
    assert [progress.done for progress in seen] == [1, 2]


@pytest.mark.parametrize("server", [OLD, STATELESS])
async def test_a_listen_stream_hears_of_tasks(server: str) -> None:
    theirs = SERVERS[server]()
    async with serve_bridged(theirs, **OPTIONS) as hand:
        id = await asking.begin_task(hand, "slow")
        wanted = {"taskIds": [id, "none"]}
        listen = modern("subscriptions/listen", 7, notifications=wanted, _meta=asking.DECLARED)
        await hand.send(listen)
        said = (await hand.take())["params"]
        assert said["notifications"]["taskIds"] == [id]
        first = await hand.take()
        assert first["method"] == "notifications/tasks" and first["params"]["status"] == "working"
        theirs.go_on.set()
        last = (await hand.take())["params"]
        assert (last["taskId"], last["status"]) == (id, "completed")
        assert text_in(last) == "slow is done"
        assert last["_meta"] == said["_meta"]
        await hand.send(modern("subscriptions/listen", 8, notifications=wanted))
        assert refused(await hand.take()) == -32021


async def test_a_listen_stream_hears_at_once_of_what_a_server_of_2025_11_25_notifies_of() -> None:
    states = [core_task("t", pollInterval=60_000), core_task("t", "cancelled")]
    served = with_tool("optional", tasks_get=states)
    async with between(served) as hand:
        id = await asking.begin_task(hand, "x")
        wanted = {"taskIds": [id]}
        listen = modern("subscriptions/listen", 7, notifications=wanted, _meta=asking.DECLARED)
        await hand.send(listen)
        await hand.take()
        assert (await hand.take())["params"]["status"] == "working"
        await served.notify("notifications/tasks/status", **core_task("t", "cancelled"))
        assert (await wait_for(hand.take(), 5))["params"]["status"] == "cancelled"


async def test_a_tool_that_is_always_a_task_is_waited_for_where_the_client_has_none() -> None:
    for version, server in [(OLD, STATELESS), ("2025-06-18", OLD), ("2025-06-18", STATELESS)]:
        with case((version, server)):
            async with serve_bridged(SERVERS[server](), **OPTIONS) as hand:
                told = await shake(hand, version)
                assert ("tasks" in told) is (version == OLD)
                answer = await hand.ask(CALL, 1, name="needed", arguments={})
                assert text_in(answer) == "needed is done"
    async with serve_bridged(SERVERS[OLD](), **OPTIONS) as hand:
        assert text_in(await asking.call(hand, "needed", meta=META)) == "needed is done"
        for method in ("tasks/get", "tasks/cancel"):
            await hand.send(modern(method, 2, taskId="t"))
            assert refused(await hand.take()) == -32021


async def test_question_of_plain_call_in_task_becomes_rounds() -> None:
    async def ask(hand: Hand, message: JsonObject) -> JsonObject:
        question = elicit(70, "How old?")
        question["params"]["_meta"] = {RELATED: {"taskId": "t"}}
        await hand.send(question)
        answer = await hand.take()
        return text(str(answer["result"]["content"]["age"]))

    only = {"error": {"code": -32601, "message": "only as a task"}}
    calls = [only, {"task": core_task("t")}]
    served = with_tool("required", tools_call=calls, tasks_result=[ask])
    async with between(served) as hand:
        meta: JsonObject = {**META, CAPABILITIES: {"elicitation": {}}}
        asked = (await asking.call(hand, "x", meta=meta))["result"]
        ((key, question),) = asked["inputRequests"].items()
        assert question["params"]["message"] == "How old?"
        given = {key: {"action": "accept", "content": {"age": 36}}}
        back: Any = {"inputResponses": given, "requestState": asked["requestState"]}
        await hand.send(modern(CALL, 2, name="x", arguments={}, _meta=meta, **back))
        assert text_in(await hand.take()) == "36"


async def test_untranslatable_task_member_is_named_loss() -> None:
    immediate = {"_meta": {"io.modelcontextprotocol/model-immediate-response": "Soon."}}
    served = with_tool("optional", tools_call=[{"task": core_task("t"), **immediate}])
    served.capabilities["tasks"]["list"] = {}
    lost: list[Any] = []
    async with between(served, on_loss=lost.append) as hand:
        answer = await asking.call(hand, "x", meta={**asking.DECLARED, "progressToken": "p"})
        assert answer["result"]["taskId"] == "t"
        token = served.params(CALL)[0]["_meta"]["progressToken"]
        await served.notify("notifications/progress", progressToken=token, progress=1)
        await until(lambda: len(lost) == 3)
    assert [(loss.method, loss.pointer) for loss in lost] == [
        ("ServerCapabilities", "/ServerCapabilities/tasks/list"),
        (CALL, "/result/_meta/io.modelcontextprotocol~1model-immediate-response"),
        (CALL, ""),
    ]

    lost.clear()
    played = ScriptedServer(STATELESS, tools_call=[task_created("t")])
    async with through(Host(), Accepting(played.play), on_loss=lost.append) as one:
        made = await one.call_as_task("x", task=m.TaskMetadata(ttl=5))
        assert isinstance(made, m.CreateTaskResult)
    assert [(loss.method, loss.pointer) for loss in lost] == [
        ("ClientCapabilities", "/ClientCapabilities/tasks"),
        (CALL, "/params/task/ttl"),
    ]


async def test_tasks_of_a_client_are_asked_for_through_a_bridge_within_2025_11_25() -> None:
    async def call(session: handshake.Session, params: m.CallToolRequestParams) -> str:
        schema = m.ElicitRequestFormParamsRequestedSchema.from_wire(
            {"type": "object", "properties": {"value": {"type": "string"}}}
        )
        wanted = m.ElicitRequestFormParams(
            message="What?", requested_schema=schema, task=m.TaskMetadata()
        )
        created = await session.request_once(handshake.methods.ELICIT, wanted)
        result = await RequestedTask(session, created, m.ElicitResult).result()
        return str(content_of(result)["value"])

    async with connect_bridged(Host(), tools(OLD, call)) as one:
        assert content_of(await one.call_tool("x"))[0].text == "done"
