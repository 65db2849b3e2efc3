"""What a transport is: the few calls through which a connection moves its messages.

A transport knows where one message ends and the next begins, and nothing else about them. Any
channel that keeps messages whole and in order will do (2025-11-25, basic/transports, "Custom
Transports"; 2026-07-28, basic/transports, "Custom Transports").
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

from .errors import RemoteError, RequestId


class Unanswered(NamedTuple):
    """A request that was sent and will not be answered, although the connection goes on.

    Only a transport on which each request is an exchange of its own can know that, as a client
    does over HTTP.
    """

    id: RequestId
    error: Exception


Received: TypeAlias = bytes | RemoteError | Unanswered
"""One message as it came, what is wrong with one that could not be taken in, or what will not come.

Who serves is never given an `Unanswered`.
"""


class MessageWriter(Protocol):
    """A destination for messages: a whole transport, or one stream of an HTTP response."""

    async def send(self, messages: Sequence[bytes]) -> None:
        """Write messages, in order; return once there is room for more. Raise `Disconnected`."""
        ...


class Transport(MessageWriter, Protocol):
    """One open connection. Its calls are made by one task for each direction."""

    async def receive(self) -> Sequence[Received]:
        """Wait for messages: all that have come, at least one; none at all once the peer is done.

        Loses nothing when cancelled. Raises `Disconnected`, saying why, if the connection broke.
        """
        ...

    async def close(self) -> None:
        """Let go of everything the transport holds. Does nothing the second time."""
        ...


@runtime_checkable
class EagerTransport(Protocol):
    """A transport that can do without a task that waits for messages, which saves a turn of it."""

    def hand_over(self, take: Callable[[Received], bool] | None) -> None:
        """Call `take` for each message as soon as it comes, until it says that it is enough.

        What it did not get is what `receive` gives. None ends it too.
        """
        ...


@runtime_checkable
class ExchangingTransport(Protocol):
    """A transport that carries each request and its answer in an HTTP exchange of its own.

    What its peer does not understand is answered by a status, and what it has not answered is no
    sign of its age; so a client finds out in another way what to speak.
    """

    @property
    def over_http(self) -> bool:
        """Whether that is so; a transport that wraps others says what they say."""
        ...


Opener: TypeAlias = Callable[[], Awaitable[Transport]]
"""Makes a new connection to the same peer each time it is called; raises `Disconnected`."""
