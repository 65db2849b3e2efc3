"""The sessions of the handshake era: who holds one, how long it lasts, and what it carries.

2025-11-25, basic/transports, "Session Management".
"""

import re
from asyncio import TimerHandle, get_running_loop
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Iterator
from logging import getLogger
from secrets import token_urlsafe
from typing import Any, Final

from ...admission import remember
from ...connection import Connection
from ...errors import Disconnected
from ...repertoire import Repertoire
from ...shared import Shared
from ...side import Side
from .asgi import Refused
from .channel import Channel
from .events import EventStore
from .records import SessionRecord
from .standing import Standing
from .streams import Log, Stream, standing_name

_log: Final = getLogger(__name__)

# 256 bits: an id is all that it takes to speak in a session where nobody is authenticated.
_ID_BYTES: Final = 32
_ID: Final = re.compile(r"[A-Za-z0-9_-]{43}")


class HttpSession:
    """One session: the side of the server that speaks in it, and its streams."""

    __slots__ = (
        "_streams",
        "ended",
        "id",
        "record",
        "saved",
        "saving",
        "side",
        "standing",
        "store",
        "under_way",
        "used",
    )

    def __init__(
        self,
        id: str,
        repertoire: Repertoire,
        connection: Connection,
        shared: Shared,
        store: EventStore | None,
    ) -> None:
        self.id = id
        self.store = store
        log = None if store is None else Log(store, id, standing_name())
        self.standing = Standing(shared.tasks, log)
        self.side = Side(repertoire, connection, shared, self.standing)
        self.side.enter()
        self._streams: dict[str, Stream] | None = None
        self.used = get_running_loop().time()
        """When it was used last."""
        self.under_way = 0
        """How many requests and streams are open."""
        self.record: bytes | None = None
        """Tells what another process knows of it, as it was saved last, from anything else."""
        self.ended = False
        """Whether it is over, here."""
        self.saving = 0
        """How many are saving it now."""
        self.saved = self.used
        """When that was."""

    @property
    def revision(self) -> str:
        """The revision that was agreed on."""
        return self.side.endpoint.connection.table.revision

    @property
    def principal(self) -> str | None:
        """Whose it is."""
        return self.side.endpoint.principal

    def stream(self, channel: Channel, retry: float) -> Stream:
        """A new stream for a request; `retry` is in seconds."""
        log = None if self.store is None else Log(self.store, self.id)
        polling = self.side.endpoint.connection.table.rules.polling
        stream = Stream(channel, log, round(retry * 1000) if polling else None)
        if log is not None:
            self._streams = {} if self._streams is None else self._streams
            self._streams[log.name] = stream
        return stream

    def live(self, name: str) -> Stream | None:
        """The stream of a request that is being worked on."""
        return None if self._streams is None else self._streams.get(name)

    def over(self, stream: Stream) -> None:
        """The answer of a stream has been given; what it carried may still be asked for."""
        if self._streams is not None and stream.log is not None:
            self._streams.pop(stream.log.name, None)

    def to_record(self) -> SessionRecord:
        """What another process has to know of it."""
        connection = self.side.endpoint.connection
        return SessionRecord(
            revision=self.revision,
            principal=self.principal,
            capabilities=dict(connection.declared["client"]),
            info=dict(connection.identity["client"]),
            level=self.side.level,
            subscriptions=sorted(self.side.subscriptions),
        )

    def renew(self, record: SessionRecord) -> None:
        """Take over what another process has saved."""
        listeners = self.side.listeners
        for uri in self.side.subscriptions.difference(record.subscriptions):
            listeners.unsubscribe(uri)
        for uri in record.subscriptions:
            listeners.subscribe(uri)
        self.side.level = record.level
        self.record = record.digest()

    async def end(self, *, forget: bool) -> None:
        """End what is under way; `forget` what it has said, if nobody can go on with it."""
        self.ended = True
        self.side.close(Disconnected("the session was ended"))
        await self.standing.end()
        self.side.endpoint.stop()
        for stream in list((self._streams or {}).values()):
            stream.cut()
        if forget and self.store is not None:
            await self.store.forget(self.id)


