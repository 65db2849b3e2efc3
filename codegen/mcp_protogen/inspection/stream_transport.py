"""Steps over streams of messages: to a process, or the events of HTTP+SSE."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any, Final

from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.connecting.traffic import Message
from mcp_protogen.inspection.conversation import BYTES, LONGEST, MESSAGES, Clock
from mcp_protogen.inspection.steps import Probe, Step, reply_to
from mcp_protogen.inspection.transcript import (
    CLOSED,
    FLOOD,
    KILLED,
    TIMEOUT,
    UNREACHABLE,
    Exchange,
    same_id,
)
from mcp_protogen.runtime.core.connection_errors import Disconnected
from mcp_protogen.runtime.transports.base import Opener, Transport
from mcp_protogen.runtime.transports.subprocess import stdio_client

GRACE: Final = 5.0
"""How long a process may take to end after its input was closed, in seconds."""
_LAST_LINES: Final = 20
_SOON: Final = 1.0
"""How long answers may come after that to a later request, in seconds."""


def encoded(message: Any) -> bytes:
    """Return a message as bytes; bytes are what they are."""
    if isinstance(message, bytes):
        return message
    return json.dumps(message, separators=(",", ":")).encode()


class StreamProbing:
    """A stream of messages in each direction: a process, or HTTP+SSE."""

    def __init__(self, opener: Opener, clock: Clock, errors: list[str]) -> None:
        self._opener = opener
        self._clock = clock
        self._errors = errors
        self._transport: Transport | None = None
        self._room = BYTES
        self._ended = False

    @classmethod
    def of(
        cls, words: Sequence[str], clock: Clock, errors: list[str], **settings: Any
    ) -> "StreamProbing":
        """Return the steps of a session with a program, which is started at the first one."""

        def kept(text: str) -> None:
            errors.append(text)
            del errors[:-_LAST_LINES]

        opener = stdio_client(words, stderr=kept, grace=GRACE, limit=LONGEST, **settings)
        return cls(opener, clock, errors)

    async def exchange(self, probe: Probe, step: Step, timeout: float) -> Exchange:
        """Write the messages of a step, and read until they are answered."""
        messages: list[Message] = []
        outcome, detail = "", ""
        try:
            async with asyncio.timeout(timeout) as limit:
                if self._transport is None:
                    self._transport = await self._opener()
                for message in [*step.messages, *([step.barrier] if step.barrier else [])]:
                    await self._send(message, messages)
                outcome = await self._await(set(step.waits), messages, _StepTimeout(step, limit))
        except TimeoutError:
            outcome = TIMEOUT
        except Disconnected as error:
            outcome = UNREACHABLE if self._transport is None else CLOSED
            detail = str(error).partition("\n")[0].partition(";")[0]
        self._ended = self._ended or outcome == CLOSED
        return Exchange(probe=probe.name, messages=tuple(messages), outcome=outcome, detail=detail)

    async def _send(self, message: Any, messages: list[Message]) -> None:
        assert self._transport is not None
        data = encoded(message)
        messages.append(Message(self._clock(), "client", data))
        await self._transport.send([data])

    async def _await(self, waits: set[Any], messages: list[Message], limit: "_StepTimeout") -> str:
        """Read until all ids are answered; return the outcome."""
        assert self._transport is not None
        while waits:
            received = await self._transport.receive()
            if not received:
                return CLOSED
            for one in received:
                if not isinstance(one, bytes):  # a line that is too long
                    return FLOOD
                messages.append(Message(self._clock(), "server", one))
                self._room -= len(one)
                if self._room < 0 or len(messages) > MESSAGES:
                    return FLOOD
                for value in _objects(one):
                    waits -= {id for id in waits if _answers(value, id)}
                    limit.see(value)
                    if (reply := reply_to(value)) is not None:
                        await self._send(reply, messages)
        return ""

    async def close(self) -> Exchange | None:
        """Close the input of the process; return whether it ended by itself."""
        if self._transport is None:
            return None
        begun = self._clock()
        await self._transport.close()
        if self._ended:
            return None
        stubborn = self._clock() - begun >= GRACE
        return Exchange(probe="close", outcome=KILLED if stubborn else "")


class _StepTimeout:
    """The time for the answers of a step, which ends soon after that to its last message."""

    def __init__(self, step: Step, limit: asyncio.Timeout) -> None:
        self._last = step.barrier["id"] if step.barrier else None
        self._limit = limit

    def see(self, value: dict[str, Any]) -> None:
        """Take note of a message of the server."""
        if self._last is not None and _answers(value, self._last):
            self._limit.reschedule(asyncio.get_running_loop().time() + _SOON)


def _objects(data: bytes) -> list[dict[str, Any]]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return []
    return [one for one in (value if is_array(value) else [value]) if is_object(one)]


def _answers(value: dict[str, Any], id: object) -> bool:
    return "method" not in value and same_id(value.get("id"), id)
