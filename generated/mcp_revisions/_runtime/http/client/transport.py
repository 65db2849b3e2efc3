"""The client's transport over HTTP, for servers of all revisions.

Each message is posted on its own; its answer comes in the same HTTP exchange, or on a stream that
follows from it. `outgoing` has the header fields of a message, and `response_rules` the meaning of
the HTTP answer, after which the transport may renew the session, correct header fields, or change
to the transport of the first revision.
"""

import asyncio
from asyncio import Task
from collections.abc import Callable, Sequence
from typing import Final

from ...core.errors import Disconnected, HttpError, RemoteError, RequestId
from ...transports.base import Received, Unanswered
from .http_client import HttpWire
from .legacy_sse import LegacySseTransport
from .outgoing import CANCELLED, INITIALIZED, Message
from .request import HttpExchange, post_unanswered, relearn
from .response_rules import Interpretation, Repair
from .resume import Reconnection
from .session import HttpSession
from .state import ClientState

# How long to wait for a message without an answer to arrive before the next one; in seconds.
_ARRIVAL: Final = 10.0


class HttpTransport:
    """One connection to a server over HTTP; see `open_http`."""

    over_http: Final = True

    def __init__(self, http: HttpWire, reconnection: Reconnection) -> None:
        self._state = ClientState(http, reconnection)
        self._session = HttpSession(self._state)
        self._legacy: LegacySseTransport | None = None
        self._running: dict[RequestId, tuple[Message, Task[None]]] = {}
        self._ending: Task[None] | None = None

    async def receive(self) -> Sequence[Received]:
        return await self._state.inbox.receive()

    def hand_over(self, take: Callable[[Received], bool] | None) -> None:
        self._state.inbox.hand_over(take)

    async def send(self, messages: Sequence[bytes]) -> None:
        """Send messages; one without an answer arrives before the next one is sent."""
        for body in messages:
            if self._ending is not None:
                raise Disconnected("the connection is closed")
            if self._state.inbox.broken is not None:
                raise self._state.inbox.broken
            message = self._state.protocol.outgoing(body)
            if message.kind == "request":
                task = self._state.tasks.start(self._request(message))
                self._running[message.id] = message, task
            elif message.method == CANCELLED:
                await self._cancel(message)
            else:
                await self._post(message)

    # Requests.

    async def _request(self, message: Message) -> None:
        try:
            if self._legacy is None:
                await self._exchange(HttpExchange(self._state, message))
            else:
                await self._legacy.post(message)
        except Exception as error:
            # Also for what the user's own authentication raises: the request has to end.
            self._state.inbox.put(Unanswered(message.id, error))
        finally:
            self._running.pop(message.id, None)

    async def _exchange(self, exchange: HttpExchange) -> None:
        await self._session.ready()
        sessions = self._state.protocol.sessions
        interpretation = await exchange.attempt()
        match interpretation.repair:
            case Repair.SESSION:
                await self._session.renew(sessions)
                interpretation = await exchange.attempt()
            case Repair.HEADERS if await relearn(self._state, exchange.message):
                interpretation = await exchange.attempt()
            case Repair.LEGACY_SSE:
                interpretation = await self._try_legacy(exchange.message, interpretation)
            case _:
                pass
        exchange.conclude(interpretation)

    async def _try_legacy(self, message: Message, interpretation: Interpretation) -> Interpretation:
        """Change to HTTP+SSE if the server has it; return what is still to deliver."""
        legacy = LegacySseTransport(self._state)
        try:
            await legacy.found()
        except Disconnected as error:
            (refusal,) = interpretation.received
            if isinstance(refusal, Unanswered) and isinstance(refusal.error, HttpError):
                both = f"{refusal.error.message}; HTTP+SSE failed too: {error}"
                failed = HttpError(refusal.error.status, both)
                return Interpretation((Unanswered(message.id, failed),))
            # An error of the protocol says more than the failed search for an older transport.
            return interpretation
        self._legacy = legacy
        await legacy.post(message)
        return Interpretation()

    async def _cancel(self, message: Message) -> None:
        request, task = self._running.get(message.params.get("requestId", ""), (message, None))
        # In the stateless era closing the stream is enough (2026-07-28,
        # basic/transports/streamable-http, "Cancellation").
        if request.revision is None:
            await self._post(message)
        if task is not None:
            task.cancel()

    # Messages without an answer.

    async def _post(self, message: Message) -> None:
        """Post a message, and wait for a limited time until it has arrived."""
        task = self._state.tasks.start(self._posted(message))
        await asyncio.wait({task}, timeout=_ARRIVAL)

    async def _posted(self, message: Message) -> None:
        try:
            if self._legacy is None:
                await self._post_in_session(message)
            else:
                await self._legacy.post(message)
        except (Disconnected, RemoteError) as error:
            self._state.log.warning("%s did not arrive: %s", message.name, error)

    async def _post_in_session(self, message: Message) -> None:
        await self._session.ready()
        protocol = self._state.protocol
        session, sessions = protocol.session, protocol.sessions
        status = await post_unanswered(self._state, message)
        if status == 404 and session is not None:
            await self._session.renew(sessions)
            # A response would answer a request of the session that has ended, and the new session
            # has already been confirmed.
            if message.kind == "notification" and message.method != INITIALIZED:
                await post_unanswered(self._state, message)
        elif message.method == INITIALIZED and 200 <= status < 300 and message.revision is None:
            await self._session.listen()

    # The end.

    async def close(self) -> None:
        """Close the connection; end the session too (2025-11-25, "Session Management")."""
        if self._ending is None:
            self._ending = asyncio.create_task(self._end())
        # If the caller is cancelled, the session is still ended.
        await asyncio.shield(self._ending)

    async def _end(self) -> None:
        self._state.inbox.end()
        await self._state.tasks.cancel()
        try:
            await self._session.end()
        finally:
            await self._state.http.close()
