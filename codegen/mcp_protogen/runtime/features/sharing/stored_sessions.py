"""The records of sessions in the engine, merged with the choices made at this worker."""

from asyncio import Lock
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from typing import Final
from weakref import WeakValueDictionary

from ...core.errors import ProtocolError
from ...core.throttle import Throttle
from ...http.server.sessions.servers import HttpServers
from ...http.server.sessions.worker import faults_in
from ...storage.engine import EngineUnavailable
from .record import READ_AGAIN, SessionCopy, SessionRecord, SharedSession, read_record
from .shared_worker import SharedWorker
from .worker_messages import SessionChanged

# The lifetime of a record, in lifetimes of a session; it is refreshed every quarter.
_RECORD_LIFETIME: Final = 1.25


class StoredSessions:
    def __init__(self, servers: HttpServers, worker: SharedWorker) -> None:
        self._worker = worker
        self._tasks = servers.tasks
        self._revisions = servers.offer.handshake
        self.lifetime: Final = servers.http.session_lifetime * _RECORD_LIFETIME
        self.copies: Final = dict[str, SharedSession]()
        """By key."""
        self._locks = WeakValueDictionary[str, Lock]()
        self.log: Final = Throttle(__name__)

    def lock(self, key: str) -> Lock:
        return self._locks.setdefault(key, Lock())

    async def load(
        self, key: str, restore: Callable[[SessionRecord], Awaitable[SharedSession]] | None = None
    ) -> SharedSession | None:
        """Return the copy of a session as it is stored now; with `restore`, begin one.

        Return None if it cannot be served. Raise `EngineUnavailable`, and errors of `restore`.
        """
        worker, as_of = self._worker, self._worker.gaps
        stored = await worker.engine.sessions.open(key, worker.name)
        if stored is None:
            return None
        # Only an existing copy can have missed messages.
        old = self.copies.get(key)
        messages = () if old is None else await worker.read_stored(key, old.copy.last_message)
        try:
            record = read_record(stored.record)
            if record.revision not in self._revisions:
                raise ValueError(f"revision {record.revision:.20} is not served here")
            # It may have been dropped meanwhile.
            session = self.copies.get(key) or (restore and await restore(record))
            if session is None:
                return None
            if (session.principal_id, session.revision) != (record.principal_id, record.revision):
                raise ValueError("its principal or revision has changed")
            copy, connection = session.copy, session.connection
            before = connection.subscriptions
            session.streams.standalone.note_owner(stored.epoch, owned=stored.owner == worker.name)
            session.choose(session.choices.onto(copy.choices, record.choices))
        except (ValueError, ProtocolError) as error:
            self.log.warning("a stored session is not served: %s", faults_in(error))
            return None
        has_new = not connection.subscriptions <= before
        if has_new and copy.as_of != worker.gaps and connection.is_owner:
            # The notification after the gap covered no new subscriptions.
            self._tasks.start(connection.send_all_changes())
        copy.written_elsewhere |= copy.version != stored.version
        copy.choices, copy.version, copy.as_of = record.choices, stored.version, as_of
        for message in messages:
            await worker.take_in_stored(message)
            copy.last_message = message.number
        return session

    async def write(
        self, session: SharedSession, *, confirmed: bool = False
    ) -> frozenset[str] | None:
        """Write the record of a session and notify the workers with a copy; return them.

        Return None if the session cannot be served any more, which the next load finds, too.
        Raise `EngineUnavailable`.
        """
        copy, worker = session.copy, self._worker
        async with self.lock(copy.key):
            try:
                while True:
                    choices = session.choices.onto(copy.choices, copy.choices)
                    if confirmed:
                        choices = choices._replace(confirmed=True)
                    record, lifetime = session.record(choices), self.lifetime
                    saved = await worker.engine.sessions.save(
                        copy.key, worker.name, record, version=copy.version, lifetime=lifetime
                    )
                    if saved is not None:
                        break
                    if await self.load(copy.key) is not session:
                        copy.as_of = READ_AGAIN
                        return None
            except EngineUnavailable:
                # It may have been written without others knowing.
                copy.as_of, copy.unannounced = READ_AGAIN, True
                raise
            copy.unannounced |= copy.written_elsewhere or choices != copy.choices
            copy.choices, copy.version = choices, saved.version
        if copy.unannounced:
            await worker.tell(saved.others, SessionChanged(session=copy.key))
            copy.unannounced = copy.written_elsewhere = False
        return saved.others

    async def refresh(self, copies: Collection[SessionCopy]) -> None:
        with suppress(EngineUnavailable):
            keys = [copy.key for copy in copies]
            await self._worker.engine.sessions.refresh(keys, self.lifetime)
            for copy in copies:
                copy.used = False

    async def leave(self, key: str) -> None:
        try:
            if self._worker.current:
                await self._worker.engine.sessions.leave(key, self._worker.name)
        except EngineUnavailable:
            self.log.info("this worker could not leave a session")
