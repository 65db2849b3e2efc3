"""Workers as processes, forked from one that has imported everything."""

import asyncio
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import get_context, parent_process
from multiprocessing.process import BaseProcess
from typing import Any, Final

from support.ports import free_port

FORKS: Final = get_context("forkserver")


class WorkerProcess:
    """A process that serves the application of `make` on a port of this machine."""

    def __init__(self, make: Callable[..., Any], *given: Any) -> None:
        self.port: Final = free_port()
        self._serving = make, self.port, *given
        self._process: BaseProcess | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None and self._process.pid is not None
        return self._process.pid

    @property
    def started(self) -> bool:
        return self._process is not None

    def start(self) -> None:
        """Start a process, in place of an earlier one."""
        self.kill()
        # Applications are built while it imports, so that each fork has what is made once.
        FORKS.set_forkserver_preload(["support.sharing.preloaded"])
        self._process = FORKS.Process(target=_serve, args=self._serving, daemon=True)
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


def _serve(make: Callable[..., Any], port: int, *given: Any) -> None:
    asyncio.run(_serve_while_needed(make, port, *given))


async def _serve_while_needed(make: Callable[..., Any], port: int, *given: Any) -> None:
    import uvicorn

    parent = parent_process()
    assert parent is not None
    asyncio.get_running_loop().add_reader(parent.sentinel, os._exit, 0)
    config = uvicorn.Config(make(*given), host="127.0.0.1", port=port, log_config=None, http="h11")
    await uvicorn.Server(config).serve()
