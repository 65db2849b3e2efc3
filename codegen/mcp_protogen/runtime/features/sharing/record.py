"""What is stored of a session for all workers of an endpoint, and how changes of it come together.

A record is what another worker needs to go on with a session. What handlers keep, and what is being
worked on, stays in the worker where it is.
"""

from asyncio import Lock
from dataclasses import dataclass, field
from functools import cache
from itertools import takewhile
from typing import ClassVar, NamedTuple

from pydantic import TypeAdapter

from ...core.json import JSONObject
from ...core.subscriptions import Level
from ...http.server.sessions.registry import HttpSession
from ...rules.lifecycle import State
from ...server.context import SessionSwitches


class Choices(NamedTuple):
    """What was chosen of a session since it began, which all its workers know."""

    confirmed: bool
    """Whether the handshake is complete."""
    level: str
    """The level of the least severe log entries that it wants."""
    subscriptions: frozenset[str]
    """The resources that it subscribed to."""
    switched: SessionSwitches = ()
    """What the server has switched on and off for it."""

    def onto(self, base: "Choices", stored: "Choices") -> "Choices":
        """Return these choices, made from `base`, with those that are `stored` by now."""
        return Choices(
            self.confirmed or stored.confirmed,
            stored.level if self.level == base.level else self.level,
            stored.subscriptions - (base.subscriptions - self.subscriptions)
            | (self.subscriptions - base.subscriptions),
            self._switched_onto(base.switched, stored.switched),
        )

    def _switched_onto(self, base: SessionSwitches, stored: SessionSwitches) -> SessionSwitches:
        if self.switched == base:
            return stored
        known = takewhile(lambda pair: pair[0] == pair[1], zip(self.switched, base, strict=False))
        new = self.switched[sum(1 for _ in known) :]
        again = {switch[:3] for switch in new}
        # The last switch of an item counts.
        return (*(switch for switch in stored if switch[:3] not in again), *new)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRecord:
    """What another worker needs to go on with a session; its id is not among it."""

    revision: str
    principal_id: str | None
    capabilities: JSONObject
    """The capabilities that the client declared."""
    info: JSONObject
    """The name and version of the client."""
    confirmed: bool
    level: Level
    subscriptions: frozenset[str]
    switched: SessionSwitches = ()

    @property
    def choices(self) -> Choices:
        return Choices(self.confirmed, self.level, self.subscriptions, self.switched)

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
    choices: Choices
    """What is stored of them."""
    version: int
    as_of: int
    """The number of gaps there had been when it was read."""
    letters: int = 0
    """The number of the last letter stored for this worker that was dealt with."""
    used: bool = True
    """Whether its lifetime has to begin anew."""
    unannounced: bool = False
    """Whether others may have a copy of what was stored before."""
    written_elsewhere: bool = False
    """Whether another worker has written it, which may have failed before all others knew."""
    changing: Lock = field(default_factory=Lock)
    """Held until the other workers know of a change."""


@dataclass(eq=False, slots=True)
class SharedSession(HttpSession):
    """The copy of a session here, and what is known of it elsewhere."""

    is_shared: ClassVar[bool] = True
    copy: SessionCopy = field(init=False)

    @property
    def choices(self) -> Choices:
        connection = self.connection
        confirmed = connection.endpoint.connection.state is State.OPEN
        return Choices(confirmed, connection.level, connection.subscriptions, connection.switched)

    @property
    def changed(self) -> bool:
        """Return whether something was chosen that is not stored, or that others do not know."""
        copy, choices = self.copy, self.choices
        if choices == copy.choices:
            return copy.unannounced
        return copy.unannounced or choices.onto(copy.choices, copy.choices) != copy.choices

    @property
    def unsaved(self) -> bool:
        return self.copy.changing.locked() or self.changed

    def record(self, choices: Choices) -> bytes:
        connection = self.connection.endpoint.connection
        record = SessionRecord(
            revision=self.revision,
            principal_id=self.principal_id,
            capabilities=dict(connection.declared["client"]),
            info=dict(connection.identity["client"]),
            **choices._asdict(),
        )
        return record.to_bytes()

    def choose(self, choices: Choices) -> None:
        """Go on with other choices; raise the error of subscriptions that are too many."""
        before, connection = self.connection.subscriptions, self.connection.endpoint.connection
        for uri in before - choices.subscriptions:
            self.connection.listeners.unsubscribe(uri)
        for uri in choices.subscriptions - before:
            self.connection.listeners.subscribe(uri)
        self.connection.level = choices.level
        if choices.switched != self.connection.switched:
            server = self.connection.server.__mcp_runtime__
            server.switch_all(self.connection, choices.switched)
        if choices.confirmed and connection.state is State.OPEN_PENDING:
            connection.enter(State.OPEN)

    def own(self, owned: bool) -> None:
        """Send what the server publishes, as the one worker of the session that does, or do not."""
        self.connection.is_owner = owned

    def require_announcement(self) -> None:
        # A client that chooses again was not answered: not all may know of it then.
        self.copy.unannounced |= self.copy.written_elsewhere
