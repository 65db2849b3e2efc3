"""The runner of tasks: shutdown, dead workers, and the context of tasks."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mcp_protogen.runtime.features.tasks.registry import TaskRegistry
from mcp_protogen.runtime.features.tasks.task import Task
from mcp_protogen.runtime.features.tasks.watch import Timers
from mcp_protogen.runtime.storage.engine import EngineUnavailable
from mcp_revisions import (
    REVISIONS,
    Accepted,
    CallNext,
    MemoryTaskStore,
    MethodCall,
    TaskOptions,
    Toolkit,
    tool,
)
from mcp_revisions import v2026_07_28 as mcp
from mcp_revisions.v2026_07_28.ext.tasks import TasksServer
from support import coroutines
from support.json_types import JsonObject
from support.revisions import OLD
from support.sessions.talking import INITIALIZED, hello, request, serve_by_hand, shaken
from support.tasks.asking import DECLARED, answer_task, begin_task, got, text_in, until

RUNS: list[str] = []


@dataclass
class Age:
    """A form."""

    age: int


class Inner(Toolkit, mcp.Server):
    """A server that is mounted."""

    @tool(task=True)
    async def deep(self, session: mcp.Session) -> str:
        return f"{session.revision} {session.principal}"


class Outer(TasksServer, Toolkit, mcp.Server):
    """Tools that are run for longer than their workers live."""

    @tool(task=True, idempotent=True)
    async def again(self, session: mcp.Session) -> str:
        RUNS.append("again")
        answer = await session.ask("How old?", Age)
        if len(RUNS) == 1:
            await asyncio.Event().wait()
        assert isinstance(answer, Accepted)
        return f"{answer.value.age} after {len(RUNS)} runs"

    @tool(task=True, idempotent=True)
    async def later(self, session: mcp.Session) -> str:
        RUNS.append("later")
        if len(RUNS) == 1:
            await asyncio.Event().wait()
        return str(await session.ask("How old?", Age))

    @tool(task=True)
    async def only_once(self) -> str:
        await asyncio.Event().wait()
        return "never"

    @tool
    async def less(self, session: mcp.Session) -> str:
        self.disable("again", session=session)
        return "less"

    async def around(self, call: MethodCall, next: CallNext, /) -> Any:
        result = await next(call)
        if call.method != "tools/call" or call.is_sent:
            return result
        return mcp.models.CallToolResult.from_wire(
            {**result.to_wire(), "_meta": {"around": "this"}}
        )


class Deferred(TasksServer, Toolkit, mcp.Server):
    """A tool that becomes a task in two places at once."""

    def __init__(self) -> None:
        self.stopped = asyncio.Event()

    @tool(task="deferred")
    async def late(self, session: mcp.Session) -> str:
        try:
            await asyncio.gather(session.become_task(), session.become_task())
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.stopped.set()
            raise
        return "never"


def of(store: MemoryTaskStore) -> TaskOptions:
    return TaskOptions(store=store)


async def test_a_task_that_may_run_again_goes_on_in_another_worker_with_its_answers() -> None:
    RUNS.clear()
    store = MemoryTaskStore()
    async with serve_by_hand(Outer(), tasks=of(store), drain=0) as hand:
        id = await begin_task(hand, "again")
        (key,) = (await until(hand, id, "input_required"))["inputRequests"]
        await answer_task(hand, id, **{key: {"action": "accept", "content": {"age": 7}}})
        await until(hand, id, "working")
    async with serve_by_hand(Outer(), tasks=of(store), drain=0) as hand:
        ended = await until(hand, id, "completed")
        assert text_in(ended) == "7 after 2 runs"


async def test_a_task_that_runs_again_knows_what_its_client_of_2025_11_25_declared() -> None:
    RUNS.clear()
    options: JsonObject = {"tasks": of(MemoryTaskStore()), "drain": 0, "revisions": REVISIONS}
    async with shaken(Outer(), **options) as hand:
        begun = await hand.ask("tools/call", 1, name="later", arguments={}, task={})
        id = begun["result"]["task"]["taskId"]
        while not RUNS:
            await asyncio.sleep(0)
    async with shaken(Outer(), **options) as hand:
        status = "working"
        while status == "working":
            status = (await hand.ask("tasks/get", 2, taskId=id))["result"]["status"]
        assert status == "input_required"


async def test_a_task_that_may_not_run_again_fails_when_its_worker_is_shut_down() -> None:
    store = MemoryTaskStore()
    async with serve_by_hand(Outer(), tasks=of(store), drain=0) as hand:
        id = await begin_task(hand, "only_once")
    async with serve_by_hand(Outer(), tasks=of(store), drain=0) as hand:
        found = (await got(hand, id))["result"]
        assert found["status"] == "failed" and found["error"]["code"] == -32603
        assert "shut down" in found["error"]["message"]


async def test_store_failure_does_not_stop_takeover_of_orphans() -> None:
    class Failing(MemoryTaskStore):
        """A store that fails once with an unexpected error."""

        failed = False

        async def take_overdue(self, lease: float, most: int) -> Any:
            if not self.failed:
                self.failed = True
                raise ValueError("no expected error")
            return await super().take_overdue(lease, most)

    store = Failing()
    registry = TaskRegistry(store, of(store))
    async with serve_by_hand(Outer(), tasks=TaskOptions(store=store, lease=2.0), drain=0) as hand:
        await hand.ask("server/discover", "discover", _meta=DECLARED)
        id = await begin_task(hand, "only_once")
        (held,) = [stored.key for stored in await store.page("", "", 9)]
        task = Task(
            id="left",
            form="extension",
            revision="2026-07-28",
            method="tools/call",
            params={},
            created_at=registry.clock(),
            updated_at=registry.clock(),
            ttl=60.0,
            poll_interval=1.0,
        )
        await registry.create(task)
        await store.renew({stored.key for stored in await store.page("", "", 9)} - {held}, 0.0)
        assert store.failed
        assert "gone" in (await until(hand, "left", "failed"))["error"]["message"]
        assert (await got(hand, id))["result"]["status"] == "working"


async def test_a_call_becomes_one_task_whose_handler_ends_if_nobody_can_hold_it() -> None:
    class Away(MemoryTaskStore):
        """A store that is away once a task was created."""

        async def replace(self, *given: Any, **named: Any) -> bool:
            raise EngineUnavailable("away")

    store, server = Away(), Deferred()
    async with serve_by_hand(server, tasks=of(store), drain=0) as hand:
        await begin_task(hand, "late")
        assert len(await store.page("", "", 9)) == 1
        await asyncio.wait_for(server.stopped.wait(), 30)


async def test_a_call_that_is_refused_leaves_nothing_of_its_session_behind() -> None:
    server = Outer()
    full = TaskOptions(store=MemoryTaskStore(), max_tasks=1)
    async with serve_by_hand(server, revisions=REVISIONS, tasks=full, drain=0) as hand:
        await hand.send(hello(OLD))
        await hand.take()
        await hand.send(INITIALIZED)
        for id, name in enumerate(("less", "only_once", "only_once")):
            task: JsonObject = {} if name == "less" else {"task": {}}
            await hand.send(request("tools/call", id, name=name, arguments={}, **task))
        # Notifications come between.
        while (answer := await hand.take()).get("id") != 2:
            pass
        assert "Too many tasks" in answer["error"]["message"]
        kept = server.__mcp_runtime__.catalogue.switches().sessions
        # The task may begin after the other call was refused.
        async with asyncio.timeout(30):
            while len(kept) < 2:
                await asyncio.sleep(0)
        # The connection of the session, and that of the one task.
        assert len(kept) == 2


async def test_middleware_stands_around_the_work_and_mounted_tools_become_tasks() -> None:
    server = Outer()
    server.mount("in", Inner())
    async with serve_by_hand(server, drain=0) as hand:
        ended = await until(hand, await begin_task(hand, "in_deep"), "completed")
        assert ended["result"]["_meta"] == {"around": "this"}
        assert text_in(ended) == "2026-07-28 None"


async def test_a_key_that_comes_up_as_a_call_ends_is_dealt_with() -> None:
    came, loop = list[str](), asyncio.get_running_loop()

    async def work(keys: Sequence[str]) -> None:
        came.extend(keys)

    timers = Timers(work)
    timers.schedule("first", 0)
    # Meanwhile the second one comes up, too, and is next after the call for the first.
    loop.call_later(0, time.sleep, 0.01)
    timers.schedule("second", 0.005)
    await coroutines.until(lambda: len(came) == 2)
    assert came == ["first", "second"]
