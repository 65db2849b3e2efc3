"""Sessions of several workers; each has copies of the sessions that it has served.

A copy is valid without asking the engine while this worker receives messages: a worker that changes
or ends a session waits until all copies are up to date. After a gap, each copy is read again before
its next use, and messages stored for this worker come before later ones. A client's choices are
stored before the answer, so every worker knows them.
"""

import re
from asyncio import gather, sleep
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from logging import getLogger
from typing import Final

from ...core.http_request import Principal
from ...http.server.asgi import HttpRefusal
from ...http.server.sessions.registry import NewSession, SessionRegistry
from ...http.server.sessions.servers import HttpServers
from ...http.server.sessions.streams import NO_SESSION
from ...http.server.sessions.worker import key_of
from ...messages.jsonrpc import Parsed
from ...messages.reading import Batch
from ...rules.lifecycle import State
from ...storage.engine import DEFAULT_LEASE, Engine, EngineUnavailable
from .record import READ_AGAIN, SessionCopy, SessionRecord, SharedSession
from .relay import ChangeRelay
from .session_messages import SessionMessages
from .shared_worker import SharedWorker
from .stored_sessions import StoredSessions
from .worker_messages import SessionChanged, SessionEnded

_log: Final = getLogger(__name__)

_ID: Final = re.compile(r"[A-Za-z0-9_-]{43}")

# How many sessions a worker leaves at once.
_AT_ONCE: Final = 100


