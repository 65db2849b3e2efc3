"""The sessions of the handshake era: who holds one, how long it lasts, and what it carries.

An `HttpSession` is what a client began with `initialize` and names in `Mcp-Session-Id`. The
`SessionRegistry` has those of this process. What it tells other processes of one is a
`SessionRecord` (2025-11-25, basic/transports, "Session Management").
"""

import re
from asyncio import TimerHandle, get_running_loop
from collections import OrderedDict
from collections.abc import Callable, Iterator
from logging import getLogger
from secrets import token_urlsafe
from typing import Final

from ...connection.connection import Connection
from ...core.errors import Disconnected
from ...server.bound_server import BoundServer
from ...server.connection import ServerConnection
from ...server.shared import ServerState
from .asgi import HttpRefusal
from .event_stream import EventLog, EventResponse, StandaloneStream, Stream, standalone_name
from .options import HttpOptions
from .stores import EventStore, SessionRecord

_log: Final = getLogger(__name__)

# 256 bits: an id is all that it takes to speak in a session where nobody is authenticated.
_ID_BYTES: Final = 32
_ID: Final = re.compile(r"[A-Za-z0-9_-]{43}")


def new_id() -> str:
    """Return an id that cannot be guessed, of visible characters."""
    return token_urlsafe(_ID_BYTES)


class HttpSession:
    """One session over HTTP: its connection, which is made of many requests, and its streams."""

    __slots__ = (
        *("_streams", "connection", "ended", "id", "principal", "record", "revision", "saved"),
        *("saving", "standalone", "store", "under_way", "used"),
    )

    def __init__(
        self,
        id: str,
        principal: str | None,
        bound_server: BoundServer,
        connection: Connection,
        shared: ServerState,
        store: EventStore | None,
    ) -> None:
        self.id = id
        self.principal = principal
        """The id of who began it; nobody else may use it."""
        self.revision = connection.table.revision
        """The revision that was agreed on."""
        self.store = store
        log = None if store is None else EventLog(store, id, standalone_name())
        self.standalone = StandaloneStream(shared.tasks, log)
        self.connection = ServerConnection(bound_server, connection, shared, self.standalone)
        self.connection.endpoint.principal = principal
        self._streams: dict[str, Stream] | None = None
        self.used = get_running_loop().time()
        """The time of its last use."""
        self.under_way = 0
        """The number of its open requests and streams."""
        self.record: bytes | None = None
        """The digest of the record that was saved last, which other processes know."""
        self.ended = False
        """Whether it has ended in this process."""
        self.saving = 0
        """The number of tasks that are saving it now."""
        self.saved = self.used
        """The time when it was saved last."""

    @property
    def polling(self) -> bool:
        """Return whether its client comes back to a stream that was closed."""
        return self.connection.endpoint.connection.table.rules.polling

    def stream(self, response: EventResponse, retry: float) -> Stream:
        """Return a new stream for a request; `retry` is in seconds."""
        log = None if self.store is None else EventLog(self.store, self.id)
        stream = Stream(response, log, round(retry * 1000) if self.polling else None)
        if log is not None:
            self._streams = {} if self._streams is None else self._streams
            self._streams[log.name] = stream
        return stream

    def live(self, name: str) -> Stream | None:
        """Return the stream of that name, if its request is being worked on."""
        return None if self._streams is None else self._streams.get(name)

    def remove(self, stream: Stream) -> None:
        """Let go of a stream whose answer was given; its kept events may still be asked for."""
        if self._streams is not None and stream.log is not None:
            self._streams.pop(stream.log.name, None)

    def to_record(self) -> SessionRecord:
        """Return what another process has to know of it."""
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
        """End what is under way; `forget` what was said in it, if nobody can go on with it."""
        self.ended = True
        self.connection.abort(Disconnected("the session was ended"))
        await self.standalone.close()
        self.connection.endpoint.cancel_all()
        for stream in list((self._streams or {}).values()):
            stream.abort()
        if forget and self.store is not None:
            await self.store.forget(self.id)


class SessionRegistry:
    """The sessions of this process, the one that was used last at the end.

    Where there is a store, other processes are told of them, and theirs are known here.
    """

    __slots__ = ("_lifetime", "_limit", "_sessions", "_shared", "_store", "_timer", "saved")

    def __init__(self, shared: ServerState, http: HttpOptions) -> None:
        self._shared = shared
        self._limit = http.max_sessions
        self._lifetime = http.session_lifetime
        self._store = http.session_store
        self.saved = self._store is not None
        """Whether a store has to know of them."""
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

    def make_room(self) -> None:
        """Make room for one more session; raise `HttpRefusal` if there can be none."""
        if len(self._sessions) >= self._limit:
            idle = next((one for one in self if not one.under_way), None)
            if idle is None:
                raise HttpRefusal.for_now("Too many sessions", seconds=10)
            _log.info("a session that has been idle for longest makes room for a new one")
            self._drop(idle)

    def add(self, session: HttpSession) -> None:
        """Keep a new session, for which there has to be room."""
        session.connection.register()
        self._sessions[session.id] = session
        if self._timer is None:
            self._look_later()

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
        """Let other processes know of a session, or of what has changed in it."""
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
