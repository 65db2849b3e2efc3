"""The sessions of one worker, which clients begin with `initialize`.

`Mcp-Session-Id` names a session (2025-11-25, basic/transports, "Session Management").
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
from ....core.spec import SET_LEVEL
from ....core.subscriptions import SUBSCRIBE, UNSUBSCRIBE
from ....messages.jsonrpc import Parsed
from ....messages.reading import Batch
from ....server.connection import BoundServer, ServerConnection
from ....server.lifespan import LifespanError
from ....storage.memory import MemoryEvents
from ...headers import HttpFacts, facts_of
from ..options import quota_of
from .event_log import StreamContext
from .servers import HttpServers
from .streams import SessionStreams, StandaloneStream
from .worker import key_of

_log: Final = getLogger(__name__)

CHOICES: Final = (SET_LEVEL, SUBSCRIBE, UNSUBSCRIBE)
"""The requests that set a client's choices: its log level and subscriptions."""


def new_id() -> str:
    """Return an unguessable id of visible characters.

    It has 256 bits: without authentication, it gives access to the session.
    """
    return token_urlsafe(32)


@dataclass(eq=False, slots=True)
class HttpSession:
    """A session: a connection of many HTTP requests, and its streams."""

    id: str
    principal_id: str | None
    """The principal that began it; no other may use it."""
    revision: str
    connection: ServerConnection
    streams: SessionStreams
    facts: HttpFacts
    used: float
    under_way: int = 0
    """The number of open requests and streams."""
    ended: bool = False
    lifespan: AsyncExitStack | None = None

    is_shared: ClassVar[bool] = False
    """Whether other workers know it, and keep its events after its end here."""

    @property
    def unsaved(self) -> bool:
        """Return whether choices must be saved or announced before an answer."""
        return False

    def require_announcement(self) -> None:
        """Announce the client's choice to all workers, even if it is known here."""

    async def close(self) -> None:
        self.ended = True
        self.connection.abort(Disconnected("the session was ended"))
        self.connection.endpoint.cancel_all()
        await self.streams.close()
        if not self.is_shared:
            await self.streams.forget()
        try:
            if self.lifespan is not None:
                await self.lifespan.aclose()
        except LifespanError as error:
            _log.error("closing a session failed: %s", error, exc_info=error)


_S = TypeVar("_S", bound=HttpSession)


class NewSession(NamedTuple):
    id: str
    principal: Principal | None
    bound_server: BoundServer
    connection: Connection


class SessionRegistry(Generic[_S]):
    """The sessions of this worker; the latest used is at the end."""

    def __init__(self, servers: HttpServers, session_class: type[_S]) -> None:
        self._servers = servers
        self._session_class = session_class
        self._time = get_running_loop().time
        self._http = http = servers.http
        retry = round(http.retry * 1000)
        self._streams = StreamContext(servers.worker, servers.tasks, http.resumable, retry)
        self._sessions = OrderedDict[str, _S]()
        self._quota = quota_of(http, "max_sessions")
        # Looked up by a keyed hash of the whole, so timing reveals no id.
        self.get: Callable[[str], _S | None] = self._sessions.get
        """Returns a valid session of this worker."""
        self._timer: TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._sessions)

    def __iter__(self) -> Iterator[_S]:
        return iter(self._sessions.values())

    async def connect(self) -> None:
        """Start sharing with other workers."""

    async def disconnect(self) -> None:
        """Stop sharing."""

    async def open(self, id: str) -> _S | None:
        """Fetch a session that is unknown or outdated here, from another worker."""
        return None

    def note_end(self, session: _S) -> None:
        """Note the end of a request or stream: the session may be idle from now on."""
        session.under_way -= 1
        if session.id in self._sessions:
            session.used = self._time()
            self._sessions.move_to_end(session.id)

    async def begin(self, new: NewSession) -> _S:
        """Begin a session; raise `NoRoom`, or `HttpRefusal` if the server cannot begin."""
        return await self._add(new)

    async def _add(self, new: NewSession) -> _S:
        """Begin a session, or return it if another request has begun it."""
        lifespan = await self._servers.enter_lifespan(new.bound_server)
        async with lifespan or nullcontext():
            session = self._sessions.get(new.id)
            if session is None:
                session = self._add_session(new)
                session.lifespan = lifespan and lifespan.pop_all()
            return session

    def _add_session(self, new: NewSession) -> _S:
        id, principal, bound_server, connection = new
        owner = id_of(principal)
        self._quota.require(owner, free=self._drop_idle)
        shared, table, now = self._servers.shared, connection.table, self._time()
        events = self._servers.worker.engine.events
        if owner is not None and isinstance(events, MemoryEvents):
            events.set_owner(key_of(id), owner)
        standalone = StandaloneStream(self._streams, id, table.rules.polling)
        server_connection = ServerConnection(bound_server, connection, shared, standalone)
        server_connection.endpoint.principal = principal
        server_connection.register()
        streams = SessionStreams(standalone, self._streams)
        session = self._sessions[id] = self._session_class(
            id, owner, table.revision, server_connection, streams, facts_of(table.wire), now
        )
        self._quota.take(owner)
        if self._timer is None:
            self._schedule_expiry()
        return session

    def _schedule_expiry(self) -> None:
        after = max(self._http.session_lifetime / 4, 0.01)
        self._timer = get_running_loop().call_later(after, self._expire)

    def _expire(self) -> None:
        self._timer = None
        latest = self._time() - self._http.session_lifetime
        # Sessions in use, whose time stands still, may precede expired ones.
        for session in [*self]:
            if session.used <= latest and not session.under_way:
                self._drop(session)
        if self._sessions:
            self._schedule_expiry()

    async def save(self, session: _S) -> None:
        """Announce the client's choices to other workers, before the answer."""

    async def share(self, session: _S, message: Parsed | Batch) -> bool:
        """Forward a notification or response to other workers that may need it.

        Return whether it is for another worker only.
        """
        return False

    def _drop_idle(self, owner: str | None, _: int) -> bool:
        for session in self:
            if not session.under_way and owner in (None, session.principal_id):
                _log.info("the longest idle session was closed for a new one")
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
        """Close a session that no worker keeps."""
        if self._sessions.pop(session.id, None) is not None:
            self._quota.give_back(session.principal_id)
            await session.close()

    delete = remove

    async def close(self) -> None:
        """Close all sessions; shared ones go on in other workers."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._sessions:
            _, session = self._sessions.popitem()
            await self._close_session(session)
