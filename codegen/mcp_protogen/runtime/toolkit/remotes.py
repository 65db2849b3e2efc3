"""The connections of a mounted server, one for each client, and what their failures mean."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

from ..core.connection_errors import Disconnected, Unsent
from ..core.errors import INTERNAL_ERROR, McpError
from ..core.json import json_text
from ..core.middleware import OVER_HTTP
from ..rules.handlers import Handler
from ..server.context import OpenConnection, RequestContext
from ..server.upstream import Upstream, client_gone
from .links import Link

PAUSE: Final = 1.0
"""The time before a connection that is followed is opened again; doubled until one lasts."""
_LONGEST_PAUSE: Final = 30.0

Reason: TypeAlias = Literal["unreachable", "timeout", "unauthorized", "interrupted"]

_WORDS: Final[Mapping[Reason, str]] = {
    "unreachable": "cannot be reached",
    "timeout": "did not answer in time",
    "unauthorized": "refuses the credentials that it was sent",
    "interrupted": "has gone before it answered",
}


def failure(server: str, reason: Reason, has_effects: bool = False) -> McpError:
    """Return the answer to a request in place of a mounted server."""
    text = f"The server of {server} {_WORDS[reason]}"
    if has_effects and reason == "interrupted":
        text += ": the call may have had effects"
    return McpError(INTERNAL_ERROR, text, {"server": server, "reason": reason})


def cause_of(error: BaseException) -> BaseException:
    """Return the error of the connection below an error response, or the error itself."""
    while isinstance(error, McpError) and error.__cause__ is not None:
        error = error.__cause__
    return error


def reason_of(error: BaseException) -> Reason | None:
    """Return why a request was not answered; None if this error is the answer."""
    status: int | None = getattr(error, "status", None)
    if isinstance(error, TimeoutError):
        return "timeout"
    if status in (401, 403):
        return "unauthorized"
    if isinstance(error, Unsent) or (status is not None and status < 500):
        return "unreachable"
    return "interrupted" if isinstance(error, Disconnected) or status is not None else None


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteSettings:
    """How a server is mounted by a connection. Times are in seconds."""

    name: str = ""
    """The server's name in messages; by default the prefix."""
    list_timeout: float = 5.0
    """The time that a list or listen stream waits for the server."""
    open_timeout: float = 30.0
    timeout: float = 60.0
    """The longest time without a sign of a call; progress extends it."""
    max_timeout: float = 600.0
    max_connections: int = 100
    """The most connections for clients without sessions; the longest idle one ends."""


USUAL_REMOTE: Final = RemoteSettings()


class RemoteKey(NamedTuple):
    """What clients have in common that share a connection; `connection` is None over HTTP."""

    connection: OpenConnection | None
    revision: str
    principal: str | None = None
    client: bytes = b""


def remote_key(outer: RequestContext) -> RemoteKey:
    """Return the key of a request; a client of the stateless era is known by what it says."""
    connection, spoken = outer.connection, outer.spoken
    if spoken.era.remembers_client:
        return RemoteKey(connection, spoken.revision)
    info = outer.peer_info() or {}
    says = [dict(outer.peer_capabilities()), info.get("name"), info.get("version")]
    # Over HTTP, a listen stream has a connection of its own.
    own = None if outer.network == OVER_HTTP else connection
    return RemoteKey(own, spoken.revision, outer.principal_id, json_text(says))


@dataclass(slots=True)
class Attachment:
    """A connection of the server above that uses one of the mounted server."""

    streams: list[RequestContext]
    uris: set[str]
    link: Link | None = None


class Remote(Upstream):
    """A connection to the mounted server; `again` if it takes the place of another."""

    handlers: Mapping[str, Handler]

    def __init__(self, key: RemoteKey, before: "Remote | None") -> None:
        super().__init__()
        self.key = key
        # A listen stream uses all that follow.
        self.users: list[OpenConnection] = [] if before is None else before.users
        self.again, self.pause = before is not None, PAUSE
        self.attached: dict[OpenConnection, Attachment] = {}
        if before is not None:
            self.pause = min(2 * before.pause, _LONGEST_PAUSE)
            for connection, attachment in before.attached.items():
                self.attached[connection] = Attachment(attachment.streams, attachment.uris)

    @property
    def is_idle(self) -> bool:
        return not self.users and self.follower is None

    @property
    def follower(self) -> RequestContext | None:
        """A context of a client that follows changes."""
        for connection, attachment in self.attached.items():
            if connection.endpoint.broken is None and (attachment.streams or attachment.uris):
                own: RequestContext = connection.session().__mcp_runtime__
                return next(iter(attachment.streams), own)
        return None

    def link(self, connection: OpenConnection) -> Link:
        attachment = self.attached.get(connection)
        if attachment is None or attachment.link is None:
            raise client_gone()
        return attachment.link

    @property
    def uris(self) -> set[str]:
        return set[str]().union(*(attachment.uris for attachment in self.attached.values()))
