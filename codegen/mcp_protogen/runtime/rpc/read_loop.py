"""Taking in what comes over a transport, and no more of it than can be dealt with."""

from asyncio import sleep
from typing import Final, Protocol

from ..transports.base import EagerTransport, Received, Transport

# After so many messages that came together, others get a turn: handlers, and who sends answers.
_AT_ONCE: Final = 100


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
            for number, message in enumerate(messages, 1):
                if not intake.take(message):
                    await intake.room()
                if number % _AT_ONCE == 0:
                    await sleep(0)
    finally:
        if eager is not None:
            eager.hand_over(None)
