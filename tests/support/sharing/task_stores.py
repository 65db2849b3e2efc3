"""Task stores of each kind, and a task for them."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partial
from itertools import count
from typing import Any, Final

import pytest
from mcp_protogen.runtime.features.sharing.postgres.postgres_engine import PostgresEngine
from mcp_protogen.runtime.features.sharing.redis.redis_engine import RedisEngine
from mcp_protogen.runtime.features.tasks.task import Task
from mcp_protogen.runtime.storage.engine import Engine, TaskStore
from mcp_protogen.runtime.storage.memory_tasks import MemoryTaskStore
from mcp_protogen.runtime.storage.task_files import FileTaskStore

KINDS: Final = ("memory", "files", "redis", "postgres")

_numbers = count()


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
    url, place = request.getfixturevalue(f"{kind}_server").url, f"tasks{next(_numbers)}"
    make: dict[str, Callable[[str], Engine]] = {
        "redis": partial(RedisEngine, namespace=place),
        "postgres": partial(PostgresEngine, schema=place),
    }
    engine = make[kind](url)
    async with engine.connect("a", 10, _drop) as one, engine.connect("b", 10, _drop) as other:
        yield [one.tasks, other.tasks]


def _drop(_: object) -> None:
    """Ignore all deliveries."""


def a_task(id: str = "task", **members: Any) -> Task:
    """Return a new task of the extension, which is kept for an hour."""
    given: dict[str, Any] = {"form": "extension", "created_at": 0.0, "ttl": 3600.0, **members}
    given.setdefault("updated_at", given["created_at"])
    given |= {"revision": "2026-07-28", "method": "tools/call", "params": {"name": "tool"}}
    return Task(id=id, poll_interval=1.0, **given)
