"""Taking in what comes over a transport, and no more of it than can be dealt with."""

from asyncio import sleep
from typing import Final, Protocol

from .transport import EagerTransport, Received, Transport

# After so many messages that came together, others get a turn: handlers, and who sends answers.
_AT_ONCE: Final = 100


class Intake(Protocol):
    """Where messages go."""

    @property
    def crowded(self) -> bool:
        """Whether so much is to be done already that nothing more should be read."""
        ...

    async def room(self) -> None:
        """Wait until it is right to read on."""
        ...

    def receive(self, received: Received) -> None:
        """Take in one message, or what is wrong with one."""
        ...


async def read(transport: Transport, intake: Intake) -> None:
    """Take in what comes until the peer is done; raises `Disconnected` if the connection breaks."""

    def take(received: Received) -> bool:
        intake.receive(received)
        return not intake.crowded

    eager = transport if isinstance(transport, EagerTransport) else None
    try:
        while True:
            if eager is not None:
                eager.hand_over(take)
            messages = await transport.receive()
            if not messages:
                return
            if eager is not None:
                # What comes from now on comes after these, some of which may have to wait.
                eager.hand_over(None)
            for number, message in enumerate(messages, 1):
                intake.receive(message)
                if intake.crowded:
                    await intake.room()
                if number % _AT_ONCE == 0:
                    await sleep(0)
    finally:
        if eager is not None:
            eager.hand_over(None)
