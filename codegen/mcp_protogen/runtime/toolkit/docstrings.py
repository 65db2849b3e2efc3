"""Docstrings: the descriptions of a function and of its parameters.

Sections are those of Google (`Args:`), NumPy (`Parameters` above a line), Sphinx (`:param x:`).
"""

import re
from collections.abc import Callable, Mapping
from inspect import cleandoc, getdoc
from typing import Any, Final, NamedTuple, TypeAlias


class Docstring(NamedTuple):
    description: str | None
    parameters: Mapping[str, str]


_Found: TypeAlias = tuple[dict[str, str], int]
"""The texts of a section, and the number of the line after it."""

_GOOGLE: Final = re.compile(
    r"(?:args|arguments|params|(?:other )?parameters|keyword arg(?:ument)?s):\s*", re.IGNORECASE
)
_GOOGLE_ENTRY: Final = re.compile(r"(\*{0,2}\w+)(?:\s*\(.*?\))?\s*:(?:\s+(.*))?")
_NUMPY: Final = re.compile(r"(?:other )?parameters\s*", re.IGNORECASE)
_NUMPY_ENTRY: Final = re.compile(r"(\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?()")
_LINE: Final = re.compile(r"-{3,}\s*")
_SPHINX: Final = re.compile(
    r":(?:(?:param|parameter|arg|argument|key|keyword)\s+(?:[^:]*\s)?(\*{0,2}\w+)"
    r"|type\s+[^:]+):(.*)"
)


def docstring_of(function: Callable[..., Any]) -> Docstring:
    lines = (getdoc(function) or "").splitlines()
    kept: list[str] = []
    parameters: dict[str, str] = {}
    at = 0
    while at < len(lines):
        found = _google(lines, at) or _numpy(lines, at) or _sphinx(lines, at)
        if found is None:
            kept.append(lines[at])
            at += 1
        else:
            parameters |= found[0]
            at = found[1]
    description = re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()
    return Docstring(description or None, parameters)


def _google(lines: list[str], at: int) -> _Found | None:
    if not _GOOGLE.fullmatch(lines[at]):
        return None
    end = _end(lines, at + 1, lambda line: not line[0].isspace())
    # `cleandoc` leaves the first line as it is, so that is empty here.
    entries = _entries(cleandoc("\n".join(["", *lines[at + 1 : end]])).splitlines(), _GOOGLE_ENTRY)
    return (entries, end) if entries else None


def _numpy(lines: list[str], at: int) -> _Found | None:
    if not _NUMPY.fullmatch(lines[at]) or not _LINE.fullmatch("".join(lines[at + 1 : at + 2])):
        return None
    end = _end(lines, at + 2, lambda line: not (line[0].isspace() or _NUMPY_ENTRY.fullmatch(line)))
    if end < len(lines) and _LINE.fullmatch(lines[end]):
        # The line before is the title of the next section.
        end -= 1
    return _entries(lines[at + 2 : end], _NUMPY_ENTRY), end


def _sphinx(lines: list[str], at: int) -> _Found | None:
    field = _SPHINX.fullmatch(lines[at])
    if field is None:
        return None
    end = at + 1
    while end < len(lines) and lines[end][:1].isspace():
        end += 1
    text = cleandoc("\n".join([field[2], *lines[at + 1 : end]]))
    return {field[1].lstrip("*"): text} if field[1] and text else {}, end


def _end(lines: list[str], at: int, ends: Callable[[str], bool]) -> int:
    while at < len(lines) and not (lines[at] and ends(lines[at])):
        at += 1
    return at


def _entries(lines: list[str], pattern: re.Pattern[str]) -> dict[str, str]:
    """Return the texts by name; none if the lines do not begin with an entry."""
    found: dict[str, list[str]] = {}
    text: list[str] | None = None
    for line in lines:
        entry = pattern.fullmatch(line)
        if entry is not None:
            text = [entry[2] or ""]
            found |= {name.strip(" *"): text for name in entry[1].split(",")}
        elif text is not None:
            text.append(line)
        elif line:
            return {}
    cleaned = {name: cleandoc("\n".join(text)) for name, text in found.items()}
    return {name: text for name, text in cleaned.items() if text}
