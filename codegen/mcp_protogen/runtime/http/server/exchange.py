"""The way back for one POST: an answer as JSON, or a stream of events that ends with it.

Nothing is decided before it has to be: only when something is said before the answer does the
response become a stream (2025-11-25, basic/transports, "Sending Messages to the Server").
"""

from asyncio import Future, Task, wait
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from ...errors import (
    HEADER_MISMATCH,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MISSING_CLIENT_CAPABILITY,
    PARSE_ERROR,
    UNSUPPORTED_VERSION,
    Disconnected,
    RequestId,
)
from ...outbox import Outbox, Outgoing
from ...tasks import Tasks
from .asgi import respond
from .outlet import Outlet
from .streams import Stream

HANDSHAKE: Final[Mapping[int | None, int]] = {PARSE_ERROR: 400, INVALID_REQUEST: 400}
"""The status of an answer by the code of its error, where it is not 200."""

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

_LIMIT: Final = 1000


class Exchange:
    """Takes the answer to a request, and what is said beside it; `make` opens its stream.

    What is said after the answer goes to `afterwards`, if there is such a way; `before` is awaited
    before the answer goes out. Without `is_open` an answer is awaited until there is one.
    """

    __slots__ = (
        "_afterwards",
        "_before",
        "_is_open",
        "_make",
        "_outbox",
        "_send",
        "_statuses",
        "_stream",
        "_tasks",
        "_writer",
        "answered",
        "principal",
    )

    def __init__(
        self,
        send: Outlet,
        statuses: Mapping[int | None, int],
        make: Callable[[Outlet], Stream],
        tasks: Tasks,
        is_open: Callable[[RequestId], bool] | None,
        principal: str | None = None,
        afterwards: Outgoing | None = None,
        before: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._send = send
        self._statuses = statuses
        self._make = make
        self._tasks = tasks
        self._afterwards = afterwards
        self._before = before
        self._is_open = is_open
        self.principal = principal
        self.answered = False
        """Whether there is an answer, or is to be none."""
        self._stream: Stream | None = None
        self._outbox: Outbox | None = None
        self._writer: Task[None] | None = None

    @property
    def stream(self) -> Stream | None:
        """The stream that the response has become."""
        return self._stream

    @property
    def unfinished(self) -> bool:
        """Whether the response is not complete yet."""
        return self._outbox is not None or not self.answered

    # As the answer's way.

    @property
    def beside(self) -> "Exchange":
        """See `Reply.beside`."""
        return self

    def awaits(self, id: RequestId, /) -> bool:
        """See `Reply.awaits`."""
        return not self.answered if self._is_open is None else self._is_open(id)

    async def answer(self, data: bytes, code: int | None, /) -> None:
        """See `Reply.answer`."""
        self.answered = True
        if self._before is not None:
            await self._before()
        if self._outbox is None:
            await respond(self._send, self._statuses.get(code, 200), data)
        else:
            self._outbox.put(data)

    def skip(self) -> None:
        """See `Reply.skip`."""

    async def release(self) -> None:
        """See `Reply.release`."""
        self._opened()
        stream = self._stream
        if stream is not None and stream.log is not None:
            await stream.release()

    async def finish(self) -> None:
        """Complete the response, without an answer if there was none."""
        if self._outbox is not None and self._writer is not None and self._stream is not None:
            self._outbox.close()
            # Whoever ends everything cancels the writer, and not who waits for it.
            await wait([self._writer])
            await self._stream.close()
            await self._stream.left_first()
        elif not self.answered:
            await respond(self._send, 202)
        self.answered = True

    async def finish_unanswered(self) -> None:
        """Complete the response to a request that was given up: a stream without an answer."""
        if not self.answered:
            self._opened()
        await self.finish()

    def abandon(self) -> None:
        """Whoever serves the response has failed, or was cancelled: nothing more goes out."""
        self.answered = True
        if self._writer is not None:
            self._writer.cancel()
        if self._stream is not None:
            self._stream.drop()

    # As the way for what is said beside it.

    def _opened(self) -> Outbox:
        if self._outbox is None:
            self._stream = self._make(self._send)
            self._outbox = Outbox(self._stream, _LIMIT)
            self._writer = self._tasks.start(self._outbox.run())
        return self._outbox

    @property
    def full(self) -> bool:
        """See `Outgoing.full`."""
        return self._outbox is not None and self._outbox.full

    @property
    def flooded(self) -> bool:
        """See `Outgoing.flooded`."""
        return False

    async def room(self) -> None:
        """See `Outgoing.room`."""

    async def send(self, message: bytes, *, unless: Future[Any] | None = None) -> None:
        """See `Outgoing.send`."""
        if not self.answered:
            await self._opened().send(message, unless=unless)
        elif self._afterwards is not None:
            await self._afterwards.send(message, unless=unless)
        else:
            raise Disconnected("the request was answered already")

    def put(self, message: bytes) -> None:
        """See `Outgoing.put`."""
        if not self.answered:
            self._opened().put(message)
        elif self._afterwards is not None:
            self._afterwards.put(message)