class SharedSessions(SessionRegistry[SharedSession]):
    def __init__(
        self, servers: HttpServers, worker: SharedWorker, relay: ChangeRelay, stored: StoredSessions
    ) -> None:
        super().__init__(servers, SharedSession)
        self.get = self._find_valid
        self._worker = worker
        self._stored = stored
        self._relay = servers.shared.relay = relay
        servers.shared.host.engine = lambda: worker.engine
        self._by_key = stored.copies
        self._messages = SessionMessages(worker, stored)
        worker.on(SessionChanged, self._on_changed)
        worker.on(SessionEnded, self._on_ended)
        worker.on_gap.append(self._on_gap)
        worker.before_message = self._catch_up

    async def connect(self) -> None:
        await self._worker.begin()
        servers = self._servers
        if servers.offer.stateless and not servers.options.state_keys:
            _log.warning(
                "without Options(state_keys=...), the same in all workers, a request that asks its"
                " client something must continue in the process where it began"
            )
        for server in servers.shared_servers:
            self._relay.add(server)

    async def disconnect(self) -> None:
        await self._relay.close(self._servers.options.drain)
        await self._worker.close()

    def _find_valid(self, id: str) -> SharedSession | None:
        session = self._sessions.get(id)
        if session is None or not self._worker.current:
            return None
        return session if session.copy.as_of == self._worker.gaps else None

    async def open(self, id: str) -> SharedSession | None:
        if not _ID.fullmatch(id):
            # Such ids never reach the engine.
            return None
        key = key_of(id)
        async with self._stored.lock(key):
            session = self._find_valid(id)
            if session is None:
                session = await self._stored.load(key, partial(self._restore, id))
            if session is None:
                await self._remove_copy(key)
            return session

    async def _restore(self, id: str, record: SessionRecord) -> SharedSession:
        bound_server = self._servers.bound_server(record.revision, own=True)
        connection = bound_server.connection()
        bound_server.remember(connection, record.capabilities, record.info)
        # The scopes come with each request's token.
        known = None if record.principal_id is None else Principal(record.principal_id)
        session = await self._add(NewSession(id, known, bound_server, connection))
        if not record.confirmed:
            connection.enter(State.OPEN_PENDING)
        return session

    def _add_session(self, new: NewSession) -> SharedSession:
        session = super()._add_session(new)
        key, connection = key_of(session.id), session.connection
        standalone = session.streams.standalone
        session.copy = SessionCopy(key, session.choices, 0, self._worker.gaps)
        standalone.on_owned = session.set_owner
        standalone.on_missed = lambda: self._servers.tasks.start(connection.send_all_changes())
        self._by_key[key] = session
        connection.save = partial(self._save_choices, session)
        if self._servers.per_session:
            self._relay.add(connection.server, key)
        return session

    async def _catch_up(self, key: str) -> SharedSession | None:
        """Handle the messages stored for this worker, and return the session.

        Raise `EngineUnavailable`.
        """
        session = self._by_key.get(key)
        return session and (self._find_valid(session.id) or await self.open(session.id))

    def _on_gap(self) -> None:
        for session in self:
            # Its streams must end with it, even without further requests.
            if session.under_way or session.connection.endpoint.connection.awaits:
                self._servers.tasks.start(self._renew(session.copy.key))

    async def _on_changed(self, message: SessionChanged) -> None:
        # An open stream must follow the choices at once.
        await self._renew(message.session, changed=True)

    async def _renew(self, key: str, *, changed: bool = False) -> None:
        while True:
            async with self._stored.lock(key):
                session = self._by_key.get(key)
                # More gaps may have occurred meanwhile.
                if session is None or not (changed or session.copy.as_of != self._worker.gaps):
                    return
                try:
                    if await self._stored.load(key) is None:
                        await self._remove_copy(key)
                    return
                except EngineUnavailable:
                    session.copy.as_of = READ_AGAIN
            await self._streams.pause()

    async def begin(self, new: NewSession) -> SharedSession:
        session = await self._add(new)
        try:
            await self._write(session)
        except BaseException:
            await self.remove(session)
            raise
        return session

    def note_end(self, session: SharedSession) -> None:
        super().note_end(session)
        session.copy.used = True

    def _expire(self) -> None:
        super()._expire()
        used = [session.copy for session in self if session.under_way or session.copy.used]
        if used:
            self._servers.tasks.start(self._stored.refresh(used))

    async def remove(self, session: SharedSession) -> None:
        self._by_key.pop(session.copy.key, None)
        self._relay.remove(session.copy.key)
        await super().remove(session)

    async def delete(self, session: SharedSession) -> None:
        key, session.ended = session.copy.key, True
        try:
            existed = await self._end(key)
        except BaseException:
            if self._by_key.get(key) is session:
                session.ended, session.copy.as_of = False, READ_AGAIN
            # A repeated DELETE would not find the other workers.
            self._servers.tasks.start(self._end_again(key))
            raise
        if not existed:
            raise HttpRefusal(404, NO_SESSION)

    async def _end(self, key: str, *, again: bool = False) -> bool:
        # A load must not revive it afterwards.
        async with self._stored.lock(key):
            lifetime, store = self._stored.lifetime, self._worker.engine.sessions
            others = await store.end(key, lifetime, again=again)
            await self._remove_copy(key)
        await self._worker.tell(others or (), SessionEnded(session=key))
        return others is not None

    async def _end_again(self, key: str) -> None:
        while True:
            await sleep(min(self._worker.lease / 3, 1.0))
            with suppress(EngineUnavailable):
                await self._end(key, again=True)
                return

    async def _on_ended(self, message: SessionEnded) -> None:
        async with self._stored.lock(message.session):
            await self._remove_copy(message.session)

    async def _remove_copy(self, key: str) -> None:
        if (session := self._by_key.get(key)) is not None:
            await self.remove(session)

    def _drop(self, session: SharedSession) -> None:
        super()._drop(session)
        del self._by_key[session.copy.key]

    async def _close_session(self, session: SharedSession) -> None:
        key = session.copy.key
        await session.close()
        async with self._stored.lock(key):
            # It may be in use here again.
            if self._by_key.get(key) is None:
                self._relay.remove(key)
                await self._stored.leave(key)

    async def close(self) -> None:
        sessions = list(self)
        self._sessions.clear()
        self._by_key.clear()
        await super().close()
        while some := sessions[:_AT_ONCE]:
            del sessions[:_AT_ONCE]
            await gather(*map(self._close_session, some))

    async def save(self, session: SharedSession) -> None:
        async with session.copy.changing:
            if session.changed:
                await self._write(session)

    async def _write(self, session: SharedSession) -> None:
        if await self._stored.write(session) is None:
            await self._require(session)

    async def _save_choices(self, session: SharedSession) -> None:
        try:
            if session.unsaved and not session.ended:
                await self.save(session)
        except (EngineUnavailable, HttpRefusal) as error:
            self._stored.log.info("the choices of a session were not saved: %s", error)

    async def share(self, session: SharedSession, message: Parsed | Batch) -> bool:
        is_elsewhere = await self._messages.hand_on(session, message)
        if not is_elsewhere:
            # Another worker may have taken this one for gone.
            await self._require(session)
        return is_elsewhere

    async def _require(self, session: SharedSession) -> None:
        """Bring a session up to date; raise `HttpRefusal` if it has ended."""
        if await self._catch_up(session.copy.key) is not session:
            raise HttpRefusal(404, NO_SESSION)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """Sharing between all workers of an endpoint: sessions, streams and changes."""

    engine: Engine
    lease: float = DEFAULT_LEASE
    """The seconds of silence after which a worker counts as gone."""

    def __post_init__(self) -> None:
        if self.lease <= 0:
            raise ValueError("lease must be more than 0")

    def sessions(self, servers: HttpServers, /) -> SharedSessions:
        alone, lifetime, tasks = servers.worker, servers.http.session_lifetime, servers.tasks
        servers.worker = worker = SharedWorker(self.engine, self.lease, alone.name, lifetime, tasks)
        relay, stored = ChangeRelay(worker, self.engine, tasks), StoredSessions(servers, worker)
        return SharedSessions(servers, worker, relay, stored)
