"""The response to one POST: an answer as JSON, or a stream of events that ends with it.

Nothing is decided before it has to be: only when something is said before the answer does the
response become a stream (2025-11-25, basic/transports, "Sending Messages to the Server").
"""

from collections.abc import Callable, Mapping
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
from ...rpc.send_queue import MessageSink, NullSink
from .asgi import respond
from .channel import EventResponse
from .event_stream import Stream, StreamQueue, StreamSink
from .send import ResponseSender
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
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
}

_ANSWERED: Final = NullSink("the request was answered already")


class HttpResponse(StreamSink):
    """The response to one POST: takes the answer, and what is said before it.

    `is_open` tells whether the peer still waits for the answer to a request; without it, the peer
    does until there is one.
    """

    __slots__ = (
        "_channel",
        "_is_open",
        "_sender",
        "_service",
        "_statuses",
        "answered",
        "principal",
    )

    def __init__(
        self,
        sender: ResponseSender,
        service: HttpState,
        statuses: Mapping[int | None, int],
        is_open: Callable[[RequestId], bool] | None,
        principal: str | None = None,
    ) -> None:
        self._sender = sender
        self._service = service
        self._statuses = statuses
        self._channel: EventResponse | None = None
        self._queue: StreamQueue | None = None
        self._is_open = is_open
        self.principal = principal
        self.answered = False
        """Whether there is an answer, or is to be none."""

    @property
    def stream(self) -> Stream | None:
        """The stream that the response has become."""
        return None if self._queue is None else self._queue.stream

    @property
    def unfinished(self) -> bool:
        """Return whether the response is still incomplete."""
        return self._queue is not None or not self.answered

    # As the reply to a request.

    @property
    def beside(self) -> "HttpResponse":
        return self

    def awaits(self, id: RequestId, /) -> bool:
        return not self.answered if self._is_open is None else self._is_open(id)

    async def answer(self, data: bytes, code: int | None, /) -> None:
        self.answered = True
        if self._queue is None:
            await respond(self._sender, self._statuses.get(code, 200), data)
        else:
            self._queue.outbox.put(data)

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
            await respond(self._sender, 202)
        else:
            await self.close()

    async def close(self) -> None:
        """Complete the response; if there is no answer, as a stream without one."""
        queue = self._queue if self.answered else self._opened()
        if queue is not None:
            await queue.close()
        if self._channel is not None:
            # Somebody else may be completing it.
            await self._channel.ended
        self.answered = True

    def abort(self) -> None:
        """Send nothing more: the code that serves the request has failed, or was cancelled."""
        self.answered = True
        if self._channel is not None:
            self._channel.abort()
        if self._queue is not None:
            self._queue.abort()

    # As a sink for what is said beside it.

    def _opened(self) -> StreamQueue:
        if self._queue is None:
            channel = self._channel = self._service.channel(self._sender)
            self._queue = StreamQueue(self._stream(channel), self._service.tasks)
        return self._queue

    def _stream(self, channel: EventResponse) -> Stream:
        return Stream(channel)

    def _sink(self) -> MessageSink:
        return self._afterwards if self.answered else self._opened().outbox

    @property
    def _afterwards(self) -> MessageSink:
        """The sink for what is said after the answer."""
        return _ANSWERED


class SessionExchange(HttpResponse):
    """The response to one POST in a session."""

    __slots__ = ("_session",)

    def __init__(self, sender: ResponseSender, service: HttpState, session: HttpSession) -> None:
        is_open = session.side.endpoint.connection.is_open
        super().__init__(sender, service, HANDSHAKE, is_open)
        self._session = session

    async def answer(self, data: bytes, code: int | None, /) -> None:
        """Send the answer once other processes know what the request has changed."""
        self.answered = True
        if self._service.sessions.saved:
            # What was answered holds wherever the client asks next.
            await self._service.sessions.save(self._session)
        await super().answer(data, code)

    def _stream(self, channel: EventResponse) -> Stream:
        return self._session.stream(channel, self._service.http.retry)

    @property
    def _afterwards(self) -> MessageSink:
        return self._session.standalone
