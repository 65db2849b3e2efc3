"""Sessions of several workers; each has copies of the sessions that it has served.

A copy is valid without asking the engine while this worker receives messages: a worker that changes
or ends a session waits until all copies are up to date. After a gap, each copy is read again before
its next use, and messages stored for this worker come before later ones. A client's choices are
stored before the answer, so they hold at every worker.
"""

import re
from asyncio import Lock, Semaphore, gather, sleep
from collections.abc import Collection
from functools import partial
from logging import getLogger
from typing import Final
from weakref import WeakValueDictionary

from ...core.errors import ProtocolError
from ...core.http_request import Principal
from ...core.json import JSONObject
from ...core.throttle import Throttle
from ...http.server.asgi import HttpRefusal
from ...http.server.sessions.peers import StreamClaimed, StreamTaken, faults_in, key_of
from ...http.server.sessions.registry import NewSession, SessionRegistry
from ...http.server.sessions.servers import HttpServers
from ...messages.jsonrpc import Parsed
from ...messages.reading import Batch
from ...rules.lifecycle import State
from ...storage.engine import EngineUnavailable, Saved, StoredSession
from .client_messages import ClientMessages
from .record import SessionCopy, SessionRecord, SharedSession, read_record
from .relay import ChangeRelay
from .worker_messages import SessionChanged, SessionEnded
from .worker_peers import WorkerPeers

_log: Final = getLogger(__name__)

_ID: Final = re.compile(r"[A-Za-z0-9_-]{43}")

# How many sessions are left concurrently.
_AT_ONCE: Final = 100

# The lifetime of a record, in lifetimes of a session; it is refreshed every quarter.
_RECORD_LIFETIME: Final = 1.25

# In place of the number of gaps in `as_of`: read the copy again.
_READ_AGAIN: Final = -1


