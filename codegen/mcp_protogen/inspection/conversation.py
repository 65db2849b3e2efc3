"""Sessions as they are held: each step of a plan is carried over a wire, and recorded."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Final, Protocol

from mcp_protogen.inspection.http_plan import PLAN, UNAUTHORIZED
from mcp_protogen.inspection.plan import OPENING
from mcp_protogen.inspection.steps import Asking, Probe, Step
from mcp_protogen.inspection.transcript import (
    CLOSED,
    FLOOD,
    TIMEOUT,
    UNREACHABLE,
    Exchange,
    Session,
)

MESSAGES: Final = 1000
"""How many messages are taken in during one step."""
BYTES: Final = 32 * 1024 * 1024
"""How many bytes are taken in during one session."""
LONGEST: Final = 8 * 1024 * 1024
"""The longest message that is taken in, in bytes."""
_SILENCES: Final = 2
_STEPS: Final = 400
_ENDED: Final = (CLOSED, FLOOD, UNREACHABLE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Manners:
    """What is done with a server.

    `calls` are the tools to call, with their arguments; `reading` calls those, too, that say that
    they only read. `timeout` is the time for each answer, in seconds; a whole session may take
    thirty times that.
    """

    timeout: float = 15.0
    calls: Mapping[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    reading: bool = False


class Wire(Protocol):
    """A way to carry messages to a server and back."""

    async def carry(self, probe: Probe, step: Step, timeout: float) -> Exchange:
        """Take a step, and return what passed."""
        ...

    async def close(self) -> Exchange | None:
        """End the connection, and return how it ended if that is known."""
        ...


async def hold(session: Session, wire: Wire, manners: Manners) -> None:
    """Take all steps of the plan in a session; end the connection."""
    asking = Asking(session, manners.calls, manners.reading)
    holding = _Holding(wire, asking, manners.timeout)
    try:
        async with asyncio.timeout(30 * manners.timeout):
            await holding.all()
    except TimeoutError:
        session.exchanges.append(Exchange(probe="end", outcome=TIMEOUT))
    finally:
        last = await wire.close()
        if last is not None:
            session.exchanges.append(last)


@dataclass(slots=True)
class _Holding:
    """The steps of one session."""

    wire: Wire
    asking: Asking
    timeout: float
    silences: int = 0
    steps: int = 0

    async def all(self) -> None:
        """Take all steps; stop where there is no use in going on."""
        for probe in PLAN:
            if probe.applies(self.asking.session) and not await self._probed(probe):
                return
            if probe == OPENING[0] and not self.asking.session.is_spoken:
                if UNAUTHORIZED.applies(self.asking.session):
                    await self._probed(UNAUTHORIZED)
                return

    async def _probed(self, probe: Probe) -> bool:
        """Take a step, or all of those of a name; return whether to go on."""
        while (step := probe.make(self.asking)) is not None:
            exchange = await self.wire.carry(probe, step, self.timeout)
            self.asking.session.exchanges.append(exchange)
            self.steps += 1
            self.silences += exchange.outcome == TIMEOUT and step.barrier is None
            if exchange.outcome in _ENDED or self.silences >= _SILENCES or self.steps >= _STEPS:
                return False
            if not probe.repeats:
                break
        return True


class Clock:
    """The time since the beginning of an inspection, in seconds."""

    def __init__(self) -> None:
        self._start = monotonic()

    def __call__(self) -> float:
        return round(monotonic() - self._start, 6)
