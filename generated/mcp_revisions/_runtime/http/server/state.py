"""What all parts of one application share while an event loop runs it, its sessions above all.

`HttpState.close` gives handlers time to end, and answers requests outside of sessions with errors
if they took too long; then it closes all sessions, and completes the responses that are still open.
"""

from asyncio import Task, gather, timeout
from collections.abc import Collection
from contextlib import suppress
from logging import getLogger
from typing import Final

from ...core.connection_errors import Disconnected
from ...core.options import Options
from ...core.revision import Revision
from ...core.tasks import Signal
from ...rpc.jobs import Jobs, Work
from ...server.connection import ServerConnection
from ...server.serve import Server
from .asgi import Bodies, HttpExchange, HttpRefusal
from .event_stream import KeepAlive
from .options import HttpOptions
from .param_header_check import ToolHeaders
from .scope_check import ScopeCheck
from .sessions.registry import SessionRegistry
from .sessions.servers import HttpServers
from .sessions.shared import SharedSessions

_log: Final = getLogger(__name__)


class HttpState(HttpServers):
    """The servers, sessions and streams."""

    def __init__(
        self,
        servers: tuple[Server, ...],
        revisions: tuple[Revision, ...] | None,
        options: Options,
        http: HttpOptions,
    ) -> None:
        super().__init__(servers, revisions, options, http)
        self.keep_alive = KeepAlive(http.keep_alive, self.tasks)
        self.bodies = Bodies(http.max_body, http.max_bodies, http.body_timeout)
        self.sessions = SessionRegistry(self) if http.shared is None else SharedSessions(self)
        self.tool_headers = ToolHeaders(http.header_lifetime)
        self.scopes = ScopeCheck(http.authentication)
        self.connections: dict[ServerConnection, None] = {}
        """The connections outside of sessions: of one request, or of all in a revision."""
        self.working = 0
        """The number of requests that are being worked on."""
        self.listening = 0
        """The number of those that are listen streams, which do not count for `max_requests`."""
        self.closing = False
        """Whether no request is begun any more."""
        self.ended = Signal()
        """Rings for `close` when a request ends."""

    def check_open(self) -> None:
        if self.closing:
            raise HttpRefusal.for_now("The server is shutting down")

    def check_room(self, jobs: Jobs | None = None) -> None:
        """Raise `HttpRefusal` if too many requests are worked on, or `jobs` can take no more."""
        if self.working - self.listening >= self.http.max_requests or (jobs and jobs.busy):
            raise HttpRefusal.for_now("Too many requests at once")

    def check_streams(self) -> None:
        """Raise `HttpRefusal` if too many streams are open."""
        if len(self.keep_alive) >= self.http.max_streams:
            raise HttpRefusal.for_now("Too many streams")

    async def after(self, check: Work, work: Work) -> None:
        """Do `work` after a check, which counts as a request; its exceptions are raised."""
        self.working += 1
        try:
            await check
        except BaseException:
            work.close()
            raise
        finally:
            self.working -= 1
            if self.closing:
                self.ended.ring()
        await work

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
                self.ended.ring()

        for handler in handlers:
            handler.add_done_callback(ended)

    async def begin(self) -> None:
        """Connect to what is shared with other workers; without `shared`, this does nothing."""
        await self.peers.begin()
        for server in self.views.handlers:
            server.__mcp_runtime__.begin(self.shared)
        if self.relay is not None:
            if self.offer.stateless and not self.options.state_keys:
                _log.warning(
                    "without Options(state_keys=...), which all workers have, a request that asks"
                    " its client something can only go on in the process where it began"
                )
            for server in self.shared_servers:
                self.relay.add(server)

    async def close(self) -> None:
        """End all streams and calls at once, and after `options.drain` seconds everything."""
        self.closing = True
        gone = Disconnected("the server is shutting down")
        for connection in [*self.connections, *(one.connection for one in self.sessions)]:
            connection.abort(gone)
        with suppress(TimeoutError):
            async with timeout(self.options.drain):
                while self.working:
                    await self.ended.heard()
        await self.shared.task_host.close(self.options.drain)
        await self.sessions.close()
        await gather(*(connection.endpoint.close(0) for connection in self.connections))
        await self.keep_alive.close(self.options.drain)
        if self.relay is not None:
            await self.relay.close(self.options.drain)
        await self.peers.close()
        await self.tasks.cancel()
