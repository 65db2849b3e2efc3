"""What is stored of a session for all workers of an endpoint, and how changes of it come together.

A record is what another worker needs to go on with a session. What handlers keep, and what is being
worked on, stays in the worker where it is.
"""

from asyncio import Lock
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from pydantic import TypeAdapter

from ...core.json import JSONObject
from ...core.subscriptions import Level


class ClientChoices(NamedTuple):
    """What the client of a session has chosen since it began, which all its workers know."""

    confirmed: bool
    """Whether the handshake is complete."""
    level: str
    """The level of the least severe log entries that it wants."""
    subscriptions: frozenset[str]
    """The resources that it subscribed to."""

    def onto(self, base: "ClientChoices", stored: "ClientChoices") -> "ClientChoices":
        """Return these choices, made from `base`, with those that are `stored` by now."""
        return ClientChoices(
            self.confirmed or stored.confirmed,
            stored.level if self.level == base.level else self.level,
            stored.subscriptions - (base.subscriptions - self.subscriptions)
            | (self.subscriptions - base.subscriptions),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRecord:
    """What another worker needs to go on with a session; its id is not among it."""

    revision: str
    principal: str | None
    capabilities: JSONObject
    """The capabilities that the client declared."""
    info: JSONObject
    """The name and version of the client."""
    confirmed: bool
    level: Level
    subscriptions: frozenset[str]

    @property
    def choices(self) -> ClientChoices:
        return ClientChoices(self.confirmed, self.level, self.subscriptions)

    def to_bytes(self) -> bytes:
        return _records().dump_json(self)


def read_record(data: bytes) -> SessionRecord:
    """Return a record that was stored; raise `ValueError` for what is none."""
    return _records().validate_json(data, strict=True)


@cache
def _records() -> TypeAdapter[SessionRecord]:
    # Not made where nothing is shared.
    return TypeAdapter(SessionRecord)


@dataclass(eq=False, slots=True)
class SessionCopy:
    """What a worker knows of a session that is stored for several."""

    key: str
    choices: ClientChoices
    """What is stored of them."""
    version: int
    as_of: int
    """The number of gaps there had been when it was read."""
    used: bool = True
    """Whether its lifetime has to begin anew."""
    changing: Lock = field(default_factory=Lock)
    """Held until the other workers know of a change."""
