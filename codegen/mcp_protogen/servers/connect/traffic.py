"""Taps for the messages of a connection, and recordings of them.

A recording is a file of JSON Lines. The first line is a head, and each other one has a message with
its sender and the seconds since the beginning.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from mcp_protogen.base.canonical import on_one_line
from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.runtime.core.errors import ParseError
from mcp_protogen.runtime.core.json import read_json
from mcp_protogen.runtime.core.spec import Role
from mcp_protogen.runtime.messages.method_table import MethodTable
from mcp_protogen.runtime.messages.reading import read_values
from mcp_protogen.runtime.transports.base import (
    ExchangingTransport,
    InformedTransport,
    Opener,
    Received,
    RestartableTransport,
    Transport,
    WaitingTransport,
)
from mcp_protogen.runtime.transports.memory import Tap
from mcp_protogen.runtime.transports.recordings import REDACTED, Redaction

_ROLES: Final = ("client", "server")


class PassedMessage(NamedTuple):
    """A message: its time in seconds since the beginning, its sender, and its bytes.

    A bridge has two sides, `client` and `server`, and may have several connections on each.
    """

    at: float
    sender: Role
    data: bytes
    side: Role | None = None
    connection: str | None = None


def tap_opener(opener: Opener, tap: Tap) -> Opener:
    """Return an opener of the same connections that shows each message to `tap`."""

    async def open() -> Transport:
        return TappedEnd(await opener(), tap)

    return open


class TappedEnd:
    """The end of a connection `end`, which shows each message."""

    def __init__(self, transport: Transport, tap: Tap, end: Role = "client") -> None:
        self._transport = transport
        self._tap = tap
        self._end: Role = end
        self._other: Role = "server" if end == "client" else "client"
        self.close = transport.close
        self.network = getattr(transport, "network", None)
        if isinstance(transport, RestartableTransport):
            self.close_within = transport.close_within
        if isinstance(transport, WaitingTransport):
            self.wait_within = transport.wait_within

    async def send(self, messages: Sequence[bytes]) -> None:
        for message in messages:
            self._tap(self._end, message)
        await self._transport.send(messages)

    async def receive(self) -> Sequence[Received]:
        received = await self._transport.receive()
        for message in received:
            if isinstance(message, bytes):
                self._tap(self._other, message)
        return received

    def know(self, table_of: Callable[[str], MethodTable]) -> None:
        if isinstance(self._transport, InformedTransport):
            self._transport.know(table_of)

    @property
    def over_http(self) -> bool:
        return isinstance(self._transport, ExchangingTransport) and self._transport.over_http


def line(message: PassedMessage, redaction: Redaction | None = None) -> str:
    """Return the line of a message: its JSON if that is strict, else its text, and bytes if needed.

    With a redaction, a text that clients can read is written as they read it.
    """
    entry: dict[str, Any] = {"at": message.at}
    entry |= {name: said for name in ("side", "connection") if (said := getattr(message, name))}
    entry["sender"] = message.sender
    try:
        (value,) = read_values(message.data).values if redaction else [read_json(message.data)]
        entry["message"] = redaction(value) if redaction else value
    except (ParseError, ValueError):
        text = message.data.decode("utf-8", "backslashreplace")
        entry["text"] = REDACTED if redaction else text
        if not redaction and text.encode() != message.data:
            entry["base64"] = b64encode(message.data).decode()
    return on_one_line(entry) + "\n"


def read_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the entries of a recording with the numbers of their lines.

    Raise `ProblemError` (`bad-recording`) with the line at fault.
    """
    try:
        # Only line feeds end lines: texts may contain other line ends of Unicode.
        lines = path.read_text("utf-8").rstrip("\n").split("\n")
    except OSError as error:
        raise bad_recording(path, 0, error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise bad_recording(path, 0, "it is not text in UTF-8") from error
    for number, text in enumerate(lines, 1):
        yield number, decode_entry(path, number, text)


def message_of(path: Path, number: int, entry: Mapping[str, Any]) -> PassedMessage:
    """Return the message in an entry; raise `ProblemError` (`bad-recording`) if it is invalid."""
    at, sender = entry.get("at"), entry.get("sender")
    if not isinstance(at, int | float) or sender not in _ROLES:
        raise bad_recording(path, number, 'it needs "at", a number, and "sender": client or server')
    place = entry.get("side"), entry.get("connection")
    if isinstance(entry.get("base64"), str):
        try:
            return PassedMessage(at, sender, b64decode(entry["base64"], validate=True), *place)
        except ValueError as error:
            raise bad_recording(path, number, '"base64" is not Base64') from error
    if isinstance(entry.get("text"), str):
        return PassedMessage(at, sender, entry["text"].encode("utf-8", "backslashreplace"), *place)
    if "message" not in entry:
        raise bad_recording(path, number, 'it has neither "message" nor "text"')
    data = on_one_line(entry["message"]).encode("utf-8", "backslashreplace")
    return PassedMessage(at, sender, data, *place)


def decode_entry(path: Path, number: int, text: str) -> dict[str, Any]:
    """Return the entry on a line; raise `ProblemError` (`bad-recording`) if it is invalid."""
    try:
        entry = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise bad_recording(path, number, f"it is not JSON: {error}") from error
    if not is_object(entry):
        raise bad_recording(path, number, "it is not an object")
    return entry


def bad_recording(path: Path, number: int, message: str) -> ProblemError:
    """Return the problem with a line of a recording; 0 stands for the whole file."""
    place = f"{path}:{number}" if number else str(path)
    hint = "give a file that mcp-gen has written with --record"
    return ProblemError(Problem("bad-recording", message, place, hint=hint))
