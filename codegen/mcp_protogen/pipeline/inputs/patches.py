"""Corrections of a schema: a list of replacements, each with the value that it replaces.

A patch whose old value is missing stops the run: the schema has changed, and either has the
correction (drop the patch) or needs another one (write it again).
"""

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mcp_protogen.base import jsonpointer
from mcp_protogen.base.canonical import canonical, parse_json
from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.base.problems import Problem, raising

Json = dict[str, Any]
_ABSENT = object()
_ANY = "*"


def load_patches(folder: Path, revision: str) -> tuple[Json, ...]:
    """Return the patches of a revision in a schema folder; empty without a file."""
    file = folder / revision / "patches.json"
    if not file.is_file():
        return ()
    entries: list[Json] = parse_json(file.read_bytes(), str(file))["patches"]
    return tuple(entries)


def apply(
    schema: Json, entries: Sequence[Mapping[str, Any]], place: str, pointer: str = "/patches"
) -> Json:
    """Return `schema` with every entry of `entries` applied, in order.

    `place` names the file, and `pointer` leads to the entries in it. Raise `ProblemError` with all
    entries that do not fit.

    In the pointer of an entry, `*` stands for each member of an object or array: the entry applies
    to all existing places, at least one, and all must have the value that it replaces.
    """
    patched = copy.copy(schema)
    _apply(patched, entries, f"{place}#{pointer}")
    return patched


def is_done(schema: Json, entry: Mapping[str, Any]) -> bool:
    """Return whether the schema has the corrected value of an entry already."""
    return _is_equal(_value_at(schema, entry["pointer"]), entry.get("now", _ABSENT))


def _value_at(schema: Json, pointer: str) -> object:
    try:
        return jsonpointer.get(schema, pointer)
    except jsonpointer.NothingThere:
        return _ABSENT


@raising
def _apply(schema: Json, entries: Sequence[Mapping[str, Any]], place: str) -> Iterator[Problem]:
    for number, entry in enumerate(entries):
        for pointer in _matching_pointers(schema, entry) or (entry["pointer"],):
            value = _value_at(schema, pointer)
            if not _is_equal(value, entry.get("was", _ABSENT)):
                yield _stale(f"{place}/{number}", pointer, value, entry)
                continue
            try:
                _write(schema, pointer, entry)
            except jsonpointer.NothingThere:
                yield _stale(f"{place}/{number}", pointer, value, entry)


def _matching_pointers(schema: Json, entry: Mapping[str, Any]) -> Sequence[str]:
    """Return the pointers of an entry: one, or the existing places for a pointer with `*`."""
    pointer: str = entry["pointer"]
    *above, last = jsonpointer.split(pointer)
    if _ANY not in (*above, last):
        return (pointer,)
    parents: Iterable[tuple[str, Any]] = [("", schema)]
    for token in above:
        parents = [
            inner for place, value in parents for inner in _inner_values(place, value, token)
        ]
    if "was" in entry:
        return [place for parent in parents for place, _ in _inner_values(*parent, last)]
    return [place + jsonpointer.join(last) for place, value in parents if is_object(value)]


def _inner_values(place: str, value: Any, token: str) -> Iterator[tuple[str, Any]]:
    """Yield the value at a token, or all values if it is `*`, each with its pointer."""
    members = value.items() if is_object(value) else enumerate(value) if is_array(value) else ()
    for key, inner in members:
        if token in (_ANY, str(key)):
            yield place + jsonpointer.join(key), inner


def _write(schema: Json, pointer: str, entry: Mapping[str, Any]) -> None:
    """Write the value of the entry at its place, in copies of all that is around it.

    Raise `NothingThere` if that does not exist.
    """
    *above, last = jsonpointer.split(pointer)
    jsonpointer.get(schema, jsonpointer.join(*above))
    parent: Any = schema
    for token in above:
        key: Any = int(token) if is_array(parent) else token
        parent[key] = copy.copy(parent[key])
        parent = parent[key]
    try:
        key = int(last) if is_array(parent) else last
        if "now" in entry:
            parent[key] = copy.deepcopy(entry["now"])
        else:
            del parent[key]
    except (IndexError, TypeError, ValueError):
        raise jsonpointer.NothingThere(pointer) from None


def _is_equal(left: object, right: object) -> bool:
    """Return whether two values are equal as JSON, where true is not 1."""
    if left is _ABSENT or right is _ABSENT:
        return left is right
    return canonical(left) == canonical(right)


def _stale(place: str, pointer: str, value: object, entry: Mapping[str, Any]) -> Problem:
    if _is_equal(value, entry.get("now", _ABSENT)):
        hint = "the schema has the correction already: drop this entry"
        if value is _ABSENT:
            hint = f"either the pointer is wrong, or {hint}"
    else:
        hint = "compare it with the schema, and write the entry again or drop it"
    what_is = "nothing is there" if value is _ABSENT else f"found {value!r:.120}"
    return Problem(
        "stale-patch", f"{pointer} is not what the patch replaces; {what_is}", place, hint=hint
    )
