"""A process that runs a task in a folder is killed, and another one takes the task over."""

import asyncio
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from mcp_protogen.runtime.features.tasks.lifecycle import complete
from mcp_protogen.runtime.features.tasks.registry import TaskOptions, TaskRegistry, UnknownTask
from mcp_protogen.runtime.features.tasks.task import Status
from mcp_protogen.runtime.storage.task_files import FileTaskStore
from support import coroutines
from support.folders import ROOT
from support.killing import run_until_killed
from support.sharing.task_stores import a_task

LEASE = 0.6
"""That of the process that is killed, in seconds; others are never late."""

WORKER = """
import asyncio, sys
from mcp_protogen.runtime.features.tasks.registry import TaskRegistry, TaskOptions
from mcp_protogen.runtime.storage.task_files import FileTaskStore

async def main():
    registry = TaskRegistry(FileTaskStore(sys.argv[1]), TaskOptions(lease=float(sys.argv[2])))
    async with registry.hold("task", "first"):
        print("held", flush=True)
        await asyncio.sleep(600)

asyncio.run(main())
"""


async def create(folder: Path) -> None:
    registry = registry_in(folder)
    await registry.create(a_task(created_at=registry.clock()))


def registry_in(folder: Path) -> TaskRegistry:
    return TaskRegistry(FileTaskStore(folder), TaskOptions(lease=60.0))


async def test_a_task_of_a_killed_process_is_taken_over_by_one_other(tmp_path: Path) -> None:
    registries = [registry_in(tmp_path) for _ in range(3)]
    task = await registries[0].create(a_task(created_at=registries[0].clock()))
    command = [sys.executable, "-c", WORKER, str(tmp_path), str(LEASE)]
    with subprocess.Popen(command, cwd=ROOT / "codegen", stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert await asyncio.to_thread(process.stdout.readline) == b"held\n"
            waiter = asyncio.create_task(registries[0].wait_for_end(task))
        finally:
            process.kill()

    async def take(registry: TaskRegistry, worker: str) -> int:
        taken = 0
        while not waiter.done():
            async for orphan in registry.orphans():
                assert orphan.worker == "first"
                async with registry.hold(orphan.id, worker) as lease:
                    await lease.change(lambda one: complete(one, {}, registry.clock()))
                taken += 1
            await asyncio.sleep(0.05)
        return taken

    takes = await asyncio.gather(*(take(registry, str(i)) for i, registry in enumerate(registries)))
    assert sorted(takes) == [0, 0, 1]
    assert (await waiter).status is Status.COMPLETED


@pytest.mark.parametrize("before", [False, True])
def test_a_writer_that_is_killed_leaves_the_task_of_before_or_after(
    tmp_path: Path, before: bool
) -> None:
    async def write(folder: Path) -> None:
        registry = registry_in(folder)
        if not before:
            await create(folder)
        await registry.change("task", lambda one: replace(one, status_message="changed"))

    async def look(folder: Path) -> None:
        registry = registry_in(folder)
        try:
            found = await registry.find("task")
        except UnknownTask:
            assert not before
            await create(folder)
        else:
            assert found.status_message in (None, "changed")
        # The lock went with the process.
        await registry.change("task", lambda one: replace(one, status_message="again"))
        assert (await registry.find("task")).status_message == "again"

    step, killed = 0, True
    while killed:
        step += 1
        folder = tmp_path / str(step)
        if before:
            coroutines.run(create(folder))
        killed = run_until_killed(lambda: coroutines.run(write(folder)), step)  # noqa: B023
        coroutines.run(look(folder))
    assert step > 5
