"""The servers of one application while an event loop runs it, and what sessions are made of."""

from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from itertools import count
from logging import getLogger
from secrets import token_urlsafe
from typing import Any, Final

from ....core.middleware import OVER_HTTP
from ....core.options import Options
from ....core.revision import Revision
from ....core.tasks import Tasks
from ....messages.jsonrpc import Call
from ....server.base import ServerBase
from ....server.connection import BoundServer, ServerState
from ....server.lifespan import LifespanError
from ....server.serve import Router, Server, by_revision, enter_lifespans, serve_views
from ....translation.revision_view import RevisionViews
from ....transports.base import Transport
from ..asgi import HttpExchange, HttpRefusal
from ..options import HttpOptions
from .peers import Peers

_log: Final = getLogger(__name__)


def cannot_begin(error: LifespanError) -> HttpRefusal:
    _log.error("a request was refused: %s", error, exc_info=error)
    return HttpRefusal.for_now("The server cannot begin")


class HttpServers:
    """The servers by revision; `servers` and `revisions` are those of `serve`."""

    def __init__(
        self,
        servers: tuple[Server, ...],
        revisions: tuple[Revision, ...] | None,
        options: Options,
        http: HttpOptions,
    ) -> None:
        self._servers = servers
        self._revisions = revisions
        self.per_session: Final = any(isinstance(server, type) for server in servers)
        """Whether a session may have a server of its own."""
        self.http = http
        self.options = options
        self.views = views = self._new_views()
        self.offer = views.offer
        self.tasks = Tasks()
        worker = f"s{token_urlsafe(6)}"
        self.peers = Peers(worker, http.session_lifetime)
        self.shared = ServerState(views, self.tasks, options)
        self.shared.ids = own_ids(worker)
        self.shared.network = OVER_HTTP
        self.shared.tells_apart = http.authentication is not None
        # Without a stateless revision, there may be nothing outside of sessions.
        alone = not self.per_session or views.offer.stateless or not http.sessions
        self.shared_servers = tuple(views.handlers) if alone else ()

    def _new_views(self) -> RevisionViews[ServerBase[Any]]:
        return RevisionViews(by_revision(self._servers), self._revisions, self.options.on_loss)

    def bound_server(self, revision: str, *, own: bool = False) -> BoundServer:
        """Return the server of a revision; with `own`, that of one session alone."""
        if own and self.per_session:
            view = self._new_views()[revision]
            return BoundServer(view, tells_apart=self.shared.tells_apart)
        return self.shared.bound_server(revision)

    async def session_server(
        self, call: Call, revision: str, exchange: HttpExchange
    ) -> BoundServer:
        """Return the server for the session that `initialize` begins; raise `HttpRefusal`."""
        return self.bound_server(revision, own=self.http.sessions)

    async def release(self, bound_server: BoundServer) -> None:
        """Free what `session_server` has made, for a session that does not begin."""

    async def serve_alone(
        self,
        views: RevisionViews[ServerBase[Any]],
        transport: Transport,
        begun: Callable[[Router], None],
    ) -> None:
        """Serve one client on a transport of its own; see `serve_views`."""
        await serve_views(views, transport, self.options, begun)

    async def enter_lifespan(self, bound_server: BoundServer) -> AsyncExitStack | None:
        """Enter the lifespan of the server of one session alone; raise `HttpRefusal`."""
        if not self.per_session:
            # A stack takes more memory than anything else that a session has.
            return None
        held = AsyncExitStack()
        try:
            await held.enter_async_context(enter_lifespans([bound_server.server]))
        except LifespanError as error:
            raise cannot_begin(error) from None
        return held

    def handshake_views(self) -> RevisionViews[ServerBase[Any]]:
        """Return the servers for clients that only know revisions with a handshake.

        Raise `HttpRefusal` if no such revision is spoken.
        """
        known = self.offer.handshake
        if not known:
            raise HttpRefusal(404, "No revision is spoken that this transport belongs to")
        servers, spoken = by_revision(self._servers), self._revisions
        if spoken is None:
            servers = {
                revision: server for revision, server in servers.items() if revision in known
            }
        else:
            spoken = tuple(revision for revision in spoken if revision.id in known)
        return RevisionViews(servers, spoken, self.options.on_loss)


def own_ids(worker: str) -> Iterator[str]:
    """Return ids of requests that no other worker, or earlier one, has used in any session.

    Several may serve one session, and an answer may come to any of them (2025-11-25, basic,
    "Requests"). The part before the dot says who asked; it begins with a letter, because some
    clients make integers, of 32 bits only, of what looks like one.
    """
    return (f"{worker}.{number}" for number in count(1))
