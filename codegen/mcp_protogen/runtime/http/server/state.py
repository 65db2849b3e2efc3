"""The state that all parts of one application share while an event loop runs it.

How things end: `close()` is orderly and awaited, `abort()` is at once. `HttpState.close` gives
handlers time to end, and answers requests outside of sessions with errors if they took too long;
then it closes all sessions, and completes the responses that are still open.
"""

from asyncio import Task, gather, get_running_loop, timeout
from collections.abc import Collection, Iterator
from contextlib import suppress
from itertools import count
from secrets import token_urlsafe
from typing import Any

from ...core.connection_errors import Disconnected
from ...core.options import Options
from ...core.revision import Revision
from ...core.tasks import Signal, Tasks
from ...server.base import ServerBase
from ...server.connection import BoundServer, ServerConnection, ServerState
from ...server.serve import Server, by_revision
from ...translation.revision_view import RevisionViews
from .asgi import Bodies, HttpExchange, HttpRefusal
from .event_stream import KeepAlive
from .options import HttpOptions
from .param_header_check import ToolHeaders
from .sessions import SessionRegistry
from .stores import MemoryEventStore


class HttpState:
    """The servers, sessions and streams; `servers` and `revisions` are those of `serve`."""

    def __init__(
        self,
        servers: tuple[Server, ...],
        revisions: tuple[Revision, ...] | None,
        options: Options,
        http: HttpOptions,
    ) -> None:
        self._servers = servers
        self._revisions = revisions
        self._of_each = any(isinstance(server, type) for server in servers)
        self.http = http
        self.options = options
        self.loop = get_running_loop()
        views = self._new_views()
        self.offer = views.offer
        self.tasks = Tasks()
        self.shared = ServerState(views, self.tasks, options)
        self.shared.ids = own_ids()
        self.keep_alive = KeepAlive(http.keep_alive, self.tasks)
        self.bodies = Bodies(http.max_body, http.max_bodies, http.body_timeout)
        events = http.events or MemoryEventStore() if http.resumable else None
        self.sessions = SessionRegistry(self.shared, http, events)
        self.tool_headers = ToolHeaders(http.header_lifetime)
        self.connections: dict[ServerConnection, None] = {}
        """The connections outside of sessions: of one request, or of all in a revision."""
        self.working = 0
        """The number of requests that are being worked on."""
        self.listening = 0
        """The number of those that are listen streams, which do not count for `max_requests`."""
        self.closing = False
        """Whether no request is begun any more."""
        self._idle = Signal()

    def _new_views(self) -> RevisionViews[ServerBase[Any]]:
        return RevisionViews(by_revision(self._servers), self._revisions, self.options.on_loss)

    def bound_server(self, revision: str, *, own: bool = False) -> BoundServer:
        """Return the server of a revision; with `own`, that of one session alone."""
        if own and self._of_each:
            return BoundServer(self._new_views()[revision])
        return self.shared.bound_server(revision)

    def handshake_views(self) -> RevisionViews[ServerBase[Any]]:
        """Return the servers for clients that only know revisions with a handshake.

        Raise `HttpRefusal` if no such revision is spoken.
        """
        known = self.offer.handshake
        if not known:
            raise HttpRefusal(404, "No revision is spoken that this transport belongs to")
        servers, spoken = by_revision(self._servers), self._revisions
        if spoken is None:
            servers = {revision: one for revision, one in servers.items() if revision in known}
        else:
            spoken = tuple(one for one in spoken if one.id in known)
        return RevisionViews(servers, spoken, self.options.on_loss)

    def check_room(self) -> None:
        """Raise `HttpRefusal` if too many requests are worked on."""
        if self.working - self.listening >= self.http.max_requests:
            raise HttpRefusal.for_now("Too many requests at once")

    def check_streams(self) -> None:
        """Raise `HttpRefusal` if too many streams are open."""
        if len(self.keep_alive) >= self.http.max_streams:
            raise HttpRefusal.for_now("Too many streams")

    def note_end(self) -> None:
        """Wake `close`, which waits for requests to end."""
        self._idle.ring()

    def go_on(self, exchange: HttpExchange, handlers: Collection[Task[None]]) -> None:
        """Count a request and its body until all of its handlers have ended."""
        self.working += 1
        left, held = set(handlers), exchange.taken
        exchange.taken = 0

        def ended(task: Task[None]) -> None:
            left.discard(task)
            if not left:
                self.bodies.taken -= held
                self.working -= 1
                self.note_end()

        for handler in handlers:
            handler.add_done_callback(ended)

    async def close(self) -> None:
        """End all streams and calls at once, and after `options.drain` seconds everything."""
        self.closing = True
        gone = Disconnected("the server is shutting down")
        for connection in [*self.connections, *(one.connection for one in self.sessions)]:
            connection.abort(gone)
        with suppress(TimeoutError):
            async with timeout(self.options.drain):
                while self.working:
                    await self._idle.heard()
        await self.sessions.close()
        await gather(*(connection.endpoint.close(0) for connection in self.connections))
        await self.keep_alive.close(self.options.drain)
        await self.tasks.cancel()


def own_ids() -> Iterator[str]:
    """Return ids of requests that no other process, or earlier one, has used in any session.

    Several processes may serve one session, whose ids are used once (2025-11-25, basic,
    "Requests"): an answer that comes to the wrong one must not be taken for that to another
    question. The part before the dot says which process asked. Strings, because some clients read
    integers of 32 bits only; beginning with a letter, because some make integers of what looks like
    one.
    """
    name = f"s{token_urlsafe(6)}"
    return (f"{name}.{number}" for number in count(1))
