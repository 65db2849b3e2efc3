"""Responses with server-sent events, and their keep-alive timer."""

from asyncio import FIRST_COMPLETED, Future, create_task, get_running_loop, wait
from dataclasses import dataclass, field
from typing import Final

from ...core.tasks import Tasks
from .. import headers
from .asgi import Field, HttpExchange
from .time_limits import SharedTimer

_FIELDS: Final[tuple[Field, ...]] = (
    (b"content-type", headers.EVENTS.encode()),
    # Caches and proxies must not delay events (2026-07-28,
    # basic/transports/streamable-http, "Receiving Messages").
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
)

# A comment, which readers ignore (HTML standard, "Event streams").
_COMMENT: Final = b":\n\n"


@dataclass(eq=False, slots=True)
class EventResponse:
    _exchange: HttpExchange
    _keep_alive: "KeepAlive"
    _begun: bool = False
    _writing: bool = False
    open: bool = True
    ended: Future[None] = field(default_factory=lambda: get_running_loop().create_future())

    async def write(self, data: bytes) -> None:
        """Write a piece, after the header; it is lost if the client is gone."""
        if not self.open:
            return
        self._writing = True
        try:
            if not self._begun:
                self._begun = True
                self._keep_alive.begin(self)
                start = {"type": "http.response.start", "status": 200, "headers": list(_FIELDS)}
                await self._exchange.send(start)
            if data:
                piece = {"type": "http.response.body", "body": data, "more_body": True}
                await self._exchange.send(piece)
        finally:
            self._writing = False
        if self._exchange.closed:
            self.abort()

    async def close(self) -> None:
        """Complete the response, empty if nothing was written."""
        if not self.open:
            return
        await self.write(b"")
        self._end()
        try:
            await self._exchange.send({"type": "http.response.body", "body": b""})
        finally:
            self.abort()

    def close_soon(self) -> None:
        """Complete the response in the background: its client may be slow or gone."""
        if self.open:
            self._keep_alive.tasks.start(self.close())

    def abort(self) -> None:
        """Write nothing more: the client is gone, or the request is abandoned."""
        self._end()
        if not self.ended.done():
            self.ended.set_result(None)

    def _end(self) -> None:
        self.open = False
        self._keep_alive.open.pop(self, None)

    async def until_over(self, *others: Future[None]) -> None:
        """Wait until the client is gone, the response is over, or a future is done."""
        end = create_task(self._exchange.wait_disconnect())
        try:
            await wait([end, self.ended, *others], return_when=FIRST_COMPLETED)
        finally:
            end.cancel()

    def on_end(self) -> None:
        self._keep_alive.begin(self)
        if not self._writing:
            self._keep_alive.tasks.start(self.write(_COMMENT))


class KeepAlive(SharedTimer):
    """The timer of the comments in event responses."""

    def __init__(self, seconds: float, tasks: Tasks) -> None:
        super().__init__(seconds)
        self.tasks = tasks

    async def drain(self, seconds: float) -> None:
        """Complete all responses; leave those that are not read in time."""
        closing = [self.tasks.start(response.close()) for response in list(self.open)]
        if closing:
            await wait(closing, timeout=seconds)
