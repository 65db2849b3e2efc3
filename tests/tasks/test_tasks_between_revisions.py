"""Tasks of one revision, for clients and servers of another: native, and declared so."""

from functools import cached_property
from typing import Any

import pytest
from mcp_protogen.runtime.client.base import ClientRuntime
from mcp_protogen.runtime.features.tasks.on_wire import ClientsTasks
from mcp_revisions.v2026_07_28.ext.tasks.models import CreateTaskResult
from support.json_types import JsonObject
from support.revisions import OLD, STATELESS
from support.sessions.talking import (
    CAPABILITIES,
    META,
    Accepting,
    Hand,
    call_params,
    client,
    hello,
    modern,
    notification,
    pkg,
    serve_by_hand,
    tools,
)
from support.sessions.wiretap import agree, over, result, shake
from support.tasks.hand_written import ID, WORKING, create, with_tasks

DECLARING: JsonObject = {**META, CAPABILITIES: {"extensions": {ID: {}}}}
ALL: Any = {"revisions": pkg.REVISIONS}


async def initialize(hand: Hand, revision: str = OLD) -> Any:
    await hand.send(hello(revision))
    said = (await hand.take())["result"]
    await hand.send(notification("notifications/initialized"))
    return said


async def test_a_server_of_the_extension_declares_the_core_kind_to_a_client_of_2025_11_25() -> None:
    async with serve_by_hand(tools(STATELESS, create, **with_tasks(STATELESS)), **ALL) as hand:
        said = (await initialize(hand))["capabilities"]
    assert said["tasks"] == {"requests": {"tools": {"call": {}}}, "cancel": {}}
    assert "extensions" not in said


async def test_no_kind_of_tasks_is_declared_in_a_revision_without_tasks() -> None:
    async with serve_by_hand(tools(STATELESS, create, **with_tasks(STATELESS)), **ALL) as hand:
        said = (await initialize(hand, "2025-06-18"))["capabilities"]
    assert not {"tasks", "extensions"} & said.keys()


async def test_a_server_of_2025_11_25_declares_the_extension_to_a_client_of_2026_07_28() -> None:
    async with serve_by_hand(tools(OLD, create, **with_tasks(OLD)), **ALL) as hand:
        said = (await hand.ask("server/discover", _meta=META))["result"]["capabilities"]
    assert said["extensions"] == {ID: {}}
    assert "tasks" not in said


async def test_a_server_without_tasks_has_no_method_of_the_extension() -> None:
    async with serve_by_hand(tools(OLD, create), **ALL) as hand:
        await hand.send(modern("tasks/get", taskId="t1", _meta=DECLARING))
        assert (await hand.take())["error"]["code"] == -32601
        said = (await hand.ask("server/discover", _meta=META))["result"]["capabilities"]
    assert not {"tasks", "extensions"} & said.keys()


async def test_task_members_of_2025_11_25_call_reach_2026_07_28_server() -> None:
    lost: list[Any] = []
    ours = tools(STATELESS, create, **with_tasks(STATELESS))
    async with serve_by_hand(ours, **ALL, on_loss=lost.append) as hand:
        await initialize(hand)
        plain = await hand.ask("tools/call", 1, name="slow")
        made = await hand.ask("tools/call", 2, name="slow", task={"ttl": 5})
        found = await hand.ask("tasks/get", 3, taskId="t1")
        listed = await hand.ask("tools/list", 4)
    assert plain["result"]["content"][0]["text"] == "plain"
    assert made["result"]["task"]["taskId"] == "t1"
    assert found["result"]["taskId"] == "t1" and found["result"]["status"] == "working"
    support = {tool["name"]: tool.get("execution") for tool in listed["result"]["tools"]}
    assert support == {"slow": {"taskSupport": "optional"}, "plain": None}
    assert not lost


async def test_a_task_that_a_server_cannot_have_is_a_loss() -> None:
    lost: list[Any] = []
    async with serve_by_hand(tools(STATELESS, create), **ALL, on_loss=lost.append) as hand:
        await initialize(hand)
        await hand.ask("tools/call", 1, name="slow", task={})
    assert [loss.pointer for loss in lost] == ["/params/task"]


