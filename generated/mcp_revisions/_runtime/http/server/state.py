"""What all parts of one application share while an event loop runs it, its sessions above all.

An `HttpSession` is what a client began with `initialize`, and names in `Mcp-Session-Id`. Those of
this process are in the `SessionRegistry`; other processes learn of one by its `SessionRecord`
(2025-11-25, basic/transports, "Session Management").

`HttpState.close` gives handlers time to end, and answers requests outside of sessions with errors
if they took too long; then it closes all sessions, and completes the responses that are still open.
"""

import re
from asyncio import Task, TimerHandle, gather, get_running_loop, timeout
from collections import OrderedDict
from collections.abc import Collection, Iterator
from contextlib import AsyncExitStack, nullcontext, suppress
from dataclasses import dataclass, field
from itertools import count
from logging import getLogger
from secrets import token_urlsafe
from typing import Any, Final

from ...connection import Connection
from ...core.connection_errors import Disconnected
from ...core.middleware import OVER_HTTP
from ...core.options import Options
from ...core.revision import Revision
from ...core.tasks import Signal, Tasks
from ...rpc.jobs import Jobs
from ...server.base import ServerBase
from ...server.connection import BoundServer, ServerConnection, ServerState
from ...server.lifespan import LifespanError
from ...server.serve import Server, by_revision, entered
from ...translation.revision_view import RevisionViews
from .asgi import Bodies, HttpExchange, HttpRefusal
from .event_stream import STANDALONE, EventLog, EventResponse, KeepAlive, StandaloneStream, Stream
from .options import HttpOptions
from .param_header_check import ToolHeaders
from .stores import EventStore, MemoryEventStore, SessionRecord

_log: Final = getLogger(__name__)

_ID: Final = re.compile(r"[A-Za-z0-9_-]{43}")


def new_id() -> str:
    """Return an id that cannot be guessed, of visible characters.

    Of 256 bits: it is all that it takes to speak in a session where nobody is authenticated.
    """
    return token_urlsafe(32)


def cannot_begin(error: LifespanError) -> HttpRefusal:
    _log.error("a request was refused: %s", error, exc_info=error)
    return HttpRefusal.for_now("The server cannot begin")


@dataclass(eq=False, slots=True)
class HttpSession:
    """One session: a connection that is made of many HTTP requests, and its streams."""

    id: str
    principal: str | None
    """The id of who began it; nobody else may use it."""
    revision: str
    connection: ServerConnection
    standalone: StandaloneStream
    events: EventStore | None
    used: float
    saved: float
    saving: int = 0
    """The number of tasks that are saving it now."""
    record: bytes | None = None
    """The digest of the record that was saved last, which other processes know."""
    under_way: int = 0
    """The number of its open requests and streams."""
    ended: bool = False
    held: AsyncExitStack | None = None
    """The lifespan of its server, if that is its own."""
    streams: dict[str, Stream] = field(default_factory=dict[str, Stream])
    """The streams of requests that are being worked on, by name, if events are kept."""

    def stream(self, response: EventResponse) -> Stream:
        log = None if self.events is None else EventLog(self.events, self.id)
        stream = Stream(response, log, self.standalone.retry)
        if log is not None:
            self.streams[log.name] = stream
        return stream

    def to_record(self) -> SessionRecord:
        connection = self.connection.endpoint.connection
        return SessionRecord(
            revision=self.revision,
            principal=self.principal,
            capabilities=dict(connection.declared["client"]),
            info=dict(connection.identity["client"]),
            level=self.connection.level,
            subscriptions=sorted(self.connection.subscriptions),
        )

    def renew(self, record: SessionRecord) -> None:
        listeners = self.connection.listeners
        for uri in self.connection.subscriptions.difference(record.subscriptions):
            listeners.unsubscribe(uri)
        for uri in record.subscriptions:
            listeners.subscribe(uri)
        self.connection.level = record.level
        self.record = record.digest()

    async def close(self, *, forget: bool) -> None:
        """End what is under way; `forget` its events if nobody can go on with it."""
        self.ended = True
        self.connection.abort(Disconnected("the session was ended"))
        await self.standalone.close()
        self.connection.endpoint.cancel_all()
        for stream in list(self.streams.values()):
            stream.abort()
        try:
            if forget and self.events is not None:
                await self.events.forget(self.id)
        except Exception:
            # The store is the application's. Other sessions have to end all the same.
            _log.exception("the events of a session could not be deleted")
        try:
            if self.held is not None:
                await self.held.aclose()
        except LifespanError as error:
            _log.error("a session did not end well: %s", error, exc_info=error)


