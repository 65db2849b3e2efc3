"""Tools that run as tasks of the extension."""

import asyncio
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import pytest
from mcp_revisions import (
    REVISIONS,
    Accepted,
    Answer,
    EngineUnavailable,
    McpError,
    MemoryTaskStore,
    TaskOptions,
    ToolError,
    Toolkit,
    resource,
    tool,
)
from mcp_revisions import v2026_07_28 as mcp
from mcp_revisions.v2026_07_28.ext.tasks import TasksServer
from support.json_types import JsonObject
from support.revisions import OLD
from support.sessions.talking import CAPABILITIES, INITIALIZED, META, hello, serve_by_hand
from support.tables import case
from support.tasks.asking import (
    DECLARED,
    TASKS,
    answer_task,
    begin_task,
    call,
    cancel_task,
    got,
    refused,
    text_in,
    until,
)


@dataclass
class Age:
    """A form."""

    age: int


def age_in(answer: Answer[Age]) -> int:
    assert isinstance(answer, Accepted)
    return answer.value.age


SEEN: ContextVar[str] = ContextVar("SEEN", default="")


class Worker(TasksServer, Toolkit, mcp.Server):
    """Tools that become tasks, each in its own way."""

    @tool
    async def plain(self) -> str:
        return "at once"

    @tool(task=True)
    async def slow(self, label: str = "") -> str:
        return f"done {label}"

    @tool(task=True)
    async def endless(self) -> str:
        await asyncio.Event().wait()
        return "never"

    @tool(task=True)
    async def stubborn(self) -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "I was nearly done"
        return "never"

    @tool(task="required")
    async def failing(self) -> str:
        raise ToolError("no luck")

    @tool(task=True)
    async def broken(self) -> str:
        raise McpError(-32000, "broken", {"why": "so"})

    @tool(task=True)
    async def aged(self, session: mcp.Session) -> str:
        answer = await session.ask("How old?", Age)
        return f"{age_in(answer)}"

    @tool(task=True)
    async def two(self, session: mcp.Session) -> str:
        answers = await asyncio.gather(session.ask("First?", Age), session.ask("Second?", Age))
        return " ".join(str(age_in(answer)) for answer in answers)

    @tool(task=True)
    async def twice(self, session: mcp.Session) -> str:
        for _ in range(2):
            await session.ask("Sure?", Age)
        return "sure"

    @tool(task="deferred")
    async def later(self, session: mcp.Session, become: bool = True) -> str:
        answer = await session.ask("How old?", Age)
        if become:
            await session.become_task()
            again = await session.ask("And now?", Age)
            return f"{age_in(answer)} {age_in(again)}"
        return f"{age_in(answer)}"

    @tool(task=True)
    def threaded(self, session: mcp.Session) -> str:
        answer = session.from_thread(session.ask("How old?", Age))
        return f"{age_in(answer)}"


def accept(age: object) -> dict[str, Any]:
    return {"action": "accept", "content": {"age": age}}


@pytest.mark.shows("TX-02", "TX-10")
async def test_a_tool_becomes_a_task_only_where_the_request_declares_the_extension() -> None:
    async with serve_by_hand(Worker()) as hand:
        found = await call(hand, "slow", meta=META, label="a")
        assert text_in(found) == "done a"
        id = await begin_task(hand, "slow", label="b")
        ended = await until(hand, id, "completed")
        assert text_in(ended) == "done b"
        assert ended["resultType"] == "complete"
        assert (await call(hand, "plain"))["result"]["resultType"] == "complete"
        found = await call(hand, "slow", meta=META)
        assert found["result"]["resultType"] == "complete", "whatever was declared before"


@pytest.mark.shows("TX-01")
async def test_the_extension_is_declared_without_settings_by_servers_that_have_tasks() -> None:
    class Plain(TasksServer, Toolkit, mcp.Server):
        """Tools that never become tasks."""

        plain = Worker.plain

    declared: list[Any] = []
    for server in (Worker(), Plain()):
        async with serve_by_hand(server) as hand:
            said = (await hand.ask("server/discover", _meta=META))["result"]["capabilities"]
            assert "tasks" not in said
            declared.append(said.get("extensions"))
    assert declared == [{TASKS: {}}, None]


@pytest.mark.shows("TX-04", "TX-23")
async def test_the_server_alone_decides_and_task_of_the_older_kind_is_ignored() -> None:
    async with serve_by_hand(Worker(), tasks=TaskOptions(ttl=60)) as hand:
        for name, meta, kind in (
            ("slow", DECLARED, "task"),
            ("slow", META, "complete"),
            ("plain", DECLARED, "complete"),
        ):
            with case((name, kind)):
                asked = {"name": name, "arguments": {}, "_meta": meta}
                found = (await hand.ask("tools/call", **asked, task={"ttl": 1}))["result"]
                ttl = 60000 if kind == "task" else None
                assert (found["resultType"], found.get("ttlMs")) == (kind, ttl)


