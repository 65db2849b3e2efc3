"""One request over HTTP: its POST, the answer or the stream with it, and reconnections."""

from asyncio import get_running_loop, sleep, timeout
from collections.abc import Callable
from contextlib import aclosing
from typing import Final, TypeAlias

from ...core.errors import Disconnected, ParseError
from ...messages import jsonrpc
from ...transports.base import Received
from .. import headers as fields
from .http_client import Incoming
from .outgoing import Message, answer_in
from .response_rules import Interpretation, http_error, interpretation_of
from .resume import Cursor
from .state import ClientState

Deliver: TypeAlias = Callable[[Received], object]

# How long a stream may go on after the answer, in seconds.
_LAST_WORDS: Final = 1.0


class HttpExchange:
    """One request and its answer; `deliver` gets every message, the answer included."""

    __slots__ = ("_conversation", "_deliver", "_link", "message")

    def __init__(self, link: ClientState, message: Message, deliver: Deliver | None = None) -> None:
        self._link = link
        self._conversation = link.conversation
        self._deliver = link.inbox.put if deliver is None else deliver
        self.message = message

    async def attempt(self) -> Interpretation | None:
        """Post the request, and deliver what comes.

        Returns the interpretation of the reply if a second attempt may help; then nothing was
        delivered. Raises `Disconnected`, and `RemoteError` for a reply that is too large.
        """
        headers = self._conversation.headers(self.message)
        in_session = fields.SESSION_ID in headers
        async with self._link.wire.open("POST", headers, self.message.body) as incoming:
            if not incoming.streams:
                interpretation = interpretation_of(self.message, await incoming.reply(), in_session)
                if interpretation.repair is None:
                    self.conclude(interpretation, incoming.session)
                    return None
                return interpretation
            cursor = Cursor(self._link.reconnection)
            if await self._read(incoming, cursor):
                return None
        await self._resume(cursor)
        return None

    def conclude(self, interpretation: Interpretation, session: str | None = None) -> None:
        """Deliver what a reply contained."""
        for received in interpretation.received:
            if isinstance(received, bytes) and interpretation.value is not None:
                received = self._conversation.came(
                    self.message, interpretation.value, received, session
                )
            self._deliver(received)

    async def _read(self, incoming: Incoming, cursor: Cursor) -> bool:
        """Deliver the messages of a stream; return whether the answer was among them."""
        answered = False
        try:
            # A server ends a stream after the answer, and only then can its connection be used
            # again. If the server does not end it, the client does.
            async with timeout(None) as limit, aclosing(incoming.events()) as events:
                async for event in events:
                    cursor.passed(event)
                    if event.data and event.event == "message":
                        if self._message(event.data.encode(), incoming.session) and not answered:
                            answered = True
                            limit.reschedule(get_running_loop().time() + _LAST_WORDS)
                        await self._link.inbox.room()
        except Disconnected as error:
            self._link.log.info("a stream broke: %s", error)
        except TimeoutError:
            self._link.log.info("the stream of %s went on after the answer", self.message.name)
        return answered

    def _message(self, data: bytes, session: str | None) -> bool:
        """Deliver one message of a stream; return whether it was the answer."""
        try:
            value = jsonrpc.parse(data)
        except ParseError as error:
            self._deliver(error)
            return False
        answered = answer_in(value, self.message.id) is not None
        if answered:
            data = self._conversation.came(self.message, value, data, session)
        self._deliver(data)
        return answered

    async def _resume(self, cursor: Cursor) -> None:
        """Resume a stream that ended before the answer came."""
        resumable = self.message.revision is None
        if not resumable or cursor.last_id is None:
            raise Disconnected(f"the stream ended before {self.message.name} was answered")
        cursor.broke()
        while not cursor.is_given_up:
            await sleep(cursor.wait)
            if await self._continued(cursor):
                return
            cursor.broke()
        raise Disconnected(
            f"the stream ended before {self.message.name} was answered, and brought no message "
            f"in {self._link.reconnection.max_attempts} more connections"
        )

    async def _continued(self, cursor: Cursor) -> bool:
        headers = self._conversation.stream_headers(cursor.last_id)
        cursor.opens()
        try:
            async with self._link.wire.open("GET", headers) as incoming:
                if incoming.streams:
                    return await self._read(incoming, cursor)
                if incoming.status < 500:
                    raise http_error("GET of the rest of a stream", await incoming.reply())
                self._link.log.info("a stream was not resumed: HTTP %d", incoming.status)
        except Disconnected as error:
            self._link.log.info("a stream was not resumed: %s", error)
        return False
