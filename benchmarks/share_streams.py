"""A client of many open streams: sockets, read in one loop, without an HTTP library."""

import re
import selectors
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from time import perf_counter
from typing import Final

from .http_requests import Requests

_CHUNK: Final = 1 << 16
_PATIENCE: Final = 60.0
_QUIET: Final = 0.5
_AT_ONCE: Final = 100
_CHANGED: Final = b"list_changed"
_RESULT: Final = b'"result"'
_HEAD_END: Final = b"\r\n\r\n"
_LAST_CHUNK: Final = b"\r\n0\r\n\r\n"
_SESSION: Final = re.compile(rb"\r\nmcp-session-id: *(\S+)\r\n", re.IGNORECASE)


class Stream:
    """A connection that reads only up to expected marks."""

    __slots__ = ("_rest", "_socket", "requests")

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=_PATIENCE)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._rest = b""
        self.requests = Requests(port)

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, request: bytes) -> None:
        self._socket.sendall(request)

    def until(self, mark: bytes) -> bytes:
        """Read up to a mark, and return the data."""
        while not (found := self.read_after(mark)):
            pass
        return found

    def read_after(self, mark: bytes) -> bytes:
        """Read once; return the data since the last mark, if the mark is there now."""
        chunk = self._socket.recv(_CHUNK)
        if not chunk:
            raise RuntimeError(f"the server closed a stream after {self._rest[-400:]!r}")
        data = self._rest + chunk
        if data.startswith(b"HTTP/1.1 ") and data[9:10] not in b"2":
            raise RuntimeError(f"a request was refused: {data!r}")
        found = mark in data
        self._rest = b"" if found else data
        return data if found else b""

    def read_stream(self, request: bytes) -> bytes:
        """Make a call whose answer is a stream, and return all of it."""
        self.send(request)
        return self.until(_LAST_CHUNK)

    def close(self) -> None:
        self._socket.close()


def open_streams(
    stack: ExitStack, ports: Sequence[int], number: int, *, sessions: bool
) -> list[Stream]:
    """Open that many streams, evenly at all ports: of sessions, or without."""
    streams = list[Stream]()
    for first in range(0, number, _AT_ONCE):
        some = [Stream(ports[i % len(ports)]) for i in range(first, min(first + _AT_ONCE, number))]
        for stream in some:
            stack.callback(stream.close)
        if sessions:
            pairs = zip(some, open_sessions(some), strict=True)
            _ask(some, (pair.requests.stream(id) for pair, id in pairs), b"id: ")
        else:
            _ask(some, (stream.requests.listen() for stream in some), b"acknowledged")
        streams += some
    return streams


def open_sessions(streams: Sequence[Stream]) -> list[str]:
    """Open a session at each port; return their ids."""
    answers = _ask(streams, (stream.requests.initialize() for stream in streams), _RESULT)
    ids = [_session_in(answer) for answer in answers]
    pairs = zip(streams, ids, strict=True)
    _ask(streams, (pair.requests.initialized_notification(id) for pair, id in pairs), _HEAD_END)
    return ids


def _session_in(answer: bytes) -> str:
    found = _SESSION.search(answer)
    if found is None:
        raise RuntimeError(f"no session was begun: {answer[:400]!r}")
    return found[1].decode()


def _ask(streams: Sequence[Stream], requests: Iterator[bytes], mark: bytes) -> list[bytes]:
    for stream, request in zip(streams, requests, strict=True):
        stream.send(request)
    return [stream.until(mark) for stream in streams]


def time_to_last(streams: Sequence[Stream], publish: Callable[[], None]) -> float:
    """Return the seconds from publishing a change until all streams have it."""
    with selectors.DefaultSelector() as selector:
        for stream in streams:
            selector.register(stream, selectors.EVENT_READ, stream)
        while ready := selector.select(_QUIET):
            # Left from earlier changes.
            for key, _ in ready:
                key.data.read_after(_CHANGED)
        left, begun = len(streams), perf_counter()
        publish()
        while left:
            ready = selector.select(_PATIENCE)
            if not ready:
                raise RuntimeError(f"{left} of {len(streams)} streams have heard of no change")
            left -= sum(bool(key.data.read_after(_CHANGED)) for key, _ in ready)
        return perf_counter() - begun


class Publisher:
    """A client that makes each of some workers publish a change."""

    def __init__(self, stack: ExitStack, ports: Sequence[int], *, sessions: bool) -> None:
        self._streams = [stack.enter_context(closing(Stream(port))) for port in ports]
        ids = open_sessions(self._streams) if sessions else [None] * len(ports)
        self._calls = [
            (stream, stream.requests.publish(id))
            for stream, id in zip(self._streams, ids, strict=True)
        ]

    def publish(self) -> None:
        """Make them publish, without waiting."""
        for stream, call in self._calls:
            stream.send(call)

    def await_results(self) -> None:
        for stream in self._streams:
            stream.until(_RESULT)
