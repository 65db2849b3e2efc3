"""Messages on their way out: a bounded queue, and the one task that writes them out.

Everything that is waiting goes out in one call, so that a busy connection pays for one write where
an idle one pays for each message.
"""

from asyncio import Event, Future
from typing import Any, Final, Protocol

from .errors import Disconnected
from .transport import MessageWriter

_CLOSED: Final = "the connection is closed"


class Outgoing(Protocol):
    """A way to the peer: of a connection, or of one of its requests."""

    @property
    def full(self) -> bool:
        """Whether whoever sends has to wait."""
        ...

    @property
    def flooded(self) -> bool:
        """Whether so much is waiting that nothing should be read that would have to be answered."""
        ...

    async def room(self) -> None:
        """Wait until it is not flooded any more."""
        ...

    async def send(self, message: bytes, *, unless: Future[Any] | None = None) -> None:
        """Put a message on its way once there is room; raises `Disconnected`.

        If `unless` is done by then, nobody wants the message any more, and it is dropped.
        """
        ...

    def put(self, message: bytes) -> None:
        """Put a message on its way without waiting; lost if the connection is."""
        ...


class Outbox:
    """The way out of one connection. `limit` messages may wait; whoever comes then waits too."""

    __slots__ = (
        "_closing",
        "_idle",
        "_limit",
        "_messages",
        "_room",
        "_sending",
        "_work",
        "_writer",
        "broken",
    )

    def __init__(self, writer: MessageWriter, limit: int) -> None:
        self._writer = writer
        self._limit = limit
        self._messages: list[bytes] = []
        self._work = Event()
        self._room = Event()
        self._room.set()
        # A transport is asked to send one thing at a time.
        self._sending = False
        self._idle = Event()
        self._closing = False
        self.broken: Disconnected | None = None
        """Why nothing can be sent any more."""

    async def send(self, message: bytes, *, unless: Future[Any] | None = None) -> None:
        """See `Outgoing.send`."""
        if self.full and unless is not None:
            unless.add_done_callback(self._look_again)
        while self.full and self.broken is None:
            if unless is not None and unless.done():
                return
            self._room.clear()
            await self._room.wait()
        if self.broken is not None:
            raise self.broken
        self.put(message)

    def _look_again(self, _: object) -> None:
        self._room.set()

    async def send_now(self, message: bytes) -> None:
        """Send a message at once if the way is free: worth it if none is about to follow.

        Raises `Disconnected`.
        """
        if self._messages or self._sending or self._closing or self.broken is not None:
            await self.send(message)
        else:
            await self._transfer([message])
            if self.broken is not None:
                raise self.broken

    async def _transfer(self, messages: list[bytes]) -> None:
        self._sending = True
        try:
            await self._writer.send(messages)
        except (Disconnected, OSError) as error:
            self._break(error)
        except Exception as error:
            # Nobody may wait for a way that has no end.
            self._break(Disconnected(f"the transport failed: {type(error).__name__}"))
            raise
        finally:
            self._sending = False
            self._idle.set()

    def put(self, message: bytes) -> None:
        """See `Outgoing.put`."""
        if self.broken is None and not self._closing:
            self._messages.append(message)
            self._work.set()

    @property
    def full(self) -> bool:
        """See `Outgoing.full`."""
        return len(self._messages) >= self._limit

    @property
    def flooded(self) -> bool:
        """See `Outgoing.flooded`."""
        return len(self._messages) >= 2 * self._limit

    async def room(self) -> None:
        """See `Outgoing.room`."""
        while self.flooded and self.broken is None:
            self._room.clear()
            await self._room.wait()

    async def run(self) -> None:
        """Send what comes until the outbox is closed and empty, or the transport breaks."""
        while self.broken is None and (self._messages or not self._closing):
            await self._work.wait()
            self._work.clear()
            messages, self._messages = self._messages, []
            self._room.set()
            while self._sending:
                self._idle.clear()
                await self._idle.wait()
            if messages and self.broken is None:
                await self._transfer(messages)
        if self.broken is None:
            self._break(Disconnected(_CLOSED))

    def _break(self, error: OSError) -> None:
        broken = error if isinstance(error, Disconnected) else Disconnected(str(error))
        self.broken = broken
        self._messages.clear()
        self._room.set()
        self._work.set()

    def close(self) -> None:
        """Let `run` end once what is waiting is sent; nothing more is taken."""
        self._closing = True
        self._work.set()


class Nowhere:
    """A sink that leads to nobody, and the reason for it."""

    __slots__ = ("_reason",)

    full = flooded = False

    def __init__(self, reason: str = "there is nobody to say this to") -> None:
        self._reason = reason

    async def room(self) -> None:
        """Return at once."""

    async def send(self, message: bytes, *, unless: Future[Any] | None = None) -> None:
        """Raise `Disconnected`."""
        raise Disconnected(self._reason)

    def put(self, message: bytes) -> None:
        """Lose a message."""
