"""Recordings of what passed on connections, and values that are not to be in them.

A recording is a file of JSON Lines: what it is, and then a message in each line. `docs/bridge.md`
has the format, and `schema/formats/traffic.schema.json` its schema.
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
    """A file that is no recording: the number of the line at fault, and the reason."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}")
        self.line = line
        self.reason = reason


class Entry(NamedTuple):
    """A message of a recording.

    `side` is the side of a bridge on which it passed, `client` or `server`, and `connection` the
    name of one of its connections; None where nobody has said.
    """

    sender: Role
    message: Any
    side: Role | None = None
    connection: str | None = None


class TrafficRecording(NamedTuple):
    """A recording: what it says of itself, and its messages that are JSON."""

    about: dict[str, Any]
    entries: list[Entry]


def read_recording(path: str | PathLike[str]) -> TrafficRecording:
    """Return what a file has; raise `RecordingError`, and `OSError` if it cannot be read."""
    lines = Path(path).read_bytes().splitlines()
    about = _decode_line(1, lines[0] if lines else b"")
    if about.get(HEAD) != FORMAT:
        raise RecordingError(1, f'the first line has no "{HEAD}": {FORMAT}')
    return TrafficRecording(about, list(_entries(lines)))


def _entries(lines: list[bytes]) -> Iterator[Entry]:
    for number, line in enumerate(lines[1:], 2):
        said = _decode_line(number, line)
        sender, side, connection = said.get("sender"), said.get("side"), said.get("connection")
        if sender not in _ROLES or side not in (None, *_ROLES):
            raise RecordingError(number, '"sender" and "side" are client or server')
        if "message" in said:
            yield Entry(sender, said["message"], side, connection)
        elif not isinstance(said.get("text"), str):
            raise RecordingError(number, 'it has neither "message" nor "text"')


def _decode_line(number: int, line: bytes) -> dict[str, Any]:
    try:
        said = read_json(line)
    except ValueError as error:
        raise RecordingError(number, f"it is not JSON: {error}") from None
    if not is_object(said):
        raise RecordingError(number, "it is no object")
    return said


class Redaction:
    """What replaces values: texts by `[redacted]`, numbers by 0 and booleans by false.

    Each of `places` is the name of members, wherever they are, or a JSON pointer into messages, in
    which `*` stands for any member or index. JSON inside of texts is looked into as well. Raise
    `ValueError` for what is neither.
    """

    def __init__(self, places: Iterable[str] = ()) -> None:
        self.places: Final = tuple(dict.fromkeys(places))
        if "" in self.places:
            raise ValueError("a place is a name or a JSON pointer")
        self._names = frozenset(place for place in self.places if not place.startswith("/"))
        pointers = [place for place in self.places if place.startswith("/")]
        patterns = [re.escape(pointer).replace(r"/\*", "/[^/]*") for pointer in pointers]
        self._pointers = re.compile("|".join(patterns)) if patterns else None

    def __bool__(self) -> bool:
        return bool(self.places)

    def __call__(self, value: Any, at: str = "") -> Any:
        """Return a message, or what is `at` a pointer in one, without the values."""
        if self._pointers is not None and self._pointers.fullmatch(at):
            return _blank(value)
        if is_object(value):
            return {
                name: (
                    _blank(member)
                    if name in self._names
                    else self(member, f"{at}/{escape_step(name)}")
                )
                for name, member in value.items()
            }
        if is_array(value):
            return [self(item, f"{at}/{index}") for index, item in enumerate(value)]
        return self._inside(value) if isinstance(value, str) and self._names else value

    def _inside(self, text: str) -> str:
        """Return a text without the values, if it is JSON that has some."""
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
