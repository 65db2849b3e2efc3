"""What a server says of its own accord in a session: it waits for a client that listens.

2025-11-25, basic/transports, "Listening for Messages from the Server".
"""

from asyncio import Future, Task, wait
from logging import getLogger
from typing import Any, Final

from ...outbox import Outbox
from ...tasks import Tasks
from .channel import Channel
from .streams import Log, Stream

_log: Final = getLogger(__name__)

_LIMIT: Final = 1000

# While nobody listens: enough for a client that is about to connect, or to connect again. There
# may be many sessions whose clients never do.
_KEPT: Final = 32


class Standing:
    """The stream of a session that belongs to no request. Takes up little until it is read."""

    __slots__ = ("_ended", "_kept", "_log", "_outbox", "_ready", "_stream", "_tasks", "_writer")

    def __init__(self, tasks: Tasks, log: Log | None) -> None:
        self._tasks = tasks
        self._log = log
        self._kept: list[bytes] | None = None
        self._stream: Stream | None = None
        self._outbox: Outbox | None = None
        self._writer: Task[None] | None = None
        self._ended = False
        # What is said while a stream opens comes after what was kept until then.
        self._ready = False

    @property
    def log(self) -> Log | None:
        """Where its events are kept."""
        return self._log

    @property
    def full(self) -> bool:
        """See `Outgoing.full`."""
        return self._outbox is not None and self._outbox.full

    @property
    def flooded(self) -> bool:
        """See `Outgoing.flooded`."""
        return False

    async def room(self) -> None:
        """See `Outgoing.room`."""

    async def send(self, message: bytes, *, unless: Future[Any] | None = None) -> None:
        """See `Outgoing.send`."""
        if self._outbox is None or not self._ready:
            self._keep(message)
        else:
            await self._outbox.send(message, unless=unless)

    def put(self, message: bytes) -> None:
        """See `Outgoing.put`."""
        if self._outbox is None or not self._ready:
            self._keep(message)
        else:
            self._outbox.put(message)

    def _keep(self, message: bytes) -> None:
        self._kept = kept = self._kept or []
        kept.append(message)
        if len(kept) > _KEPT:
            del kept[0]
            _log.debug("nobody listens: a message of the server is lost")

    async def read_by(self, channel: Channel, after: int | None, retry: int | None) -> bool:
        """Go on in a new connection, after the event of that number if one is given.

        The connection before is closed: each message goes out once, and the newest one is most
        likely to be there. False if what followed the event is not known any more.
        """
        if after is not None and (self._log is None or await self._log.after(after) is None):
            return False
        while self._stream is not None:
            # Another one may come while this is being closed.
            await self.close()
        if self._ended:
            await channel.end()
            return True
        stream = Stream(channel if after is None else None, self._log, retry)
        outbox = Outbox(stream, _LIMIT)
        # Whole before anybody else gets a turn, who may want to close it.
        self._stream, self._outbox, self._ready = stream, outbox, False
        self._writer = self._tasks.start(outbox.run())
        if after is None:
            # The client learns at once that it is listened to.
            await stream.send([])
        elif not await stream.attach(channel, after):
            await self.close()
            return False
        if self._outbox is outbox:
            # Otherwise another one has come meanwhile, who is given what was kept.
            kept, self._kept = self._kept, None
            for message in kept or ():
                outbox.put(message)
            self._ready = True
        return True

    async def left(self, channel: Channel) -> None:
        """The client has closed the connection."""
        if self._stream is not None and self._stream.carries(channel):
            await self.close()

    async def end(self) -> None:
        """The session is over: nobody is to listen any more."""
        self._ended = True
        await self.close()

    async def close(self) -> None:
        """Nobody listens any more."""
        stream, outbox, writer = self._stream, self._outbox, self._writer
        self._stream = self._outbox = self._writer = None
        if stream is not None and outbox is not None and writer is not None:
            outbox.close()
            stream.cut()
            await wait([writer])
