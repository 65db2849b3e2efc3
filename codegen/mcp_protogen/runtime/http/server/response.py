"""The response to a POST: an answer as JSON, or a stream of events that ends with it.

It becomes a stream only if a message comes before the answer (2025-11-25, basic/transports,
"Sending Messages to the Server").
"""

from asyncio import Future
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil
from typing import Any, Final

from ...core import errors
from ...core.http_request import HttpRequest, Principal, StatusError
from ...core.json import read_json
from ...core.oauth_scopes import InsufficientScope
from ...messages.jsonrpc import Call, Parsed
from ...messages.reading import Batch
from ...rpc.endpoint import Endpoint
from ...rpc.jobs import Work
from ...rpc.null_sink import NullSink
from ...rpc.send_queue import MessageSink
from ...server.connection import BoundServer, ServerConnection
from ..headers import HttpFacts, facts_of
from .asgi import HttpExchange, fields_of
from .event_stream import EventResponse
from .http_state import HttpState
from .sessions.registry import HttpSession
from .sessions.request_streams import LoggedStream, Stream, StreamQueue
from .sessions.streams import StreamSink
from .time_limits import from_first_wait

_ANSWERED: Final = NullSink("the request was answered already")


@dataclass(eq=False, slots=True)
class HttpResponse(StreamSink):
    """The response to a POST: the answer, and messages before it.

    `_is_open` returns whether the client waits for an answer; by default, until there is one.
    In a session, the stream can be resumed, messages after the answer go to the standalone stream,
    and `_message` is the client's message.
    """

    exchange: HttpExchange
    _state: HttpState
    facts: HttpFacts
    _is_open: Callable[[errors.RequestId], bool] | None = None
    session: HttpSession | None = None
    _message: Parsed | Batch | None = None
    _queue: StreamQueue | None = None
    _event_response: EventResponse | None = None
    answered: bool = False
    """Whether the answer was given, or there is to be none."""

    @property
    def full(self) -> bool:
        return self._queue is not None and self._queue.queue.full

    @property
    def principal(self) -> Principal | None:
        return self.exchange.principal

    @property
    def http_request(self) -> HttpRequest:
        return self.exchange.request

    async def serve(
        self, work: Coroutine[Any, Any, None], cancel: Callable[[], None] | None = None
    ) -> None:
        """Await the handling of the request and complete the response; a failure ends it at once.

        `cancel` is called if the client leaves before.
        """
        try:
            # 2026-07-28, basic/transports/streamable-http, "Cancellation"
            if cancel is None:
                await work
            else:
                await from_first_wait(work, self._state.watching, self.exchange, cancel)
            if self._queue is not None or not self.answered:
                await self.close()
        except BaseException:
            self.abort()
            raise
        finally:
            if self.session is not None and self._queue is not None:
                self.session.streams.remove(self._queue.stream)

    async def accept(self, endpoint: Endpoint, message: Parsed | Batch) -> None:
        """Handle a message without an answer, and complete the response."""
        await self.attend(endpoint, message)
        if self._queue is None and not self.answered:
            self.answered = True
            await self.exchange.respond(202)
        else:
            await self.close()

    async def attend(self, endpoint: Endpoint, message: Parsed | Batch) -> None:
        """Handle a message or a batch, including its notifications."""
        tasks = endpoint.jobs.notification_tasks
        try:
            await endpoint.attend(message, self)
        finally:
            # Their handlers keep the body in memory.
            if handlers := endpoint.jobs.notification_tasks - tasks:
                self._state.count_until_done(self.exchange, handlers)

    @property
    def beside(self) -> "HttpResponse":
        return self

    def awaits(self, id: errors.RequestId, /) -> bool:
        return not self.answered if self._is_open is None else self._is_open(id)

    def answer(self, data: bytes, error: errors.ProtocolError | None, /) -> Work:
        self.answered, session = True, self.session
        if self._queue is not None or (session and session.is_shared and session.unsaved):
            return self._answer_later(data, error)
        if error is None and not self.facts.rules.answer_headers:
            return self.exchange.respond(200, data)
        return self._respond(data, error)

    def _respond(self, data: bytes, error: errors.ProtocolError | None) -> Work:
        try:
            message = read_json(data)
        except ValueError:
            # Nested too deeply to be read.
            message = {"error": {"code": error.code if error else 0}}
        status, fields = 200, dict(self.facts.answer_fields(message))
        if error is not None:
            status, seconds = self.facts.status_and_delay(message["error"])
            fields |= {} if seconds is None else {"retry-after": str(ceil(seconds))}
        if isinstance(error, StatusError):
            status = error.status
            fields |= {name.lower(): value for name, value in error.headers.items()}
        listed = fields_of(fields)
        if isinstance(error, InsufficientScope):
            listed += self._state.scopes.challenge(self.exchange, error)
        return self.exchange.respond(status, data, listed)

    async def _answer_later(self, data: bytes, error: errors.ProtocolError | None) -> None:
        if self.session is not None and self.session.unsaved:
            # Every worker must know the choices before.
            await self._state.sessions.save(self.session)
        if self._queue is not None:
            self._queue.answer(data)
        else:
            await self._respond(data, error)

    def skip(self) -> None:
        """Leave the response to `close` or `accept`."""

    async def release(self) -> None:
        await self._open_queue().stream.release()

    async def close(self) -> None:
        """Complete the response; without an answer, as a stream."""
        queue = self._queue if self.answered else self._open_queue()
        if queue is not None:
            await queue.close()
        if self._event_response is not None:
            # Another task may be completing it.
            await self._event_response.ended
        self.answered = True

    def abort(self) -> None:
        """Send nothing more: serving the request failed or was cancelled."""
        self.answered = True
        if self._event_response is not None:
            self._event_response.abort()
        if self._queue is not None:
            self._queue.abort()

    def _open_queue(self) -> StreamQueue:
        if self._queue is None:
            response = EventResponse(self.exchange, self._state.keep_alive)
            self._event_response = response
            stream = self._stream(response)
            self._queue = StreamQueue(stream, self._state.tasks)
        return self._queue

    def _stream(self, response: EventResponse) -> Stream | LoggedStream:
        if self.session is None:
            return Stream(response)
        members = self._message.members if isinstance(self._message, Batch) else [self._message]
        ids = [call.id for call in members if isinstance(call, Call) and call.id is not None]
        return self.session.streams.open(response, ids)

    async def send(self, message: bytes, *, unless: Future[Any] | None = None) -> None:
        await self._sink().send(message, unless=unless)

    def put(self, message: bytes) -> None:
        self._sink().put(message)

    def _sink(self) -> MessageSink:
        if not self.answered:
            return self._open_queue().queue
        return _ANSWERED if self.session is None else self.session.streams.standalone


@contextmanager
def single_request(
    exchange: HttpExchange, state: HttpState, bound_server: BoundServer
) -> Generator[tuple[ServerConnection, HttpResponse], None, None]:
    connection = bound_server.connection()
    facts = facts_of(connection.table.wire)
    response = HttpResponse(exchange, state, facts, connection.is_open)
    server_connection = ServerConnection(bound_server, connection, state.shared, response)
    server_connection.endpoint.principal = exchange.principal
    state.connections[server_connection] = None
    try:
        yield server_connection, response
    finally:
        server_connection.unregister()
        del state.connections[server_connection]
        if not server_connection.endpoint.jobs.notification_tasks:
            server_connection.endpoint.break_cycle()
