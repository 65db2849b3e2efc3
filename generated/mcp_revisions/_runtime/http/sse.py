"""Server-sent events: read from bytes as they come, and written.

The reader follows the HTML standard, "Interpreting an event stream", with one exception: an event
without data is reported too. A server that is about to close a connection sends one to give the
client an id to resume from (2025-11-25, basic/transports, "Sending Messages to the Server").
"""

import re
from typing import Final, NamedTuple

LARGEST: Final = 64 * 1024 * 1024
"""Bytes of one event, unless told otherwise."""

_MARK: Final = b"\xef\xbb\xbf"
_ENDS: Final = re.compile(rb"\r\n|\n|\r")

_LONGEST_ID: Final = 4096

# More digits are no waiting time; int() would refuse thousands of them.
_DIGITS: Final = 12


class Event(NamedTuple):
    """One event, also one whose data is empty."""

    id: str | None
    """The id given last, here or in an earlier event; None before the first."""
    event: str
    """The type; `message` unless named."""
    data: str
    retry: int | None
    """How many milliseconds to wait before connecting again, if this event says so."""


class Parser:
    """Reads the events of one stream; `limit` is the largest event, in bytes."""

    __slots__ = (
        "_after_return",
        "_begun",
        "_data",
        "_event",
        "_id",
        "_limit",
        "_line",
        "_retry",
        "_seen",
    )

    def __init__(self, limit: int = LARGEST) -> None:
        self._limit = limit
        self._begun = False
        # The line that has not ended yet; not in pieces, which may be of one byte each.
        self._line = bytearray()
        # The last chunk ended with a return, which a newline may follow as part of the same end.
        self._after_return = False
        # Of the event that has not ended yet; each line of its data ends with a newline.
        self._data = bytearray()
        self._event = ""
        self._retry: int | None = None
        self._seen = False
        self._id: str | None = None

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that end in `chunk`; one that has not ended is dropped with the parser.

        Raises `ValueError` if an event gets too large.
        """
        if self._after_return and chunk:
            self._after_return = False
            if chunk.startswith(b"\n"):
                chunk = chunk[1:]
        self._after_return = self._after_return or chunk.endswith(b"\r")
        *lines, rest = _ENDS.split(chunk) if b"\r" in chunk else chunk.split(b"\n")
        events: list[Event] = []
        for line in lines:
            if self._line:
                line = bytes(self._line + line)
                self._line.clear()
            self._check(len(line))
            self._take(line, events)
        if rest:
            self._line += rest
            self._check(len(self._line))
        return events

    def _check(self, line: int) -> None:
        if len(self._data) + line > self._limit:
            raise ValueError(f"an event of more than {self._limit} bytes")

    def _take(self, line: bytes, events: list[Event]) -> None:
        if not self._begun:
            self._begun = True
            line = line.removeprefix(_MARK)
        if not line:
            if self._seen:
                events.append(self._ended())
            return
        name, _, value = line.partition(b":")
        if not name:
            # A comment, which keeps a connection alive and means nothing.
            return
        self._field(name, value.removeprefix(b" "))

    def _field(self, name: bytes, value: bytes) -> None:
        if name == b"data":
            self._data += value + b"\n"
        elif name == b"event":
            self._event = value.decode("utf-8", "replace")
        elif name == b"id":
            if b"\0" in value:
                return
            # One that no header field can hold is as good as none: nobody can come back with it.
            self._id = value.decode("utf-8", "replace") if len(value) <= _LONGEST_ID else ""
        elif name == b"retry" and value.isdigit():
            self._retry = int(value[:_DIGITS])
        else:
            return
        self._seen = True

    def _ended(self) -> Event:
        data = self._data[:-1].decode("utf-8", "replace")
        event = Event(self._id, self._event or "message", data, self._retry)
        self._data.clear()
        self._event, self._retry, self._seen = "", None, False
        return event


def written(
    data: bytes, *, id: str | None = None, event: str | None = None, retry: int | None = None
) -> bytes:
    """One event; `data` is one JSON text, which may hold newlines where JSON has white space.

    Raises `ValueError` if an id or a type holds what would end its line.
    """
    if b"\n" in data or b"\r" in data:
        data = b"\ndata: ".join(_ENDS.split(data))
    if id is None and event is None and retry is None:
        return b"data: %b\n\n" % data
    head = b"" if event is None else b"event: %b\n" % _one_line(event)
    if id is not None:
        head += b"id: %b\n" % _one_line(id)
    if retry is not None:
        head += b"retry: %d\n" % retry
    return b"%bdata: %b\n\n" % (head, data)


def _one_line(value: str) -> bytes:
    if any(char in value for char in "\r\n\0"):
        raise ValueError("an id or a type of an event has to be one line")
    return value.encode()
