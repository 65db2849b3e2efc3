"""The shared state of an application in an event loop, including its sessions.

`HttpState.close` lets handlers finish, and answers the remaining requests outside of sessions with
errors; then it closes all sessions, and completes open responses.
"""

from asyncio import Task, gather, timeout
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from functools import partial
from typing import Any, Final

from ...core.connection_errors import Disconnected
from ...core.errors import InvalidRequest
from ...core.quotas import Quota
from ...core.tasks import Signal
from ...messages.jsonrpc import Call, Parsed
from ...messages.reading import Batch
from ...server.connection import ServerConnection
from .asgi import Bodies, HttpExchange
from .event_stream import KeepAlive
from .options import quota_of
from .param_header_check import ToolHeaders
from .scope_check import ScopeCheck
from .sessions.registry import HttpSession, SessionRegistry
from .sessions.servers import HttpServers, Served
from .time_limits import LateTask, SharedTimer

SHUTTING_DOWN: Final = "The server is shutting down"

# Seconds before the client of an unanswered request is watched.
_SOON: Final = 0.05


def calls_in(messages: Iterable[Parsed | Batch], most: int) -> list[Call]:
    """Return the calls among messages; raise `InvalidRequest` for more than `most` messages."""
    members: list[Parsed] = []
    for message in messages:
        members += message.members if isinstance(message, Batch) else [message]
    if len(members) > most:
        raise InvalidRequest(f"a batch must have at most {most} messages")
    return [member for member in members if isinstance(member, Call)]


class HttpState(HttpServers):
    def __init__(self, served: Served) -> None:
        super().__init__(served)
        http = served.http
        self.keep_alive = KeepAlive(http.keep_alive, self.tasks)
        self.streams = quota_of(http, "max_streams")
        """Open streams, without those of POST requests."""
        of_bodies = quota_of(http, "max_bodies", at_least=http.max_body)
        self.sending = SharedTimer(http.send_timeout)
        self._watching = SharedTimer(_SOON)
        self.bodies = Bodies(http.max_body, of_bodies, http.body_timeout)
        self.sessions: SessionRegistry[Any] = SessionRegistry(self, HttpSession)
        if http.shared is not None:
            self.sessions = http.shared.sessions(self)
        self.tool_headers = ToolHeaders(http.header_lifetime)
        self.scopes = ScopeCheck(http.authentication)
        self.connections: dict[ServerConnection, None] = {}
        """Connections outside of sessions: of one request, or of a revision."""
        self.requests = quota_of(http, "max_requests")
        self.listening = 0
        self.closing = False
        self.ended = Signal()
        """Set when a request ends during `close`."""

    @property
    def working(self) -> int:
        return self.requests.used + self.listening

    def watching(self, exchange: HttpExchange, on_gone: Callable[[], None]) -> LateTask:
        """Call `on_gone` if the client leaves during the block, or soon after."""
        return LateTask(self._watching, partial(exchange.watch, on_gone))

    def take_place(self, quota: Quota, exchange: HttpExchange) -> None:
        """Count a request in a quota until its end; raise `NoRoom` without a free place."""
        owner = exchange.principal_id
        quota.require(owner)
        quota.take(owner)
        exchange.counted_in = quota

    def end_request(self, exchange: HttpExchange) -> None:
        """Release the place and the body of a request."""
        if exchange.taken:
            self.bodies.release(exchange)
        if exchange.counted_in is not None:
            exchange.counted_in.take(exchange.principal_id, -1)
            if self.closing:
                self.ended.notify_all()

    def count_until_done(self, exchange: HttpExchange, handlers: Collection[Task[None]]) -> None:
        """Count a request and its body until all its handlers have ended."""
        self.requests.take(exchange.principal_id)
        running, size = set(handlers), exchange.taken
        exchange.taken = 0

        def on_end(task: Task[None]) -> None:
            running.discard(task)
            if not running:
                self.bodies.quota.give_back(exchange.principal_id, size)
                self.requests.give_back(exchange.principal_id)
                self.ended.notify_all()

        for handler in handlers:
            handler.add_done_callback(on_end)

    async def begin(self) -> None:
        await self.sessions.connect()
        for server in self.views.handlers:
            server.__mcp_runtime__.begin(self.shared)

    async def close(self) -> None:
        """End streams and calls at once, and everything after `options.drain` seconds."""
        self.closing = True
        self.bodies.refuse_incoming(SHUTTING_DOWN)
        gone = Disconnected("the server is shutting down")
        for connection in [*self.connections, *(session.connection for session in self.sessions)]:
            connection.abort(gone)
        with suppress(TimeoutError):
            async with timeout(self.options.drain):
                while self.working:
                    await self.ended.wait()
        await self.shared.host.close(self.options.drain)
        await self.sessions.close()
        await gather(*(connection.endpoint.close(0) for connection in self.connections))
        await self.keep_alive.drain(self.options.drain)
        await self.sessions.disconnect()
        await self.tasks.cancel()
