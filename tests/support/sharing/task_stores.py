"""Task stores of each kind, and a task for them."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Final

import pytest
from mcp_protogen.runtime.features.tasks.task import Task
from mcp_protogen.runtime.storage.engine import TaskStore
from mcp_protogen.runtime.storage.memory_tasks import MemoryTaskStore
from mcp_protogen.runtime.storage.task_files import FileTaskStore
from support.sharing.workers import shared_engine, working

KINDS: Final = ("memory", "files", "redis", "postgres")


@asynccontextmanager
async def open_stores(
    kind: str, request: pytest.FixtureRequest
) -> AsyncGenerator[list[TaskStore], None]:
    """Open two stores with the same tasks, as two workers do."""
    if kind == "memory":
        yield [MemoryTaskStore()] * 2
        return
    if kind == "files":
        folder = request.getfixturevalue("tmp_path") / "kept" / "tasks"
        yield [FileTaskStore(folder), FileTaskStore(folder)]
        return
    async with working(shared_engine(kind, request).engine(), "a", "b") as (one, other):
        yield [one.connection.tasks, other.connection.tasks]


def a_task(id: str = "task", **members: Any) -> Task:
    """Return a new task of the extension, which is kept for an hour."""
    given: dict[str, Any] = {"form": "extension", "created_at": 0.0, "ttl": 3600.0, **members}
    given.setdefault("updated_at", given["created_at"])
    given |= {"revision": "2026-07-28", "method": "tools/call", "params": {"name": "tool"}}
    return Task(id=id, poll_interval=1.0, **given)