def new_id() -> str:
    """An id that cannot be guessed, of visible characters."""
    return token_urlsafe(_ID_BYTES)


def is_id(value: str) -> bool:
    """Whether it could be one; stores are not asked for anything else."""
    return _ID.fullmatch(value) is not None


class Sessions:
    """The sessions of this process, the one that was used last at the end."""

    __slots__ = ("_lifetime", "_limit", "_lonely", "_sessions", "_shared", "_timer", "while_used")

    def __init__(
        self, shared: Shared, limit: int, lifetime: float, *, known_elsewhere: bool
    ) -> None:
        self._shared = shared
        self._limit = limit
        self._lifetime = lifetime
        # Whether a session that ends here has ended for good.
        self._lonely = not known_elsewhere
        self.while_used: Callable[[HttpSession], Coroutine[Any, Any, None]] | None = None
        """What is to be done now and then for a session that is used for long."""
        self._sessions: OrderedDict[str, HttpSession] = OrderedDict()
        self._timer: TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._sessions)

    def __iter__(self) -> Iterator[HttpSession]:
        return iter(self._sessions.values())

    def get(self, id: str) -> HttpSession | None:
        """The session of that id."""
        # Strings are found by a keyed hash of the whole: the time it takes tells nothing of ids.
        return self._sessions.get(id)

    def note_use(self, session: HttpSession) -> None:
        """A session is being used now by whoever holds it."""
        session.used = get_running_loop().time()
        self._sessions.move_to_end(session.id)

    def note_end(self, session: HttpSession) -> None:
        """A request or stream of a session is over; its time runs from now."""
        session.under_way -= 1
        if session.id in self._sessions:
            self.note_use(session)

    def make_room(self) -> None:
        """See to it that there is room for one more; raises `Refused` if none can be made."""
        if len(self._sessions) >= self._limit:
            idle = next((one for one in self if not one.under_way), None)
            if idle is None:
                raise Refused(503, "Too many sessions", fields=[(b"retry-after", b"10")])
            _log.info("a session that has been idle for longest makes room for a new one")
            self._end(idle)

    def add(self, session: HttpSession) -> None:
        """Keep a new session, for which there has to be room."""
        self._sessions[session.id] = session
        if self._timer is None:
            self._look_later()

    def _look_later(self) -> None:
        after = max(self._lifetime / 4, 0.01)
        self._timer = get_running_loop().call_later(after, self._expire)

    def _expire(self) -> None:
        self._timer = None
        if self.while_used is not None:
            for session in self:
                if session.under_way:
                    self._shared.tasks.start(self.while_used(session))
        latest = get_running_loop().time() - self._lifetime
        # Those that are in use, whose time does not run, may stand before others that have lapsed.
        for session in [one for one in self if one.used <= latest and not one.under_way]:
            self._end(session)
        if self._sessions:
            self._look_later()

    def _end(self, session: HttpSession) -> None:
        del self._sessions[session.id]
        self._shared.tasks.start(session.end(forget=self._lonely))

    async def end(self, session: HttpSession) -> None:
        """End a session; its id is not known any more."""
        if self._sessions.pop(session.id, None) is not None:
            await session.end(forget=True)

    async def stop(self) -> None:
        """End all sessions."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._sessions:
            _, session = self._sessions.popitem()
            await session.end(forget=self._lonely)


def revived(
    id: str,
    record: SessionRecord,
    repertoire: Repertoire,
    shared: Shared,
    store: EventStore | None,
) -> HttpSession:
    """A session that another process began."""
    connection = repertoire.connection()
    remember(connection, repertoire, record.capabilities, record.info)
    session = HttpSession(id, repertoire, connection, shared, store)
    session.side.endpoint.principal = record.principal
    session.renew(record)
    return session
