"""Sessions of one worker: a session is what a client began with `initialize`.

It names it in `Mcp-Session-Id` (2025-11-25, basic/transports, "Session Management").
"""

from asyncio import TimerHandle, get_running_loop
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, nullcontext
from dataclasses import dataclass
from logging import getLogger
from secrets import token_urlsafe
from typing import ClassVar, Final, Generic, NamedTuple, TypeVar

from ....connection import Connection
from ....core.connection_errors import Disconnected
from ....core.http_request import Principal, id_of
from ....messages.jsonrpc import Parsed
from ....messages.reading import Batch
from ....server.connection import BoundServer, ServerConnection
from ....server.lifespan import LifespanError
from ....storage.memory import MemoryEvents
from ..options import quota_of
from .event_log import StreamContext
from .peers import key_of
from .servers import HttpServers
from .streams import SessionStreams, StandaloneStream

_log: Final = getLogger(__name__)

CHOICES: Final = ("logging/setLevel", "resources/subscribe", "resources/unsubscribe")
"""The requests by which a client chooses."""


def new_id() -> str:
    """Return an id that cannot be guessed, of visible characters.

    Of 256 bits: it is all that it takes to speak in a session where nobody is authenticated.
    """
    return token_urlsafe(32)


@dataclass(eq=False, slots=True)
class HttpSession:
    """One session: a connection that is made of many HTTP requests, and its streams."""

    id: str
    principal_id: str | None
    """The id of who began it; nobody else may use it."""
    revision: str
    connection: ServerConnection
    streams: SessionStreams
    used: float
    under_way: int = 0
    """The number of its open requests and streams."""
    ended: bool = False
    held: AsyncExitStack | None = None
    """The lifespan of its server, if that is its own."""

    is_shared: ClassVar[bool] = False
    """Whether other workers know it, and have its events when it has ended here."""

    @property
    def unsaved(self) -> bool:
        """Return whether something must be saved, or made known, before an answer."""
        return False

    def require_announcement(self) -> None:
        """Have all other workers know of what a client chooses, also if it is nothing new here."""

    async def close(self) -> None:
        self.ended = True
        self.connection.abort(Disconnected("the session was ended"))
        self.connection.endpoint.cancel_all()
        await self.streams.close()
        if not self.is_shared:
            await self.streams.forget()
        try:
            if self.held is not None:
                await self.held.aclose()
        except LifespanError as error:
            _log.error("a session did not end well: %s", error, exc_info=error)


_S = TypeVar("_S", bound=HttpSession)


class NewSession(NamedTuple):
    """What a session begins with."""

    id: str
    principal: Principal | None
    bound_server: BoundServer
    connection: Connection


class SessionRegistry(Generic[_S]):
    """The sessions of this worker, the one that was used last at the end."""

    def __init__(self, servers: HttpServers, session_class: type[_S]) -> None:
        self._servers = servers
        self._session_class = session_class
        self._time = get_running_loop().time
        self._http = http = servers.http
        retry = round(http.retry * 1000)
        self._streams = StreamContext(servers.peers, servers.tasks, http.resumable, retry)
        self._sessions: OrderedDict[str, _S] = OrderedDict()
        self._quota = quota_of(http, "max_sessions")
        # Strings are found by a keyed hash of the whole, so the time it takes reveals no id.
        self.get: Callable[[str], _S | None] = self._sessions.get
        """Returns a session that is known here, if what is known of it holds."""
        self._timer: TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._sessions)

    def __iter__(self) -> Iterator[_S]:
        return iter(self._sessions.values())

    async def connect(self) -> None:
        """Begin to share with other workers what is shared."""

    async def disconnect(self) -> None:
        """Share nothing more."""

    async def open(self, id: str) -> _S | None:
        """Return a session that is not known here, or not for sure, if another worker has it."""
        return None

    def note_end(self, session: _S) -> None:
        """Note that a request or stream of a session is over; its time runs from now."""
        session.under_way -= 1
        if session.id in self._sessions:
            session.used = self._time()
            self._sessions.move_to_end(session.id)

    async def begin(self, new: NewSession) -> _S:
        """Begin a session.

        Raise `NoRoom`, and `HttpRefusal` if the server cannot begin.
        """
        return await self._add(new)

    async def _add(self, new: NewSession) -> _S:
        """Do as `begin`, or return the session if another request has begun it meanwhile."""
        held = await self._servers.enter_lifespan(new.bound_server)
        async with held or nullcontext():
            session = self._sessions.get(new.id)
            if session is None:
                session = self._add_session(new)
                session.held = held and held.pop_all()
            return session

    def _add_session(self, new: NewSession) -> _S:
        id, principal, bound_server, connection = new
        owner = id_of(principal)
        self._quota.require(owner, free=self._drop_idle)
        shared, table, now = self._servers.shared, connection.table, self._time()
        events = self._servers.peers.engine.events
        if owner is not None and isinstance(events, MemoryEvents):
            events.own(key_of(id), owner)
        standalone = StandaloneStream(self._streams, id, table.rules.polling)
        server_connection = ServerConnection(bound_server, connection, shared, standalone)
        server_connection.endpoint.principal = principal
        server_connection.register()
        streams = SessionStreams(standalone, self._streams)
        session = self._sessions[id] = self._session_class(
            id, owner, table.revision, server_connection, streams, now
        )
        self._quota.take(owner)
        if self._timer is None:
            self._look_later()
        return session

    def _look_later(self) -> None:
        after = max(self._http.session_lifetime / 4, 0.01)
        self._timer = get_running_loop().call_later(after, self._expire)

    def _expire(self) -> None:
        self._timer = None
        latest = self._time() - self._http.session_lifetime
        # Those that are in use, whose time does not run, may stand before others that have lapsed.
        for session in [
            candidate for candidate in self if candidate.used <= latest and not candidate.under_way
        ]:
            self._drop(session)
        if self._sessions:
            self._look_later()

    async def save(self, session: _S) -> None:
        """Let other workers know what the client has chosen, before it is answered."""

    async def share(self, session: _S, message: Parsed | Batch) -> bool:
        """Hand what is no request to other workers that may have to know of it.

        Return whether it is for another one alone.
        """
        return False

    def _drop_idle(self, owner: str | None, _: int) -> bool:
        for session in self:
            if not session.under_way and owner in (None, session.principal_id):
                _log.info("a session that has been idle for longest makes room for a new one")
                self._drop(session)
                return True
        return False

    def _drop(self, session: _S) -> None:
        del self._sessions[session.id]
        self._quota.give_back(session.principal_id)
        self._servers.tasks.start(self._close_session(session))

    async def _close_session(self, session: _S) -> None:
        await session.close()

    async def remove(self, session: _S) -> None:
        """Close a session that is known nowhere any more."""
        if self._sessions.pop(session.id, None) is not None:
            self._quota.give_back(session.principal_id)
            await session.close()

    async def delete(self, session: _S) -> None:
        """Close a session, and let other workers know."""
        await self.remove(session)

    async def close(self) -> None:
        """Close all sessions; those that are shared go on in other workers."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._sessions:
            _, session = self._sessions.popitem()
            await self._close_session(session)
