"""Steps over streams of messages: to a process, or the events of HTTP+SSE."""

import asyncio
import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

from mcp_protogen.inspection.intake import BYTES, LONGEST, Clock, Intake
from mcp_protogen.inspection.steps import Probe, Step
from mcp_protogen.inspection.transcript import CLOSED, FLOOD, KILLED, TIMEOUT, UNREACHABLE, Exchange
from mcp_protogen.runtime.core.connection_errors import Disconnected
from mcp_protogen.runtime.transports.base import Opener, Transport
from mcp_protogen.runtime.transports.subprocess import stdio_client

GRACE: Final = 15.0
"""How long a process may take to end on a busy machine after its input was closed, in seconds."""
_LAST_LINES: Final = 20
SOON: Final = 1.0
"""How long answers may come after that to a later request, in seconds."""


def encoded(message: Any) -> bytes:
    """Return a message as bytes; bytes are what they are."""
    if isinstance(message, bytes):
        return message
    return json.dumps(message, separators=(",", ":")).encode()


class StreamProbing:
    """A stream of messages in each direction: a process, or HTTP+SSE."""

    def __init__(
        self, opener: Opener, clock: Clock, errors: list[str], grace: float = GRACE
    ) -> None:
        self._opener = opener
        self._grace = grace
        self._clock = clock
        self._errors = errors
        self._transport: Transport | None = None
        self._room = BYTES
        self._ended = False

    @classmethod
    def of(
        cls, words: Sequence[str], clock: Clock, errors: list[str], grace: float, **settings: Any
    ) -> "StreamProbing":
        """Return the steps of a session with a program, which is started at the first one."""

        def kept(text: str) -> None:
            errors.append(text)
            del errors[:-_LAST_LINES]

        opener = stdio_client(words, stderr=kept, grace=grace, limit=LONGEST, **settings)
        return cls(opener, clock, errors, grace)

    async def exchange(self, probe: Probe, step: Step, timeout: float) -> Exchange:
        """Write the messages of a step, and read until they are answered."""
        intake = Intake(step, self._clock, self._room)
        outcome, detail = "", ""
        try:
            async with asyncio.timeout(timeout) as limit:
                if self._transport is None:
                    self._transport = await self._opener()
                for message in [*step.messages, *([step.barrier] if step.barrier else [])]:
                    await self._send(message, intake)
                outcome = await self._await(intake, limit)
        except TimeoutError:
            outcome = TIMEOUT
        except Disconnected as error:
            outcome = UNREACHABLE if self._transport is None else CLOSED
            await self._take_last(intake)
            detail = str(error).partition("\n")[0].partition(";")[0]
        self._room = intake.room
        self._ended = self._ended or outcome == CLOSED
        messages = tuple(intake.messages)
        return Exchange(probe=probe.name, messages=messages, outcome=outcome, detail=detail)

    async def _take_last(self, intake: Intake) -> None:
        """Take in what a process wrote before it ended."""
        with suppress(Disconnected, TimeoutError):
            async with asyncio.timeout(SOON):
                while self._transport and (received := await self._transport.receive()):
                    for message in received:
                        if isinstance(message, bytes) and not intake.is_flooded:
                            intake.room -= len(message)
                            list(intake.take(message))

    async def _send(self, message: Any, intake: Intake) -> None:
        assert self._transport is not None
        data = encoded(message)
        intake.sent(data)
        await self._transport.send([data])

    async def _await(self, intake: Intake, limit: asyncio.Timeout) -> str:
        """Read until all is answered, or soon after the last is; return the outcome."""
        assert self._transport is not None
        late = False
        while not intake.is_complete:
            received = await self._transport.receive()
            if not received:
                return CLOSED
            for one in received:
                if not isinstance(one, bytes):  # a line that is too long
                    return FLOOD
                intake.room -= len(one)
                for reply in intake.take(one):
                    await self._send(reply, intake)
                if intake.is_flooded:
                    return FLOOD
            if intake.is_last_answered and not late:
                limit.reschedule(asyncio.get_running_loop().time() + SOON)
                late = True
        return ""

    async def close(self) -> Exchange | None:
        """Close the input of the process; return whether it ended by itself."""
        if self._transport is None:
            return None
        begun = self._clock()
        await self._transport.close()
        if self._ended:
            return None
        stubborn = self._clock() - begun >= self._grace
        return Exchange(probe="close", outcome=KILLED if stubborn else "")
