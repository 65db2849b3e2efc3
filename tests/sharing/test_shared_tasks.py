"""Tasks at several workers that share an engine: each request comes to another one than the last.

One server has tasks for the clients of both forms.
"""

from asyncio import create_task, sleep, timeout, wait, wait_for
from contextlib import AsyncExitStack
from typing import Any

import pytest
from mcp_revisions import (
    REVISIONS,
    McpError,
    MemoryEngine,
    MemoryTaskStore,
    Shared,
    TaskOptions,
    connect_http,
)
from support.http.serving import Site, calling, serving
from support.json_types import JsonObject
from support.revisions import OLD, STATELESS
from support.sessions.talking import notification, request
from support.sharing.task_workers import ENGINES, Work, engine_of, task_workers
from support.tables import case
from support.tasks.principals import of
from support.tasks.tools import CLIENTS


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Any:
    """Each engine."""
    return engine_of(request.param, request)


@pytest.mark.shows("TC-08", "TC-12", "TC-16", "TC-17", "TX-07", "TX-14", "TX-15")
async def test_a_task_is_begun_asked_answered_and_cancelled_at_any_worker(engine: Any) -> None:
    for revision in (OLD, STATELESS):
        work = Work()
        async with (
            task_workers(work, engine) as workers,
            connect_http(workers.url, CLIENTS[revision](), headers=of("ann")) as client,
        ):
            with case(f"{revision} answers"):
                handle = await client.start_task("sure")
                text = await wait_for(handle.result(as_=str), 10)
                assert text == "ann ['ann', 'tasks']: True"
            with case(f"{revision} waits"):
                handle = await client.start_task("slow")
                waiting = create_task(handle.result(as_=str))
                assert (await handle.status()).status == "working"
                work.go_on.set()
                assert await wait_for(waiting, 10) == "done"
            with case(f"{revision} cancels"):
                work.go_on.clear()
                handle = await client.start_task("slow")
                await handle.cancel()
                await wait_for(work.stopped.wait(), 10)
                while (await handle.status()).status != "cancelled":
                    pass
            with case(f"{revision} lists"):
                if revision == OLD:
                    assert len([one async for one in client.iter_tasks()]) == 3
                else:
                    with pytest.raises(McpError):
                        await client.task({**handle.to_json(), "taskId": "?"}).status()
        assert {one.server for one in workers.passed} == {0, 1, 2}


@pytest.mark.shows("TC-09", "TC-10")
async def test_a_question_is_asked_on_one_stream_of_all_workers(engine: Any) -> None:
    yes = {"action": "accept", "content": {"value": True}}
    async with task_workers(Work(), engine) as workers, AsyncExitStack() as stack:
        sites = [await stack.enter_async_context(calling(port)) for port in workers.ports]
        session = await sites[0].initialize(OLD, of("ann"), elicitation={})
        begun = await session.call("sure", arguments={}, task={})
        id = begun.json()["result"]["task"]["taskId"]
        streams = list[Listening]()
        for number, site in enumerate(sites):
            message = request("tasks/result", f"result {number}", taskId=id)
            streams.append(Listening(site, message, session.headers))
        first = await asked_at(streams)
        with case("once"):
            await sleep(0.3)
            assert [len(one.came) for one in streams if one is not first] == [0, 0]
        with case("again elsewhere"):
            gone = notification("notifications/cancelled", requestId=first.id)
            assert (await session.post(gone)).status_code == 202
            left = [one for one in streams if one is not first]
            assert await asked_at(left) in left
        with case("answered"):
            for text in ("Sure?", "Really?"):
                one = await asked_at(left)
                question = one.came.pop(0)
                assert question["params"]["message"] == text
                answer = {"jsonrpc": "2.0", "id": question["id"], "result": yes}
                assert (await session.post(answer)).status_code == 202
            for one in left:
                while not one.came:
                    await sleep(0.01)
                (result,) = one.came
                assert result["result"]["content"][0]["text"] == "ann ['ann', 'tasks']: True"
                await one.end()
        await first.end()


class Listening:
    """A stream that is read meanwhile."""

    def __init__(self, site: Site, message: JsonObject, headers: Any) -> None:
        self.id = message["id"]
        self.came = list[Any]()
        self._reading = create_task(self._read(site, message, headers))

    async def _read(self, site: Site, message: object, headers: Any) -> None:
        async with site.stream(message, headers) as events:
            while (one := await events.take()) is not None:
                self.came.append(one)

    async def end(self) -> None:
        """Go away."""
        self._reading.cancel()
        await wait([self._reading])


async def asked_at(streams: list[Listening]) -> Listening:
    """The one stream on which something has come."""
    async with timeout(10):
        while not any(one.came for one in streams):
            await sleep(0.01)
    (found,) = [one for one in streams if one.came]
    return found


async def test_tasks_are_kept_where_one_says_else_where_workers_share_else_in_memory() -> None:
    said, engine = MemoryTaskStore(), MemoryEngine()
    kept: dict[str, tuple[Any, dict[str, Any]]] = {
        "said": (said, {"tasks": TaskOptions(store=said), "shared": Shared(engine=engine)}),
        "shared": (engine.tasks, {"shared": Shared(engine=engine)}),
        "neither": (None, {}),
    }
    for name, (store, chosen) in kept.items():
        with case(name):
            before = len(await said.page("", "", 9)), len(await engine.tasks.page("", "", 9))
            async with (
                serving(Work(), REVISIONS, drain=0, **chosen) as site,
                connect_http(site.url, CLIENTS[STATELESS]()) as client,
            ):
                await client.start_task("slow")
            found = len(await said.page("", "", 9)), len(await engine.tasks.page("", "", 9))
            new = [after - one for one, after in zip(before, found, strict=True)]
            assert new == [store is said, store is engine.tasks]
