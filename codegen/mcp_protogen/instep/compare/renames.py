"""Renamed types, found by their content and not by a list.

A name that is gone, or that now belongs to another kind of type, is looked for among the new names.
Two types are the same if they have the same constants and share most member names. If several types
match, none is taken.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mcp_protogen.base import jsonpointer
from mcp_protogen.instep.compare.members import resolve_name

Json = dict[str, Any]

# The share of all members of the two types. Different objects of the protocol with the same
# constants share at most half of their names.
_ALIKE = 0.8


def renames(before: Json, after: Json) -> Mapping[str, str]:
    """Return the new name of each object type that was renamed, by its old name."""
    gone = [name for name in before if _is_object(before[name]) and not _lives_on(name, after)]
    new = [name for name in after if name not in before and _is_object(after[name])]
    looks = {name: _Look.of(before[name]) for name in gone}
    others = {name: _Look.of(after[name]) for name in new}
    likeness = {
        (old, candidate): score
        for old in gone
        for candidate in new
        if (score := looks[old].likeness(others[candidate])) >= _ALIKE
    }
    found = {old: best for old in gone if (best := _best(old, likeness))}
    taken = list(found.values())
    return {old: name for old, name in found.items() if taken.count(name) == 1}


def _is_object(schema: Json) -> bool:
    return bool(schema.get("properties"))


def _lives_on(name: str, after: Json) -> bool:
    return name in after and _is_object(resolve_name(after[name], after))


def _best(old: str, likeness: Mapping[tuple[str, str], float]) -> str | None:
    scores = {name: score for (owner, name), score in likeness.items() if owner == old}
    highest = max(scores.values(), default=0.0)
    best = [name for name, score in scores.items() if score == highest]
    return best[0] if len(best) == 1 else None


@dataclass(frozen=True, slots=True)
class _Look:
    """The content that types are compared by."""

    constants: frozenset[str]
    members: frozenset[str]

    @staticmethod
    def of(schema: Json) -> "_Look":
        return _Look(frozenset(_constants(schema)), frozenset(schema["properties"]))

    def likeness(self, other: "_Look") -> float:
        """Return the share of all members that both have, from 0 to 1."""
        if self.constants != other.constants:
            return 0.0
        return len(self.members & other.members) / len(self.members | other.members)


def _constants(schema: Json) -> Iterator[str]:
    for pointer, value in jsonpointer.walk(schema):
        if pointer.endswith("/const"):
            yield f"{pointer}={json.dumps(value)}"
