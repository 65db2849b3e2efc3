"""Watching whether a client is still there: to close the connection is to cancel the request.

2026-07-28, basic/transports/streamable-http, "Cancellation".
"""

from asyncio import create_task
from collections.abc import Callable

from ...core.throttle import Throttle
from .request import HttpRequest


class Watch:
    """A task that calls `gone` when the client of a request goes away, unless it is cancelled."""

    __slots__ = ("_gone", "_log", "_request", "_task")

    def __init__(self, request: HttpRequest, gone: Callable[[], None], log: Throttle) -> None:
        self._request = request
        self._gone = gone
        self._log = log
        self._task = create_task(self._wait())

    async def _wait(self) -> None:
        await self._request.gone()
        self._log.info("a client has gone before it was answered")
        self._gone()

    def cancel(self) -> None:
        """Watch no longer."""
        self._task.cancel()
