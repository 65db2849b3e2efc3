"""The intake of a step: its messages, the awaited answers, and the limits."""

from collections.abc import Iterator
from time import monotonic
from typing import Any, Final

from mcp_protogen.runtime.core.errors import ParseError
from mcp_protogen.runtime.core.spec import Role
from mcp_protogen.servers.connect.traffic import PassedMessage
from mcp_protogen.servers.inspect.steps import ProbeStep, reply_to
from mcp_protogen.servers.inspect.transcript import same_id, text_of

MESSAGES: Final = 1000
"""The most messages in one step."""
BYTES: Final = 32 * 1024 * 1024
"""The most bytes on one connection."""
LONGEST: Final = 8 * 1024 * 1024
"""The longest message, in bytes."""


class Clock:
    """The time since the beginning of an inspection, in seconds."""

    def __init__(self) -> None:
        self._start = monotonic()

    def __call__(self) -> float:
        return round(monotonic() - self._start, 6)


class StepIntake:
    """The messages of one connection, step by step; `note` is the tap of its transport."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.room = BYTES
        """The bytes left."""
        self.begin(ProbeStep())

    def begin(self, step: ProbeStep) -> None:
        """Begin a step: forget the messages of the one before."""
        self.messages: list[PassedMessage] = []
        self.is_complete = not step.waits
        """Set when nothing is awaited."""
        self.is_last_answered = False
        """Set when the last request was answered."""
        self._waits = step.waits
        self._until = step.until
        self._last = step.last["id"] if step.last else None

    @property
    def is_flooded(self) -> bool:
        """Return whether the limits are exceeded."""
        return self.room < 0 or len(self.messages) > MESSAGES

    def note(self, sender: Role, data: bytes) -> None:
        """Record a message if there is room: many may come at once."""
        if self.is_flooded:
            return
        self.messages.append(PassedMessage(self.clock(), sender, data))
        if sender == "server":
            self.room -= len(data)

    def take(self, data: bytes) -> Iterator[dict[str, Any]]:
        """Take in a message to the client; yield the replies to it."""
        text = text_of(data)
        for flaw in text.flaws:
            if isinstance(flaw, ParseError):
                self.stop_waiting(flaw.id)
        for value in text.objects:
            if "method" in value:
                self.is_complete |= value["method"] == self._until != ""
                reply = reply_to(value)
                if reply is not None:
                    yield reply
                continue
            id = value.get("id")
            self.stop_waiting(id)
            self.is_last_answered |= self._last is not None and same_id(self._last, id)

    def stop_waiting(self, id: object) -> bool:
        """Stop waiting for the answer with an id; return whether it was awaited."""
        before = self._waits
        self._waits = tuple(awaited for awaited in before if not same_id(awaited, id))
        self.is_complete |= not self._waits
        return self._waits != before
