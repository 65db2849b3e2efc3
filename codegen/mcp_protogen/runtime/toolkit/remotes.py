"""The connections of a mounted server, one for each client, and what their failures mean."""

from asyncio import Event, Future, Task, get_running_loop
from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from ..core.connection_errors import Disconnected, Unsent
from ..core.errors import INTERNAL_ERROR, McpError
from ..core.json import json_text
from ..core.middleware import OVER_HTTP
from ..server.base import ServerBase
from ..server.context import OpenConnection, RequestContext
from ..server.listen_streams import Handler
from .links import Link

GONE: Final = "The client has gone"

Reason: TypeAlias = Literal["unreachable", "timeout", "unauthorized", "interrupted"]

_WORDS: Final[Mapping[Reason, str]] = {
    "unreachable": "cannot be reached",
    "timeout": "did not answer in time",
    "unauthorized": "refuses the credentials that it was sent",
    "interrupted": "has gone before it answered: the request may have had effects",
}


def failure(server: str, reason: Reason) -> McpError:
    """Return the answer to a request in place of a mounted server."""
    text = f"The server of {server} {_WORDS[reason]}"
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


class RemoteKey(NamedTuple):
    """What clients have in common that share a connection; `connection` is None over HTTP."""

    connection: OpenConnection | None
    revision: str
    principal: str | None = None
    client: bytes = b""


def remote_key(outer: RequestContext) -> RemoteKey:
    """Return the key of a request; a client of the stateless era is known by what it says."""
    connection, revision = outer.connection, outer.spoken.revision
    if outer.spoken.era.remembers_client:
        return RemoteKey(connection, revision)
    info = outer.peer_info() or {}
    says = [dict(outer.peer_capabilities()), info.get("name"), info.get("version")]
    # Over HTTP, a listen stream has a connection of its own.
    own = None if outer.network == OVER_HTTP else connection
    return RemoteKey(own, revision, outer.principal_id, json_text(says))


class Attachment:
    """A connection of the server above that uses one of the mounted server."""

    __slots__ = ("link", "uris")

    def __init__(self, uris: set[str]) -> None:
        self.link: Link | None = None
        self.uris = uris


class Remote:
    """A connection to the mounted server; `again` if it takes the place of another."""

    __slots__ = ("again", "attached", "handlers", "over", "ready", "server", "users", "work")

    work: Task[None]
    server: ServerBase[Any]
    handlers: Mapping[str, Handler]
    again: bool

    def __init__(self, before: "Remote | None") -> None:
        self.ready: Future[None] = get_running_loop().create_future()
        # asyncio would log a failure without a listener.
        self.ready.add_done_callback(lambda ready: ready.cancelled() or ready.exception())
        self.over = Event()
        # A listen stream uses all that follow.
        self.users: list[OpenConnection] = [] if before is None else before.users
        self.again = before is not None
        self.attached: dict[OpenConnection, Attachment] = {}
        for connection, attachment in before.attached.items() if before is not None else ():
            self.attached[connection] = Attachment(attachment.uris)

    @property
    def is_open(self) -> bool:
        return self.ready.done() and self.ready.exception() is None

    @property
    def is_over(self) -> bool:
        runtime: Any = self.server.__mcp_runtime__ if self.is_open else None
        return self.over.is_set() or (runtime is not None and runtime.is_gone)

    @property
    def is_idle(self) -> bool:
        return not self.users and not self.uris

    def end(self, error: McpError | None = None) -> None:
        """Close the connection; requests that wait for it get an error."""
        self.over.set()
        if not self.ready.done():
            # A task cancelled before its first step runs nothing, not even `finally`.
            self.ready.set_exception(error or McpError(INTERNAL_ERROR, GONE))
            self.work.cancel()

    def link(self, connection: OpenConnection) -> Link:
        attachment = self.attached.get(connection)
        if attachment is None or attachment.link is None:
            raise McpError(INTERNAL_ERROR, GONE)
        return attachment.link

    @property
    def uris(self) -> set[str]:
        return set[str]().union(*(attachment.uris for attachment in self.attached.values()))
