"""A load client: posts precomputed bytes over connections that stay open.

It is neutral: it reads only the status and the end of an answer, so the server is measured. One
thread attends to all connections, in a separate process. It never sleeps: waking it would cost the
server a good part of a call, and only slow servers would let it fall asleep. It needs only the
standard library.
"""

import re
import select
import socket
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import count
from statistics import quantiles
from time import perf_counter
from typing import Final, NamedTuple

from .http_requests import FIRST_ID, Requests

_CHUNK: Final = 1 << 16
_LENGTH: Final = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_HEAD_END: Final = b"\r\n\r\n"

# Seconds to wait for a server.
_PATIENCE: Final = 180.0


class Load(NamedTuple):
    """Seconds for a call on average, for the slowest hundredth, and for the client's own work."""

    each: float
    p99: float
    own: float


class Answer(NamedTuple):
    status: int
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str:
        """Return the value of a required header."""
        for found, value in self.headers:
            if found.lower() == name:
                return value
        raise RuntimeError(f"no {name} in the answer {self.status}: {self.body[:200]!r}")


class Caller:
    """One connection, and the call that it repeats."""

    __slots__ = ("_call", "_ids", "_rest", "_socket", "requests", "sent")

    def __init__(
        self, port: int, requests: Requests | None = None, first_id: int = FIRST_ID
    ) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=_PATIENCE)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.requests = requests or Requests(port)
        self._rest = b""
        self._ids = count(first_id)
        self._call = b""
        self.sent = 0.0

    def prepare(self, session: str | None) -> None:
        """Set the next call: the tool, in a session or without one."""
        of = self.requests
        self._call = of.call_alone() if session is None else of.call_in_session(session)

    def prepare_start(self, seconds: float) -> None:
        """Set the next call: a tool that works that long, as a task."""
        self._call = self.requests.start_task(seconds)

    def prepare_poll(self, task: str) -> None:
        """Set the next call: the status of a task."""
        self._call = self.requests.poll(task)

    def open_session(self) -> str:
        """Make the handshake; return the id of the session."""
        session = self.ask(self.requests.initialize()).header("mcp-session-id")
        accepted = self.ask(self.requests.initialized_notification(session))
        if accepted.status != 202:
            raise RuntimeError(f"initialized was not accepted: {accepted}")
        return session

    def end_session(self, session: str) -> None:
        ended = self.ask(self.requests.end(session))
        if ended.status != 204:
            raise RuntimeError(f"a session was not ended: {ended}")

    def ask(self, request: bytes) -> Answer:
        """Post, and wait for the answer."""
        self._socket.sendall(request)
        while not (data := self._whole()):
            pass
        head, _, body = data.partition(_HEAD_END)
        status, *lines = head.decode("latin-1").split("\r\n")
        pairs = (line.split(": ", 1) for line in lines)
        return Answer(int(status.split()[1]), [(name, value) for name, value in pairs], body)

    def answer(self) -> Answer:
        """Call once."""
        return self.ask(self._call % next(self._ids))

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self) -> None:
        """Call, and do not wait."""
        self.sent = perf_counter()
        self._socket.sendall(self._call % next(self._ids))

    def read_answer(self) -> bool:
        """Return whether the answer is complete; raise `RuntimeError` if it is an error."""
        data = self._whole()
        if not data:
            return False
        if not data.startswith(b"HTTP/1.1 200") or b'"result"' not in data:
            raise RuntimeError(f"a call failed: {data[:400]!r}")
        return True

    def _whole(self) -> bytes:
        chunk = self._socket.recv(_CHUNK)
        if not chunk:
            raise RuntimeError("the server closed the connection")
        data = self._rest + chunk
        head = data.find(_HEAD_END)
        if head >= 0:
            length = _LENGTH.search(data, 0, head)
            wanted = int(length[1]) if length else self._length_without(data, head)
            if len(data) >= head + len(_HEAD_END) + wanted:
                self._rest = b""
                return data
        self._rest = data
        return b""

    @staticmethod
    def _length_without(data: bytes, head: int) -> int:
        # Only an answer without a body may leave out its length.
        if data[8:13] in (b" 202 ", b" 204 ") and b"transfer-encoding" not in data[:head].lower():
            return 0
        raise RuntimeError(f"an answer that is no plain JSON: {data[:400]!r}")

    def close(self) -> None:
        self._socket.close()


def callers(
    stack: ExitStack, port: int, number: int, *, sessions: bool, given: str | None = None
) -> list[Caller]:
    """Return connections that are ready to call, each in its own session if there are sessions.

    A server that opens no sessions gets the `given` session.
    """
    made: list[Caller] = []
    for _ in range(number):
        caller = Caller(port)
        stack.callback(caller.close)
        caller.prepare((given or caller.open_session()) if sessions else None)
        made.append(caller)
    return made


def load(connections: Sequence[Caller], number: int) -> Load:
    """Make `number` calls, one at a time on each connection; raise `RuntimeError` if one fails."""
    by_descriptor = {caller.fileno(): caller for caller in connections}
    taken: list[float] = []
    idle, begun = 0.0, perf_counter()
    with select.epoll() as poll:
        for descriptor, caller in by_descriptor.items():
            poll.register(descriptor, select.EPOLLIN)
            caller.send()
        unsent = number - len(connections)
        while len(taken) < number:
            ready, waited = _ready(poll)
            idle += waited
            for descriptor, _ in ready:
                caller = by_descriptor[descriptor]
                if caller.read_answer():
                    taken.append(perf_counter() - caller.sent)
                    if unsent:
                        unsent -= 1
                        caller.send()
                    else:
                        # A server may end it while others still wait.
                        poll.unregister(descriptor)
    whole = perf_counter() - begun
    return Load(whole / number, quantiles(taken, n=100)[98], (whole - idle) / number)


def _ready(poll: select.epoll) -> tuple[list[tuple[int, int]], float]:
    """Return the connections with data to read, and the seconds of waiting for them."""
    ready = poll.poll(0)
    if ready:
        return ready, 0.0
    begun = perf_counter()
    while not ready:
        if perf_counter() - begun > _PATIENCE:
            raise RuntimeError(f"the server said nothing for {_PATIENCE:.0f} seconds")
        ready = poll.poll(0)
    return ready, perf_counter() - begun
