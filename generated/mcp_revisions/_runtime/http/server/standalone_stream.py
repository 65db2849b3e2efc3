"""The stream of a session that belongs to no request: what a server says of its own accord.

It waits for a client that listens.

2025-11-25, basic/transports, "Listening for Messages from the Server".
"""

from asyncio import Future
from logging import getLogger
from typing import Any, Final

from ...core.tasks import Tasks
from ...rpc.send_queue import MessageSink, NullSink
from .channel import EventResponse
from .event_stream import Log, Stream, StreamQueue, StreamSink

_log: Final = getLogger(__name__)

# While nobody listens: enough for a client that is about to connect, or to connect again. There
# may be many sessions whose clients never do.
_KEPT: Final = 32


class _Kept(NullSink):
    """The newest messages of those that nobody has listened to yet."""

    __slots__ = ("messages",)

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[bytes] = []

    async def send(self, message: bytes, *, unless: Future[Any] | None = None) -> None:
        """Keep a message."""
        self.put(message)

    def put(self, message: bytes) -> None:
        """Keep a message."""
        self.messages.append(message)
        if len(self.messages) > _KEPT:
            del self.messages[0]
            _log.debug("nobody listens: a message of the server is lost")


class StandaloneStream(StreamSink):
    """The stream of a session that belongs to no request. It takes up little until it is read."""

    __slots__ = ("_closed", "_kept", "_log", "_ready", "_tasks")

    def __init__(self, tasks: Tasks, log: Log | None) -> None:
        self._tasks = tasks
        self._log = log
        self._kept: _Kept | None = None
        self._queue: StreamQueue | None = None
        self._closed = False
        # What is said while a stream opens comes after what was kept until then.
        self._ready = False

    @property
    def log(self) -> Log | None:
        """The log in which the events of the stream are kept."""
        return self._log

    def _sink(self) -> MessageSink:
        if self._queue is not None and self._ready:
            return self._queue.outbox
        if self._kept is None:
            self._kept = _Kept()
        return self._kept

    async def attach(self, channel: EventResponse, after: int | None, retry: int | None) -> bool:
        """Go on in a new response, after the event of that number if one is given.

        The response before is completed: each message goes out once, and the newest response is
        most likely to be read. Return False if what followed the event is not known any more.
        """
        if after is not None and (self._log is None or await self._log.after(after) is None):
            return False
        while self._queue is not None:
            # Another one may come while this is being closed.
            await self.detach()
        if self._closed:
            await channel.close()
            return True
        stream = Stream(channel if after is None else None, self._log, retry)
        # Whole before anybody else gets a turn, who may want to close it.
        queue, self._ready = StreamQueue(stream, self._tasks), False
        self._queue = queue
        if after is None:
            # The client learns at once that it is listened to.
            await stream.send([])
        elif not await stream.attach(channel, after):
            await self.detach()
            return False
        if self._queue is queue:
            # Otherwise another one has come meanwhile, who is given what was kept.
            kept, self._kept = self._kept, None
            for message in () if kept is None else kept.messages:
                queue.outbox.put(message)
            self._ready = True
        return True

    async def detach(self, channel: EventResponse | None = None) -> None:
        """Let go of the response there is; of no other than `channel`, if it is given."""
        queue = self._queue
        if queue is None or not (channel is None or queue.stream.carries(channel)):
            return
        self._queue = None
        queue.stream.abort()
        await queue.drain()

    async def close(self) -> None:
        """End the stream with its session: nobody is to listen any more."""
        self._closed = True
        await self.detach()
