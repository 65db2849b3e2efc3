"""Messages about sessions that go from one worker to another."""

import re
from typing import Final

from ...connection import CANCELLED, INITIALIZED, PROGRESS
from ...core.errors import InvalidAnswer, RequestId
from ...core.json import JSONObject, json_text
from ...core.throttle import Throttle
from ...http.server.asgi import HttpRefusal
from ...http.server.sessions.registry import CHOICES
from ...http.server.sessions.worker import StreamClaimed, StreamTaken
from ...messages import jsonrpc, reading
from ...messages.envelope import PROGRESS_TOKEN
from ...messages.jsonrpc import Call, Malformed, Parsed
from ...messages.reading import Batch
from ...rules.lifecycle import State
from .record import SharedSession
from .shared_worker import SharedWorker
from .stored_sessions import StoredSessions
from .worker_messages import ClientSent

_OWN_ID: Final = re.compile(r"(s[A-Za-z0-9_-]{8})\.[0-9]{1,15}")


class SessionMessages:
    def __init__(self, worker: SharedWorker, stored: StoredSessions) -> None:
        self._worker = worker
        self._stored = stored
        self._log = Throttle(__name__)
        worker.on(ClientSent, self._on_sent)
        worker.on(StreamClaimed, self._on_claimed)
        worker.on(StreamTaken, self._on_taken)

    async def hand_on(self, session: SharedSession, message: Parsed | Batch) -> bool:
        """Forward a notification or response; return whether it is for another worker only.

        Raise `HttpRefusal` if the worker that asked does not accept an answer.
        """
        if not isinstance(message, Batch):
            return await self._hand_on(session, message)
        # Forward nothing of a batch that is refused here.
        session.connection.endpoint.check_batch(message)
        for member in message.members:
            await self._hand_on(session, member)
        return False

    async def _hand_on(self, session: SharedSession, message: Parsed) -> bool:
        if isinstance(message, Call) and message.method in CHOICES:
            session.require_announcement()
        if isinstance(message, Call) and message.id is None and message.method != PROGRESS:
            await self._tell_of(session, message)
            return False
        asked = _request_id_in(message)
        named = _OWN_ID.fullmatch(asked) if isinstance(asked, str) else None
        if named is None or named[1] == self._worker.name:
            return False
        if await self._worker.tell_or_store([named[1]], _event_of(session, message)):
            raise HttpRefusal.for_now("The worker that asked does not accept the answer")
        return True

    async def _tell_of(self, session: SharedSession, notification: Call) -> None:
        copy, method = session.copy, notification.method
        connection = session.connection.endpoint.connection
        if method == INITIALIZED:
            if connection.state is State.OPEN_PENDING:
                async with copy.changing:
                    await self._stored.write(session, confirmed=True)
            return
        if method == CANCELLED:
            id = jsonrpc.id_of({"id": notification.params.get("requestId")})
            if id is not None and connection.is_open(id):
                return
        elif connection.table.own_name(method) not in session.connection.handlers:
            return
        async with copy.changing:
            # Writing the record returns the workers that have a copy now.
            others = await self._stored.write(session) or ()
        # Do not delay the answer until all know, unlike for choices.
        await self._worker.tell_or_store(others, _event_of(session, notification))

    async def _on_claimed(self, event: StreamClaimed) -> JSONObject | None:
        if (session := self._stored.copies.get(event.session)) is None:
            return None
        return session.streams.standalone.release_ownership(event.epoch)

    async def _on_taken(self, event: StreamTaken) -> None:
        if (session := self._stored.copies.get(event.session)) is not None:
            await session.streams.hand_over(event)

    async def _on_sent(self, event: ClientSent) -> None:
        message = reading.read(event.message)
        if event.fault and isinstance(message, Malformed):
            message = Malformed(InvalidAnswer(event.fault, id=message.error.id))
        session = self._stored.copies.get(event.session)
        is_request = isinstance(message, Call) and (
            message.id is not None or message.method == INITIALIZED
        )
        if session is None or isinstance(message, Batch) or is_request:
            self._log.info("a worker sent a message for an unknown session")
        elif session.principal_id != event.principal_id:
            self._log.warning("a worker sent a message of another principal")
        else:
            session.connection.endpoint.receive(message)


def _request_id_in(message: Parsed) -> RequestId | None:
    """Return the id of the server's request that a message answers or reports progress of."""
    if isinstance(message, Call):
        return message.params.get(PROGRESS_TOKEN) if message.id is None else None
    if isinstance(message, Malformed):
        return message.error.id if message.error.is_answer else None
    return message.id


def _event_of(session: SharedSession, message: Parsed) -> ClientSent:
    fault = ""
    if isinstance(message, Call):
        written = message.message
    elif isinstance(message, Malformed):
        written, fault = {"id": message.error.id, "error": None}, message.error.message
    else:
        outcome = {"result": message.result} if message.error is None else {"error": message.error}
        written = {"jsonrpc": jsonrpc.VERSION, "id": message.id, **outcome}
    text, owner = json_text(written).decode(), session.principal_id
    return ClientSent(session=session.copy.key, principal_id=owner, message=text, fault=fault)
