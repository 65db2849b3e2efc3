"""The sessions of the handshake era.

An `HttpSession` is what a client began with `initialize`, and names in `Mcp-Session-Id`. Those of
this process are in the `SessionRegistry`; what it tells other processes of one is a `SessionRecord`
(2025-11-25, basic/transports, "Session Management").
"""

import re
from asyncio import TimerHandle, get_running_loop
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from logging import getLogger
from secrets import token_urlsafe
from typing import Final

from ...connection import Connection
from ...core.connection_errors import Disconnected
from ...server.connection import BoundServer, ServerConnection, ServerState
from .asgi import HttpRefusal
from .event_stream import STANDALONE, EventLog, EventResponse, StandaloneStream, Stream
from .options import HttpOptions
from .stores import EventStore, SessionRecord

_log: Final = getLogger(__name__)

# 256 bits: an id is all that it takes to speak in a session where nobody is authenticated.
_ID_BYTES: Final = 32
_ID: Final = re.compile(r"[A-Za-z0-9_-]{43}")


def new_id() -> str:
    """Return an id that cannot be guessed, of visible characters."""
    return token_urlsafe(_ID_BYTES)


@dataclass(eq=False, slots=True)
class HttpSession:
    """One session: a connection that is made of many HTTP requests, and its streams."""

    id: str
    principal: str | None
    """The id of who began it; nobody else may use it."""
    revision: str
    connection: ServerConnection
    standalone: StandaloneStream
    store: EventStore | None
    retry: int | None
    """The delay in milliseconds before its client comes back to a stream, if clients do."""
    used: float
    saved: float
    saving: int = 0
    """The number of tasks that are saving it now."""
    record: bytes | None = None
    """The digest of the record that was saved last, which other processes know."""
    under_way: int = 0
    """The number of its open requests and streams."""
    ended: bool = False
    streams: dict[str, Stream] = field(default_factory=dict[str, Stream])
    """The streams of requests that are being worked on, by name, if events are kept."""

    def stream(self, response: EventResponse) -> Stream:
        log = None if self.store is None else EventLog(self.store, self.id)
        stream = Stream(response, log, self.retry)
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
        """Take over what another process has saved."""
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
        if forget and self.store is not None:
            try:
                await self.store.forget(self.id)
            except Exception:
                # The store is the application's. Other sessions have to end all the same.
                _log.exception("the events of a session could not be deleted")


class SessionRegistry:
    """The sessions of this process, the one that was used last at the end.

    With a store, other processes are told of them, and theirs are known here.
    """

    def __init__(self, shared: ServerState, http: HttpOptions, events: EventStore | None) -> None:
        self._shared = shared
        self._events = events
        self._limit = http.max_sessions
        self._retry = round(http.retry * 1000)
        self._lifetime = http.session_lifetime
        self._store = http.session_store
        self.saved = self._store is not None
        self._sessions: OrderedDict[str, HttpSession] = OrderedDict()
        self._timer: TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._sessions)

    def __iter__(self) -> Iterator[HttpSession]:
        return iter(self._sessions.values())

    async def get(
        self, id: str, revive: Callable[[str, SessionRecord], HttpSession | None]
    ) -> HttpSession | None:
        """Return the session of that id; `revive` makes one that another process began."""
        # Strings are found by a keyed hash of the whole: the time it takes tells nothing of ids.
        before = self._sessions.get(id)
        if self._store is None:
            return before
        if not _ID.fullmatch(id):
            # A store is not asked for anything else.
            return None
        known, saving = (None, 0) if before is None else (before.record, before.saving)
        record = await self._store.load(id)
        # Another request may have begun or ended it meanwhile.
        session = self._sessions.get(id)
        if record is None:
            if session is not None:
                await self.remove(session)
            return None
        if session is None:
            return revive(id, record)
        if (
            record.digest() != session.record
            and session.record is known
            and not saving + session.saving
        ):
            # And none has changed it here, which would be newer than what was loaded.
            session.renew(record)
        return session

    def note_end(self, session: HttpSession) -> None:
        """Note that a request or stream of a session is over; its time runs from now."""
        session.under_way -= 1
        if session.id in self._sessions:
            session.used = get_running_loop().time()
            self._sessions.move_to_end(session.id)

    def add(
        self, id: str, principal: str | None, bound_server: BoundServer, connection: Connection
    ) -> HttpSession:
        """Begin a session; raise `HttpRefusal` if there is no room for one more."""
        self._make_room()
        store, now = self._events, get_running_loop().time()
        log = None if store is None else EventLog(store, id, STANDALONE + token_urlsafe(9))
        standalone = StandaloneStream(self._shared.tasks, log)
        server_connection = ServerConnection(bound_server, connection, self._shared, standalone)
        server_connection.endpoint.principal = principal
        server_connection.register()
        revision = connection.table.revision
        retry = self._retry if connection.table.rules.polling else None
        session = self._sessions[id] = HttpSession(
            id, principal, revision, server_connection, standalone, store, retry, now, now
        )
        if self._timer is None:
            self._look_later()
        return session

    def _make_room(self) -> None:
        if len(self._sessions) >= self._limit:
            idle = next((one for one in self if not one.under_way), None)
            if idle is None:
                raise HttpRefusal.for_now("Too many sessions", seconds=10)
            _log.info("a session that has been idle for longest makes room for a new one")
            self._drop(idle)

    def _look_later(self) -> None:
        after = max(self._lifetime / 4, 0.01)
        self._timer = get_running_loop().call_later(after, self._expire)

    def _expire(self) -> None:
        self._timer = None
        if self._store is not None:
            for session in self:
                if session.under_way and not session.saving:
                    self._shared.tasks.start(self.save(session))
        latest = get_running_loop().time() - self._lifetime
        # Those that are in use, whose time does not run, may stand before others that have lapsed.
        for session in [one for one in self if one.used <= latest and not one.under_way]:
            self._drop(session)
        if self._sessions:
            self._look_later()

    async def save(self, session: HttpSession) -> None:
        """Let other processes know of a session that is new or has changed."""
        store, lifetime = self._store, self._lifetime
        if store is None or session.ended:
            return
        record, now = session.to_record(), get_running_loop().time()
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
        self._shared.tasks.start(session.close(forget=self._store is None))

    async def remove(self, session: HttpSession) -> None:
        """Close a session that is known nowhere any more."""
        if self._sessions.pop(session.id, None) is not None:
            await session.close(forget=True)

    async def delete(self, session: HttpSession) -> None:
        """Close a session, and let other processes know."""
        session.ended = True
        if self._store is not None:
            try:
                await self._store.delete(session.id)
            except BaseException:
                session.ended = False
                raise
        await self.remove(session)

    async def close(self) -> None:
        """Close all sessions; those that a store knows can go on elsewhere."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._sessions:
            _, session = self._sessions.popitem()
            await session.close(forget=self._store is None)
