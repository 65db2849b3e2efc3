"""The response to one POST: an answer as JSON, or a stream of events that ends with it.

Nothing is decided before it has to be: only when something is said before the answer does the
response become a stream (2025-11-25, basic/transports, "Sending Messages to the Server").
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from ...core.errors import (
    HEADER_MISMATCH,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MISSING_CLIENT_CAPABILITY,
    PARSE_ERROR,
    UNSUPPORTED_VERSION,
    RequestId,
)
from ...messages.jsonrpc import Batch, Parsed
from ...rpc.endpoint import Endpoint
from ...rpc.send_queue import MessageSink, NullSink
from .asgi import HttpExchange
from .event_stream import EventResponse, Stream, StreamQueue, StreamSink
from .sessions import HttpSession
from .state import HttpState

HANDSHAKE: Final[Mapping[int | None, int]] = {PARSE_ERROR: 400, INVALID_REQUEST: 400}
"""The status of an answer, by the code of its error, where it is not 200."""

STATELESS: Final[Mapping[int | None, int]] = {
    # 2026-07-28, basic/transports/streamable-http, "Protocol Version Header" and "Server
    # Validation"; basic, "Capabilities"
    METHOD_NOT_FOUND: 404,
    HEADER_MISMATCH: 400,
    MISSING_CLIENT_CAPABILITY: 400,
    UNSUPPORTED_VERSION: 400,
    **HANDSHAKE,
}

_ANSWERED: Final = NullSink("the request was answered already")


class HttpResponse(StreamSink):
    """The response to one POST: takes the answer, and what is said before it.

    `is_open` tells whether the peer still waits for the answer to a request; without it, the peer
    does until there is one. In a `session`, a stream can be resumed, and what is said after the
    answer goes to the stream that belongs to no request.
    """

    __slots__ = (
        *("_event_response", "_exchange", "_is_open", "_session", "_state", "_statuses"),
        *("answered", "principal"),
    )

    def __init__(
        self,
        exchange: HttpExchange,
        state: HttpState,
        statuses: Mapping[int | None, int],
        is_open: Callable[[RequestId], bool] | None = None,
        session: HttpSession | None = None,
    ) -> None:
        self._exchange = exchange
        self._state = state
        self._statuses = statuses
        self._is_open = is_open
        self._session = session
        self._event_response: EventResponse | None = None
        self._queue: StreamQueue | None = None
        self.principal = exchange.principal
        self.answered = False
        """Whether there is an answer, or is to be none."""

    async def serve(self, work: Awaitable[None]) -> None:
        """Await what answers the request, and complete the response; a failure ends it at once."""
        self._state.working += 1
        try:
            await work
            if self._queue is not None or not self.answered:
                await self.close()
        except BaseException:
            self.abort()
            raise
        finally:
            if self._session is not None and self._queue is not None:
                self._session.remove(self._queue.stream)
            self._state.working -= 1
            self._state.note_end()

    async def attend(self, endpoint: Endpoint, message: Parsed | Batch) -> None:
        """Have a message or a batch dealt with, part of which may be notifications."""
        before = endpoint.jobs.notification_tasks
        try:
            await endpoint.attend(message, self)
        finally:
            # Their handlers, which nobody waits for, hold on to what came.
            handlers = endpoint.jobs.notification_tasks - before
            if handlers:
                self._state.go_on(self._exchange, handlers)

    # As the reply to a request.

    @property
    def beside(self) -> "HttpResponse":
        return self

    def awaits(self, id: RequestId, /) -> bool:
        return not self.answered if self._is_open is None else self._is_open(id)

    async def answer(self, data: bytes, code: int | None, /) -> None:
        self.answered = True
        if self._session is not None and self._state.sessions.saved:
            # What was answered holds wherever the client asks next.
            await self._state.sessions.save(self._session)
        if self._queue is None:
            await self._exchange.respond(self._statuses.get(code, 200), data)
        else:
            self._queue.queue.put(data)

    def skip(self) -> None:
        """Leave the response to `close` or `accept`."""

    async def release(self) -> None:
        stream = self._opened().stream
        if stream.log is not None:
            await stream.release()

    async def accept(self) -> None:
        """Complete the response to a message that asks for nothing."""
        if self._queue is None and not self.answered:
            self.answered = True
            await self._exchange.respond(202)
        else:
            await self.close()

    async def close(self) -> None:
        """Complete the response; if there is no answer, as a stream without one."""
        queue = self._queue if self.answered else self._opened()
        if queue is not None:
            await queue.close()
        if self._event_response is not None:
            # Somebody else may be completing it.
            await self._event_response.ended
        self.answered = True

    def abort(self) -> None:
        """Send nothing more: the code that serves the request has failed, or was cancelled."""
        self.answered = True
        if self._event_response is not None:
            self._event_response.abort()
        if self._queue is not None:
            self._queue.abort()

    # As a sink for what is said beside it.

    def _opened(self) -> StreamQueue:
        if self._queue is None:
            state, session = self._state, self._session
            response = self._event_response = EventResponse(self._exchange, state.keep_alive)
            stream = (
                Stream(response) if session is None else session.stream(response, state.http.retry)
            )
            self._queue = StreamQueue(stream, state.tasks)
        return self._queue

    def _sink(self) -> MessageSink:
        if not self.answered:
            return self._opened().queue
        return _ANSWERED if self._session is None else self._session.standalone