class SharedSessions(SessionRegistry[SharedSession]):
    """The copies of sessions in this worker."""

    def __init__(self, servers: HttpServers, peers: WorkerPeers, relay: ChangeRelay) -> None:
        super().__init__(servers, SharedSession)
        self.get = self._find_valid
        self._peers = peers
        self._relay = servers.shared.relay = relay
        servers.shared.host.engine = lambda: peers.engine
        self._by_key: dict[str, SharedSession] = {}
        # One reader or writer of a stored session at a time.
        self._locks: WeakValueDictionary[str, Lock] = WeakValueDictionary()
        self._lifetime = self._http.session_lifetime * _RECORD_LIFETIME
        self._throttled = Throttle(_log)
        self._messages = ClientMessages(peers, self._find, self._write)
        peers.on(SessionChanged, self._on_changed)
        peers.on(SessionEnded, self._on_ended)
        peers.on(StreamClaimed, self._on_claimed)
        peers.on(StreamTaken, self._on_taken)
        peers.on_gap.append(self._on_gap)
        peers.before_message = self._catch_up

    async def connect(self) -> None:
        await self._peers.begin()
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
        await self._peers.close()

    # Lookup.

    def _find_valid(self, id: str) -> SharedSession | None:
        session = self._sessions.get(id)
        if session is None or not self._peers.current:
            return None
        return session if session.copy.as_of == self._peers.gaps else None

    async def open(self, id: str) -> SharedSession | None:
        if not _ID.fullmatch(id):
            # Such ids never reach the engine.
            return None
        async with self._lock(key_of(id)):
            return self._find_valid(id) or await self._read(id, begins=True)

    def _lock(self, key: str) -> Lock:
        return self._locks.setdefault(key, Lock())

    async def _read(self, id: str, *, begins: bool = False) -> SharedSession | None:
        """Return a session as it is stored now; with `begins`, start a copy.

        Raise `EngineUnavailable`, and the errors of `begin`.
        """
        as_of, name = self._peers.gaps, self._peers.name
        stored = await self._peers.engine.sessions.open(key_of(id), name)
        record = None if stored is None else self._read_record(stored)
        # Only an existing copy can have missed messages.
        existing = self._sessions.get(id)
        messages = (
            await self._peers.read_stored(key_of(id), existing.copy.last_message)
            if existing and record
            else ()
        )
        session = self._sessions.get(id)
        if stored is None or record is None:
            if session is not None:
                await self.remove(session)
            return None
        if session is None:
            if not begins:
                # The copy was dropped meanwhile.
                return None
            session = await self._restore(id, record)
        copy, before = session.copy, session.connection.subscriptions
        if not self._apply_record(session, record):
            await self.remove(session)
            return None
        session.streams.standalone.note_owner(stored.epoch, owned=stored.owner == name)
        has_new = not session.connection.subscriptions <= before
        if has_new and copy.as_of != self._peers.gaps and session.connection.is_owner:
            # The notification after the gap did not cover the new ones.
            self._servers.tasks.start(session.connection.send_all_changes())
        copy.written_elsewhere |= copy.version != stored.version
        copy.choices, copy.version, copy.as_of = record.choices, stored.version, as_of
        for message in messages if session is existing else ():
            await self._peers.take_in_stored(message)
            copy.last_message = message.number
        return session

    def _apply_record(self, session: SharedSession, record: SessionRecord) -> bool:
        """Apply choices made elsewhere; return False if that is impossible."""
        choices = session.choices.onto(session.copy.choices, record.choices)
        try:
            if (session.principal_id, session.revision) != (record.principal_id, record.revision):
                raise ValueError("its principal or revision has changed")
            session.choose(choices)
        except (ValueError, ProtocolError) as error:
            self._throttled.warning("a stored session is not served: %s", error)
            return False
        return True

    async def _catch_up(self, key: str) -> SharedSession | None:
        """Handle the messages stored for this worker, and return the session.

        Raise `EngineUnavailable`.
        """
        session = self._find(key)
        return session and (self._find_valid(session.id) or await self.open(session.id))

    def _read_record(self, stored: StoredSession) -> SessionRecord | None:
        try:
            record = read_record(stored.record)
            if record.revision not in self._servers.offer.handshake:
                raise ValueError(f"revision {record.revision:.20} is not served here")
        except ValueError as error:
            self._throttled.warning("a stored session is not served: %s", faults_in(error))
            return None
        return record

    async def _restore(self, id: str, record: SessionRecord) -> SharedSession:
        bound_server = self._servers.bound_server(record.revision, own=True)
        connection = bound_server.connection()
        bound_server.remember(connection, record.capabilities, record.info)
        # The scopes come with each request's token.
        known = None if record.principal_id is None else Principal(record.principal_id)
        session = await self._add(NewSession(id, known, bound_server, connection))
        if not record.confirmed:
            connection.enter(State.OPEN_PENDING)
        self._adopt(session)
        return session

    def _adopt(self, session: SharedSession) -> None:
        key = key_of(session.id)
        session.copy = SessionCopy(key, session.choices, 0, self._peers.gaps)
        standalone, connection = session.streams.standalone, session.connection
        standalone.on_owned = session.own
        standalone.on_missed = lambda: self._servers.tasks.start(connection.send_all_changes())
        self._by_key[key] = session
        connection.settle = partial(self._save_choices, session)
        if self._servers.per_session:
            self._relay.add(session.connection.server, key)

    def _find(self, key: str) -> SharedSession | None:
        session = self._by_key.get(key)
        return session if session and self._sessions.get(session.id) is session else None

    def _on_gap(self) -> None:
        for session in self:
            # Its streams must end with it, even without further requests.
            if session.under_way or session.connection.endpoint.connection.awaits:
                self._servers.tasks.start(self._renew(session))

    async def _renew(self, session: SharedSession, *, changed: bool = False) -> None:
        copy = session.copy
        while self._find(copy.key) is session:
            try:
                async with self._lock(copy.key):
                    # More gaps may have occurred meanwhile.
                    is_old = changed or copy.as_of != self._peers.gaps
                    if is_old and self._find(copy.key) is session:
                        await self._read(session.id)
                return
            except EngineUnavailable:
                copy.as_of = _READ_AGAIN
                await self._streams.pause()

    # Begin and end.

    async def begin(self, new: NewSession) -> SharedSession:
        session = await self._add(new)
        self._adopt(session)
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
            self._servers.tasks.start(self._refresh(used))

    async def _refresh(self, copies: Collection[SessionCopy]) -> None:
        for copy in copies:
            copy.used = False
        try:
            keys = [copy.key for copy in copies]
            await self._peers.engine.sessions.refresh(keys, self._lifetime)
        except EngineUnavailable:
            for copy in copies:
                copy.used = True

    async def remove(self, session: SharedSession) -> None:
        """Close a session that is not served here any more."""
        self._forget(session.copy.key)
        await super().remove(session)

    def _forget(self, key: str) -> None:
        self._by_key.pop(key, None)
        if self._servers.per_session:
            self._relay.remove(key)

    async def delete(self, session: SharedSession) -> None:
        copy, session.ended = session.copy, True
        # A reader must not revive it afterwards.
        async with self._lock(copy.key):
            try:
                others = await self._peers.engine.sessions.end(copy.key, self._lifetime)
            except BaseException:
                session.ended, copy.as_of = False, _READ_AGAIN
                self._servers.tasks.start(self._end_again(copy.key))
                raise
            await self.remove(self._find(copy.key) or session)
        if others is None:
            raise _not_found_error()
        try:
            await self._peers.tell(others, SessionEnded(session=copy.key))
        except BaseException:
            # A repeated request would not return the other workers.
            self._servers.tasks.start(self._end_again(copy.key))
            raise

    async def _end_again(self, key: str) -> None:
        while True:
            await sleep(min(self._peers.lease / 3, 1.0))
            try:
                others = await self._peers.engine.sessions.end(key, self._lifetime, again=True)
                await self._peers.tell(others or (), SessionEnded(session=key))
            except EngineUnavailable:
                continue
            await self._on_ended(SessionEnded(session=key))
            return

    async def _close_session(self, session: SharedSession) -> None:
        key = session.copy.key
        await session.close()
        async with self._lock(key):
            if self._by_key.get(key) is not session:
                # It is in use here again.
                return
            self._forget(key)
            try:
                if self._peers.current:
                    await self._peers.engine.sessions.leave(key, self._peers.name)
            except EngineUnavailable:
                self._throttled.info("this worker could not leave a session")

    async def close(self) -> None:
        at_once, sessions = Semaphore(_AT_ONCE), list(self)

        async def close_when_free(session: SharedSession) -> None:
            async with at_once:
                await self._close_session(session)

        self._sessions.clear()
        await super().close()
        await gather(*map(close_when_free, sessions))

    async def _on_ended(self, message: SessionEnded) -> None:
        async with self._lock(message.session):
            if (session := self._find(message.session)) is not None:
                await self.remove(session)

    # Streams.

    async def _on_claimed(self, message: StreamClaimed) -> JSONObject | None:
        session = self._find(message.session)
        return (
            None if session is None else session.streams.standalone.release_ownership(message.epoch)
        )

    async def _on_taken(self, message: StreamTaken) -> None:
        if (session := self._find(message.session)) is not None:
            await session.streams.hand_over(message)

    # The client's choices.

    async def save(self, session: SharedSession) -> None:
        async with session.copy.changing:
            if session.changed:
                await self._write(session)

    async def _save_choices(self, session: SharedSession) -> None:
        try:
            if session.unsaved and not session.ended:
                await self.save(session)
        except (EngineUnavailable, HttpRefusal) as error:
            self._throttled.info("the choices of a session were not saved: %s", error)

    async def _write(self, session: SharedSession, *, confirmed: bool = False) -> frozenset[str]:
        """Write the record of a session and notify the workers with a copy; return them.

        Raise `EngineUnavailable`, and `HttpRefusal` if the session has ended.
        """
        copy = session.copy
        async with self._lock(copy.key):
            try:
                while (saved := await self._try_save(session, copy, confirmed)) is None:
                    if await self._read(session.id) is not session:
                        raise _not_found_error()
            except EngineUnavailable:
                # It may have been written without others knowing.
                copy.as_of, copy.unannounced = _READ_AGAIN, True
                raise
        if copy.unannounced:
            await self._peers.tell(saved.others, SessionChanged(session=copy.key))
            copy.unannounced = copy.written_elsewhere = False
        return saved.others

    async def _try_save(
        self, session: SharedSession, copy: SessionCopy, confirmed: bool
    ) -> Saved | None:
        choices = session.choices.onto(copy.choices, copy.choices)
        if confirmed:
            choices = choices._replace(confirmed=True)
        record, version, lifetime = session.record(choices), copy.version, self._lifetime
        saved = await self._peers.engine.sessions.save(
            copy.key, self._peers.name, record, version=version, lifetime=lifetime
        )
        if saved is not None:
            copy.unannounced |= copy.written_elsewhere or choices != copy.choices
            copy.choices, copy.version = choices, saved.version
        return saved

    async def _on_changed(self, message: SessionChanged) -> None:
        async with self._lock(message.session):
            session = self._find(message.session)
        if session is not None:
            # An open stream must follow the choices at once.
            await self._renew(session, changed=True)

    async def share(self, session: SharedSession, message: Parsed | Batch) -> bool:
        is_elsewhere = await self._messages.hand_on(session, message)
        # Another worker may have treated this one as dead.
        if not is_elsewhere and await self._catch_up(session.copy.key) is not session:
            raise _not_found_error()
        return is_elsewhere


def _not_found_error() -> HttpRefusal:
    return HttpRefusal(404, "The session has ended: send initialize to begin another")