async def test_a_server_of_2025_11_25_answers_a_client_of_the_extension_with_its_tasks() -> None:
    lost: list[Any] = []
    ours = tools(OLD, create, **with_tasks(OLD))
    async with serve_by_hand(ours, **ALL, on_loss=lost.append) as hand:
        await hand.send(modern("tools/call", 1, name="slow", _meta=DECLARING))
        made = (await hand.take())["result"]
        await hand.send(modern("tasks/get", 2, taskId="t2", _meta=DECLARING))
        found = (await hand.take())["result"]
        await hand.send(modern("tasks/get", 3, taskId="t2"))
        refused = (await hand.take())["error"]
        await hand.send(modern("tasks/list", 4, _meta=DECLARING))
        gone = (await hand.take())["error"]
    assert (made["resultType"], made["taskId"]) == ("task", "t1")
    assert (found["resultType"], found["taskId"]) == ("complete", "t2")
    assert refused["code"] in (-32601, -32021) and gone["code"] == -32601
    assert not lost


class Patient(ClientRuntime):
    """The runtime's part of a client whose calls may become tasks."""

    def __init__(self, owner: Any) -> None:
        super().__init__(owner)
        self.listed: list[Any] = []

    def wire_feature(self) -> ClientsTasks:
        return ClientsTasks(self.listed.extend)


def patient(revision: str) -> Any:
    return client(revision, __mcp_runtime__=cached_property(Patient))


async def test_a_client_of_2025_11_25_declares_the_extension_and_gets_its_tasks() -> None:
    asked: list[Any] = []

    async def play(hand: Hand) -> None:
        await agree(hand, tools={}, extensions={ID: {}})
        while call := await hand.take():
            asked.append(call)
            kind = "task" if call["method"] == "tools/call" else "complete"
            await hand.send(result(call["id"], resultType=kind, **WORKING, ttlMs=None))

    async with over(patient(OLD), Accepting(play)) as one:
        declared = one.__mcp_runtime__.peer_capabilities()
        got: Any = await one.request_once(
            one.TABLE.requests["tools/call"], call_params(OLD, "slow")
        )
        native = one.__mcp_runtime__.connection.view.table.wire.requests["tasks/get"]
        found: Any = await one.request_once(native, native.params(taskId="t1"))
        with pytest.raises(pkg.LocalError):
            await one.request_once(one.TABLE.requests["tasks/get"], native.params(taskId="t1"))
    assert isinstance(got, CreateTaskResult) and got.task_id == "t1"
    assert declared["extensions"] == {ID: {}} and found.task_id == "t1"
    assert asked[0]["params"]["_meta"][CAPABILITIES]["extensions"] == {ID: {}}


async def test_a_client_of_2026_07_28_asks_for_a_task_of_2025_11_25() -> None:
    lost: list[Any] = []
    asked: list[Any] = []
    tool = {"name": "slow", "inputSchema": {"type": "object"}}

    async def play(hand: Hand) -> None:
        await shake(hand, tools={}, tasks={"requests": {"tools": {"call": {}}}})
        while call := await hand.take():
            asked.append(call.get("params"))
            answers: Any = {
                "tools/list": {"tools": [{**tool, "execution": {"taskSupport": "required"}}]},
                "tools/call": {"task": {**WORKING, "ttl": None}},
                "tasks/get": {**WORKING, "ttl": None},
            }
            await hand.send(result(call["id"], **answers[call["method"]]))

    ours = patient(STATELESS)
    async with over(ours, Accepting(play), on_loss=lost.append) as one:
        await one.list_tools()
        params = type(call_params(STATELESS, "slow")).from_wire(
            {"name": "slow", "task": {"ttl": 5}, "_meta": META}
        )
        made: Any = await one.request_once(one.TABLE.requests["tools/call"], params)
        wire = one.__mcp_runtime__.connection.view.table.wire
        spec = wire.requests["tasks/get"]
        found: Any = await one.request_once(spec, spec.params(task_id="t1"))
    assert made.task.task_id == "t1" and found.status == "working"
    assert asked[1]["task"] == {"ttl": 5}
    assert ours.__mcp_runtime__.listed[0]["execution"] == {"taskSupport": "required"}
    assert not lost
