"""The interface of transports.

Any channel that keeps messages whole and in order will do (basic/transports, "Custom Transports").
"""

from asyncio import sleep, timeout
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Final, NamedTuple, Protocol, TypeAlias, runtime_checkable

from ..core.connection_errors import Disconnected
from ..core.errors import ParseError, RemoteError, RequestId
from ..core.json import json_text
from ..core.tasks import Signal
from ..core.throttle import Throttle
from ..messages.codec import MessageCodec
from ..messages.reading import Reading, log_repairs, read_values
from ..rules.handlers import Handlers

# After this many messages at once, other tasks may run.
AT_ONCE: Final = 100

# Limits for waiting messages, in number and bytes, where reading waits for room.
_CAPACITY: Final = 1000
_LARGEST: Final = 64 * 1024 * 1024


class Unanswered(NamedTuple):
    """A request that will not be answered, although the connection continues."""

    id: RequestId
    error: Exception


class Paused(NamedTuple):
    """A request whose user is logging in first (`paused`), or has done so.

    The time for its answer begins then, when it is sent.
    """

    id: RequestId
    paused: bool


class Renewed(NamedTuple):
    """A session that takes the place of one that has ended, without its subscriptions."""

    session: int


Received: TypeAlias = bytes | RemoteError | Unanswered | Paused | Renewed
"""A message, or its error; an `ExchangingTransport` may report more."""


class MessageWriter(Protocol):
    async def send(self, messages: Sequence[bytes]) -> None:
        """Write messages in order; return once there is room for more. Raise `Disconnected`."""


class Transport(MessageWriter, Protocol):
    """One open connection. One task receives, and one task sends."""

    async def receive(self) -> Sequence[Received]:
        """Wait for messages, and return all that have arrived; none means that the peer is done.

        Cancelling loses no message. Raise `Disconnected`, with the reason, if the connection broke.
        """
        ...

    async def close(self) -> None:
        """Free all resources; do nothing the second time."""


@runtime_checkable
class EagerTransport(Protocol):
    """A transport that can call back for each message, which saves waking a task."""

    def hand_over(self, take: Callable[[Received], bool] | None) -> None:
        """Call `take` for each message as it arrives, until it returns False.

        After that, `receive` returns the messages. None removes the callback.
        """


@runtime_checkable
class InformedTransport(Protocol):
    """A transport that repeats parts of messages beside them, by the tables of revisions."""

    def know(self, table_of: Callable[[str], MessageCodec]) -> None: ...


@runtime_checkable
class ExchangingTransport(Protocol):
    """A transport with a separate HTTP exchange for each request.

    There, silence says nothing about the age of a server.
    """

    @property
    def over_http(self) -> bool:
        """Return whether this is HTTP; a wrapper returns the answer of the wrapped transport."""
        ...


@runtime_checkable
class RestartableTransport(Protocol):
    """A transport to a program that it has started, and can start again."""

    async def close_within(self, grace: float) -> None:
        """Close the transport; end a program that runs for more than `grace` seconds."""


@runtime_checkable
class WaitingTransport(Protocol):
    """A transport that repeats a request later if the peer is busy."""

    def wait_within(self, time_left: Callable[[RequestId], float]) -> None:
        """Wait at most `time_left` seconds, by the id of a request."""


def separate_texts(received: Sequence[Received], log: Throttle) -> list[Received]:
    """Return the received texts with one message in each, in strict JSON if possible."""
    found: list[Received] = []
    for text in received:
        reading = Reading(())
        if isinstance(text, bytes):
            with suppress(ParseError):
                reading = read_values(text)
        log_repairs(reading.repairs, log)
        found += map(json_text, reading.values) if reading.repairs else [text]
    return found


Opener: TypeAlias = Callable[[], Awaitable[Transport]]
"""Opens a new connection to the same peer each time; raises `Disconnected`."""

Program: TypeAlias = str | PathLike[str] | Sequence[str | PathLike[str]]
ServerLike: TypeAlias = Program | Handlers | type[Handlers] | Opener
"""A command line, a file, a URL, a server or its class, or an opener of connections."""
StandardError: TypeAlias = Callable[[str], object] | Path | None
"""The sink for a server's standard error: a function for each line, a file, or ours."""


class Intake(Protocol):
    def take(self, received: Received) -> bool:
        """Handle one message, or its error; return whether to read on."""
        ...

    async def room(self) -> None: ...


class Inbox:
    """The received messages of a connection, until they are taken."""

    def __init__(self) -> None:
        self._messages: list[Received] = []
        self.size = 0
        """The bytes of the messages that wait."""
        self._changed = Signal()
        self._ended = False
        self._take: Callable[[Received], bool] | None = None
        self.broken: Disconnected | None = None
        """The error that has ended the connection, if any."""

    def put(self, received: Received) -> None:
        self.extend([received])

    def extend(self, received: list[Received]) -> None:
        if self._ended:
            return
        take = self._take
        if take is not None and not self._messages and len(received) <= AT_ONCE:
            while received:
                if not take(received.pop(0)):
                    self._take = None
                    break
        if received:
            self._messages += received
            self.size += sum(len(text) for text in received if isinstance(text, bytes))
            self._changed.notify_all()

    def hand_over(self, take: Callable[[Received], bool] | None) -> None:
        self._take = take

    async def receive(self) -> Sequence[Received]:
        while not self._messages and not self._ended:
            await self._changed.wait()
        messages, self._messages, self.size = self._messages, [], 0
        self._changed.notify_all()
        if not messages and self.broken is not None:
            raise self.broken
        return messages

    @property
    def full(self) -> bool:
        return len(self._messages) >= _CAPACITY or self.size >= _LARGEST

    async def room(self) -> None:
        while self.full and not self._ended:
            await self._changed.wait()

    def end(self, broken: Disconnected | None = None) -> None:
        if not self._ended:
            self._ended = True
            self.broken = broken
            self._changed.notify_all()


async def wait_within(seconds: float | None, coming: Awaitable[object]) -> bool:
    """Wait for something, at most some seconds; return whether it came."""
    try:
        async with timeout(seconds):
            await coming
    except TimeoutError:
        return False
    return True


async def read(transport: Transport, intake: Intake) -> None:
    """Pass messages to `intake` until the peer is done; raise `Disconnected` if it breaks."""
    eager = transport if isinstance(transport, EagerTransport) else None
    try:
        while True:
            if eager is not None:
                eager.hand_over(intake.take)
            messages = await transport.receive()
            if not messages:
                return
            if eager is not None:
                # Later messages must wait for these, and some of these may have to wait.
                eager.hand_over(None)
                await intake.room()
            for number, message in enumerate(messages, 1):
                if not intake.take(message):
                    await intake.room()
                if number % AT_ONCE == 0:
                    await sleep(0)
    finally:
        if eager is not None:
            eager.hand_over(None)
