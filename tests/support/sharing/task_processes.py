"""Workers as processes that run tasks, and are killed or paused."""

import asyncio
import os
import signal
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
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
from support.ports import free_port
from support.sharing.task_workers import describe_principal
from support.tasks.principals import WHO

LEASE: Final = 1.5
PLACE: Final = "task-processes"

_FORKS: Final = get_context("forkserver")


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


def _serve(url: str, port: int) -> None:
    import uvicorn

    if url.startswith("redis"):
        engine: Any = RedisEngine(url, namespace=PLACE)
    else:
        engine = PostgresEngine(url, schema=PLACE)
    app = app_of(
        Enduring(),
        REVISIONS,
        shared=Shared(engine=engine, lease=LEASE),
        tasks=TaskOptions(poll_interval=0.01, lease=LEASE),
        authentication=WHO,
    )
    config = uvicorn.Config(app, host="127.0.0.1", port=port, log_config=None)
    asyncio.run(uvicorn.Server(config).serve())


class Worker:
    """A process that serves on a port of this machine."""

    def __init__(self, url: str) -> None:
        self.port: Final = free_port()
        self._process: BaseProcess = _FORKS.Process(
            target=_serve, args=(url, self.port), daemon=True
        )
        self._process.start()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def kill(self) -> None:
        self._process.kill()
        self._process.join()

    def stop(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        os.kill(self.pid, signal.SIGCONT)


@contextmanager
def task_processes(url: str, number: int) -> Generator[Sequence[Worker], None, None]:
    """Start workers on the engine at a URL."""
    _FORKS.set_forkserver_preload([__name__, "uvicorn", "redis.asyncio", "psycopg"])
    workers = [Worker(url) for _ in range(number)]
    try:
        yield workers
    finally:
        for worker in workers:
            worker.kill()
