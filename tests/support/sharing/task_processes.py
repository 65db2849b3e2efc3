"""Workers as processes that run tasks, and are killed or paused."""

import asyncio
import os
import signal
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import get_context, parent_process
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
        return app_on(RedisEngine(url, namespace=PLACE))
    return app_on(PostgresEngine(url, schema=PLACE))


def app_on(engine: Any) -> Any:
    return app_of(
        Enduring(),
        REVISIONS,
        shared=Shared(engine=engine, lease=LEASE),
        tasks=TaskOptions(poll_interval=0.01, lease=LEASE),
        authentication=WHO,
    )


_FORKS: Final = get_context("forkserver")


class WorkerProcess:
    """A process, forked from one that has imported everything, that serves on a local port."""

    def __init__(self, url: str) -> None:
        self.port: Final = free_port()
        self._url = url
        self._process: BaseProcess | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None and self._process.pid is not None
        return self._process.pid

    def start(self) -> None:
        """Start a process, in place of an earlier one."""
        self.kill()
        # Applications are built while it imports, so that each fork has what is made once.
        _FORKS.set_forkserver_preload(["support.sharing.preloaded"])
        self._process = _FORKS.Process(target=_serve, args=(self.port, self._url), daemon=True)
        self._process.start()

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()

    def stop(self) -> None:
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)


def _serve(port: int, url: str) -> None:
    asyncio.run(_serve_while_needed(port, url))


async def _serve_while_needed(port: int, url: str) -> None:
    import uvicorn

    parent = parent_process()
    assert parent is not None
    asyncio.get_running_loop().add_reader(parent.sentinel, os._exit, 0)
    config = uvicorn.Config(make_app(url), host="127.0.0.1", port=port, log_config=None, http="h11")
    await uvicorn.Server(config).serve()


@contextmanager
def task_processes(url: str, number: int) -> Generator[Sequence[WorkerProcess], None, None]:
    """Start workers on the engine at a URL."""
    workers = [WorkerProcess(url) for _ in range(number)]
    try:
        for worker in workers:
            worker.start()
        yield workers
    finally:
        for worker in workers:
            worker.kill()
