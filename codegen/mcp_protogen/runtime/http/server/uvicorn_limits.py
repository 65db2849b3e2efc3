"""Limits for connections of uvicorn, before there is a request.

uvicorn waits for the head of a request as long as a client likes, its parser in C holds as much of
it as comes, and a connection that is to be closed stays until all is read that was written to it.
An application learns of none of this, so this stands before uvicorn's own protocol, of which it
uses `cycle` and `transport`.
"""

from asyncio import BaseTransport, Protocol, TimerHandle, Transport, get_running_loop
from collections.abc import Sequence
from typing import Any, ClassVar, Final, cast

_TOO_SLOW: Final = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_TOO_LARGE: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"connection: close\r\ncontent-length: 0\r\n\r\n"
)


class LimitedProtocol(Protocol):
    """A mixin for a protocol class of uvicorn; times are in seconds, sizes in bytes."""

    HEAD_TIMEOUT: ClassVar[float]
    """The time the head of a request has to arrive."""
    LARGEST_HEAD: ClassVar[int]
    SEND_TIMEOUT: ClassVar[float]
    """The time a client has to take in what was written to it."""

    # Of uvicorn's protocol.
    transport: Transport
    cycle: Any

    _head: TimerHandle | None = None
    _came = 0
    _unread: TimerHandle | None = None
    _earlier: Sequence[Any] = ()

    def connection_made(self, transport: BaseTransport) -> None:
        super().connection_made(transport)
        self._wait_for_head()

    def data_received(self, data: bytes) -> None:
        before = self.cycle
        super().data_received(data)
        if self._is_between_requests() and self.cycle is before:
            # All of it belonged to a head that is still to be completed.
            self._came += len(data)
            self._wait_for_head()
            if self._came > self.LARGEST_HEAD:
                self._refuse(_TOO_LARGE)
        else:
            self._came = 0
            self._head_came()

    def on_headers_complete(self) -> None:
        """Note that a request begins; called by the parser in C."""
        waiting = self.cycle
        cast(Any, super()).on_headers_complete()
        if waiting is not None and not waiting.response_complete:
            earlier = [one for one in self._earlier if not one.response_complete]
            self._earlier = [*earlier, waiting]

    def connection_lost(self, exc: Exception | None) -> None:
        # uvicorn tells the last of several requests only that its client has gone.
        for cycle in self._earlier:
            cycle.disconnected = True
            cycle.message_event.set()
        self._head_came()
        self._all_read()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_reading()

    def resume_writing(self) -> None:
        self._all_read()
        super().resume_writing()

    def timeout_keep_alive_handler(self) -> None:
        """Close a connection that is not used; called by uvicorn."""
        cast(Any, super()).timeout_keep_alive_handler()
        # It closes once all is written, which may be never.
        self._watch_reading()

    def _is_between_requests(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _wait_for_head(self) -> None:
        if self._head is None:
            loop = get_running_loop()
            self._head = loop.call_later(self.HEAD_TIMEOUT, self._head_is_late)

    def _head_came(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None

    def _head_is_late(self) -> None:
        self._head = None
        if self._is_between_requests():
            self._refuse(_TOO_SLOW if self._came else b"")

    def _refuse(self, answer: bytes) -> None:
        if self.transport.is_closing():
            return
        # What still comes of a body that was refused is no head, and was answered already.
        if self.cycle is None or not self.cycle.more_body:
            self.transport.write(answer)
        self.transport.close()
        self._watch_reading()

    def _watch_reading(self) -> None:
        if self._unread is None:
            loop = get_running_loop()
            self._unread = loop.call_later(self.SEND_TIMEOUT, self.transport.abort)

    def _all_read(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None


def limited(base: type[Any], head: float, largest: int, send: float) -> type[Any]:
    """Return a protocol class of uvicorn with limits."""
    limits = {"HEAD_TIMEOUT": head, "LARGEST_HEAD": largest, "SEND_TIMEOUT": send}
    return type("LimitedHTTPProtocol", (LimitedProtocol, base), limits)
