"""The state that all parts of one application share while an event loop runs it.

How things end: `close()` is orderly and awaited, `abort()` is at once.

| what | who calls it | when |
|---|---|---|
| `HttpState.close` | `HttpApp.close` | the application is shut down |
| `Sessions.close` | `HttpState.close` | handlers have ended, or took too long |
| `HttpSession.close` | `Sessions` | it was deleted or idle for long, or makes room |
| `KeepAlive.close` | `HttpState.close` | after the sessions, for streams that are still open |
| `HttpResponse.close` | `StatefulHttp`, `StatelessHttp` | the request was dealt with |
| `HttpResponse.abort` | `StatefulHttp`, `StatelessHttp` | serving it failed, or was cancelled |
| `StandaloneStream.close` | `HttpSession.close` | the session ends |
| `StreamQueue.close`, `abort` | `HttpResponse` | the response ends |
| `Stream.close` | `StreamQueue.close` | all is written that waited |
| `Stream.abort` | `HttpSession.close`, `StandaloneStream` and others | nobody is to wait for it |
| `EventResponse.close` | `Stream`, `KeepAlive.close` | nothing more is to be written |
| `EventResponse.abort` | `HttpResponse.abort`, `LegacySse` and others | the client is gone |
"""

from asyncio import Task, get_running_loop, timeout
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import count
from secrets import token_urlsafe
from typing import Any, Final

from ...core.errors import Disconnected
from ...core.options import Options
from ...core.revision import Revision
from ...core.spec import ERAS
from ...core.tasks import Signal, Tasks
from ...server.base import ServerBase
from ...server.connection import ServerConnection
from ...server.serve import Server, by_revision
from ...server.state import BoundServer, ServerState
from ...translation.revision_view import RevisionViews
from .asgi import Field, HttpRefusal
from .bodies import Bodies
from .channel import EventResponse, KeepAlive
from .event_store import EventStore, MemoryEventStore
from .options import HttpOptions
from .param_header_check import ToolHeaders
from .request import HttpRequest
from .send import ResponseSender
from .sessions import Sessions

_LATER: Final[Field] = (b"retry-after", b"1")


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
        self.bodies = Bodies(http)
        self.sessions = Sessions(self.shared, http)
        self.tool_headers = ToolHeaders(http.header_lifetime)
        self.events: EventStore | None = None
        if http.resumable:
            self.events = http.events or MemoryEventStore()
        self.working = 0
        """The number of requests that are being worked on."""
        self.listening: dict[ServerConnection, None] = {}
        """The sides that serve a listen stream."""
        self.closing = False
        """Whether it is being closed: no request is begun any more."""
        self._idle = Signal()

    def _new_views(self) -> RevisionViews[ServerBase[Any]]:
        return RevisionViews(by_revision(self._servers), self._revisions, self.options.on_loss)

    def bound_server(self, revision: str, *, own: bool = False) -> BoundServer:
        """Return what the server of a revision can do; with `own`, that of one session alone."""
        if own and self._of_each:
            return BoundServer(self._new_views()[revision])
        return self.shared.bound_server(revision)

    def handshake_views(self) -> RevisionViews[ServerBase[Any]]:
        """Return the servers for clients that only know revisions with a handshake.

        Raise `HttpRefusal` if no such revision is spoken.
        """
        spoken = [one for one in self._revisions or () if ERAS[one.era].has_handshake]
        servers = by_revision(self._servers)
        if self._revisions is None:
            servers = {
                revision: server
                for revision, server in servers.items()
                if server.TABLE.era.has_handshake
            }
        if not (spoken or (self._revisions is None and servers)):
            raise HttpRefusal(404, "No revision is spoken that this transport belongs to")
        return RevisionViews(servers, spoken or None, self.options.on_loss)

    def channel(self, send: ResponseSender) -> EventResponse:
        """Return a new streamed response."""
        return EventResponse(send, self.keep_alive)

    def check_running(self) -> None:
        """Raise `HttpRefusal` if it is being closed."""
        if self.closing:
            raise HttpRefusal(503, "The server is shutting down", fields=[_LATER])

    def check_room(self) -> None:
        """Raise `HttpRefusal` if too many requests are worked on."""
        if self.working >= self.http.max_requests:
            raise HttpRefusal(503, "Too many requests at once", fields=[_LATER])

    def begin(self) -> None:
        """Count a request that is begun; raise `HttpRefusal` if there are too many."""
        self.check_room()
        self.working += 1

    def end(self) -> None:
        """Count a request that is not worked on any more."""
        self.working -= 1
        self.note_end()

    def go_on(self, request: HttpRequest, handlers: Iterable[Task[None]]) -> None:
        """Count a request, and the memory of its body, until the last of its handlers has ended."""
        self.working += 1
        left, held = set(handlers), self.bodies.handed_over(request)

        def ended(task: Task[None]) -> None:
            left.discard(task)
            if not left:
                self.bodies.taken -= held
                self.end()

        for handler in handlers:
            handler.add_done_callback(ended)

    def note_end(self) -> None:
        """Wake `close`, which waits for what is under way."""
        if self.closing:
            self._idle.ring()

    def check_streams(self) -> None:
        """Raise `HttpRefusal` if too many streams are open."""
        if len(self.keep_alive) >= self.http.max_streams:
            raise HttpRefusal(503, "Too many streams", fields=[_LATER])

    async def close(self) -> None:
        """End all streams and calls at once, and after `options.drain` seconds everything."""
        self.closing = True
        gone = Disconnected("the server is shutting down")
        for side in [*self.listening, *(session.side for session in self.sessions)]:
            side.abort(gone)
        with suppress(TimeoutError):
            async with timeout(self.options.drain):
                while self.working or self.listening:
                    await self._idle.heard()
        await self.sessions.close()
        await self.keep_alive.close(self.options.drain)
        await self.tasks.cancel()


def own_ids() -> Iterator[str]:
    """Return ids of requests that no other process, or earlier one, has used in any session.

    Several processes may serve one session, whose ids are used once (2025-11-25, basic,
    "Requests"): an answer that comes to the wrong one must not be taken for that to another
    question. Before the dot stands who asked. Strings, because some clients read integers of 32
    bits only; beginning with a letter, because some make integers of what looks like one.
    """
    name = f"s{token_urlsafe(6)}"
    return (f"{name}.{number}" for number in count(1))
