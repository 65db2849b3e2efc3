"""The stored record of a session, and the merging of its changes.

A record has all that another worker needs to continue a session. State of handlers, and work in
progress, stay in their worker.
"""

from asyncio import Lock
from dataclasses import dataclass, field
from itertools import takewhile
from typing import ClassVar, Final, Literal, NamedTuple

from ...core.json import JSONObject
from ...core.subscriptions import Level
from ...http.server.sessions.registry import HttpSession
from ...http.server.sessions.worker import stored_adapter
from ...rules.lifecycle import State
from ...server.context import SessionSwitches

READ_AGAIN: Final = -1
"""In place of the number of gaps in `as_of`: read the copy again."""


class Choices(NamedTuple):
    """The client's and server's choices in a session, known to all its workers."""

    confirmed: bool
    """Whether the handshake is complete."""
    level: str
    """The least severe log level to send; empty at first."""
    subscriptions: frozenset[str]
    """The URIs of subscribed resources."""
    switched: SessionSwitches = ()
    """The items that the server has switched on and off."""

    def onto(self, base: "Choices", stored: "Choices") -> "Choices":
        """Merge these choices, made from `base`, with the `stored` ones."""
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
    """A record; it does not have the id of its session."""

    revision: str
    principal_id: str | None
    capabilities: JSONObject
    info: JSONObject
    confirmed: bool
    level: Level | Literal[""]
    subscriptions: frozenset[str]
    switched: SessionSwitches = ()

    @property
    def choices(self) -> Choices:
        return Choices(self.confirmed, self.level, self.subscriptions, self.switched)


def read_record(data: bytes) -> SessionRecord:
    """Return a stored record; raise `ValueError` if it is invalid."""
    record: SessionRecord = stored_adapter(SessionRecord).validate_json(data, strict=True)
    return record


@dataclass(eq=False, slots=True)
class SessionCopy:
    key: str
    choices: Choices
    """The stored choices."""
    version: int
    as_of: int
    """The number of gaps when it was read."""
    last_message: int = 0
    """The number of the last stored message that was handled."""
    used: bool = True
    """Whether its lifetime must begin anew."""
    unannounced: bool = False
    """Whether other workers may have an older copy."""
    written_elsewhere: bool = False
    """Whether another worker wrote it, perhaps without telling all others."""
    changing: Lock = field(default_factory=Lock)
    """Held until the other workers know of a change."""


@dataclass(eq=False, slots=True)
class SharedSession(HttpSession):
    is_shared: ClassVar[bool] = True
    copy: SessionCopy = field(init=False)

    @property
    def choices(self) -> Choices:
        connection = self.connection
        confirmed = connection.endpoint.connection.state is State.OPEN
        return Choices(confirmed, connection.level, connection.subscriptions, connection.switched)

    @property
    def changed(self) -> bool:
        """Return whether choices are not stored, or unknown to other workers."""
        known, choices = self.copy.choices, self.choices
        return self.copy.unannounced or choices.onto(known, known) != known

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
        return stored_adapter(SessionRecord).dump_json(record)

    def choose(self, choices: Choices) -> None:
        """Apply choices; raise the error for too many subscriptions."""
        client, known = self.connection, self.choices
        for uri in known.subscriptions - choices.subscriptions:
            client.listeners.unsubscribe(uri)
        for uri in choices.subscriptions - known.subscriptions:
            client.listeners.subscribe(uri)
        client.level = choices.level
        if choices[1:] != known[1:]:
            self._resume(choices)
        if choices.confirmed:
            client.enter_open()

    def _resume(self, choices: Choices) -> None:
        self.connection.server.__mcp_runtime__.resume(self.connection, choices.switched)

    def set_owner(self, owned: bool) -> None:
        """Set whether this worker is the one that sends the server's changes."""
        before, self.connection.is_owner = self.connection.is_owner, owned
        if owned > before:
            self._resume(self.choices)

    def require_announcement(self) -> None:
        # A client that repeats a choice got no answer: some workers may not know of it.
        self.copy.unannounced |= self.copy.written_elsewhere
