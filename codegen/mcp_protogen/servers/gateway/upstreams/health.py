"""The health of a server behind the gateway, as connections and requests of clients find it."""

from asyncio import Future
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from time import time
from typing import Any, Final, Literal, TypeAlias

from mcp_protogen.runtime.core.errors import McpError, ProtocolError
from mcp_protogen.runtime.core.json import is_object
from mcp_protogen.runtime.features.auth.errors import AuthorizationError
from mcp_protogen.runtime.server.base import ServerBase
from mcp_protogen.runtime.server.context import RequestContext
from mcp_protogen.runtime.toolkit.links import Link, Work
from mcp_protogen.runtime.toolkit.remotes import Remote, cause_of
from mcp_protogen.servers.gateway.access.access_log import LoggedMount, revision_of
from mcp_protogen.servers.gateway.upstreams.circuit import SENDING, is_reached

State: TypeAlias = Literal["unknown", "up", "down"]
"""Whether the last attempt to reach a server succeeded."""

_LONGEST: Final = 300
"""The most characters of the text of an error."""


@dataclass(frozen=True, slots=True)
class LastFailure:
    """A failure to reach a server; `time` is in seconds since 1970."""

    reason: str
    text: str
    time: float


class Health:
    """The last attempt to reach a server, and its connections; `hide` hides secrets in texts.

    `is_of_users` is whether connections have the tokens of users.
    """

    def __init__(self, hide: Callable[[str], str] = str, is_of_users: bool = False) -> None:
        self._hide, self._is_of_users = hide, is_of_users
        self.state: State = "unknown"
        self.since: float | None = None
        """The time of the last change of the state, in seconds since 1970."""
        self.failure: LastFailure | None = None
        """The last failure, also if it was reached since."""
        self.connections: Counter[str] = Counter()
        """The number of open ones, by the revision that is spoken."""

    def note_success(self) -> None:
        self._change("up")

    def note_failure(self, reason: str, text: str) -> None:
        self._change("down")
        self.failure = LastFailure(reason, self._hide(text)[:_LONGEST], time())

    def _change(self, state: State) -> None:
        if state != self.state:
            self.state, self.since = state, time()

    def note_attempt(self, attempt: Future[None]) -> None:
        """Note the outcome of an attempt to connect, unless its client has left before."""
        if attempt.cancelled():
            return
        error = attempt.exception()
        if error is None:
            self.note_success()
        elif isinstance(error, McpError) and is_object(error.data):
            # What clients are told has no details; it was raised for another error.
            reason, why = error.data["reason"], error.__context__ or error
            if reason != "unauthorized" or not self._is_of_users:
                self.note_failure(reason, str(why))
            elif not isinstance(why, AuthorizationError):
                # It refuses the token of one user.
                self.note_success()


class WatchedMount(LoggedMount):
    """A remote server whose health is noted."""

    health: Health

    @asynccontextmanager
    async def _connect(
        self, remote: Remote, outer: RequestContext
    ) -> AsyncGenerator[ServerBase[Any], None]:
        health, connections = self.health, self.health.connections
        remote.ready.add_done_callback(health.note_attempt)
        async with super()._connect(remote, outer) as server:
            revision = revision_of(server)
            connections[revision] += 1
            try:
                yield server
            finally:
                connections[revision] -= 1
            if not (remote.over.is_set() or connections.total()):
                # It has ended by itself, and no other connection shows that the server lives.
                health.note_failure("interrupted", "the connection has ended")

    def use(self, outer: RequestContext, work: Work) -> Any:
        async def note(link: Link) -> Any:
            try:
                result = await work(link)
            except ProtocolError as error:
                self._note_error(cause_of(error))
                raise
            self.health.note_success()
            return result

        return super().use(outer, note)

    def _note_error(self, cause: BaseException) -> None:
        """Note whether a request was answered; over HTTP, no connection breaks if the server does.

        The text of an error may have parts of the request.
        """
        reached, status = is_reached(cause, SENDING), getattr(cause, "status", None)
        if reached:
            self.health.note_success()
        elif reached is False:
            text = f"HTTP {status}" if status else "the request could not be sent"
            self.health.note_failure("unreachable", text)
