"""Types that are called otherwise now: found by what they look like, not by a list.

A name that is gone, or that something of another kind has taken, is looked for among the names
that are new. Two types are one if they hold the same constants, and most members by name; where
several would do, none is taken.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mcp_protogen import jsonpointer
from mcp_protogen.compare.members import named

Json = dict[str, Any]

# Of all members that either type has. Objects of the protocol that are different things agree on
# half of their names at most, once their constants agree.
_ALIKE = 0.8


def renames(before: Json, after: Json) -> Mapping[str, str]:
    """By old name, the new name of each object type that goes by another one."""
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
    return name in after and _is_object(named(after[name], after))


def _best(old: str, likeness: Mapping[tuple[str, str], float]) -> str | None:
    scores = {name: score for (owner, name), score in likeness.items() if owner == old}
    highest = max(scores.values(), default=0.0)
    best = [name for name, score in scores.items() if score == highest]
    return best[0] if len(best) == 1 else None


@dataclass(frozen=True, slots=True)
class _Look:
    """What types are told apart by."""

    constants: frozenset[str]
    members: frozenset[str]

    @staticmethod
    def of(schema: Json) -> "_Look":
        """The look of an object type."""
        return _Look(frozenset(_constants(schema)), frozenset(schema["properties"]))

    def likeness(self, other: "_Look") -> float:
        """From 0 to 1: of all members, how many both have."""
        if self.constants != other.constants:
            return 0.0
        return len(self.members & other.members) / len(self.members | other.members)


def _constants(schema: Json) -> Iterator[str]:
    for pointer, value in jsonpointer.walk(schema):
        if pointer.endswith("/const"):
            yield f"{pointer}={json.dumps(value)}"
