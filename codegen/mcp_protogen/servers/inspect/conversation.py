"""A conversation with a server: each step of the probes is taken and recorded."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from mcp_protogen.servers.inspect.http_probes import PROBES, UNAUTHORIZED
from mcp_protogen.servers.inspect.probes import OPENING
from mcp_protogen.servers.inspect.steps import PlanClient, Probe
from mcp_protogen.servers.inspect.stream_transport import StreamProbing
from mcp_protogen.servers.inspect.transcript import (
    CLOSED,
    FLOOD,
    TIMEOUT,
    UNREACHABLE,
    Exchange,
    Transcript,
)

_SILENCES: Final = 2
_STEPS: Final = 400
_ENDED: Final = (CLOSED, FLOOD, UNREACHABLE)


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectOptions:
    """The options of an inspection.

    `calls` are the tools to call, with their arguments; `reading` also calls tools that declare to
    only read. `timeout` is the time for each answer, in seconds; a whole connection may last
    thirty times that.
    """

    timeout: float = 15.0
    calls: Mapping[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    reading: bool = False


async def run_session(
    transcript: Transcript, probing: StreamProbing, options: InspectOptions
) -> None:
    """Run all probes on one connection, and close it."""
    client = PlanClient(transcript, options.calls, options.reading)
    conversation = _Conversation(probing, client, options.timeout)
    try:
        async with asyncio.timeout(30 * options.timeout):
            await conversation.all()
    except TimeoutError:
        transcript.exchanges.append(Exchange(probe="end", outcome=TIMEOUT))
    finally:
        last = await probing.close()
        if last is not None:
            transcript.exchanges.append(last)


@dataclass(slots=True)
class _Conversation:
    probing: StreamProbing
    client: PlanClient
    timeout: float
    silences: int = 0
    steps: int = 0

    async def all(self) -> None:
        """Take all steps; stop when going on is useless."""
        for probe in PROBES:
            if probe.applies(self.client.transcript) and not await self._take_steps(probe):
                return
            if probe == OPENING[0] and not self.client.transcript.is_spoken:
                if UNAUTHORIZED.applies(self.client.transcript):
                    await self._take_steps(UNAUTHORIZED)
                return

    async def _take_steps(self, probe: Probe) -> bool:
        """Take a step, repeated if the probe repeats; return whether to go on."""
        while (step := probe.make(self.client)) is not None:
            exchange = await self.probing.exchange(probe, step, self.timeout)
            self.client.transcript.exchanges.append(exchange)
            self.steps += 1
            self.silences += exchange.outcome == TIMEOUT and step.last is None
            if exchange.outcome in _ENDED or self.silences >= _SILENCES or self.steps >= _STEPS:
                return False
            if not probe.repeats:
                break
        return True
