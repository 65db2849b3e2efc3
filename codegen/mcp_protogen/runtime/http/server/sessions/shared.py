"""Sessions that several workers serve: each has a copy of those that it is asked for.

A copy is valid without asking the engine as long as this worker hears the others: who changes or
ends a session waits until all who have a copy know. After a gap, each copy is read again before its
next use, and what was stored for this worker meanwhile is taken in before anything that comes
later. A client's choices are stored before they are answered, so they hold wherever it asks
next. Its messages for other workers are handed to them.
"""

import re
from asyncio import Lock, Semaphore, gather, sleep
from collections.abc import Collection
from contextlib import suppress
from functools import partial
from logging import getLogger
from typing import Final
from weakref import WeakValueDictionary

from ....connection import CANCELLED, INITIALIZED, PROGRESS
from ....core.errors import InvalidAnswer, ProtocolError, RequestId
from ....core.http_request import Principal
from ....core.json import JSONObject, json_text
from ....core.throttle import Throttle
from ....messages import jsonrpc, reading
from ....messages.envelope import PROGRESS_TOKEN
from ....messages.jsonrpc import Call, Malformed, Parsed
from ....messages.reading import Batch
from ....rules.lifecycle import State
from ....storage.engine import EngineUnavailable, Saved, StoredSession
from ..asgi import HttpRefusal
from .peers import Answered, Changed, Claimed, Ended, Notified, Taken, faults_in, key_of
from .record import CHOICES, SessionCopy, SessionRecord, read_record
from .registry import HttpSession, NewSession, SessionRegistry
from .servers import HttpServers

_log: Final = getLogger(__name__)

_ID: Final = re.compile(r"[A-Za-z0-9_-]{43}")
_OWN_ID: Final = re.compile(r"(s[A-Za-z0-9_-]{8})\.[0-9]{1,15}")

# Sessions that are let go of at the same time.
_AT_ONCE: Final = 100

# Records live a little longer than sessions, which are refreshed each quarter of their time.
_LONGER: Final = 1.25

# In the place of the number of gaps: the copy has to be read again.
_READ_AGAIN: Final = -1


