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
from typing import Final, NamedTuple, cast

from ....connection import Connection
from ....core.connection_errors import Disconnected
from ....core.http_request import Principal, id_of
from ....core.subscriptions import Level
from ....messages.jsonrpc import Parsed
from ....messages.reading import Batch
from ....rules.lifecycle import State
from ....server.connection import BoundServer, ServerConnection
from ....server.lifespan import LifespanError
from ....storage.memory import MemoryEvents
from ..options import quota_of
from .event_log import StreamContext
from .peers import key_of
from .record import Choices, SessionCopy, SessionRecord
from .servers import HttpServers
from .streams import SessionStreams

_log: Final = getLogger(__name__)


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
    copy: SessionCopy | None = None
    """What is known of it elsewhere, if workers share it."""
    under_way: int = 0
    """The number of its open requests and streams."""
    ended: bool = False
    held: AsyncExitStack | None = None
    """The lifespan of its server, if that is its own."""

    # What other workers know of it.

    @property
    def choices(self) -> Choices:
        connection = self.connection
        confirmed = connection.endpoint.connection.state is State.OPEN
        return Choices(confirmed, connection.level, connection.subscriptions, connection.switched)

    @property
    def changed(self) -> bool:
        """Return whether something was chosen that is not stored, or that others do not know."""
        copy, choices = self.copy, self.choices
        if copy is None or choices == copy.choices:
            return copy is not None and copy.unannounced
        return copy.unannounced or choices.onto(copy.choices, copy.choices) != copy.choices

    @property
    def unsaved(self) -> bool:
        """Return whether something is to be saved, or made known, before an answer."""
        return self.copy is not None and (self.copy.changing.locked() or self.changed)

    def record(self, choices: Choices) -> bytes:
        connection = self.connection.endpoint.connection
        record = SessionRecord(
            revision=self.revision,
            principal_id=self.principal_id,
            capabilities=dict(connection.declared["client"]),
            info=dict(connection.identity["client"]),
            confirmed=choices.confirmed,
            level=cast(Level, choices.level),
            subscriptions=choices.subscriptions,
            switched=choices.switched,
        )
        return record.to_bytes()

    def choose(self, choices: Choices) -> None:
        """Go on with other choices; raise the error of subscriptions that are too many."""
        before, connection = self.connection.subscriptions, self.connection.endpoint.connection
        for uri in before - choices.subscriptions:
            self.connection.listeners.unsubscribe(uri)
        for uri in choices.subscriptions - before:
            self.connection.listeners.subscribe(uri)
        self.connection.level = choices.level
        if choices.switched != self.connection.switched:
            server = self.connection.server.__mcp_runtime__
            server.switch_all(self.connection, choices.switched)
        if choices.confirmed and connection.state is State.OPEN_PENDING:
            connection.enter(State.OPEN)

    def own(self, owned: bool) -> None:
        """Send what the server publishes, as the one worker of the session that does, or do not."""
        self.connection.is_owner = owned

    async def close(self, *, forget: bool) -> None:
        """End what is under way; `forget` its events if nobody can ask for them any more."""
        self.ended = True
        self.connection.abort(Disconnected("the session was ended"))
        self.connection.endpoint.cancel_all()
        await self.streams.close()
        if forget:
            await self.streams.forget()
        try:
            if self.held is not None:
                await self.held.aclose()
        except LifespanError as error:
            _log.error("a session did not end well: %s", error, exc_info=error)


class NewSession(NamedTuple):
    """What a session begins with."""

    id: str
    principal: Principal | None
    bound_server: BoundServer
    connection: Connection


class SessionRegistry:
    """The sessions of this worker, the one that was used last at the end."""

    def __init__(self, servers: HttpServers) -> None:
        self._servers = servers
        self._time = get_running_loop().time
        self._http = http = servers.http
        retry = round(http.retry * 1000)
        self._streams = StreamContext(servers.peers, servers.tasks, http.resumable, retry)
        self._sessions: OrderedDict[str, HttpSession] = OrderedDict()
        self._quota = quota_of(http, "max_sessions")
        # Strings are found by a keyed hash of the whole, so the time it takes reveals no id.
        self.get: Callable[[str], HttpSession | None] = self._sessions.get
        """Returns a session that is known here, if what is known of it holds."""
        self._timer: TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._sessions)

    def __iter__(self) -> Iterator[HttpSession]:
        return iter(self._sessions.values())

    async def open(self, id: str) -> HttpSession | None:
        """Return a session that is not known here, or not for sure, if another worker has it."""
        return None

    def note_end(self, session: HttpSession) -> None:
        """Note that a request or stream of a session is over; its time runs from now."""
        session.under_way -= 1
        if session.id in self._sessions:
            session.used = self._time()
            self._sessions.move_to_end(session.id)

    async def begin(self, new: NewSession) -> HttpSession:
        """Begin a session.

        Raise `NoRoom`, and `HttpRefusal` if the server cannot begin.
        """
        return await self._add(new)

    async def _add(self, new: NewSession) -> HttpSession:
        """Do as `begin`, or return the session if another request has begun it meanwhile."""
        held = await self._servers.held(new.bound_server)
        async with held or nullcontext():
            session = self._sessions.get(new.id)
            if session is None:
                session = self._added(new)
                session.held = held and held.pop_all()
            return session

    def _added(self, new: NewSession) -> HttpSession:
        id, principal, bound_server, connection = new
        owner = id_of(principal)
        self._quota.require(owner, free=self._drop_idle)
        shared, table, now = self._servers.shared, connection.table, self._time()
        events = self._servers.peers.engine.events
        if owner is not None and isinstance(events, MemoryEvents):
            events.own(key_of(id), owner)
        streams = SessionStreams.of(self._streams, id, primes=table.rules.polling)
        server_connection = ServerConnection(bound_server, connection, shared, streams.standalone)
        server_connection.endpoint.principal = principal
        server_connection.register()
        session = self._sessions[id] = HttpSession(
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
        for session in [one for one in self if one.used <= latest and not one.under_way]:
            self._drop(session)
        if self._sessions:
            self._look_later()

    async def save(self, session: HttpSession) -> None:
        """Let other workers know what the client has chosen, before it is answered."""

    async def share(self, session: HttpSession, message: Parsed | Batch) -> bool:
        """Hand what is no request to other workers that may have to know of it.

        Return whether it is for another one alone.
        """
        return False

    def _drop_idle(self, owner: str | None, _: int) -> bool:
        """End the session that has been idle for longest, of an owner or of all, if any is."""
        for session in self:
            if not session.under_way and owner in (None, session.principal_id):
                _log.info("a session that has been idle for longest makes room for a new one")
                self._drop(session)
                return True
        return False

    def _drop(self, session: HttpSession) -> None:
        del self._sessions[session.id]
        self._quota.give_back(session.principal_id)
        self._servers.tasks.start(self._closed(session))

    async def _closed(self, session: HttpSession) -> None:
        await session.close(forget=True)

    async def remove(self, session: HttpSession) -> None:
        """Close a session that is known nowhere any more."""
        if self._sessions.pop(session.id, None) is not None:
            self._quota.give_back(session.principal_id)
            await session.close(forget=session.copy is None)

    async def delete(self, session: HttpSession) -> None:
        """Close a session, and let other workers know."""
        await self.remove(session)

    async def close(self) -> None:
        """Close all sessions; those that are shared go on in other workers."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._sessions:
            _, session = self._sessions.popitem()
            await self._closed(session)