class SessionRegistry:
    """The sessions of this process, the one that was used last at the end.

    With a store, other processes know of them, and theirs are known here.
    """

    def __init__(self, state: "HttpState") -> None:
        self._state = state
        self._time = get_running_loop().time
        self._http = http = state.http
        self._events = http.events or MemoryEventStore() if http.resumable else None
        self.store: Final = http.session_store
        self._sessions: OrderedDict[str, HttpSession] = OrderedDict()
        # Strings are found by a keyed hash of the whole, so the time it takes reveals no id.
        self.get: Final = self._sessions.get
        self._timer: TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._sessions)

    def __iter__(self) -> Iterator[HttpSession]:
        return iter(self._sessions.values())

    async def load(self, id: str) -> HttpSession | None:
        """Return the session of that id as the store knows it, which another process may have."""
        if self.store is None or not _ID.fullmatch(id):
            # A store is not asked for anything else.
            return None
        before = self._sessions.get(id)
        known, saving = (None, 0) if before is None else (before.record, before.saving)
        record = await self.store.load(id)
        # Another request may have begun or ended it meanwhile.
        session = self._sessions.get(id)
        if record is None:
            if session is not None:
                await self.remove(session)
            return None
        if session is None:
            return await self._revived(id, record)
        if (
            record.digest() != session.record
            and session.record is known
            and not saving + session.saving
        ):
            # And none has changed it here, which would be newer than what was loaded.
            session.renew(record)
        return session

    async def _revived(self, id: str, record: SessionRecord) -> HttpSession | None:
        if record.revision not in self._state.offer.handshake:
            return None
        bound_server = self._state.bound_server(record.revision, own=True)
        connection = bound_server.connection()
        bound_server.remember(connection, record.capabilities, record.info)
        session = await self.add(id, record.principal, bound_server, connection)
        session.renew(record)
        return session

    def note_end(self, session: HttpSession) -> None:
        """Note that a request or stream of a session is over; its time runs from now."""
        session.under_way -= 1
        if session.id in self._sessions:
            session.used = self._time()
            self._sessions.move_to_end(session.id)

    async def add(
        self, id: str, principal: str | None, bound_server: BoundServer, connection: Connection
    ) -> HttpSession:
        """Begin a session, or return it if another request has done so meanwhile.

        Raise `HttpRefusal` if there is no room for one more, or the server cannot begin.
        """
        held = await self._state.held(bound_server)
        async with held or nullcontext():
            session = self._sessions.get(id)
            if session is None:
                session = self._added(id, principal, bound_server, connection)
                session.held = held and held.pop_all()
            return session

    def _added(
        self, id: str, principal: str | None, bound_server: BoundServer, connection: Connection
    ) -> HttpSession:
        if len(self._sessions) >= self._http.max_sessions:
            idle = next((one for one in self if not one.under_way), None)
            if idle is None:
                raise HttpRefusal.for_now("Too many sessions", seconds=10)
            _log.info("a session that has been idle for longest makes room for a new one")
            self._drop(idle)
        events, now = self._events, self._time()
        log = None if events is None else EventLog(events, id, STANDALONE + token_urlsafe(9))
        shared, table = self._state.shared, connection.table
        retry = round(self._http.retry * 1000) if table.rules.polling else None
        standalone = StandaloneStream(self._state.tasks, log, retry)
        server_connection = ServerConnection(bound_server, connection, shared, standalone)
        server_connection.endpoint.principal = principal
        server_connection.register()
        session = self._sessions[id] = HttpSession(
            id, principal, table.revision, server_connection, standalone, events, now, now
        )
        if self._timer is None:
            self._look_later()
        return session

    def _look_later(self) -> None:
        after = max(self._http.session_lifetime / 4, 0.01)
        self._timer = get_running_loop().call_later(after, self._expire)

    def _expire(self) -> None:
        self._timer = None
        if self.store is not None:
            for session in self:
                if session.under_way and not session.saving:
                    self._state.tasks.start(self.save(session))
        latest = self._time() - self._http.session_lifetime
        # Those that are in use, whose time does not run, may stand before others that have lapsed.
        for session in [one for one in self if one.used <= latest and not one.under_way]:
            self._drop(session)
        if self._sessions:
            self._look_later()

    async def save(self, session: HttpSession) -> None:
        """Let other processes know of a session that is new or has changed."""
        store, lifetime = self.store, self._http.session_lifetime
        if store is None or session.ended:
            return
        record, now = session.to_record(), self._time()
        # Also one in which nothing changes must not lapse while it is used.
        digest = record.digest()
        if digest == session.record and now - session.saved <= lifetime / 4:
            return
        session.saving += 1
        try:
            if session.record is not None and await store.load(session.id) is None:
                # It was ended by a request to another process.
                await self.remove(session)
                return
            await store.save(session.id, record, lifetime)
            session.record, session.saved = digest, now
        except Exception:
            # The store is the application's; what was answered is not taken back for it.
            _log.exception("a session could not be saved")
        finally:
            session.saving -= 1

    def _drop(self, session: HttpSession) -> None:
        del self._sessions[session.id]
        self._state.tasks.start(session.close(forget=self.store is None))

    async def remove(self, session: HttpSession) -> None:
        """Close a session that is known nowhere any more."""
        if self._sessions.pop(session.id, None) is not None:
            await session.close(forget=True)

    async def delete(self, session: HttpSession) -> None:
        """Close a session, and let other processes know."""
        session.ended = True
        if self.store is not None:
            try:
                await self.store.delete(session.id)
            except BaseException:
                session.ended = False
                raise
        await self.remove(session)

    async def close(self) -> None:
        """Close all sessions; those that a store knows can go on in other processes."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._sessions:
            _, session = self._sessions.popitem()
            await session.close(forget=self.store is None)


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
        views = self._new_views()
        self.offer = views.offer
        self.tasks = Tasks()
        self.shared = ServerState(views, self.tasks, options)
        self.shared.ids = own_ids()
        self.shared.network = OVER_HTTP
        # Without a stateless revision, there may be nothing outside of sessions.
        alone = not self._of_each or views.offer.stateless or not http.sessions
        self.shared_servers = tuple(views.handlers) if alone else ()
        self.keep_alive = KeepAlive(http.keep_alive, self.tasks)
        self.bodies = Bodies(http.max_body, http.max_bodies, http.body_timeout)
        self.sessions = SessionRegistry(self)
        self.tool_headers = ToolHeaders(http.header_lifetime)
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

    def _new_views(self) -> RevisionViews[ServerBase[Any]]:
        return RevisionViews(by_revision(self._servers), self._revisions, self.options.on_loss)

    def bound_server(self, revision: str, *, own: bool = False) -> BoundServer:
        """Return the server of a revision; with `own`, that of one session alone."""
        if own and self._of_each:
            return BoundServer(self._new_views()[revision])
        return self.shared.bound_server(revision)

    async def held(self, bound_server: BoundServer) -> AsyncExitStack | None:
        """Enter the lifespan of the server of one session alone; raise `HttpRefusal`."""
        if not self._of_each:
            # A stack takes more memory than anything else that a session has.
            return None
        held = AsyncExitStack()
        try:
            await held.enter_async_context(entered([bound_server.server]))
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
            servers = {revision: one for revision, one in servers.items() if revision in known}
        else:
            spoken = tuple(one for one in spoken if one.id in known)
        return RevisionViews(servers, spoken, self.options.on_loss)

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
        await self.sessions.close()
        await gather(*(connection.endpoint.close(0) for connection in self.connections))
        await self.keep_alive.close(self.options.drain)
        await self.tasks.cancel()


def own_ids() -> Iterator[str]:
    """Return ids of requests that no other process, or earlier one, has used in any session.

    Several processes may serve one session, and an answer may come to the wrong one (2025-11-25,
    basic, "Requests"). The part before the dot says which process asked; it begins with a letter,
    because some clients make integers, of 32 bits only, of what looks like one.
    """
    name = f"s{token_urlsafe(6)}"
    return (f"{name}.{number}" for number in count(1))
