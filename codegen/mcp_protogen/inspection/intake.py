"""What passes during a step: the messages, what is still awaited, and how much is taken in."""

from collections.abc import Iterator
from time import monotonic
from typing import Any, Final

from mcp_protogen.connecting.traffic import Message
from mcp_protogen.inspection.steps import Step, reply_to
from mcp_protogen.inspection.transcript import objects_in, same_id

MESSAGES: Final = 1000
"""How many messages are taken in during one step."""
BYTES: Final = 32 * 1024 * 1024
"""How many bytes are taken in during one session."""
LONGEST: Final = 8 * 1024 * 1024
"""The longest message that is taken in, in bytes."""


class Clock:
    """The time since the beginning of an inspection, in seconds."""

    def __init__(self) -> None:
        self._start = monotonic()

    def __call__(self) -> float:
        return round(monotonic() - self._start, 6)


class Intake:
    """The messages of one step; `room` is how many bytes may still come in."""

    def __init__(self, step: Step, clock: Clock, room: int) -> None:
        self.messages: list[Message] = []
        self.room = room
        self.is_complete = not step.waits
        """Whether nothing more is awaited."""
        self.is_last_answered = False
        """Whether the request that is sent last was answered."""
        self._clock = clock
        self._waits = set(step.waits)
        self._until = step.until
        self._last = step.barrier["id"] if step.barrier else None

    @property
    def is_flooded(self) -> bool:
        """Return whether more has come than is taken in."""
        return self.room < 0 or len(self.messages) > MESSAGES

    def sent(self, data: bytes) -> None:
        """Take note of a message of the client."""
        self.messages.append(Message(self._clock(), "client", data))

    def take(self, data: bytes) -> Iterator[dict[str, Any]]:
        """Take in a message of the server; yield the replies that it wants."""
        self.messages.append(Message(self._clock(), "server", data))
        for value in objects_in(data):
            if "method" in value:
                self.is_complete |= value["method"] == self._until != ""
                reply = reply_to(value)
                if reply is not None:
                    yield reply
                continue
            id = value.get("id")
            self._waits = {one for one in self._waits if not same_id(one, id)}
            self.is_complete |= not self._waits
            self.is_last_answered |= self._last is not None and same_id(self._last, id)
