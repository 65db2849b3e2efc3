"""Tasks at several workers that share an engine: each request comes to another one than the last.

One server has tasks for the clients of both forms.
"""

from asyncio import create_task, wait_for
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
from support.http.serving import serving
from support.revisions import OLD, STATELESS
from support.sharing.task_workers import ENGINES, Work, engine_of, of, task_workers
from support.tables import case
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
