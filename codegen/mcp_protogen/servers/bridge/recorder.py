"""The recorder of a bridge: it writes messages to a file as they pass."""

import os
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from json import dumps, loads
from logging import getLogger
from pathlib import Path
from secrets import token_hex
from time import time
from typing import Any, Final

from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.runtime.core.spec import Role
from mcp_protogen.runtime.transports.base import Opener, Transport
from mcp_protogen.runtime.transports.memory import Tap
from mcp_protogen.runtime.transports.recordings import FORMAT, HEAD, Redaction
from mcp_protogen.servers.connect.traffic import PassedMessage, line, tap_opener

_log: Final = getLogger(__name__)

# Only its user can read it: messages to servers are private.
_MODE: Final = 0o600


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordOptions:
    """The file of a recording, its most bytes, and the texts to redact."""

    file: Path
    limit: int
    redact: tuple[str, ...] = ()


class Recorder:
    """A file to which messages are appended, each at once, until it is full."""

    def __init__(self, options: RecordOptions, clock: Callable[[], float] = time) -> None:
        """Open a new file or continue a recording; raise `ProblemError` for any other file.

        `clock` gives the seconds since 1970.
        """
        self._clock = clock
        self._limit = options.limit
        try:
            self._redaction = Redaction(options.redact)
        except ValueError as error:
            raise ProblemError(Problem("wrong-usage", f"--redact: {error}")) from None
        self._path = options.file
        try:
            self._descriptor = os.open(
                options.file,
                os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0),
                _MODE,
            )
            found = os.fstat(self._descriptor)
            self._size = found.st_size
            self._start = self._begin()
            if os.name != "nt" and stat.S_ISREG(found.st_mode):
                os.fchmod(self._descriptor, _MODE)  # an earlier one may be open to others
        except OSError as error:
            place = str(options.file)
            raise ProblemError(Problem("cannot-write", f"{error.strerror}", place)) from error

    def _begin(self) -> float:
        """Write or read the head of the file; return its start, in seconds since 1970."""
        redacted = list(self._redaction.places)
        if not self._size:
            now = self._clock()
            started = datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds")
            head: dict[str, Any] = {HEAD: FORMAT, "started": started}
            self._write(dumps(head | ({"redacted": redacted} if redacted else {})) + "\n")
            return now
        with self._path.open(encoding="utf-8") as file:
            first = file.readline()
        about: Any = None
        with suppress(ValueError):
            about = loads(first)
        if not is_object(about) or about.get(HEAD) != FORMAT or "started" not in about:
            raise self._bad("it is not a recording, and is not overwritten")
        if about.get("redacted", []) != redacted:
            raise self._bad("it was recorded with another --redact")
        return datetime.fromisoformat(about["started"]).timestamp()

    def _bad(self, message: str) -> ProblemError:
        hint = "name another file, or remove this one"
        return ProblemError(Problem("bad-recording", message, str(self._path), hint=hint))

    def _write(self, text: str) -> None:
        data = text.encode("utf-8", "backslashreplace")
        # In one call, so that lines of several processes stay whole.
        os.write(self._descriptor, data)
        self._size += len(data)

    def tap(self, side: Role, connection: str | None = None) -> Tap:
        """Return a function that records the messages of one side, or of one connection there."""

        def show(sender: Role, data: bytes) -> None:
            at = round(self._clock() - self._start, 6)
            self._add(line(PassedMessage(at, sender, data, side, connection), self._redaction))

        return show

    def opener(self, opener: Opener) -> Opener:
        """Return an opener that records each connection to the server."""

        async def open() -> Transport:
            return await tap_opener(opener, self.tap("server", token_hex(4)))()

        return open

    def _add(self, text: str) -> None:
        if self._descriptor < 0:
            return
        try:
            if self._size + len(text.encode("utf-8", "backslashreplace")) <= self._limit:
                self._write(text)
                return
            _log.warning("%s is full: further messages are not recorded", self._path)
        except OSError as error:
            text = "%s cannot be written: %s; further messages are not recorded"
            _log.error(text, self._path, error.strerror)
        self.close()

    def close(self) -> None:
        """Close the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
