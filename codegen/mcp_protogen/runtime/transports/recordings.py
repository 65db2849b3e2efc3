"""Recordings of connections, and the redaction of values.

A recording is a file of JSON Lines: a header, and then one message per line. `docs/bridge.md` has
the format, and `schema/formats/traffic.schema.json` its schema.
"""

import re
from collections.abc import Iterable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any, Final, NamedTuple

from ..core.errors import escape_step
from ..core.json import is_array, is_object, json_text, read_json
from ..core.spec import Role

FORMAT: Final = 1
HEAD: Final = "traffic"
REDACTED: Final = "[redacted]"

_ROLES: Final = ("client", "server")


class RecordingError(ValueError):
    """An invalid recording: the number of the faulty line, and the reason."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}")
        self.line = line
        self.reason = reason


class Entry(NamedTuple):
    """A message of a recording.

    `side` is the side of a bridge on which it passed, `client` or `server`, and `connection` the
    name of one of its connections; None if not recorded.
    """

    sender: Role
    message: Any
    side: Role | None = None
    connection: str | None = None


class TrafficRecording(NamedTuple):
    """A recording: its header, and its messages that are JSON."""

    about: dict[str, Any]
    entries: list[Entry]


def read_recording(path: str | PathLike[str]) -> TrafficRecording:
    """Read a recording; raise `RecordingError`, and `OSError` if the file cannot be read."""
    lines = Path(path).read_bytes().splitlines()
    about = _decode_line(1, lines[0] if lines else b"")
    if about.get(HEAD) != FORMAT:
        raise RecordingError(1, f'the first line must have "{HEAD}": {FORMAT}')
    return TrafficRecording(about, list(_entries(lines)))


def _entries(lines: list[bytes]) -> Iterator[Entry]:
    for number, line in enumerate(lines[1:], 2):
        entry = _decode_line(number, line)
        sender, side, connection = entry.get("sender"), entry.get("side"), entry.get("connection")
        if sender not in _ROLES or side not in (None, *_ROLES):
            raise RecordingError(number, '"sender" and "side" must be client or server')
        if "message" in entry:
            yield Entry(sender, entry["message"], side, connection)
        elif not isinstance(entry.get("text"), str):
            raise RecordingError(number, 'either "message" or "text" is required')


def _decode_line(number: int, line: bytes) -> dict[str, Any]:
    try:
        value = read_json(line)
    except ValueError as error:
        raise RecordingError(number, f"not JSON: {error}") from None
    if not is_object(value):
        raise RecordingError(number, "not an object")
    return value


class Redaction:
    """Replaces values: texts by `[redacted]`, numbers by 0 and booleans by false.

    Each of `places` is the name of members, wherever they are, or a JSON pointer into messages,
    with `*` for any member or index. JSON inside texts is searched as well. Raise `ValueError` for
    an invalid place.
    """

    def __init__(self, places: Iterable[str] = ()) -> None:
        self.places: Final = tuple(dict.fromkeys(places))
        if "" in self.places:
            raise ValueError("a place to redact is a name or a JSON pointer, got an empty text")
        self._names = frozenset(place for place in self.places if not place.startswith("/"))
        pointers = [place for place in self.places if place.startswith("/")]
        patterns = [re.escape(pointer).replace(r"/\*", "/[^/]*") for pointer in pointers]
        self._pointers = re.compile("|".join(patterns)) if patterns else None

    def __bool__(self) -> bool:
        return bool(self.places)

    def __call__(self, value: Any, at: str = "") -> Any:
        """Return a message, or its part `at` a pointer, without the values."""
        if self._pointers is not None and self._pointers.fullmatch(at):
            return _blank(value)
        if is_object(value):
            members = {name: self(value[name], f"{at}/{escape_step(name)}") for name in value}
            return members | {name: _blank(value[name]) for name in self._names & value.keys()}
        if is_array(value):
            return [self(item, f"{at}/{index}") for index, item in enumerate(value)]
        return self._inside(value) if isinstance(value, str) and self._names else value

    def _inside(self, text: str) -> str:
        if not text.lstrip().startswith(("{", "[")):
            return text
        try:
            value = read_json(text)
        except ValueError:
            return text
        without = self(value)
        return text if without == value else json_text(without).decode()


def _blank(value: Any) -> Any:
    """Return a value of the same type, so that it still fits its schema."""
    if is_object(value):
        return {name: _blank(member) for name, member in value.items()}
    if is_array(value):
        return [_blank(item) for item in value]
    if isinstance(value, bool):
        return False
    if isinstance(value, str):
        return REDACTED
    return None if value is None else 0
