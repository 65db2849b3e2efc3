"""Give every inline object a name: its parent's and its property's, never `Params1`."""

from collections.abc import Container, Sequence
from typing import Any

from mcp_protogen import jsonpointer, names
from mcp_protogen.jsonvalue import is_array, is_object
from mcp_protogen.normalise import references
from mcp_protogen.problems import Problem, raise_errors

Json = dict[str, Any]


def lifted(definitions: Json, json_schemas: Container[str], place: str) -> Json:
    """`definitions` in which objects with members stand only at the top.

    Members listed in `json_schemas` (as `Type.member`) hold a JSON Schema of someone else's, which
    is kept as an object of anything. Raises `ProblemError` when two names meet.
    """
    lifting = _Lifting(definitions, json_schemas, place)
    for name, schema in definitions.items():
        lifting.done[name] = lifting.definition(name, schema)
    raise_errors(lifting.problems)
    return lifting.done


def _in_reading_order(members: Json, required: Sequence[str]) -> Json:
    """Constants first, then what is required, then the rest; `_meta` last."""

    def rank(member: str) -> tuple[bool, bool, bool]:
        return (member == "_meta", member not in required, "const" not in members[member])

    return {member: members[member] for member in sorted(members, key=rank)}


class _Lifting:
    def __init__(self, definitions: Json, json_schemas: Container[str], place: str) -> None:
        self.definitions = definitions
        self.json_schemas = json_schemas
        self.place = place
        self.done: Json = {}
        self.problems: list[Problem] = []

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

    def _value(self, name: str, schema: Json) -> Json:
        """A schema in a place that has no name of its own; `name` is what it would be called."""
        if schema.get("properties"):
            self._add(name, schema)
            return references.to(name)
        return self._inside(
            name, {key: value for key, value in schema.items() if key != "properties"}
        )

    def _inside(self, name: str, schema: Json) -> Json:
        inner = dict(schema)
        for keyword in ("items", "additionalProperties"):
            if is_object(inner.get(keyword)):
                inner[keyword] = self._value(name, inner[keyword])
        for keyword in ("anyOf", "oneOf"):
            if is_array(inner.get(keyword)):
                inner["anyOf"] = [self._value(name, arm) for arm in inner[keyword]]
        inner.pop("oneOf", None)
        if inner.get("type") == "object" and not isinstance(
            inner.get("additionalProperties"), dict
        ):
            inner["additionalProperties"] = {}
        return inner

    def _add(self, name: str, schema: Json) -> None:
        if name in self.definitions or name in self.done:
            self.problems.append(
                Problem(
                    "name-collision",
                    f"an inline object would be called {name}, which is already a type",
                    self.place,
                    jsonpointer.join("$defs", name),
                    "name the inline object in the schema, or patch one of the two",
                )
            )
            return
        self.done[name] = {}
        self.done[name] = self.definition(name, schema)
