"""One streamed HTTP response: written to piece by piece, and kept alive while nothing is said."""

from asyncio import Future, TimerHandle, get_running_loop, wait
from typing import Final

from ...core.tasks import Tasks
from .asgi import EVENTS
from .send import ResponseSender

# A comment, which readers pass over (HTML standard, "Event streams").
_BEAT: Final = b":\n\n"


class EventResponse:
    """A response with a stream of events; once it is not `open`, nothing more is written."""

    __slots__ = ("_begun", "_keep_alive", "_send", "_writing", "ended", "open")

    def __init__(self, send: ResponseSender, keep_alive: "KeepAlive") -> None:
        self._send = send
        self._keep_alive = keep_alive
        self._begun = False
        self._writing = False
        self.open = True
        self.ended: Future[None] = get_running_loop().create_future()
        """A future that is done once the response is over."""

    async def write(self, data: bytes) -> None:
        """Write a piece, the first one after the header; it is lost if the client is gone."""
        if not self.open:
            return
        self._writing = True
        try:
            if not self._begun:
                await self._begin()
            if data:
                await self._send({"type": "http.response.body", "body": data, "more_body": True})
        finally:
            self._writing = False
        if self._send.closed:
            self.abort()

    async def _begin(self) -> None:
        self._begun = True
        self._keep_alive.add(self)
        headers = list(EVENTS)
        await self._send({"type": "http.response.start", "status": 200, "headers": headers})

    async def close(self) -> None:
        """Complete the response, which is empty if nothing was written."""
        if not self.open:
            return
        await self.write(b"")
        self._shut()
        try:
            await self._send({"type": "http.response.body", "body": b""})
        finally:
            self.abort()

    def close_soon(self) -> None:
        """Complete the response without waiting: its client may take its time, or be gone."""
        if self.open:
            self._keep_alive.tasks.start(self.close())

    def abort(self) -> None:
        """Write nothing more: the client has gone, or the request is not served any more."""
        self._shut()
        if not self.ended.done():
            self.ended.set_result(None)

    def _shut(self) -> None:
        self.open = False
        self._keep_alive.remove(self)

    async def beat(self) -> None:
        """Write a comment that shows that the stream is alive, unless it is being written to."""
        if not self._writing:
            await self.write(_BEAT)


class KeepAlive:
    """A timer that keeps all open channels alive, every `interval` seconds."""

    __slots__ = ("_channels", "_interval", "_timer", "tasks")

    def __init__(self, interval: float, tasks: Tasks) -> None:
        self._interval = interval
        self.tasks = tasks
        self._channels: dict[EventResponse, None] = {}
        self._timer: TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._channels)

    def add(self, channel: EventResponse) -> None:
        """Keep a channel alive from now on."""
        self._channels[channel] = None
        if self._timer is None:
            self._timer = get_running_loop().call_later(self._interval, self._beat)

    def remove(self, channel: EventResponse) -> None:
        """Let go of a channel that is over."""
        self._channels.pop(channel, None)
        if not self._channels and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _beat(self) -> None:
        self._timer = get_running_loop().call_later(self._interval, self._beat)
        for channel in self._channels:
            self.tasks.start(channel.beat())

    async def close(self, seconds: float) -> None:
        """Complete all responses; those that are not read in time are left as they are."""
        closing = [self.tasks.start(channel.close()) for channel in list(self._channels)]
        if closing:
            await wait(closing, timeout=seconds)
