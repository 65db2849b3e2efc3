"""Tasks of processes that are killed, or stopped for longer than their leases: others go on."""

import asyncio
from contextlib import AsyncExitStack, suppress
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest
from support.http.serving import Session, Site, calling
from support.json_types import JsonObject
from support.revisions import OLD
from support.sessions.talking import request
from support.sharing.task_processes import LEASE, task_processes
from support.tables import case
from support.tasks.asking import DECLARED
from support.tasks.principals import of

pytestmark = pytest.mark.long


class BegunTask(NamedTuple):
    """A task, and where it was begun."""

    kind: str
    id: str
    tool: str
    worker: int


class Caller:
    """Ann, who has a session at all workers, and asks them for tasks of both kinds."""

    def __init__(self, sites: list[Site], session: Session) -> None:
        self.sites = sites
        self.session = session

    async def ask(self, worker: int, kind: str, method: str, **params: Any) -> JsonObject:
        """The answer to a request."""
        site = self.sites[worker]
        if kind == "core":
            message = request(method, f"{worker} {method} {params}", **params)
            response = await site.post(message, self.session.headers)
        else:
            response = await site.modern(method, meta=DECLARED, headers=of("ann"), **params)
        answer: JsonObject = response.json()
        return answer

    async def begin(self, worker: int, kind: str, tool: str, path: Path) -> BegunTask:
        added: JsonObject = {"task": {}} if kind == "core" else {}
        given = {"name": tool, "arguments": {"path": str(path)}, **added}
        result = (await self.ask(worker, kind, "tools/call", **given))["result"]
        id = result["task"]["taskId"] if kind == "core" else result["taskId"]
        return BegunTask(kind, str(id), tool, worker)

    async def until(self, worker: int, task: BegunTask, *statuses: str) -> JsonObject:
        """A task, once it has one of some statuses."""
        while True:
            found = (await self.ask(worker, task.kind, "tasks/get", taskId=task.id))["result"]
            if found["status"] in statuses:
                return dict(found)
            await asyncio.sleep(0.02)

    async def answer(self, worker: int, task: BegunTask) -> str:
        """Answer yes to the only question of a task, and return the question."""
        found = await self.until(worker, task, "input_required")
        ((key, question),) = found["inputRequests"].items()
        yes = {key: {"action": "accept", "content": {"value": True}}}
        await self.ask(worker, "extension", "tasks/update", taskId=task.id, inputResponses=yes)
        return str(question["params"]["message"])

    async def final_answer(self, worker: int, task: BegunTask) -> JsonObject:
        """Return the result or the error of a task's request."""
        found = await self.until(worker, task, "completed", "failed", "cancelled")
        if task.kind == "core":
            return await self.ask(worker, "core", "tasks/result", taskId=task.id)
        return found


async def open_question(caller: Caller, task: BegunTask) -> str | None:
    """What a task asks now."""
    found = (await caller.ask(2, task.kind, "tasks/get", taskId=task.id))["result"]
    questions = [
        question["params"]["message"] for question in found.get("inputRequests", {}).values()
    ]
    return questions[0] if questions else None


async def ready(site: Site) -> None:
    """Wait until a worker serves."""
    async with asyncio.timeout(60):
        while True:
            with suppress(httpx2.TransportError):
                if (await site.http.get("/ready")).status_code == 200:
                    return
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("kind", ["redis", "postgres"])
async def test_tasks_of_a_worker_that_is_killed_or_stopped_go_on_or_have_failed(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    url = request.getfixturevalue(f"{kind}_server").url
    paths = [tmp_path / f"{number}" for number in range(9)]
    async with AsyncExitStack() as stack:
        killed, stopped, lives = stack.enter_context(task_processes(url, 3))
        ports = [process.port for process in (killed, stopped, lives)]
        sites = [await stack.enter_async_context(calling(port)) for port in ports]
        await asyncio.gather(*(ready(site) for site in sites))
        caller = Caller(sites, await sites[2].initialize(OLD, of("ann")))
        rows = product((0, 1), ("core", "extension"), ("again", "only"))
        tasks = [await caller.begin(*row, path) for row, path in zip(rows, paths, strict=False)]
        pids = [killed.pid, stopped.pid, lives.pid]
        # Any remaining worker begins the task.
        while not all(
            path.with_name(f"{path.name}-{pids[task.worker]}").exists()
            for task, path in zip(tasks, paths, strict=False)
        ):
            await asyncio.sleep(0.02)
        asking = await caller.begin(0, "extension", "asking", paths[-1])
        assert await caller.answer(2, asking) == "Sure?"
        while await open_question(caller, asking) != "Really?":
            await asyncio.sleep(0.02)
        killed.kill()
        stopped.stop()
        # The other one takes over what can be run again.
        await asyncio.sleep(LEASE)
        for path in paths:
            path.touch()
        found = [await caller.final_answer(2, task) for task in tasks]
        for task, outcome in zip(tasks, found, strict=True):
            with case(f"{task.tool} of {task.kind} of worker {task.worker}"):
                if task.tool == "only":
                    assert outcome["error"]["code"] == -32603
                    assert "gone" in outcome["error"]["message"]
                else:
                    text = outcome["result"]["content"][0]["text"]
                    assert text == f"{pids[task.worker]} {pids[2]} ann ['ann', 'tasks']"
        with case("questions that were answered are not asked again"):
            assert await caller.answer(2, asking) == "Really?"
            text = (await caller.final_answer(2, asking))["result"]["content"][0]["text"]
            assert text == f"True True {pids[2]}"
        # Whoever wakes up, with all its work done, writes nothing over it.
        stopped.go_on()
        await ready(sites[1])
        await asyncio.sleep(LEASE)
        for worker in (1, 2):
            again = [await caller.final_answer(worker, task) for task in tasks]
            assert [answer.get("result", answer.get("error")) for answer in again] == [
                answer.get("result", answer.get("error")) for answer in found
            ]
