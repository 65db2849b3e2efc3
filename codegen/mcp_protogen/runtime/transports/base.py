"""What a transport is: the few calls through which a connection moves its messages.

Any channel that keeps messages whole and in order will do (basic/transports, "Custom Transports").
"""

from asyncio import sleep
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Final, NamedTuple, Protocol, TypeAlias, runtime_checkable

from ..core.errors import ParseError, RemoteError, RequestId
from ..core.json import json_text
from ..core.throttle import Throttle
from ..messages.reading import Reading, log_repairs, read_values
from ..rules.handlers import Handlers

# After so many messages that came together, others get a turn: handlers, and who sends answers.
AT_ONCE: Final = 100


class Unanswered(NamedTuple):
    """A request that will not be answered, although the connection goes on."""

    id: RequestId
    error: Exception


class Held(NamedTuple):
    """A request that is not sent before its user has logged in; not `held`, it is sent now.

    The time for its answer begins then.
    """

    id: RequestId
    held: bool


Received: TypeAlias = bytes | RemoteError | Unanswered | Held
"""A message as it came, or the error of one; an `ExchangingTransport` may say more."""


class MessageWriter(Protocol):
    """A destination for messages: a whole transport, or one stream of an HTTP response."""

    async def send(self, messages: Sequence[bytes]) -> None:
        """Write messages, in order; return once there is room for more. Raise `Disconnected`."""
        ...


class Transport(MessageWriter, Protocol):
    """One open connection. One task receives, and one task sends."""

    async def receive(self) -> Sequence[Received]:
        """Wait for messages, and return all that have come; none at all once the peer is done.

        Nothing is lost when this is cancelled. Raise `Disconnected`, with the reason, if the
        connection broke.
        """
        ...

    async def close(self) -> None:
        """Free everything the transport holds. Do nothing the second time."""
        ...


@runtime_checkable
class EagerTransport(Protocol):
    """A transport that can call back for each message, which saves waking a task that waits."""

    def hand_over(self, take: Callable[[Received], bool] | None) -> None:
        """Call `take` for each message as soon as it comes, until it returns False.

        `receive` returns the messages after that. None takes the callback away.
        """
        ...


@runtime_checkable
class NamingTransport(Protocol):
    """A transport that repeats members of params beside a message, for those who route it."""

    def repeat(self, names: Mapping[str, str]) -> None:
        """Repeat further members of params, by the methods of extensions."""
        ...


@runtime_checkable
class ExchangingTransport(Protocol):
    """A transport that carries each request and its answer in an HTTP exchange of its own.

    There silence says nothing about the age of a server.
    """

    @property
    def over_http(self) -> bool:
        """Return whether this is HTTP; a transport that wraps another returns its answer."""
        ...


@runtime_checkable
class RestartableTransport(Protocol):
    """A transport to a program that it has started; a new connection starts the program afresh."""

    async def close_within(self, grace: float) -> None:
        """Close the transport; a program that goes on for longer, in seconds, is ended."""
        ...


@runtime_checkable
class WaitingTransport(Protocol):
    """A transport that sends a request again later if the peer has no time for it now."""

    def wait_within(self, time_left: Callable[[RequestId], float]) -> None:
        """Wait no longer than `time_left` returns for a request, in seconds."""
        ...


def separate_texts(received: Sequence[Received], log: Throttle) -> list[Received]:
    """Return the received texts with one message in each, in strict JSON if it can be read."""
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
"""A function that makes a new connection to the same peer each time; raises `Disconnected`."""

Program: TypeAlias = str | PathLike[str] | Sequence[str | PathLike[str]]
Target: TypeAlias = Program | Handlers | type[Handlers] | Opener
"""A command line, a file, a URL, a server or its class, or what opens a connection."""
StandardError: TypeAlias = Callable[[str], object] | Path | None
"""Where a server's standard error goes: to a function, line by line, to a file, or to ours."""


class Intake(Protocol):
    """A place where messages go."""

    def take(self, received: Received) -> bool:
        """Take in one message, or what is wrong with one; return whether to read on."""
        ...

    async def room(self) -> None: ...


async def read(transport: Transport, intake: Intake) -> None:
    """Take in what comes until the peer is done; raise `Disconnected` if the connection breaks."""
    eager = transport if isinstance(transport, EagerTransport) else None
    try:
        while True:
            if eager is not None:
                eager.hand_over(intake.take)
            messages = await transport.receive()
            if not messages:
                return
            if eager is not None:
                # What comes from now on comes after these, some of which may have to wait.
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
