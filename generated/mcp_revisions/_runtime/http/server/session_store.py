"""The record of a session, with which another process can go on with it."""

from dataclasses import dataclass, field
from hashlib import sha256
from json import dumps
from typing import Protocol

from ...core.json import JSONObject


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRecord:
    """A session of the handshake era. All members are JSON values.

    What handlers keep, and what is being worked on, stays in the process where it is.
    """

    revision: str
    principal: str | None
    capabilities: JSONObject
    """The capabilities that the client declared."""
    info: JSONObject
    """The name and version of the client."""
    level: str = "debug"
    """The level of the least severe log entries that the client wants."""
    subscriptions: list[str] = field(default_factory=list[str])
    """The resources that the client subscribed to."""

    def digest(self) -> bytes:
        """Return a digest that differs from that of any other record."""
        # A store may give members back in another order.
        said = self.revision, self.principal, self.capabilities, self.info
        text = dumps([*said, self.level, self.subscriptions], sort_keys=True)
        return sha256(text.encode()).digest()


class SessionStore(Protocol):
    """A store of records by the id of their session, for all processes that serve one endpoint."""

    async def save(self, id: str, record: SessionRecord, lifetime: float) -> None:
        """Keep a record for `lifetime` seconds, in the place of an earlier one."""
        ...

    async def load(self, id: str) -> SessionRecord | None:
        """Return the record of a session, if it is known and has not lapsed."""
        ...

    async def delete(self, id: str) -> None:
        """Delete the record of a session that is over.

        What other processes still do for it ends with its next request.
        """
        ...
