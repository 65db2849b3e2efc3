"""Give every inline object a name: its parent's and its property's, never `Params1`."""

from collections.abc import Container, Iterator, Sequence
from typing import Any

from mcp_protogen import names
from mcp_protogen.jsonvalue import is_object
from mcp_protogen.normalise import references
from mcp_protogen.normalise.intersection import same

Json = dict[str, Any]

# What an inline object is called after where the name of its place is that of another type.
_KINDS = {"additionalProperties": "Value", "anyOf": "Object", "items": "Item"}


def lifted(definitions: Json, json_schemas: Container[str]) -> Json:
    """`definitions` in which objects with members stand only at the top.

    Members listed in `json_schemas` (as `Type.member`) hold a JSON Schema of someone else's, which
    is kept as an object of anything.
    """
    lifting = _Lifting(definitions, json_schemas)
    for name, schema in definitions.items():
        lifting.done[name] = lifting.definition(name, schema)
    return lifting.done


def _in_reading_order(members: Json, required: Sequence[str]) -> Json:
    """Constants first, then what is required, then the rest; `_meta` last."""

    def rank(member: str) -> tuple[bool, bool, bool]:
        return (member == "_meta", member not in required, "const" not in members[member])

    return {member: members[member] for member in sorted(members, key=rank)}


class _Lifting:
    def __init__(self, definitions: Json, json_schemas: Container[str]) -> None:
        self.definitions = definitions
        self.json_schemas = json_schemas
        self.done: Json = {}
        self._contents: Json = {}

    def definition(self, name: str, schema: Json) -> Json:
        """The schema of a named type, its inline objects replaced by references."""
        if "properties" not in schema:
            return self._inside(name, schema)
        members = {
            member: self._member(name, member, value)
            for member, value in schema["properties"].items()
        }
        # Undeclared members are kept in every generated object, so the keyword says nothing more.
        rest = {key: value for key, value in schema.items() if key != "additionalProperties"}
        return {**rest, "properties": _in_reading_order(members, rest.get("required", ()))}

    def _member(self, owner: str, member: str, schema: Json) -> Json:
        if f"{owner}.{member}" in self.json_schemas:
            return {"type": "object", "additionalProperties": {}}
        return self._value(owner + names.pascal(member), schema)

    def _value(self, name: str, schema: Json, kind: str = "Object") -> Json:
        """A schema in a place that has no name of its own; `name` is what it would be called."""
        if schema.get("properties"):
            return references.to(self._add(name, kind, schema))
        return self._inside(
            name, {key: value for key, value in schema.items() if key != "properties"}
        )

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
        """Make a type of an inline object; what it is called is told by where it is."""
        wanted = names.type_name(name)
        called = wanted
        number = 1
        while not self._is_free(called, schema):
            called = f"{wanted}{kind}{number if number > 1 else ''}"
            number += 1
        if called not in self._contents:
            self._contents[called] = schema
            self.done[called] = self.definition(called, schema)
        return called

    def _is_free(self, name: str, schema: Json) -> bool:
        if name in self._contents:
            return same(self._contents[name], schema)
        return name not in self.definitions


def _labels(arms: Sequence[Json]) -> Iterator[str]:
    """What tells the objects of a choice apart: constants if there are such, else numbers."""
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
