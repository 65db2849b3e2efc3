"""A load client: writes raw bytes into the pipes of a server process.

It is neutral: it reads only the id of an answer, so the server is measured. It needs only the
standard library.
"""

import os
import subprocess
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import quantiles
from time import perf_counter
from typing import Final, NamedTuple

_HELLO: Final = (
    b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",'
    b'"capabilities":{},"clientInfo":{"name":"load","version":"1"}}}\n'
)
_INITIALIZED: Final = b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
_CALL: Final = (
    b'{"jsonrpc":"2.0","id":%d,"method":"tools/call",'
    b'"params":{"name":"echo","arguments":{"text":"hello"}}}\n'
)
_CHUNK: Final = 1 << 20


class Load(NamedTuple):
    """Seconds of a request on average, and of the slowest hundredth."""

    each: float
    p99: float


class Server:
    """A server process and its standard streams."""

    def __init__(self, to_server: int, from_server: int, pid: int) -> None:
        self._in = to_server
        self._out = from_server
        self._pid = pid
        self._next = 1
        self._rest = b""

    def hello(self) -> None:
        """Make the handshake."""
        self._write(_HELLO)
        self._lines()
        self._write(_INITIALIZED)

    def call(self) -> None:
        """Make one call and read its answer."""
        self.load(1, 1)

    def load(self, number: int, depth: int) -> Load:
        """Make `number` calls, `depth` of them at a time; raise `RuntimeError` if one fails."""
        sent: dict[int, float] = {}
        taken: list[float] = []
        last = self._next + number
        begun = perf_counter()
        self._send(min(depth, number), sent)
        while len(taken) < number:
            lines = self._lines()
            now = perf_counter()
            for line in lines:
                taken.append(now - sent.pop(_id_of(line)))
            self._send(min(len(lines), last - self._next), sent)
        return Load(
            (perf_counter() - begun) / number, quantiles(taken, n=100)[98] if number > 1 else 0
        )

    def _send(self, number: int, sent: dict[int, float]) -> None:
        ids = range(self._next, self._next + number)
        self._next += number
        now = perf_counter()
        sent.update(dict.fromkeys(ids, now))
        if number:
            self._write(b"".join(_CALL % id for id in ids))

    def _write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._in, data) :]

    def _lines(self) -> list[bytes]:
        """Return the answers of the server; wait for at least one."""
        while True:
            chunk = os.read(self._out, _CHUNK)
            if not chunk:
                raise RuntimeError("the server has gone")
            *lines, self._rest = (self._rest + chunk).split(b"\n")
            if lines:
                return lines

    def memory(self) -> int:
        """Return the memory of the process in bytes."""
        pages = int(Path(f"/proc/{self._pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")


def _id_of(line: bytes) -> int:
    if b'"result"' not in line:
        raise RuntimeError(f"a call failed: {line[:200]!r}")
    digits = line.split(b'"id":', 1)[1].lstrip()
    end = min(place for place in (digits.find(b","), digits.find(b"}")) if place >= 0)
    return int(digits[:end])


@contextmanager
def start_server(
    command: Sequence[str | Path], environment: Mapping[str, str]
) -> Generator[Server, None, None]:
    """Start a server process, without a handshake."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, env=environment, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, bufsize=0
    ) as process:
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            yield Server(process.stdin.fileno(), process.stdout.fileno(), process.pid)
        finally:
            process.kill()
