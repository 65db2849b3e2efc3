"""What has to be known of a session to go on with it in another process."""

from dataclasses import dataclass, field
from hashlib import sha256
from json import dumps
from typing import Protocol

from ...jsonvalue import JSONObject


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRecord:
    """A session of the handshake era. All members are JSON values.

    What handlers keep, and what is being worked on, stays in the process where it is.
    """

    revision: str
    principal: str | None
    capabilities: JSONObject
    """What the client declared."""
    info: JSONObject
    """What it calls itself."""
    level: str = "debug"
    """The least severe log entries it wants."""
    subscriptions: list[str] = field(default_factory=list[str])
    """The resources it subscribed to."""

    def digest(self) -> bytes:
        """What tells it from any other record."""
        # A store may give members back in another order.
        said = self.revision, self.principal, self.capabilities, self.info
        text = dumps([*said, self.level, self.subscriptions], sort_keys=True)
        return sha256(text.encode()).digest()


class SessionStore(Protocol):
    """Keeps records by the id of their session, for all processes that serve one endpoint."""

    async def save(self, id: str, record: SessionRecord, lifetime: float) -> None:
        """Keep a record for `lifetime` seconds, in the place of an earlier one."""
        ...

    async def load(self, id: str) -> SessionRecord | None:
        """The record of a session, if it is known and has not lapsed."""
        ...

    async def delete(self, id: str) -> None:
        """The session is over. What other processes still do for it ends with its next request."""
        ...
