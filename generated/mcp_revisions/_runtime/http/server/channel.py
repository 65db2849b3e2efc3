"""One streamed HTTP response: written to piece by piece, and kept alive while nothing is said."""

from asyncio import Future, TimerHandle, get_running_loop, wait
from typing import Final

from ...tasks import Tasks
from .asgi import EVENTS
from .outlet import Outlet

# A comment, which readers pass over (HTML standard, "Event streams").
_BEAT: Final = b":\n\n"


class Channel:
    """A response with a stream of events; nothing is written any more once it is not `open`."""

    __slots__ = ("_begun", "_pulse", "_send", "_writing", "ended", "open")

    def __init__(self, send: Outlet, pulse: "Pulse") -> None:
        self._send = send
        self._pulse = pulse
        self._begun = False
        self._writing = False
        self.open = True
        self.ended: Future[None] = get_running_loop().create_future()
        """Is done once the response is over."""

    async def write(self, data: bytes) -> None:
        """Write a piece, after the header if it is the first; lost if the client is gone."""
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
            self._over()

    async def _begin(self) -> None:
        self._begun = True
        self._pulse.add(self)
        headers = list(EVENTS)
        await self._send({"type": "http.response.start", "status": 200, "headers": headers})

    async def end(self) -> None:
        """End the response, which is empty if nothing was written."""
        if not self.open:
            return
        await self.write(b"")
        self._close()
        try:
            await self._send({"type": "http.response.body", "body": b""})
        finally:
            self._over()

    def end_later(self) -> None:
        """End the response without waiting: its client may take its time, or be gone."""
        if self.open:
            self._pulse.tasks.start(self.end())

    def lost(self) -> None:
        """The client has gone."""
        self._over()

    def _close(self) -> None:
        self.open = False
        self._pulse.remove(self)

    def _over(self) -> None:
        self._close()
        if not self.ended.done():
            self.ended.set_result(None)

    async def beat(self) -> None:
        """Show that the stream is alive, unless it is just being written to."""
        if not self._writing:
            await self.write(_BEAT)


class Pulse:
    """Lets all open channels beat, every `interval` seconds, with one timer for all of them."""

    __slots__ = ("_channels", "_interval", "_timer", "tasks")

    def __init__(self, interval: float, tasks: Tasks) -> None:
        self._interval = interval
        self.tasks = tasks
        self._channels: dict[Channel, None] = {}
        self._timer: TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._channels)

    def add(self, channel: Channel) -> None:
        """From now on, keep a channel alive."""
        self._channels[channel] = None
        if self._timer is None:
            self._timer = get_running_loop().call_later(self._interval, self._beat)

    def remove(self, channel: Channel) -> None:
        """A channel is over."""
        self._channels.pop(channel, None)
        if not self._channels and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _beat(self) -> None:
        self._timer = get_running_loop().call_later(self._interval, self._beat)
        for channel in self._channels:
            self.tasks.start(channel.beat())

    async def stop(self, seconds: float) -> None:
        """End all channels; those that are not read in time are left to whoever serves them."""
        ending = [self.tasks.start(channel.end()) for channel in list(self._channels)]
        if ending:
            await wait(ending, timeout=seconds)
