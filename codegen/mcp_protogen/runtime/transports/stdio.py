"""The server's side of stdio: messages on standard input and output, and nothing else there.

While a connection is open, file descriptor 1 leads to standard error and descriptor 0 to nothing: a
stray `print`, a C library or a child process can neither break the protocol nor read it
(basic/transports/stdio: stdout only carries messages).
"""

import asyncio
import os
import stat
import sys
from asyncio import get_running_loop
from collections.abc import Sequence
from contextlib import suppress
from threading import Event, Thread
from typing import Final

from ..core.connection_errors import Disconnected
from .streams import LONGEST, LineProtocol, LineTransport

_STDIN, _STDOUT, _STDERR = 0, 1, 2
_CHUNK: Final = 256 * 1024
_HAS_MODES: Final = sys.platform != "win32"


async def open_stdio(
    limit: int = LONGEST, framing: type[LineProtocol] = LineProtocol
) -> "StdioTransport":
    """Take over standard input and output of this process, until the transport is closed."""
    descriptors = _Descriptors()
    loop, incoming, outgoing = get_running_loop(), framing(limit), framing(limit)
    if _pollable(descriptors.incoming):
        source = os.fdopen(descriptors.incoming, "rb", buffering=0)
        await loop.connect_read_pipe(lambda: incoming, source)
    else:
        incoming.connection_made(_ReadingThread(descriptors.incoming, incoming))
    if _pollable(descriptors.outgoing):
        sink = os.fdopen(descriptors.outgoing, "wb", buffering=0)
        await loop.connect_write_pipe(lambda: outgoing, sink)
    else:
        outgoing = _WritingThread(descriptors.outgoing, outgoing)
    return StdioTransport(descriptors, incoming, outgoing)


def _pollable(descriptor: int) -> bool:
    """Return whether an event loop can wait for a descriptor.

    It cannot for regular files and devices, and on Windows not for inherited ones.
    """
    mode = os.fstat(descriptor).st_mode
    waits = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(descriptor)
    return waits and _HAS_MODES


class _Descriptors:
    def __init__(self) -> None:
        # If Python began with one closed, its number now belongs to another file, of the loop.
        standard = [
            fd
            for fd, stream in ((_STDIN, sys.__stdin__), (_STDOUT, sys.__stdout__))
            if stream is not None
        ]
        # The blocking mode is shared with other holders of the descriptor, such as a shell.
        self._blocking = {fd: os.get_blocking(fd) for fd in standard if _HAS_MODES}
        self._kept = {fd: os.dup(fd) for fd in standard}
        nothing = os.open(os.devnull, os.O_RDWR)
        self.incoming, self.outgoing = (
            os.dup(self._kept.get(fd, nothing)) for fd in (_STDIN, _STDOUT)
        )
        for fd in standard:
            os.dup2(nothing, fd)
        if _STDOUT in standard and sys.__stderr__ is not None:
            # Standard error may have been closed since.
            with suppress(OSError):
                os.dup2(_STDERR, _STDOUT)
        os.close(nothing)
        # Earlier output is not a message either.
        _flush()

    def give_back(self) -> None:
        _flush()
        for fd, copy in self._kept.items():
            if fd in self._blocking:
                os.set_blocking(copy, self._blocking[fd])
            os.dup2(copy, fd)
            os.close(copy)
        self._kept.clear()


def _flush() -> None:
    if sys.stdout is not None and not sys.stdout.closed:
        sys.stdout.flush()


class _ReadingThread(asyncio.ReadTransport):
    """A thread that reads a descriptor for which an event loop cannot wait."""

    def __init__(self, descriptor: int, protocol: LineProtocol) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._protocol = protocol
        self._loop = get_running_loop()
        self._wanted = Event()
        self._wanted.set()
        self._closed = False
        self._thread = Thread(target=self._run, name="stdin", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        tell, protocol = self._loop.call_soon_threadsafe, self._protocol
        # The loop may be closed before the thread knows.
        with suppress(RuntimeError):
            while not self._closed:
                try:
                    chunk = os.read(self._descriptor, _CHUNK)
                except OSError as error:
                    tell(protocol.connection_lost, error)
                    return
                if not chunk:
                    tell(protocol.eof_received)
                    return
                tell(protocol.data_received, chunk)
                self._wanted.wait()

    def pause_reading(self) -> None:
        self._wanted.clear()

    def resume_reading(self) -> None:
        self._wanted.set()

    def close(self) -> None:
        self._closed = True
        self._wanted.set()
        # If it blocks in a read it cannot be woken, and ends as a daemon with the process.
        self._thread.join(timeout=0)
        if not self._thread.is_alive():
            os.close(self._descriptor)


class _WritingThread(LineProtocol):
    """Writes, each in a thread, to a descriptor for which an event loop cannot wait."""

    def __init__(self, descriptor: int, framing: LineProtocol) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._framing = framing

    async def send(self, messages: Sequence[bytes]) -> None:
        try:
            await asyncio.to_thread(self._write, self._framing.encode(messages))
        except OSError as error:
            raise Disconnected(f"cannot write to the connection: {error.strerror}") from None

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._descriptor, view) :]

    async def close_writing(self) -> None:
        os.close(self._descriptor)


class StdioTransport(LineTransport):
    def __init__(self, taken: _Descriptors, incoming: LineProtocol, outgoing: LineProtocol) -> None:
        super().__init__(incoming, outgoing)
        self._taken = taken
        self._closed = False

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        await super().close()
        # Callbacks of the loop close descriptors.
        await asyncio.sleep(0)
        self._taken.give_back()