@pytest.mark.shows("TX-06")
async def test_a_new_task_is_flat_and_no_other_result_is_of_its_type() -> None:
    async with serve_by_hand(Worker()) as hand:
        made = (await call(hand, "endless"))["result"]
        made.pop("_meta", None)
        times = {made.pop("createdAt"), made.pop("lastUpdatedAt")}
        assert all(time.endswith("Z") for time in times)
        id = made.pop("taskId")
        assert made == {
            "resultType": "task",
            "status": "working",
            "ttlMs": 3_600_000,
            "pollIntervalMs": 1000,
        }
        others = [await got(hand, id), await answer_task(hand, id), await cancel_task(hand, id)]
        assert [result["result"]["resultType"] for result in others] == ["complete"] * 3


@pytest.mark.shows("TX-07")
async def test_a_task_is_kept_before_anybody_hears_of_it() -> None:
    keep = asyncio.Event()

    class Slow(MemoryTaskStore):
        """A store that takes its time."""

        async def create(self, key: str, record: bytes, **given: Any) -> bool:
            await keep.wait()
            return await super().create(key, record, **given)

    store = Slow()
    async with (
        serve_by_hand(Worker(), tasks=TaskOptions(store=store), drain=0) as hand,
        serve_by_hand(Worker(), tasks=TaskOptions(store=store), drain=0) as other,
    ):
        asking = asyncio.create_task(begin_task(hand, "endless"))
        assert await hand.is_silent(0.02)
        keep.set()
        assert (await got(other, await asking))["result"]["status"] == "working"


@pytest.mark.shows("TX-12")
async def test_the_same_question_has_another_key_when_it_is_asked_again() -> None:
    async with serve_by_hand(Worker()) as hand:
        id = await begin_task(hand, "twice")
        keys: list[str] = []
        for _ in range(2):
            asked = (await until(hand, id, "input_required"))["inputRequests"]
            keys += asked
            await answer_task(hand, id, **dict.fromkeys(keys, accept(1)))
        await until(hand, id, "completed")
        assert len({*keys}) == 2


@pytest.mark.shows("TX-20")
async def test_a_client_without_the_extension_can_ask_about_no_task() -> None:
    async with serve_by_hand(Worker(), drain=0) as hand:
        id = await begin_task(hand, "endless")
        for method in ("tasks/get", "tasks/update", "tasks/cancel"):
            with case(method):
                given: dict[str, Any] = {"inputResponses": {}} if "update" in method else {}
                error = (await hand.ask(method, taskId=id, **given, _meta=META))["error"]
                assert error["code"] == -32021
                assert error["data"] == {"requiredCapabilities": {"extensions": {TASKS: {}}}}


@pytest.mark.shows("TX-24")
async def test_neither_kind_is_switched_on_by_the_declaration_of_the_other() -> None:
    methods: JsonObject = {"list": {}, "cancel": {}, "requests": {"elicitation": {"create": {}}}}
    async with serve_by_hand(Worker()) as hand:
        older = {**META, CAPABILITIES: {"tasks": methods}}
        found = (await call(hand, "slow", meta=older))["result"]
        assert found["resultType"] == "complete"
        assert refused(await call(hand, "failing", meta=older)) == -32021
    async with serve_by_hand(Worker(), revisions=REVISIONS, drain=0) as hand:
        await hand.send(hello(OLD, extensions={TASKS: {}}))
        said = (await hand.take())["result"]["capabilities"]
        assert "extensions" not in said and said["tasks"]["requests"] == {"tools": {"call": {}}}
        await hand.send(INITIALIZED)
        plain = (await hand.ask("tools/call", 1, name="slow"))["result"]
        assert "task" not in plain and plain["content"][0]["text"] == "done "
        assert refused(await hand.ask("tasks/update", 2, taskId="x")) == -32601
        made = (await hand.ask("tools/call", 3, name="endless", task={}))["result"]
        id = made["task"]["taskId"]
        assert (await hand.ask("tasks/get", 4, taskId=id))["result"]["status"] == "working"


@pytest.mark.shows("TX-03")
async def test_a_tool_that_needs_a_task_says_which_capability_is_missing() -> None:
    async with serve_by_hand(Worker()) as hand:
        error = (await call(hand, "failing", meta=META))["error"]
        assert error["code"] == -32021
        assert error["data"] == {"requiredCapabilities": {"extensions": {TASKS: {}}}}


@pytest.mark.shows("TX-10", "TX-11")
async def test_only_an_error_of_the_protocol_makes_a_task_fail() -> None:
    async with serve_by_hand(Worker()) as hand:
        ended = await until(hand, await begin_task(hand, "failing"), "completed")
        assert ended["result"]["isError"] is True
        assert "error" not in ended
        ended = await until(hand, await begin_task(hand, "broken"), "failed")
        assert ended["error"] == {"code": -32000, "message": "broken", "data": {"why": "so"}}
        assert "result" not in ended


