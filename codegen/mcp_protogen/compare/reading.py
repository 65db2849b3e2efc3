"""A patched schema as it is compared: with everything it says, in the forms that are read here.

Deriving types drops what no type can say. Here a pattern that is new, or an object that is closed,
is a difference like any other, so all of it is kept: only references beside other keywords, `oneOf`
and boolean schemas are written as what they come to.
"""

from collections.abc import Container
from typing import Any

from mcp_protogen.canonical import digest
from mcp_protogen.jsonvalue import is_array, is_object
from mcp_protogen.normalise import flatten

Json = dict[str, Any]

EMBEDDED = "x-embedded"
"""Stands for all that the schema says of a member that holds a JSON Schema of someone else's."""

_LISTS = ("allOf", "anyOf", "oneOf")
_SINGLE = ("additionalProperties", "contains", "not", "propertyNames")
_DIGITS = 12
# What makes a reference and its neighbours an intersection of objects; anything else is a bound or
# an annotation, and stays beside the reference.
_OF_OBJECTS = frozenset({"additionalProperties", "allOf", "anyOf", "properties", "required"})


def readable(schema: Json, json_schemas: Container[str], place: str) -> Json:
    """The definitions of `schema`, without `allOf`.

    Members in `json_schemas` (as `Type.member`) are not looked into. All references have to lead
    somewhere. Raises `ProblemError` for intersections that are none of objects.
    """
    definitions = {
        name: _Reading(json_schemas).schema(value, name)
        for name, value in schema.get("$defs", {}).items()
    }
    flat, _ = flatten.flattened(definitions, place)
    return flat


class _Reading:
    def __init__(self, json_schemas: Container[str]) -> None:
        self._json_schemas = json_schemas

    def schema(self, value: Any, path: str) -> Json:
        """One schema and everything inside it; `path` is that of the member it is of."""
        if not is_object(value):
            return {} if value is not False else {"enum": []}
        done = dict(value)
        if "properties" in done:
            done["properties"] = {
                name: self._member(inner, f"{path}.{name}")
                for name, inner in done["properties"].items()
            }
        for keyword in _SINGLE:
            # An object that is closed says so by a truth value, which is a bound of its own.
            if is_object(done.get(keyword)):
                done[keyword] = self.schema(done[keyword], path)
        if "items" in done:
            done["items"] = self._items(done["items"], path)
        for keyword in _LISTS:
            if keyword in done:
                done[keyword] = [self.schema(arm, path) for arm in done[keyword]]
        if "anyOf" not in done and "oneOf" in done:
            done["anyOf"] = done.pop("oneOf")
        if done.get("additionalProperties") is True or done.get("additionalProperties") == {}:
            # An object is open anyway; one without members is a map of anything.
            del done["additionalProperties"]
        return _reference(done)

    def _items(self, value: Any, path: str) -> Json:
        """The items of a list; those by position are read as alternatives."""
        if is_array(value):
            return {"anyOf": [self.schema(one, path) for one in value]}
        return self.schema(value, path)

    def _member(self, value: Any, path: str) -> Json:
        if path in self._json_schemas:
            return {"type": "object", EMBEDDED: digest(value)[:_DIGITS]}
        return self.schema(value, path)


def _reference(schema: Json) -> Json:
    """A reference with members beside it is an intersection."""
    if "$ref" not in schema or not schema.keys() & _OF_OBJECTS:
        return schema
    rest = {key: value for key, value in schema.items() if key not in ("$ref", "allOf")}
    return {"allOf": [{"$ref": schema["$ref"]}, *schema.get("allOf", ()), rest]}
