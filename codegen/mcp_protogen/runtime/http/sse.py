"""A reader and a writer of server-sent events.

The reader follows the HTML standard, "Interpreting an event stream", but also reports events
without data: a server sends one before closing, with an id for resuming (2025-11-25,
basic/transports, "Sending Messages to the Server").
"""

import re
from typing import Final, NamedTuple

LARGEST: Final = 64 * 1024 * 1024
"""The default limit of one event, in bytes."""

_MARK: Final = b"\xef\xbb\xbf"
_ENDS: Final = re.compile(rb"\r\n|\n|\r")

_LONGEST_ID: Final = 4096

# Longer numbers are useless, and int() refuses thousands of digits.
_DIGITS: Final = 12


class Event(NamedTuple):
    """An event, perhaps with empty data."""

    id: str | None
    """The last id so far; None before the first."""
    event: str
    data: str
    retry: int | None
    """The delay before reconnecting, in milliseconds, if set."""


class Parser:
    """A reader of one stream's events; `limit` is the largest event, in bytes."""

    def __init__(self, limit: int = LARGEST) -> None:
        self._limit = limit
        self._begun = False
        # The unfinished line in one piece: its parts may be one byte each.
        self._line = bytearray()
        # A newline may complete a line end across chunks.
        self._after_return = False
        # The unfinished event; each line of its data ends with a newline.
        self._data = bytearray()
        self._event = ""
        self._retry: int | None = None
        self._seen = False
        self._id: str | None = None

    def feed(self, chunk: bytes) -> list[Event]:
        """Return the events that end in `chunk`; keep an unfinished one.

        Raise `ValueError` if an event is too large.
        """
        if self._after_return and chunk:
            self._after_return = False
            if chunk.startswith(b"\n"):
                chunk = chunk[1:]
        self._after_return = self._after_return or chunk.endswith(b"\r")
        *lines, tail = _ENDS.split(chunk) if b"\r" in chunk else chunk.split(b"\n")
        events: list[Event] = []
        for line in lines:
            if self._line:
                line = bytes(self._line + line)
                self._line.clear()
            self._check_size(len(line))
            self._take(line, events)
        if tail:
            self._line += tail
            self._check_size(len(self._line))
        return events

    def _check_size(self, line: int) -> None:
        if len(self._data) + line > self._limit:
            raise ValueError(f"an event of more than {self._limit} bytes")

    def _take(self, line: bytes, events: list[Event]) -> None:
        if not self._begun:
            self._begun = True
            line = line.removeprefix(_MARK)
        if not line:
            if self._seen:
                data = self._data[:-1].decode("utf-8", "replace")
                events.append(Event(self._id, self._event or "message", data, self._retry))
                self._data.clear()
                self._event, self._retry, self._seen = "", None, False
            return
        # A line without a name is a comment, for keep-alive.
        name, _, value = line.partition(b":")
        self._field(name, value.removeprefix(b" "))

    def _field(self, name: bytes, value: bytes) -> None:
        if name == b"data":
            self._data += value + b"\n"
        elif name == b"event":
            self._event = value.decode("utf-8", "replace")
        elif name == b"id":
            if b"\0" in value:
                return
            # Longer ids could not be sent back in a header field.
            self._id = value.decode("utf-8", "replace") if len(value) <= _LONGEST_ID else ""
        elif name == b"retry" and value.isdigit():
            self._retry = int(value[:_DIGITS])
        else:
            return
        self._seen = True


def write_event(
    data: bytes, *, id: str | None = None, event: str | None = None, retry: int | None = None
) -> bytes:
    """Return one event as text; `data` is JSON, perhaps with newlines.

    Raise `ValueError` if an id or a type contains a line end.
    """
    if b"\n" in data or b"\r" in data:
        data = b"\ndata: ".join(_ENDS.split(data))
    if id is None and event is None and retry is None:
        return b"data: %b\n\n" % data
    head = b"" if event is None else b"event: %b\n" % _encode_line(event)
    if id is not None:
        head += b"id: %b\n" % _encode_line(id)
    if retry is not None:
        head += b"retry: %d\n" % retry
    return b"%bdata: %b\n\n" % (head, data)


def _encode_line(value: str) -> bytes:
    if any(char in value for char in "\r\n\0"):
        raise ValueError("the id and the type of an event must be one line each")
    return value.encode()