@pytest.mark.shows("TX-10", "TX-14")
async def test_a_question_waits_in_the_task_until_it_is_answered() -> None:
    for name in ("aged", "threaded"):
        async with serve_by_hand(Worker()) as hand:
            id = await begin_task(hand, name)
            asked = await until(hand, id, "input_required")
            (key,) = asked["inputRequests"]
            assert asked["inputRequests"][key]["params"]["message"] == "How old?"
            for answers in ({"nothing": accept(1)}, {key: accept("old")}):
                told = await answer_task(hand, id, **answers)
                assert ("error" in told) is (key in answers)
                assert (await got(hand, id))["result"]["status"] == "input_required"
            told = await answer_task(hand, id, **{key: accept(7)})
            assert told["result"]["resultType"] == "complete"
            assert text_in(await until(hand, id, "completed")) == "7"


@pytest.mark.shows("TX-10", "TX-14")
async def test_questions_are_answered_one_by_one_and_keys_disappear() -> None:
    async with serve_by_hand(Worker()) as hand:
        id = await begin_task(hand, "two")
        asked: dict[str, Any] = {}
        while len(asked) < 2:
            asked = (await until(hand, id, "input_required"))["inputRequests"]
        first, second = sorted(asked, key=lambda key: asked[key]["params"]["message"])
        await answer_task(hand, id, **{first: accept(1)})
        left = (await got(hand, id))["result"]
        assert left["status"] == "input_required" and [*left["inputRequests"]] == [second]
        await answer_task(hand, id, **{first: accept(9), second: accept(2)})
        assert text_in(await until(hand, id, "completed")) == "1 2"


@pytest.mark.shows("TX-15")
async def test_cancelling_is_acknowledged_and_ends_the_handler() -> None:
    async with serve_by_hand(Worker()) as hand:
        id = await begin_task(hand, "endless")
        for _ in range(2):
            acknowledged = (await cancel_task(hand, id))["result"]
            assert set(acknowledged) == {"resultType", "_meta"}
            await until(hand, id, "cancelled")
        id = await begin_task(hand, "stubborn")
        await cancel_task(hand, id)
        ended = await until(hand, id, "completed")
        assert text_in(ended) == "I was nearly done"


@pytest.mark.shows("TX-08")
async def test_a_task_may_begin_after_questions_that_are_asked_without_one() -> None:
    async with serve_by_hand(Worker()) as hand:
        for become in (True, False):
            found = (await call(hand, "later", become=become))["result"]
            assert found["resultType"] == "input_required" and "taskId" not in found
            (key,) = found["inputRequests"]
            asked = {"name": "later", "arguments": {"become": become}, "_meta": DECLARED}
            given = {"inputResponses": {key: accept(3)}, "requestState": found["requestState"]}
            answer = await hand.ask("tools/call", 2, **asked, **given)
            if not become:
                assert text_in(answer) == "3"
                continue
            result = answer["result"]
            assert result["resultType"] == "task" and "requestState" not in result
            asked = await until(hand, result["taskId"], "input_required")
            (key,) = asked["inputRequests"]
            await answer_task(hand, result["taskId"], **{key: accept(4)})
            ended = await until(hand, result["taskId"], "completed")
            assert text_in(ended) == "3 4"


@pytest.mark.shows("TX-20", "TX-23")
async def test_unknown_task_is_invalid_and_removed_methods_are_not_found() -> None:
    async with serve_by_hand(Worker()) as hand:
        for ask in (got, answer_task, cancel_task):
            assert refused(await ask(hand, "x")) == -32602
        for method in ("tasks/list", "tasks/result"):
            assert refused(await hand.ask(method, 3, taskId="x", _meta=DECLARED)) == -32601


async def test_only_what_is_about_tasks_says_that_these_cannot_be_reached() -> None:
    class Away(MemoryTaskStore):
        async def create(self, *given: Any, **options: Any) -> bool:
            raise EngineUnavailable("away")

        async def get(self, key: str) -> Any:
            raise EngineUnavailable("away")

    class Reading(Worker):
        @resource("file:///a")
        async def a(self) -> str:
            raise EngineUnavailable("away")

    async with serve_by_hand(Reading(), tasks=TaskOptions(store=Away())) as hand:
        looked = await hand.ask("tasks/get", 8, taskId="7", _meta=DECLARED)
        for answer in (await call(hand, "endless"), looked):
            assert answer["error"]["code"] == -32603
            assert "ask again" in answer["error"]["message"]
        other = await hand.ask("resources/read", 9, uri="file:///a", _meta=DECLARED)
        assert other["error"]["message"] == "Internal error"
