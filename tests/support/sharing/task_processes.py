"""Workers as processes that run tasks, and are killed or paused."""

import asyncio
import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from mcp_revisions import (
    REVISIONS,
    Accepted,
    PostgresEngine,
    RedisEngine,
    Shared,
    TaskOptions,
    Toolkit,
    tool,
)
from mcp_revisions import v2026_07_28 as mcp
from mcp_revisions.v2026_07_28.ext.tasks import TasksServer
from support.http.serving import app_of
from support.sharing.processes import WorkerProcess
from support.sharing.task_workers import describe_principal
from support.tasks.principals import WHO

LEASE: Final = 1.5
PLACE: Final = "task-processes"


class Enduring(TasksServer, Toolkit, mcp.Server):
    """Tools that wait for a file, and name the processes that worked."""

    @tool(task=True, idempotent=True)
    async def again(self, session: mcp.Session, path: str) -> str:
        """Be run again."""
        return await _work(session, path)

    @tool(task=True)
    async def only(self, session: mcp.Session, path: str) -> str:
        """Be run by one process only."""
        return await _work(session, path)

    @tool(task=True, idempotent=True)
    async def asking(self, session: mcp.Session, path: str) -> str:
        """Ask twice."""
        answers = [await session.ask(message, bool) for message in ("Sure?", "Really?")]
        said = (isinstance(answer, Accepted) and answer.value for answer in answers)
        return " ".join(map(str, [*said, os.getpid()]))


async def _work(session: mcp.Session, path: str) -> str:
    session.require_scopes("tasks")
    first = await session.once("pid", os.getpid)
    Path(f"{path}-{first}").touch()
    while not Path(path).exists():
        await asyncio.sleep(0.02)
    return f"{first} {os.getpid()} {describe_principal(session)}"


def make_app(url: str) -> Any:
    """Return an application with these tools on the engine at a URL."""
    if url.startswith("redis"):
        engine: Any = RedisEngine(url, namespace=PLACE)
    else:
        engine = PostgresEngine(url, schema=PLACE)
    return app_of(
        Enduring(),
        REVISIONS,
        shared=Shared(engine=engine, lease=LEASE),
        tasks=TaskOptions(poll_interval=0.01, lease=LEASE),
        authentication=WHO,
    )


@contextmanager
def task_processes(url: str, number: int) -> Generator[Sequence[WorkerProcess], None, None]:
    """Start workers on the engine at a URL."""
    workers = [WorkerProcess(make_app, url) for _ in range(number)]
    try:
        for worker in workers:
            worker.start()
        yield workers
    finally:
        for worker in workers:
            worker.kill()
