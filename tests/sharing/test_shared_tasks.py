"""Tasks at several workers that share an engine: each request comes to another one than the last.

One server has tasks of both kinds for its clients.
"""

import json
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
from support.http.serving import JSON, Session, Site, calling, serving
from support.json_types import JsonObject
from support.revisions import OLD, STATELESS
from support.sessions.talking import notification, request
from support.sharing.task_workers import Work, task_workers
from support.sharing.workers import ENGINES, shared_engine
from support.tables import case
from support.tasks.asking import DECLARED
from support.tasks.gateway import CLIENTS
from support.tasks.jobs import RELATED
from support.tasks.principals import of


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Any:
    """Each engine."""
    return shared_engine(request.param, request).engine()


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
                assert await wait_for(waiting, 10) == "slow is done"
            with case(f"{revision} cancels"):
                work.go_on.clear()
                work.began.clear()
                handle = await client.start_task("slow")
                # A task that is cancelled before its worker takes it up is never run.
                await wait_for(work.began.wait(), 10)
                await handle.cancel()
                await wait_for(work.stopped.wait(), 10)
                while (await handle.status()).status != "cancelled":
                    pass
            with case(f"{revision} lists"):
                if revision == OLD:
                    assert len([task async for task in client.iter_tasks()]) == 3
                else:
                    with pytest.raises(McpError):
                        await client.task({**handle.to_json(), "taskId": "?"}).status()
        assert {*workers.passed} == {0, 1, 2}


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
        first = await find_asked(streams)
        with case("once"):
            await sleep(0.3)
            assert [len(stream.came) for stream in streams if stream is not first] == [0, 0]
        with case("again elsewhere"):
            gone = notification("notifications/cancelled", requestId=first.id)
            assert (await session.post(gone)).status_code == 202
            left = [stream for stream in streams if stream is not first]
            assert await find_asked(left) in left
        with case("answered"):
            for text in ("Sure?", "Really?"):
                stream = await find_asked(left)
                question = stream.came.pop(0)
                assert question["params"]["message"] == text
                answer = {"jsonrpc": "2.0", "id": question["id"], "result": yes}
                assert (await session.post(answer)).status_code == 202
            for stream in left:
                while not stream.came:
                    await sleep(0.01)
                (result,) = stream.came
                assert result["result"]["content"][0]["text"] == "ann ['ann', 'tasks']: True"
                await stream.end()
        await first.end()


class Listening:
    """A stream that is read meanwhile."""

    def __init__(self, site: Site, message: JsonObject, headers: Any) -> None:
        self.id = message["id"]
        self.came = list[Any]()
        self._reading = create_task(self._read(site, message, headers))

    async def _read(self, site: Site, message: object, headers: Any) -> None:
        async with site.stream(message, headers) as events:
            if events.response.headers["content-type"] == JSON:
                # If there was no message before the answer.
                self.came.append(json.loads(await events.response.aread()))
                return
            while (one := await events.take()) is not None:
                self.came.append(one)

    async def end(self) -> None:
        """Go away."""
        self._reading.cancel()
        await wait([self._reading])


async def find_asked(streams: list[Listening]) -> Listening:
    """Return the only stream with a message."""
    async with timeout(10):
        while not any(stream.came for stream in streams):
            await sleep(0.01)
    (found,) = [stream for stream in streams if stream.came]
    return found


@pytest.mark.shows("TX-17", "TX-18")
async def test_a_listen_stream_at_one_worker_hears_of_tasks_at_the_others(engine: Any) -> None:
    work = Work()
    async with task_workers(work, engine) as workers, AsyncExitStack() as stack:
        sites = [await stack.enter_async_context(calling(port)) for port in workers.ports]
        known: Any = {"meta": DECLARED, "headers": of("ann")}
        ids = list[str]()
        for site in sites:
            begun = await site.modern("tools/call", name="slow", arguments={}, **known)
            ids.append(begun.json()["result"]["taskId"])
        wanted = {"taskIds": ids}
        async with sites[0].modern_stream(
            "subscriptions/listen", notifications=wanted, **known
        ) as events:
            said = (await events.take())["params"]["notifications"]
            assert sorted(said["taskIds"]) == sorted(ids)
            first = [(await events.take())["params"] for _ in ids]
            assert {task["taskId"]: task["status"] for task in first} == dict.fromkeys(
                ids, "working"
            )
            for id, site in zip(ids, (*sites[1:], sites[0]), strict=True):
                with case(f"cancelled at {site.port}"):
                    await site.modern("tasks/cancel", taskId=id, **known)
                    last: Any = None
                    async with timeout(10):
                        # That it is to be cancelled is a change, too.
                        while last is None or last["params"]["status"] == "working":
                            last = await events.take()
                    assert last["method"] == "notifications/tasks"
                    assert (last["params"]["taskId"], last["params"]["status"]) == (id, "cancelled")


@pytest.mark.shows("TC-14", "TC-15")
async def test_progress_and_status_of_a_task_come_on_the_stream_of_its_session(
    engine: Any,
) -> None:
    work = Work()
    async with task_workers(work, engine) as workers, AsyncExitStack() as stack:
        sites = [await stack.enter_async_context(calling(port)) for port in workers.ports]
        session = await sites[0].initialize(OLD, of("ann"), elicitation={})
        elsewhere = Session(sites[1], OLD, session.id, session.headers)
        async with elsewhere.get() as events:
            begun = await session.call("slow", arguments={}, task={}, _meta={"progressToken": "p"})
            id = begun.json()["result"]["task"]["taskId"]
            async with timeout(10):
                progress = await events.take()
            assert progress["method"] == "notifications/progress"
            assert progress["params"]["progressToken"] == "p"
            assert progress["params"]["_meta"][RELATED] == {"taskId": id}
            work.go_on.set()
            async with timeout(10):
                while (status := await events.take())["method"] != "notifications/tasks/status":
                    pass
            assert (status["params"]["taskId"], status["params"]["status"]) == (id, "completed")


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
            new = [after - count for count, after in zip(before, found, strict=True)]
            assert new == [store is said, store is engine.tasks]
