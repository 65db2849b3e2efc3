"""The memory of each of ten thousand tasks in the process that keeps and runs it.

    python -m benchmarks.tasks_at_once

It counts allocations of Python: for a task in memory, and then for one that this process also runs,
beside the handler itself.
"""

import asyncio
import gc
import tracemalloc
from typing import Final

from mcp_protogen.runtime.features.tasks.registry import TaskRegistry, new_task_id
from mcp_protogen.runtime.features.tasks.task import Task
from mcp_revisions import MemoryTaskStore, TaskOptions

TASKS: Final = 10_000


def _allocated_blocks() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


async def _run_task(registry: TaskRegistry, id: str, started: asyncio.Semaphore) -> None:
    async with registry.hold(id, "worker"):
        started.release()
        await asyncio.Event().wait()


async def main() -> None:
    registry = TaskRegistry(MemoryTaskStore(), TaskOptions(max_tasks=TASKS))
    tracemalloc.start()
    before, ids = _allocated_blocks(), [new_task_id() for _ in range(TASKS)]
    for id in ids:
        now = registry.clock()
        task = Task(
            id=id,
            form="extension",
            revision="2026-07-28",
            method="tools/call",
            params={"name": "report", "arguments": {"month": "May"}},
            created_at=now,
            updated_at=now,
            ttl=3600.0,
            poll_interval=1.0,
        )
        await registry.create(task)
    kept, started = _allocated_blocks(), asyncio.Semaphore(0)
    runs = [asyncio.create_task(_run_task(registry, id, started)) for id in ids]
    for _ in ids:
        await started.acquire()
    running = _allocated_blocks()
    print(f"kept: {(kept - before) / TASKS:,.0f} bytes, running: {(running - kept) / TASKS:,.0f}")
    for run in runs:
        run.cancel()
    await asyncio.gather(*runs, return_exceptions=True)


if __name__ == "__main__":
    asyncio.run(main())
