"""Repairs of text that is not strict JSON although its meaning is clear.

A reader may ignore a byte order mark (RFC 8259, section 8.1). JavaScript writes half of a surrogate
pair when it cuts a text inside an emoji (section 8.2).
"""

import re
from enum import Enum
from json import JSONDecoder
from typing import Any, Final, NamedTuple

from ..core.errors import Meant, ParseError, RequestId
from ..core.json import read_json
from .jsonrpc import id_of

TAIL: Final = 1024
"""The bytes at the end of a broken text that are searched for its id."""

# The bytes at the start of a broken text that are searched for its id.
_HEAD: Final = 16 * 1024

# The most values in one line: each may need an answer.
_MOST_VALUES: Final = 100

_MARK: Final = b"\xef\xbb\xbf"
_UTF_32_MARKS: Final = (b"\xff\xfe\0\0", b"\0\0\xfe\xff")
_MARKS_16: Final = (b"\xff\xfe", b"\xfe\xff")

# A pair of surrogates, half of one (the group), or any other escape.
_ESCAPE: Final = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
_REPLACEMENT: Final = rb"\ufffd"

_STRING: Final = rb'"(?:[^"\\]++|\\.)*+"'
_NUMBER_WORD: Final = re.compile(
    rb'(?:[^"NI]++|' + _STRING + rb"|(?!NaN|Infinity)[NI])*+(NaN|Infinity)", re.DOTALL
)

# Names of members, and the beginnings and ends of containers.
_TOKEN: Final = re.compile(_STRING + rb"?+(\s*+:\s*+)?+|[{}\[\]]", re.DOTALL)
_ID_TEXT: Final = _STRING + rb"|-?[0-9]++(?:\.[0-9]++)?+"
_ID: Final = re.compile(rb"(?:" + _ID_TEXT + rb")(?=\s*+[,}])", re.DOTALL)
_LAST_ID: Final = re.compile(
    rb'[,{]\s*+"id"\s*+:\s*+(' + _ID_TEXT + rb")"
    rb'\s*+(?:,\s*+"jsonrpc"\s*+:\s*+"2\.0"\s*+)?+\}\s*+\Z',
    re.DOTALL,
)
_BATCH: Final = re.compile(rb"\[\s*+\{")

_decoder: Final = JSONDecoder()


class RepairKind(Enum):
    BYTE_ORDER_MARK = "a byte order mark, which is skipped"
    LONE_SURROGATE = "half of a surrogate pair, which is read as U+FFFD"
    SEVERAL_VALUES = "a further message in the same line"


class Repair(NamedTuple):
    """A repaired fault, and its first place in the text, in bytes from the start."""

    kind: RepairKind
    at: int

    def __str__(self) -> str:
        return f"{self.kind.value} (at byte {self.at})"


def repair_text(data: bytes, reason: str) -> tuple[tuple[Any, ...], tuple[Repair, ...]]:
    """Return the values of a text that is not strict JSON; raise `ParseError`."""
    _check_encoding(data)
    text, at = _without_lone_surrogates(data.removeprefix(_MARK))
    skipped = len(data) - len(text)
    repairs: tuple[Repair, ...] = ()
    if skipped:
        repairs = (Repair(RepairKind.BYTE_ORDER_MARK, 0),)
    if at >= 0:
        repairs += (Repair(RepairKind.LONE_SURROGATE, at + skipped),)
    if not text.strip():
        if repairs:
            return (), repairs
        raise unreadable(reason, data)
    try:
        return (read_json(text),), repairs
    except ValueError as error:
        reason = str(error)
    try:
        values, at = _read_several(text.decode())
    except (ValueError, RecursionError):
        if (word := _NUMBER_WORD.match(text)) is not None:
            reason = f"{word[1].decode()} is not JSON (at byte {word.start(1) + skipped})"
        raise unreadable(reason, data) from None
    return tuple(values), (*repairs, Repair(RepairKind.SEVERAL_VALUES, at + skipped))


def _check_encoding(data: bytes) -> None:
    start = data[:4]
    if b"\0" in start or start.startswith(_MARKS_16):
        wide = start.count(0) == 3 or start in _UTF_32_MARKS
        raise unreadable(f"UTF-{32 if wide else 16}; messages must be UTF-8", data)
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise unreadable(f"invalid UTF-8 at byte {error.start}", data) from None


def _without_lone_surrogates(text: bytes) -> tuple[bytes, int]:
    """Replace them with U+FFFD, without changing the length; return the first place, or -1."""
    first = -1

    def replace(escape: re.Match[bytes]) -> bytes:
        nonlocal first
        if escape[1] is None:
            return escape[0]
        first = escape.start() if first < 0 else first
        return _REPLACEMENT

    return _ESCAPE.sub(replace, text), first


def _read_several(text: str) -> tuple[list[Any], int]:
    """Return the values of a text, and where the second begins; raise `ValueError`."""
    values: list[Any] = []
    at, second = _after_space(text, 0), 0
    while at < len(text):
        if text[at] not in "{[" or len(values) == _MOST_VALUES:
            raise ValueError
        second = len(text[:at].encode()) if len(values) == 1 else second
        _, end = _decoder.raw_decode(text, at)
        values.append(read_json(text[at:end].encode()))
        at = _after_space(text, end)
    return values, second


def _after_space(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at


def _members(head: bytes) -> tuple[RequestId | None, frozenset[bytes]]:
    """Return the id and the member names of the object at the start of a broken text."""
    if not head.startswith(b"{"):
        return None, frozenset()
    names: set[bytes] = set()
    id, depth = None, 0
    for token in _TOKEN.finditer(head):
        mark = token[0][:1]
        if mark == b'"':
            if depth == 1 and token[1] is not None:
                name = token[0][1 : -len(token[1]) - 1]
                names.add(name)
                match = _ID.match(head, token.end()) if name == b"id" else None
                id = _id(match[0]) if match is not None else id
        elif mark in b"{[":
            depth += 1
        elif depth == 1:
            break
        else:
            depth -= 1
    return id, frozenset(names)


def _id(text: bytes) -> RequestId | None:
    try:
        return id_of({"id": read_json(_without_lone_surrogates(text)[0])})
    except ValueError:
        return None


def _purpose(members: frozenset[bytes], head: bytes, tail: bytes) -> Meant:
    # Programs also write lines for people, which may be objects or begin with a bracket.
    is_message = b'"jsonrpc"' in head or b'"jsonrpc"' in tail
    if not is_message and b"result" not in members:
        return "text"
    if not head.startswith(b"{"):
        return "message" if _BATCH.match(head) else "text"
    if b"method" in members:
        return "call"
    return "answer" if members & {b"result", b"error"} else "message"


def unreadable(reason: str, data: bytes) -> ParseError:
    """Return the error for a text, or for its beginning and end."""
    text = data.lstrip(b"\xef\xbb\xbf\xff\xfe\0 \t\r\n")
    # UTF-16 and UTF-32 put zeros between ASCII characters.
    head, tail = text[:_HEAD].replace(b"\0", b""), text[-TAIL:].replace(b"\0", b"")
    id, members = _members(head)
    last = _LAST_ID.search(tail) if id is None and head.startswith(b"{") else None
    if last is not None:
        id = _id(last[1])
    error = ParseError(f"Parse error: {reason}", id=id)
    error.meant = _purpose(members, head, tail)
    return error
