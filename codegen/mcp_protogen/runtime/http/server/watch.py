"""Watching whether a client is still there: to close the connection is to cancel the request.

2026-07-28, basic/transports/streamable-http, "Cancellation".
"""

from asyncio import Task, create_task, current_task
from typing import Any

from ...throttle import Throttle
from .request import HttpRequest


class Watch:
    """Cancels the task that made it when the client of a request goes away."""

    __slots__ = ("_ended", "_log", "_request", "_task", "_watching")

    def __init__(self, request: HttpRequest, log: Throttle) -> None:
        self._request = request
        self._log = log
        self._task = current_task()
        self._ended = False
        self._watching = create_task(self._wait())

    async def _wait(self) -> None:
        await self._request.gone()
        self._log.info("a client has gone before it was answered")
        task: Task[Any] | None = self._task
        if task is not None:
            self._ended = True
            task.cancel()

    def take_back(self) -> bool:
        """Take the cancellation back if it was this one's; whether the task may go on."""
        if self._ended and self._task is not None:
            self._ended = False
            return self._task.uncancel() == 0
        return False

    def cancel(self) -> None:
        """Watch no longer."""
        # The handler may have ended without minding that it was to.
        self.take_back()
        self._task = None
        self._watching.cancel()
