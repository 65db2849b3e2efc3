"""Damaged files: a member or entry is missing, is there twice, or has a value of another type."""

import copy
import json
from typing import Any, Final, NamedTuple

from mcp_protogen.base import jsonpointer
from mcp_protogen.base.jsonvalue import is_array, is_object
from support.json_types import Json

_OTHERS: Final[tuple[Json, ...]] = (None, True, 7, "x", [{}], {"x": 1})


class Damage(NamedTuple):
    """One change of a document, at a pointer; `other` is the value of another type."""

    how: str
    pointer: str
    other: Any = None

    def __str__(self) -> str:
        return f"{self.how} {json.dumps(self.other)} at {self.pointer}"

    def apply_to(self, document: Json) -> Json:
        """Return the damaged document."""
        damaged = copy.deepcopy(document)
        *above, last = jsonpointer.split(self.pointer)
        parent: Json = jsonpointer.get(damaged, jsonpointer.join(*above))
        key: Any = int(last) if is_array(parent) else last
        if self.how == "without":
            del parent[key]
        elif self.how == "other":
            parent[key] = self.other
        elif is_object(parent):
            parent[f"{key}Twin"] = parent[key]
        else:
            parent.insert(key, parent[key])
        return damaged


def damages(document: Json) -> list[Damage]:
    """Return each damage once for all members of a name: methods differ by their names alone."""
    found: dict[tuple[str, ...], Damage] = {}
    for pointer, value in jsonpointer.walk(document):
        if not pointer:
            continue
        others = [replacement for replacement in _OTHERS if type(replacement) is not type(value)]
        every = [Damage("without", pointer), Damage("twice", pointer)]
        every += [Damage("other", pointer, replacement) for replacement in others]
        name = jsonpointer.split(pointer)[-1]
        for damage in every:
            found.setdefault(
                ("" if name.isdigit() else name, damage.how, str(damage.other)), damage
            )
    return list(found.values())


def toml(value: Json) -> str:
    """Return a JSON value without null as TOML on one line."""
    if is_object(value):
        members = ", ".join(f"{json.dumps(key)} = {toml(inner)}" for key, inner in value.items())
        return f"{{{members}}}"
    return f"[{', '.join(map(toml, value))}]" if is_array(value) else json.dumps(value)
