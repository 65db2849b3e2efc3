"""Messages as lines: the framing of stdio, and of any other stream of bytes.

A message is one line that ends with a newline, and it contains no other newline
(basic/transports/stdio). A line that is too long is reported and dropped without being held in
memory. Blank lines are ignored.
"""

from collections.abc import Iterable
from typing import Final

from ..core.errors import ParseError
from .base import Received

LONGEST: Final = 16 * 1024 * 1024
"""The default limit for a line, in bytes."""


class LineReader:
    """A reader that splits received chunks of any size into lines of at most `limit` bytes."""

    __slots__ = ("_limit", "_line", "_size")

    def __init__(self, limit: int = LONGEST) -> None:
        self._limit = limit
        # The line that has not ended yet. If it gets too long, it is dropped, but still counted.
        self._line = bytearray()
        self._size = 0

    def feed(self, chunk: bytes) -> list[Received]:
        """Return the lines that end in `chunk`, or errors in their place."""
        lines = chunk.split(b"\n")
        rest = lines.pop()
        received: list[Received] = []
        if lines and self._size:
            self._keep(lines.pop(0))
            received = self._finished()
        received += self._read(lines)
        if rest:
            self._keep(rest)
        return received

    def end(self) -> list[Received]:
        """Return the last line if no newline ended it; nothing more will come."""
        return self._finished()

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._too_long(self._size):
            self._line.clear()
        else:
            self._line += part

    def _too_long(self, size: int) -> bool:
        # One byte more than the limit may be the carriage return at the end of the line.
        return size > self._limit + 1

    def _finished(self) -> list[Received]:
        line, size = bytes(self._line), self._size
        self._line, self._size = bytearray(), 0
        return [self._error()] if self._too_long(size) else self._read([line])

    def _read(self, lines: list[bytes]) -> list[Received]:
        received: list[Received] = []
        for line in lines:
            if line.endswith(b"\r"):
                line = line[:-1]
            if len(line) > self._limit:
                received.append(self._error())
            elif line and not line.isspace():
                received.append(line)
        return received

    def _error(self) -> ParseError:
        return ParseError(f"Parse error: a line of more than {self._limit} bytes")


def frame(messages: Iterable[bytes]) -> bytes:
    """Return messages as lines; none of them may contain a newline."""
    return b"\n".join(messages) + b"\n"
