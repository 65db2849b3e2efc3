"""Names for inline objects: the parent's and the property's name, never `Params1`.

The specification's source inherits `_meta` from the base params; its schemas repeat it everywhere.
If the object is the same in all requests, it is one class: `CallToolRequestParams` is a
`RequestParams`, so that its `_meta` is a `RequestParamsMeta`.
"""

from collections.abc import Container, Iterator, Sequence
from typing import Any

from mcp_protogen.base import names
from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.pipeline.normalise import references
from mcp_protogen.pipeline.normalise.intersection import is_equal

Json = dict[str, Any]

# The suffix of an inline object's name, if another type has the name of its place.
_KINDS = {"additionalProperties": "Value", "anyOf": "Object", "items": "Item"}


def lift_objects(definitions: Json, *, marks: bool = False) -> Json:
    """Return `definitions` with all objects with members at the top level.

    `marks` puts `x-bare` at those that declare no members.
    """
    lifting = _Lifting(definitions, marks=marks)
    for name, schema in definitions.items():
        lifting.done[name] = lifting.definition(name, schema)
    return lifting.done


def _in_reading_order(members: Json, required: Sequence[str]) -> Json:
    """Return constants first, then required members, then the rest; `_meta` last."""

    def rank(member: str) -> tuple[bool, bool, bool]:
        return (member == "_meta", member not in required, "const" not in members[member])

    return {member: members[member] for member in sorted(members, key=rank)}


class _Lifting:
    def __init__(self, definitions: Json, *, marks: bool) -> None:
        self.definitions = definitions
        self.marks: Json = {"x-bare": True} if marks else {}
        self.done: Json = {}
        self._contents: Json = {}

    def definition(self, name: str, schema: Json) -> Json:
        """Return the schema of a named type, with references in place of its inline objects."""
        if "properties" not in schema:
            return self._inside(name, schema)
        members = {
            member: self._value(name + names.pascal(member), value)
            for member, value in schema["properties"].items()
        }
        # Generated objects keep undeclared members anyway; `x-open` says that they are intended.
        rest = {key: value for key, value in schema.items() if key != "additionalProperties"}
        if is_object(schema.get("additionalProperties")):
            rest["x-open"] = True
        return {**rest, "properties": _in_reading_order(members, rest.get("required", ()))}

    def _value(self, name: str, schema: Json, kind: str = "Object") -> Json:
        """Return the schema of an unnamed place; `name` is used if it needs one."""
        if schema.get("properties"):
            return references.to(self._add(name, kind, schema))
        inside = self._inside(
            name, {key: value for key, value in schema.items() if key != "properties"}
        )
        return inside | self.marks if "properties" in schema else inside

    def _inside(self, name: str, schema: Json) -> Json:
        inner = dict(schema)
        for keyword in ("items", "additionalProperties"):
            if is_object(inner.get(keyword)):
                inner[keyword] = self._value(name, inner[keyword], _KINDS[keyword])
        if "anyOf" in inner:
            arms: list[Json] = inner["anyOf"]
            labels = _labels([arm for arm in arms if arm.get("properties")])
            inner["anyOf"] = [
                self._value(name + next(labels) if arm.get("properties") else name, arm)
                for arm in arms
            ]
        if inner.get("type") == "object" and not is_object(inner.get("additionalProperties")):
            inner["additionalProperties"] = {}
        return inner

    def _add(self, name: str, kind: str, schema: Json) -> str:
        """Make an inline object a type, and return its name."""
        type_name = names.type_name(name)
        called = type_name
        number = 1
        while not self._is_free(called, schema):
            called = f"{type_name}{kind}{number if number > 1 else ''}"
            number += 1
        if called not in self._contents:
            self._contents[called] = schema
            self.done[called] = self.definition(called, schema)
        return called

    def _is_free(self, name: str, schema: Json) -> bool:
        if name in self._contents:
            return is_equal(self._contents[name], schema)
        return name not in self.definitions


def _labels(arms: Sequence[Json]) -> Iterator[str]:
    """Yield a label for each object of a choice: a constant if possible, else a number."""
    if len(arms) < 2:
        return iter([""] * len(arms))
    for member in arms[0]["properties"]:
        found = [_label(arm, member) for arm in arms]
        if "" not in found and len(set(found)) == len(found):
            return iter(found)
    return map(str, range(1, len(arms) + 1))


def _label(arm: Json, member: str) -> str:
    value = arm["properties"].get(member, {}).get("const")
    if isinstance(value, str):
        return names.pascal(value)
    return names.pascal(member) + names.pascal(str(value)) if value is not None else ""


_SUFFIX = "Meta"
_OPEN = "x-open"


def merge_meta_types(definitions: Json, named: Container[str]) -> Json:
    """Return `definitions` with one `_meta` type for equal ones of a type and its base.

    Types in `named` keep their names from the schema. A type that is open at one place is open
    everywhere.
    """
    lifted = (name for name in definitions if name.endswith(_SUFFIX) and name not in named)
    bases: set[str] = set()
    same: dict[str, str] = {}
    for name in sorted(lifted, key=len):
        shorter = (name[start:] for start in range(len(name) - len(_SUFFIX), 0, -1))
        found = (base for base in shorter if base in bases)
        base = next(
            (
                base
                for base in found
                if _without_open(definitions[base]) == _without_open(definitions[name])
            ),
            None,
        )
        if base is None:
            bases.add(name)
        else:
            same[name] = base
    kept = {name: schema for name, schema in definitions.items() if name not in same}
    for name, base in same.items():
        if _OPEN in definitions[name]:
            kept[base] = {**kept[base], _OPEN: True}
    return references.rename_definitions(kept, same)


def _without_open(schema: Json) -> Json:
    return {key: value for key, value in schema.items() if key != _OPEN}
