"""The client's transport over HTTP, for servers of all revisions.

Each message is posted on its own. Its answer comes in the same HTTP exchange, or on a stream that
follows from it. `protocol_headers` decides on the header fields of a message, and `response_rules`
on the meaning of the HTTP answer. The transport acts on it: it renews the session, corrects header
fields, or changes to the transport of the first revision.
"""

import asyncio
from asyncio import Task
from collections.abc import Callable, Sequence
from logging import getLogger
from typing import Final

from ...core.errors import Disconnected, HttpError, RemoteError, RequestId
from ...transports.base import Received, Unanswered
from .http_client import HttpWire
from .legacy_sse import LegacySseTransport
from .notes import post_note
from .outgoing import CANCELLED, INITIALIZED, Message, message_of
from .recovery import SessionRenewal, relearn
from .request import HttpExchange
from .response_rules import Interpretation, Repair
from .resume import Reconnection
from .standalone_stream import StandaloneStream
from .state import ClientState

_log: Final = getLogger(__name__)

# How long to wait for a message without an answer to arrive before the next one; in seconds.
_ARRIVAL: Final = 10.0

# How long to wait for the server's own stream, because the next request may make the server use it;
# in seconds.
_LISTENING: Final = 1.0

# The timeout for ending a session, in seconds.
_FAREWELL: Final = 2.0


class HttpTransport:
    """One connection to a server over HTTP; see `open_http`."""

    over_http: Final = True

    def __init__(self, wire: HttpWire, reconnection: Reconnection) -> None:
        self._link = ClientState(wire, reconnection)
        self._sessions = SessionRenewal(self._link, self._listen)
        self._listener = StandaloneStream(self._link, self._sessions.renew)
        self._old: LegacySseTransport | None = None
        self._running: dict[RequestId, tuple[Message, Task[None]]] = {}
        self._ending: Task[None] | None = None

    async def receive(self) -> Sequence[Received]:
        """Return the next messages; nothing comes after the transport is closed."""
        return await self._link.inbox.receive()

    def hand_over(self, take: Callable[[Received], bool] | None) -> None:
        self._link.inbox.hand_over(take)

    async def send(self, messages: Sequence[bytes]) -> None:
        """Send messages: requests run concurrently.

        A message without an answer arrives before the next message is sent.
        """
        for body in messages:
            if self._ending is not None:
                raise Disconnected("the connection is closed")
            if self._link.inbox.broken is not None:
                raise self._link.inbox.broken
            message = self._link.conversation.going(message_of(body))
            if message.kind == "request":
                task = self._link.tasks.start(self._request(message))
                self._running[message.id] = message, task
            elif message.method == CANCELLED:
                await self._cancel(message)
            else:
                await self._say(message)

    # Requests.

    async def _request(self, message: Message) -> None:
        try:
            if self._old is None:
                await self._exchange(HttpExchange(self._link, message))
            else:
                await self._old.post(message)
        except Exception as error:
            # Also for what the user's own authentication raises: the request has to end.
            self._link.inbox.put(Unanswered(message.id, error))
        finally:
            self._running.pop(message.id, None)

    async def _exchange(self, exchange: HttpExchange) -> None:
        await self._sessions.ready()
        sessions = self._link.conversation.sessions
        interpretation = await exchange.attempt()
        if interpretation is None:
            return
        match interpretation.repair:
            case Repair.SESSION:
                await self._sessions.renew(sessions)
                interpretation = await exchange.attempt()
            case Repair.HEADERS if await relearn(self._link, exchange.message):
                interpretation = await exchange.attempt()
            case Repair.OLD_TRANSPORT:
                interpretation = await self._try_old(exchange.message, interpretation)
            case _:
                pass
        if interpretation is not None:
            exchange.conclude(interpretation)

    async def _try_old(
        self, message: Message, interpretation: Interpretation
    ) -> Interpretation | None:
        """Change to HTTP+SSE if the server has it, or return the interpretation to deliver."""
        old = LegacySseTransport(self._link)
        try:
            await old.found()
        except Disconnected as error:
            (refusal,) = interpretation.received
            if isinstance(refusal, Unanswered) and isinstance(refusal.error, HttpError):
                both = f"{refusal.error.message}; HTTP+SSE failed too: {error}"
                failed = HttpError(refusal.error.status, both)
                return Interpretation((Unanswered(message.id, failed),))
            # An error of the protocol says more than the failed search for an older transport.
            return interpretation
        self._old = old
        await old.post(message)
        return None

    async def _cancel(self, message: Message) -> None:
        """Cancel a request: by a message, and by closing its stream.

        In the stateless era closing the stream is enough (2026-07-28,
        basic/transports/streamable-http, "Cancellation").
        """
        request, task = self._running.get(message.params.get("requestId", ""), (None, None))
        if (message if request is None else request).revision is None:
            await self._say(message)
        if task is not None:
            task.cancel()

    # Messages without an answer.

    async def _say(self, message: Message) -> None:
        """Post a message, and wait for a limited time until it has arrived."""
        task = self._link.tasks.start(self._posted(message))
        await asyncio.wait({task}, timeout=_ARRIVAL)

    async def _posted(self, message: Message) -> None:
        if self._old is not None:
            await self._posted_old(self._old, message)
            return
        await self._sessions.ready()
        sessions = self._link.conversation.sessions
        in_session = self._link.conversation.session is not None
        status = await post_note(self._link, message)
        if status == 404 and in_session:
            await self._repeated(message, sessions)
        elif message.method == INITIALIZED and 200 <= status < 300 and message.revision is None:
            self._listen()
            await self._listening()

    async def _posted_old(self, old: LegacySseTransport, message: Message) -> None:
        try:
            await old.post(message)
        except (Disconnected, RemoteError) as error:
            self._link.log.warning("%s did not arrive: %s", message.name, error)

    async def _repeated(self, message: Message, sessions: int) -> None:
        try:
            await self._sessions.renew(sessions)
        except Disconnected as error:
            self._link.log.warning("%s did not arrive: %s", message.name, error)
            return
        # A response would answer a request of the session that has ended, and the new session has
        # already been confirmed.
        if message.kind == "notification" and message.method != INITIALIZED:
            await post_note(self._link, message)

    def _listen(self) -> None:
        self._listener.start()

    async def _listening(self) -> None:
        """Wait for a limited time until the server's stream is open."""
        try:
            async with asyncio.timeout(_LISTENING):
                await self._listener.settled.wait()
        except TimeoutError:
            _log.info("it is not known yet whether the server offers a stream")

    # The end.

    async def close(self) -> None:
        """Close the connection; end the session too (2025-11-25, "Session Management")."""
        if self._ending is None:
            self._ending = asyncio.create_task(self._end())
        # If the caller is cancelled, the session is still ended.
        await asyncio.shield(self._ending)

    async def _end(self) -> None:
        self._link.inbox.end()
        await self._link.tasks.cancel()
        try:
            if self._link.conversation.session is not None:
                await self._end_session()
        finally:
            await self._link.wire.close()

    async def _end_session(self) -> None:
        headers = self._link.conversation.session_headers()
        try:
            async with asyncio.timeout(_FAREWELL), self._link.wire.open("DELETE", headers) as reply:
                # The server may refuse this, or may have forgotten the session.
                _log.info("the session was ended: HTTP %d", reply.status)
        except Exception as error:
            # Also for what the user's own authentication raises: there is nothing left to save, and
            # the reason for closing may be a worse error.
            _log.warning("the server was not told of the end of the session: %r", error)
