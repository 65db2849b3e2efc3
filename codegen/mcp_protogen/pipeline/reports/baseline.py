"""A file of known findings: only new ones fail a run.

Code and item identify a finding; everything else may change. A finding in several places has an
entry for each of them, so that it stays known when some are fixed. If several findings have the
same code and item, the file has their number: with one more, all of them are shown, because the new
one cannot be identified. The file is sorted, so that it can be reviewed line by line. An entry may
have a note, which is kept when the file is written again. `schema/formats/baseline.schema.json`
describes the format.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from operator import not_
from pathlib import Path
from typing import Any

from mcp_protogen.base.canonical import parse_json, pretty
from mcp_protogen.base.file_set import write_files
from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.pipeline.reports.change import ReportedChange

FORMAT = 1
_HINT = "restore the file, or move it away and write a new one with --write-baseline"
_KINDS: Mapping[str, type] = {"code": str, "item": str, "count": int, "note": str}

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class BaselineEntry:
    """A known finding: the number of times it occurs, and a note on it."""

    count: int = 1
    note: str = ""


@dataclass(frozen=True, slots=True)
class Baseline:
    """The known findings about one revision, by code and item."""

    revision: str
    entries: Mapping[Key, BaselineEntry]


@dataclass(frozen=True, slots=True)
class IgnoreEntry:
    """A code and an item of findings that the user ignores; `*` stands for any text."""

    code: str
    item: str = "*"

    def covers(self, change: ReportedChange) -> bool:
        """Return whether every place of a finding is covered."""
        code, item = re.compile(_any(self.code)), re.compile(_any(self.item))
        return all(code.fullmatch(key[0]) and item.fullmatch(key[1]) for key in keys_of(change))


def parse_ignore_entry(text: str) -> IgnoreEntry:
    """Return the meaning of `CODE` or `CODE:ITEM`."""
    code, _, item = text.partition(":")
    return IgnoreEntry(code, item or "*")


def _any(pattern: str) -> str:
    # Names in a schema may contain line breaks.
    return "(?s:.*)".join(map(re.escape, pattern.split("*")))


@dataclass(frozen=True, slots=True)
class SortedFindings:
    """New, known, ignored and fixed findings.

    Fixed ones no longer occur; each is listed as often as it was known.
    """

    new: tuple[ReportedChange, ...]
    known: tuple[ReportedChange, ...]
    fixed: tuple[Key, ...]
    ignored: tuple[ReportedChange, ...] = ()


def keys_of(change: ReportedChange) -> Iterator[Key]:
    """Yield the keys that identify a finding."""
    places = change.places if change.item in change.places else (change.item,)
    return ((change.code, place) for place in places)


def sort(
    changes: Sequence[ReportedChange], baseline: Baseline, ignore: Iterable[IgnoreEntry] = ()
) -> SortedFindings:
    """Sort findings by a baseline and entries that ignore some."""
    ignored = tuple(ignore)
    covered = [any(pattern.covers(change) for pattern in ignored) for change in changes]
    left = tuple(compress(changes, map(not_, covered)))
    found = _count_keys(changes)
    known = Counter({key: entry.count for key, entry in baseline.entries.items()})
    new = [any(found[key] > known[key] for key in keys_of(change)) for change in left]
    return SortedFindings(
        new=tuple(compress(left, new)),
        known=tuple(compress(left, map(not_, new))),
        fixed=tuple(sorted((known - found).elements())),
        ignored=tuple(compress(changes, covered)),
    )


def _count_keys(changes: Iterable[ReportedChange]) -> Counter[Key]:
    return Counter(key for change in changes for key in keys_of(change))


def read_baseline(file: Path, revision: str) -> Baseline:
    """Return the baseline in a file; raise `ProblemError` (`bad-baseline`)."""
    try:
        content = file.read_bytes()
    except OSError as error:
        is_missing = isinstance(error, FileNotFoundError)
        hint = "write one with --write-baseline" if is_missing else "name a file that can be read"
        raise _bad(file, error.strerror or str(error), hint) from None
    document = parse_json(content, str(file))
    if not is_object(document) or document.get("format") != FORMAT:
        raise _bad(file, f"this is not a baseline of format {FORMAT}")
    if document.get("revision") != revision:
        message = f"this is a baseline of {document.get('revision')}, not of {revision}"
        raise _bad(file, message, "keep one file for each revision that you compare with")
    entries = document.get("findings")
    if not is_array(entries):
        raise _bad(file, "findings is not a list", pointer="/findings")
    found: dict[Key, BaselineEntry] = {}
    for index, entry in enumerate(entries):
        if not _is_entry(entry):
            message = "an entry must have a code and an item, and may only add a count and a note"
            raise _bad(file, message, pointer=f"/findings/{index}")
        key = entry["code"], entry["item"]
        if key in found:
            message = f"{entry['code']} about {entry['item']} has two entries; use one with a count"
            raise _bad(file, message, pointer=f"/findings/{index}")
        found[key] = BaselineEntry(entry.get("count", 1), entry.get("note", ""))
    return Baseline(revision, found)


def write_baseline(file: Path, revision: str, changes: Iterable[ReportedChange]) -> None:
    """Write findings into a baseline, with their notes from the existing file."""
    before = read_baseline(file, revision) if file.exists() else Baseline(revision, {})
    entries: list[dict[str, Any]] = []
    for key, count in sorted(_count_keys(changes).items()):
        entry: dict[str, Any] = {"code": key[0], "item": key[1]}
        if count > 1:
            entry["count"] = count
        if note := before.entries.get(key, BaselineEntry()).note:
            entry["note"] = note
        entries.append(entry)
    document = {"format": FORMAT, "revision": revision, "findings": entries}
    write_files({file: pretty(document)})


def _is_entry(entry: Any) -> bool:
    if not is_object(entry) or not {"code", "item"} <= entry.keys() <= set(_KINDS):
        return False
    # A boolean is an integer to Python, hence no isinstance.
    return all(type(value) is _KINDS[name] for name, value in entry.items()) and (
        entry.get("count", 1) > 0
    )


def _bad(file: Path, message: str, hint: str = _HINT, pointer: str = "") -> ProblemError:
    return ProblemError(Problem("bad-baseline", message, str(file), pointer, hint))
