"""Steps over a transport of the runtime: to a process, or any other stream of messages."""

import asyncio
import json
from contextlib import suppress
from typing import Any, Final

from mcp_protogen.runtime.core.connection_errors import Disconnected
from mcp_protogen.runtime.transports.base import Opener, Received, Transport
from mcp_protogen.servers.inspect.intake import LONGEST, StepIntake
from mcp_protogen.servers.inspect.steps import Probe, ProbeStep
from mcp_protogen.servers.inspect.transcript import (
    CLOSED,
    FLOOD,
    KILLED,
    TIMEOUT,
    UNREACHABLE,
    Exchange,
)

GRACE: Final = 15.0
"""The time for a process to end on a busy machine after its input is closed, in seconds."""
SOON: Final = 1.0
"""The time for answers after the answer to a later request, in seconds."""


def encode(message: Any) -> bytes:
    """Return a message as bytes; bytes stay unchanged."""
    if isinstance(message, bytes):
        return message
    return json.dumps(message, separators=(",", ":")).encode()


class StreamProbing:
    """The steps of a connection over a transport, which shows `intake` each message."""

    def __init__(self, opener: Opener, intake: StepIntake, grace: float = GRACE) -> None:
        self._opener = opener
        self._intake = intake
        self._grace = grace
        self._transport: Transport | None = None
        self._ended = False

    async def exchange(self, probe: Probe, step: ProbeStep, timeout: float) -> Exchange:
        """Send the messages of a step, and read until they are answered."""
        self._intake.begin(step)
        outcome, detail = "", ""
        try:
            async with asyncio.timeout(step.within or timeout) as limit:
                if self._transport is None:
                    self._transport = await self._opener()
                await self._carry_out(step, limit)
        except TimeoutError:
            outcome = "" if step.within else TIMEOUT
        except Disconnected as error:
            outcome = UNREACHABLE if self._transport is None else CLOSED
            await self._take_last()
            detail = str(error).partition("\n")[0].partition(";")[0]
        if self._intake.is_flooded:
            outcome = FLOOD
        self._ended = self._ended or outcome == CLOSED
        messages = tuple(self._intake.messages)
        return Exchange(probe=probe.name, messages=messages, outcome=outcome, detail=detail)

    async def _carry_out(self, step: ProbeStep, limit: asyncio.Timeout) -> None:
        """Send all messages, and read until all are answered, or soon after the last one is."""
        for message in [*step.messages, *([step.last] if step.last else [])]:
            await self._send(message)
        assert self._transport is not None
        late = False
        while not self._intake.is_complete and not self._intake.is_flooded:
            received = await self._transport.receive()
            if not received:
                raise Disconnected("")
            for message in received:
                await self._take(message, limit)
            if self._intake.is_last_answered and not late:
                limit.reschedule(asyncio.get_running_loop().time() + SOON)
                late = True

    async def _take_last(self) -> None:
        """Let the tap see the last words of a process that has ended."""
        with suppress(Disconnected, TimeoutError):
            async with asyncio.timeout(SOON):
                while self._transport and not self._intake.is_flooded:
                    if not await self._transport.receive():
                        return

    async def _send(self, message: Any) -> None:
        assert self._transport is not None
        await self._transport.send([encode(message)])

    async def _take(self, received: Received, limit: asyncio.Timeout) -> None:
        if isinstance(received, bytes):
            for reply in self._intake.take(received):
                await self._send(reply)
        elif f"more than {LONGEST} bytes" in str(received):
            self._intake.room = -1

    async def close(self) -> Exchange | None:
        """Close the input of the process; return whether it ended by itself."""
        if self._transport is None:
            return None
        begun = self._intake.clock()
        await self._transport.close()
        if self._ended:
            return None
        stubborn = self._intake.clock() - begun >= self._grace
        return Exchange(probe="close", outcome=KILLED if stubborn else "")
