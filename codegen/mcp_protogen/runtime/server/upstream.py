"""A connection to another server, which answers the requests of clients."""

from asyncio import FIRST_COMPLETED, Event, Future, Task, create_task, get_running_loop, wait
from contextlib import AbstractAsyncContextManager
from typing import Any

from ..core.errors import INTERNAL_ERROR, McpError
from .base import ServerBase


def client_gone() -> McpError:
    return McpError(INTERNAL_ERROR, "The client has gone")


class Upstream:
    """A connection in a task of its own, `work`, which must exit what it enters."""

    work: Task[None]
    server: ServerBase[Any]

    def __init__(self) -> None:
        self.ready: Future[None] = get_running_loop().create_future()
        # asyncio would log a failure without a listener.
        self.ready.add_done_callback(lambda ready: ready.cancelled() or ready.exception())
        self.over = Event()
        """Set by `end`."""

    async def run(self, connecting: AbstractAsyncContextManager[ServerBase[Any]]) -> None:
        """Stay connected until `end`, or until the server is gone."""
        try:
            async with connecting as self.server:
                self.ready.set_result(None)
                runtime: Any = self.server.__mcp_runtime__
                ends = [create_task(runtime.until_gone()), create_task(self.over.wait())]
                try:
                    await wait(ends, return_when=FIRST_COMPLETED)
                finally:
                    for end in ends:
                        end.cancel()
        except Exception as error:
            self.fail(error)
        finally:
            # Waiters must learn of a cancelled attempt.
            self.fail()

    @property
    def is_open(self) -> bool:
        return self.ready.done() and self.ready.exception() is None

    @property
    def is_over(self) -> bool:
        if not self.is_open:
            return self.ready.done()
        runtime: Any = self.server.__mcp_runtime__
        return self.over.is_set() or bool(runtime.is_gone)

    def end(self) -> None:
        """Close the connection; requests that wait for it get an error."""
        self.over.set()
        self.fail()

    def fail(self, error: Exception | None = None) -> None:
        """Give up connecting, unless that has succeeded."""
        if not self.ready.done():
            # A task cancelled before its first step runs nothing, not even `finally`.
            self.ready.set_exception(error or client_gone())
            self.work.cancel()
