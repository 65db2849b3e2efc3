"""The servers of an application in an event loop, as sessions use them."""

from collections.abc import Callable
from contextlib import AsyncExitStack
from itertools import count
from logging import getLogger
from secrets import token_urlsafe
from typing import Final, NamedTuple

from ....core.middleware import OVER_HTTP
from ....core.options import Options
from ....core.revision import Revision
from ....core.tasks import Tasks
from ....messages.jsonrpc import Call
from ....server.connection import BoundServer, ServerState, ServerViews
from ....server.lifespan import LifespanError
from ....server.serve import Router, Server, by_revision, enter_lifespans, serve_views
from ....translation.revision_view import RevisionViews
from ....transports.base import Transport
from ..asgi import HttpExchange, HttpRefusal
from ..options import HttpOptions
from .worker import Worker

_log: Final = getLogger(__name__)


def cannot_begin(error: LifespanError) -> HttpRefusal:
    _log.error("a request was refused: %s", error, exc_info=error)
    return HttpRefusal.for_now("The server cannot start")


class Served(NamedTuple):
    """The parameters of an application; `servers` and `revisions` are those of `serve`."""

    servers: tuple[Server, ...]
    revisions: tuple[Revision, ...] | None
    options: Options
    http: HttpOptions


class HttpServers:
    def __init__(self, served: Served) -> None:
        self._servers, self._revisions, self.options, self.http = served
        http = served.http
        self.per_session: Final = any(isinstance(server, type) for server in self._servers)
        """Whether sessions may have their own servers."""
        self.views = views = self._new_views()
        self.offer = views.offer
        self.tasks = Tasks()
        worker = f"s{token_urlsafe(6)}"
        self.worker = Worker(worker, http.session_lifetime)
        self.shared = ServerState(views, self.tasks, self.options)
        # No worker has used these ids in any session, so that an answer may come to any worker
        # (2025-11-25, basic, "Requests"). The part before the dot names the asking worker; it
        # begins with a letter, because some clients turn number-like ids into 32-bit integers.
        self.shared.ids = (f"{worker}.{number}" for number in count(1))
        self.shared.network = OVER_HTTP
        self.shared.tells_apart = http.authentication is not None
        # Without a stateless revision, all requests may belong to sessions.
        alone = not self.per_session or views.offer.stateless or not http.sessions
        self.shared_servers = tuple(views.handlers) if alone else ()

    def _new_views(self) -> ServerViews:
        return RevisionViews(by_revision(self._servers), self._revisions, self.options.on_loss)

    def bound_server(self, revision: str, *, own: bool = False) -> BoundServer:
        """Return the server of a revision; with `own`, a session's own one."""
        if own and self.per_session:
            view = self._new_views()[revision]
            return BoundServer(view, tells_apart=self.shared.tells_apart)
        return self.shared.bound_server(revision)

    async def session_server(
        self, call: Call, revision: str, exchange: HttpExchange
    ) -> BoundServer:
        """Return the server for a new session; raise `HttpRefusal`."""
        return self.bound_server(revision, own=self.http.sessions)

    async def release(self, bound_server: BoundServer) -> None:
        """Release the result of `session_server` if the session does not begin."""

    async def serve_alone(
        self, views: ServerViews, transport: Transport, on_begin: Callable[[Router], None]
    ) -> None:
        """Serve one client on its own transport; see `serve_views`."""
        await serve_views(views, transport, self.options, on_begin)

    async def enter_lifespan(self, bound_server: BoundServer) -> AsyncExitStack | None:
        """Enter the lifespan of a session's own server; raise `HttpRefusal`."""
        if not self.per_session:
            # A stack would take most of a session's memory.
            return None
        stack = AsyncExitStack()
        try:
            await stack.enter_async_context(enter_lifespans([bound_server.server]))
        except LifespanError as error:
            raise cannot_begin(error) from None
        return stack

    def handshake_views(self) -> ServerViews:
        """Return the servers of handshake revisions; raise `HttpRefusal` without any."""
        versions = self.offer.handshake
        if not versions:
            raise HttpRefusal(404, "This transport needs a handshake revision, and none is served")
        servers, revisions = by_revision(self._servers), self._revisions
        if revisions is None:
            servers = {id: server for id, server in servers.items() if id in versions}
        else:
            revisions = tuple(revision for revision in revisions if revision.id in versions)
        return RevisionViews(servers, revisions, self.options.on_loss)
