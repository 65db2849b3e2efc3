"""The bodies of requests: how large one may be, how late, and how large all of them.

What takes no more than a connection does anyway is not counted, so that nobody is kept from asking
something small. Where there is no room for more, those make room who are behind the time that a
body has: nobody keeps others out by being slow.
"""

from asyncio import Timeout, get_running_loop, timeout
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from inspect import iscoroutine
from typing import Any, Final

from .asgi import HttpExchange, HttpRefusal, Message, resumed
from .options import HttpOptions

_LENGTH: Final = b"content-length"
_DIGITS: Final = 20

# ASGI servers read about as much ahead.
_SMALL: Final = 16 * 1024

# For a body to begin to come, in seconds; before, nobody is behind.
_START: Final = 1.0

# For it to go on.
_PAUSE: Final = 1.0


@dataclass(eq=False, slots=True)
class _Incoming:
    """A body that is being read: its request, its greatest size, and its time limit."""

    exchange: HttpExchange
    expected: int
    begun: float
    limit: Timeout
    latest: float
    received: int = 0
    put_off: bool = False

    def is_behind(self, now: float, seconds: float) -> bool:
        """Return whether it comes too slowly to be complete in time, or has stopped coming."""
        passed = now - self.begun
        is_slow = passed > _START and self.received * seconds < self.expected * passed
        return is_slow or now - self.latest > _PAUSE


class Bodies:
    """The reader of all bodies, which counts the memory they take; `http` has the limits."""

    def __init__(self, http: HttpOptions) -> None:
        self._http = http
        self._incoming: dict[_Incoming, None] = {}
        self.taken = 0
        """The bytes taken for all bodies that count, until their requests are `done`."""

    async def read(self, exchange: HttpExchange) -> bytes:
        """Return a whole body; raise `HttpRefusal` if it is too large, too slow or cut off."""
        largest = self._http.max_body
        length = exchange.fields.get(_LENGTH, b"0").strip(b" \t")
        if not length.isdigit():
            raise HttpRefusal(400, "Content-Length has to be a number")
        if len(length) > _DIGITS or (expected := int(length)) > largest:
            raise _too_large(largest)
        if expected > _SMALL:
            self._take(exchange, expected)
        work = exchange.receive()
        if iscoroutine(work):
            try:
                waiting = work.send(None)
            except StopIteration as done:
                # Mostly all of it is there.
                message: Message = done.value
                if not message.get("more_body"):
                    piece = _piece(message, largest)
                    if len(piece) > _SMALL:
                        self._take(exchange, len(piece))
                    return piece
                work = _given(message)
            else:
                work = resumed(work, waiting)
        return await self._rest(exchange, work, expected or largest)

    async def _rest(
        self, exchange: HttpExchange, work: Awaitable[Mapping[str, Any]], expected: int
    ) -> bytes:
        largest, seconds = self._http.max_body, self._http.body_timeout
        limit, now = timeout(seconds), get_running_loop().time
        begun = now()
        incoming = _Incoming(exchange, expected, begun, limit, latest=begun)
        self._incoming[incoming] = None
        try:
            async with limit:
                message = await work
                # Pieces may be of one byte each, and an object for each would take far more.
                body = bytearray(_piece(message, largest))
                while message.get("more_body"):
                    incoming.received, incoming.latest = len(body), now()
                    self._take(exchange, len(body))
                    message = await exchange.receive()
                    body += _piece(message, largest - len(body))
                self._take(exchange, len(body))
                return bytes(body)
        except TimeoutError:
            if incoming.put_off:
                raise _full() from None
            raise HttpRefusal(408, "The body of the request did not come in time") from None
        finally:
            del self._incoming[incoming]

    def _take(self, exchange: HttpExchange, size: int) -> None:
        more = size - exchange.taken
        if more <= 0 or size <= _SMALL:
            return
        lacking = self.taken + more - self._http.max_bodies
        if lacking > 0 and not self._made_room(lacking, exchange):
            raise _full()
        exchange.taken += more
        self.taken += more

    def _made_room(self, lacking: int, exchange: HttpExchange) -> bool:
        """Refuse bodies that come too slowly; return whether that makes enough room."""
        now, seconds = get_running_loop().time(), self._http.body_timeout
        behind = [
            one
            for one in self._incoming
            if one.exchange is not exchange and one.exchange.taken and one.is_behind(now, seconds)
        ]
        if sum(one.exchange.taken for one in behind) < lacking:
            return False
        for one in behind:
            lacking -= one.exchange.taken
            self.done(one.exchange)
            if not one.limit.expired():
                one.put_off = True
                one.limit.reschedule(now)
            if lacking <= 0:
                break
        return True

    def done(self, exchange: HttpExchange) -> None:
        """Give back what was taken for a body that is not kept, or has a limit of its own."""
        self.taken -= self.handed_over(exchange)

    def handed_over(self, exchange: HttpExchange) -> int:
        """Return the bytes taken for a body, which the caller has to give back."""
        held, exchange.taken = exchange.taken, 0
        return held


def _piece(message: Mapping[str, Any], limit: int) -> bytes:
    if message["type"] == "http.disconnect":
        raise HttpRefusal(400, "The request was not sent to its end")
    piece: bytes = message.get("body", b"")
    if len(piece) > limit:
        raise _too_large(limit)
    return piece


async def _given(message: Message) -> Message:
    return message


def _too_large(limit: int) -> HttpRefusal:
    return HttpRefusal(413, f"The body of the request is larger than {limit} bytes")


def _full() -> HttpRefusal:
    return HttpRefusal.for_now("Too many large requests at once")