class SharedSessions(SessionRegistry):
    """The copies of this worker."""

    def __init__(self, servers: HttpServers) -> None:
        super().__init__(servers)
        self.get = self._valid
        self._peers = peers = servers.peers
        self._by_key: dict[str, HttpSession] = {}
        # Who reads what is stored, or writes it, is alone with the session here.
        self._locks: WeakValueDictionary[str, Lock] = WeakValueDictionary()
        self._lifetime = self._http.session_lifetime * _LONGER
        self._throttled = Throttle(_log)
        peers.on(Changed, self._on_changed)
        peers.on(Ended, self._on_ended)
        peers.on(Notified, self._on_notified)
        peers.on(Answered, self._on_answered)
        peers.on(Claimed, self._on_claimed)
        peers.on(Taken, self._on_taken)
        peers.on_gap(self._on_gap)
        peers.before_message(self._catch_up)

    # What is known.

    def _valid(self, id: str) -> HttpSession | None:
        session = self._sessions.get(id)
        if session is None or not self._peers.current:
            return None
        return session if session.copy and session.copy.as_of == self._peers.gaps else None

    async def open(self, id: str) -> HttpSession | None:
        if not _ID.fullmatch(id):
            # An engine is not asked for anything else.
            return None
        async with self._lock(key_of(id)):
            return self._valid(id) or await self._read(id, begins=True)

    def _lock(self, key: str) -> Lock:
        return self._locks.setdefault(key, Lock())

    async def _read(self, id: str, *, begins: bool = False) -> HttpSession | None:
        """Return a session as it is stored now, if it is; with `begins`, begin a copy of it.

        Raise `EngineUnavailable`, and what `begin` raises.
        """
        as_of, name = self._peers.gaps, self._peers.name
        stored = await self._peers.engine.sessions.open(key_of(id), name)
        record = None if stored is None else self._understood(stored)
        # Only a worker that had a copy before can be late.
        late = self._sessions.get(id)
        letters = (
            await self._peers.read_stored(key_of(id), _copy_of(late).letters)
            if late and record
            else ()
        )
        session = self._sessions.get(id)
        if stored is None or record is None:
            if session is not None:
                await self.remove(session)
            return None
        if session is None:
            if not begins:
                # It had to make room while this was read.
                return None
            session = await self._revived(id, record)
        copy, before = _copy_of(session), session.connection.subscriptions
        if not self._renews(session, record):
            await self.remove(session)
            return None
        session.streams.standalone.note_owner(stored.epoch, owned=stored.owner == name)
        has_new = not session.connection.subscriptions <= before
        if has_new and copy.as_of != self._peers.gaps and session.connection.is_owner:
            # The cue after the gap was for the subscriptions before it.
            self._servers.tasks.start(session.connection.cue())
        copy.written_elsewhere |= copy.version != stored.version
        copy.choices, copy.version, copy.as_of = record.choices, stored.version, as_of
        for letter in letters if session is late else ():
            await self._peers.take_in_stored(letter)
            copy.letters = letter.number
        return session

    def _renews(self, session: HttpSession, record: SessionRecord) -> bool:
        """Have what was chosen elsewhere hold here; return False if that is impossible."""
        choices = session.choices.onto(_copy_of(session).choices, record.choices)
        try:
            if (session.principal_id, session.revision) != (record.principal_id, record.revision):
                raise ValueError("it has become that of another client")
            session.choose(choices)
        except (ValueError, ProtocolError) as error:
            self._throttled.warning("a session that is stored is not served: %s", error)
            return False
        return True

    async def _catch_up(self, key: str) -> HttpSession | None:
        """Return a session after all that was stored for this worker was taken in.

        Raise `EngineUnavailable`.
        """
        session = self._found(key)
        return session and (self._valid(session.id) or await self.open(session.id))

    def _understood(self, stored: StoredSession) -> SessionRecord | None:
        try:
            record = read_record(stored.record)
            if record.revision not in self._servers.offer.handshake:
                raise ValueError(f"nobody here speaks {record.revision:.20}")
        except ValueError as error:
            self._throttled.warning("a session that is stored is not served: %s", faults_in(error))
            return None
        return record

    async def _revived(self, id: str, record: SessionRecord) -> HttpSession:
        bound_server = self._servers.bound_server(record.revision, own=True)
        connection = bound_server.connection()
        bound_server.remember(connection, record.capabilities, record.info)
        # What its token allows, the request says that asks for it.
        known = None if record.principal_id is None else Principal(record.principal_id)
        session = await self._add(NewSession(id, known, bound_server, connection))
        if not record.confirmed:
            connection.enter(State.OPEN_PENDING)
        self._adopt(session)
        return session

    def _adopt(self, session: HttpSession) -> None:
        key = key_of(session.id)
        session.copy = SessionCopy(key, session.choices, 0, self._peers.gaps)
        standalone, connection = session.streams.standalone, session.connection
        standalone.on_owned = session.own
        standalone.on_missed = lambda: self._servers.tasks.start(connection.cue())
        self._by_key[key] = session
        connection.settle = partial(self._settle, session)
        if self._servers.per_session and self._servers.relay is not None:
            self._servers.relay.add(session.connection.server, key)

    def _found(self, key: str) -> HttpSession | None:
        session = self._by_key.get(key)
        return session if session and self._sessions.get(session.id) is session else None

    def _on_gap(self) -> None:
        for session in self:
            # Nobody may ask for it, and yet it has streams that end when it does.
            if session.under_way or session.connection.endpoint.connection.awaits:
                self._servers.tasks.start(self._renew(session))

    async def _renew(self, session: HttpSession, *, changed: bool = False) -> None:
        """See whether a session goes on, and what its client said while this worker was late."""
        copy = _copy_of(session)
        while self._found(copy.key) is session:
            try:
                async with self._lock(copy.key):
                    # There may have been several gaps meanwhile.
                    is_old = changed or copy.as_of != self._peers.gaps
                    if is_old and self._found(copy.key) is session:
                        await self._read(session.id)
                return
            except EngineUnavailable:
                copy.as_of = _READ_AGAIN
                await self._streams.pause()

    # How they begin and end.

    async def begin(self, new: NewSession) -> HttpSession:
        session = await self._add(new)
        self._adopt(session)
        try:
            await self._write(session)
        except BaseException:
            await self.remove(session)
            raise
        return session

    def note_end(self, session: HttpSession) -> None:
        super().note_end(session)
        _copy_of(session).used = True

    def _expire(self) -> None:
        super()._expire()
        used = [_copy_of(one) for one in self if one.under_way or _copy_of(one).used]
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

    async def remove(self, session: HttpSession) -> None:
        """Close a session that is not served here any more."""
        self._forget(_copy_of(session).key)
        await super().remove(session)

    def _forget(self, key: str) -> None:
        self._by_key.pop(key, None)
        if self._servers.per_session and self._servers.relay is not None:
            self._servers.relay.remove(key)

    async def delete(self, session: HttpSession) -> None:
        copy, session.ended = _copy_of(session), True
        # Who is reading it must not go on with it afterwards.
        async with self._lock(copy.key):
            try:
                others = await self._peers.engine.sessions.end(copy.key, self._lifetime)
            except BaseException:
                session.ended, copy.as_of = False, _READ_AGAIN
                self._servers.tasks.start(self._end_again(copy.key))
                raise
            await self.remove(self._found(copy.key) or session)
        if others is None:
            raise _ended()
        try:
            await self._peers.tell(others, Ended(session=copy.key))
        except BaseException:
            # Nobody who comes again finds out who they were.
            self._servers.tasks.start(self._tell_of_end(others, copy.key))
            raise

    async def _tell_of_end(self, others: Collection[str], key: str) -> None:
        while True:
            await self._streams.pause()
            with suppress(EngineUnavailable):
                await self._peers.tell(others, Ended(session=key))
                return

    async def _end_again(self, key: str) -> None:
        """End a session that may have ended, so that all who have a copy know."""
        while True:
            await sleep(min(self._peers.lease / 3, 1.0))
            try:
                others = await self._peers.engine.sessions.end(key, self._lifetime, again=True)
                await self._peers.tell(others or (), Ended(session=key))
            except EngineUnavailable:
                continue
            await self._on_ended(Ended(session=key))
            return

    async def _closed(self, session: HttpSession) -> None:
        """Let go of a copy; the session may go on elsewhere."""
        key = _copy_of(session).key
        await session.close(forget=False)
        async with self._lock(key):
            if self._by_key.get(key) is not session:
                # It is used here again.
                return
            self._forget(key)
            try:
                if self._peers.current:
                    await self._peers.engine.sessions.leave(key, self._peers.name)
            except EngineUnavailable:
                self._throttled.info("a session is still said to be known here that is not")

    async def close(self) -> None:
        at_once, sessions = Semaphore(_AT_ONCE), list(self)

        async def closed(session: HttpSession) -> None:
            async with at_once:
                await self._closed(session)

        self._sessions.clear()
        await super().close()
        await gather(*map(closed, sessions))

    async def _on_ended(self, letter: Ended) -> None:
        async with self._lock(letter.session):
            if (session := self._found(letter.session)) is not None:
                await self.remove(session)

    # Who writes its streams.

    async def _on_claimed(self, letter: Claimed) -> JSONObject | None:
        session = self._found(letter.session)
        return None if session is None else session.streams.standalone.claimed(letter.epoch)

    async def _on_taken(self, letter: Taken) -> None:
        if (session := self._found(letter.session)) is not None:
            await session.streams.taken(letter)

    # What the client chooses.

    async def save(self, session: HttpSession) -> None:
        async with _copy_of(session).changing:
            if session.changed:
                await self._write(session)

    async def _settle(self, session: HttpSession) -> None:
        """Do as `save`, for what is not the answer to a request."""
        try:
            if session.unsaved and not session.ended:
                await self.save(session)
        except (EngineUnavailable, HttpRefusal) as error:
            self._throttled.info("what was chosen of a session is not saved: %s", error)

    async def _write(self, session: HttpSession, *, confirmed: bool = False) -> frozenset[str]:
        """Write the record of a session, and let those know who have a copy; return who they are.

        Raise `EngineUnavailable`, and `HttpRefusal` if the session is over.
        """
        copy = _copy_of(session)
        async with self._lock(copy.key):
            try:
                while (saved := await self._saved(session, copy, confirmed)) is None:
                    if await self._read(session.id) is not session:
                        raise _ended()
            except EngineUnavailable:
                # It may have been written, and is not known to others then.
                copy.as_of, copy.unannounced = _READ_AGAIN, True
                raise
        if copy.unannounced:
            await self._peers.tell(saved.others, Changed(session=copy.key))
            copy.unannounced = copy.written_elsewhere = False
        return saved.others

    async def _saved(
        self, session: HttpSession, copy: SessionCopy, confirmed: bool
    ) -> Saved | None:
        """Write a record in the place of the one that is known here, if that is still stored."""
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

    async def _on_changed(self, letter: Changed) -> None:
        async with self._lock(letter.session):
            session = self._found(letter.session)
        if session is not None:
            # It may have a stream, on which all that was chosen has to hold from now on.
            await self._renew(session, changed=True)

    # Messages of the client that are for other workers.

    async def share(self, session: HttpSession, message: Parsed | Batch) -> bool:
        is_elsewhere = False
        if not isinstance(message, Batch):
            is_elsewhere = await self._share(session, message)
        else:
            # Nothing is handed on of what is refused here.
            session.connection.endpoint.check_batch(message)
            for member in message.members:
                await self._share(session, member)
        # Another worker may have taken this one for gone meanwhile.
        if not is_elsewhere and await self._catch_up(_copy_of(session).key) is not session:
            raise _ended()
        return is_elsewhere

    async def _share(self, session: HttpSession, message: Parsed) -> bool:
        """Do as `share` for one message; raise `HttpRefusal` if who asked does not take it in."""
        if isinstance(message, Call) and message.method in CHOICES:
            _copy_of(session).require_announcement()
        if isinstance(message, Call) and message.id is None and message.method != PROGRESS:
            await self._tell_of(session, message)
            return False
        asked = _asked_in(message)
        named = _OWN_ID.fullmatch(asked) if isinstance(asked, str) else None
        if named is None or named[1] == self._peers.name:
            return False
        key, worker = _copy_of(session).key, named[1]
        text, fault = _written(message)
        letter = Answered(session=key, principal_id=session.principal_id, message=text, fault=fault)
        if await self._peers.tell_or_store([worker], letter):
            raise HttpRefusal.for_now("Who has asked does not take in the answer")
        return True

    async def _tell_of(self, session: HttpSession, notification: Call) -> None:
        """Let the other workers know of a notification, if it can mean something to them."""
        copy, method = _copy_of(session), notification.method
        connection = session.connection.endpoint.connection
        if method == INITIALIZED:
            if connection.state is State.OPEN_PENDING:
                async with copy.changing:
                    await self._write(session, confirmed=True)
            return
        if method == CANCELLED:
            id = jsonrpc.id_of({"id": notification.params.get("requestId")})
            if id is not None and connection.is_open(id):
                return
        elif method not in session.connection.handlers:
            return
        text = json_text(notification.message).decode()
        letter = Notified(session=copy.key, principal_id=session.principal_id, message=text)
        async with copy.changing:
            # Who has a copy at this moment is said where a record is written.
            others = await self._write(session)
        # Answers do not wait until all know of it, as they do for what was chosen.
        await self._peers.tell_or_store(others, letter)

    async def _on_notified(self, letter: Notified) -> None:
        self._take_in(letter.session, letter.principal_id, reading.read(letter.message))

    async def _on_answered(self, letter: Answered) -> None:
        message = reading.read(letter.message)
        if letter.fault and isinstance(message, Malformed):
            message = Malformed(InvalidAnswer(letter.fault, id=message.error.id))
        self._take_in(letter.session, letter.principal_id, message)

    def _take_in(self, key: str, principal_id: str | None, message: Parsed | Batch) -> None:
        """Deal with what another worker was sent, and is no request."""
        session = self._found(key)
        is_request = isinstance(message, Call) and (
            message.id is not None or message.method == INITIALIZED
        )
        if session is None or isinstance(message, Batch) or is_request:
            self._throttled.info("a message of another worker is for nobody here")
        elif session.principal_id != principal_id:
            self._throttled.warning("a message of another worker is of another client")
        else:
            session.connection.endpoint.receive(message)


def _ended() -> HttpRefusal:
    return HttpRefusal(404, "The session was ended; begin anew with initialize")


def _copy_of(session: HttpSession) -> SessionCopy:
    assert session.copy is not None
    return session.copy


def _asked_in(message: Parsed) -> RequestId | None:
    """Return the id of the request of ours that a message answers, or reports the progress of."""
    if isinstance(message, Call):
        return message.params.get(PROGRESS_TOKEN) if message.id is None else None
    if isinstance(message, Malformed):
        return message.error.id if message.error.is_answer else None
    return message.id


def _written(message: Parsed) -> tuple[str, str]:
    """Return the text of such a message, and what is wrong with it."""
    if isinstance(message, Call):
        return json_text(message.message).decode(), ""
    if isinstance(message, Malformed):
        return json_text({"id": message.error.id, "error": None}).decode(), message.error.message
    outcome = {"result": message.result} if message.error is None else {"error": message.error}
    return json_text({"jsonrpc": jsonrpc.VERSION, "id": message.id, **outcome}).decode(), ""
