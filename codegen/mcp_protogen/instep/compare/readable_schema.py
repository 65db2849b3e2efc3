"""A patched schema, prepared for comparison: complete, but with fewer kinds of keywords.

Derived types do not have everything that a schema says. A new pattern, or a closed object, is a
difference too, so that everything is kept here. Only references beside other keywords, `oneOf` and
boolean schemas are rewritten as something equivalent.
"""

from collections.abc import Collection, Container
from typing import Any

from mcp_protogen.base.canonical import sha256
from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.instep.compare.plain_schemas import essence, plain, without_lone_arms
from mcp_protogen.pipeline.normalise import flatten

Json = dict[str, Any]

EMBEDDED = "x-embedded"
"""A keyword that stands for the whole schema of a member that contains a JSON Schema itself."""

_LISTS = ("allOf", "anyOf", "oneOf")
_SINGLE = ("additionalProperties", "contains", "not", "propertyNames")
_DIGITS = 12
# With one of these beside it, a reference is part of an intersection; anything else is a bound or
# an annotation, and stays beside the reference.
_JOINED = frozenset({"additionalProperties", "allOf", "anyOf", "const", "enum", "items"}) | {
    *("properties", "required", "type")
}
# These are about the member, not about the schema in it.
_ANNOTATIONS = frozenset({"default", "deprecated"})


def readable(schema: Json, json_schemas: Container[str], place: str) -> Json:
    """Return the definitions of `schema`, without `allOf`.

    Members in `json_schemas` (as `Type.member`) are not examined. Every reference must lead to a
    definition. Raise `ProblemError` for intersections that are not of objects.
    """
    definitions = {
        name: _ReadableSchemas(json_schemas).schema(value, name)
        for name, value in schema.get("$defs", {}).items()
    }
    flat, _ = flatten.flatten_definitions(definitions, place)
    return {name: plain(schema) for name, schema in flat.items()}


def with_deprecations(definitions: Json, deprecated: Collection[str]) -> Json:
    """Return definitions with `deprecated` at all types and members that facts name.

    They are named as `Type` or `Type.member`. Members of objects that have no name in the schema
    are not found.
    """
    marked = dict(definitions)
    for path in deprecated:
        name, _, member = path.partition(".")
        schema: Json = marked.get(name, {})
        members: Json = schema.get("properties", {})
        if member in members:
            members = {**members, member: {**members[member], "deprecated": True}}
            marked[name] = {**schema, "properties": members}
        elif schema and not member:
            marked[name] = {**schema, "deprecated": True}
    return marked


class _ReadableSchemas:
    def __init__(self, json_schemas: Container[str]) -> None:
        self._json_schemas = json_schemas

    def schema(self, value: Any, path: str) -> Json:
        """Return one schema and everything inside it; `path` is that of its member."""
        if not is_object(value):
            return {} if value is not False else {"enum": []}
        done = dict(value)
        if "properties" in done:
            done["properties"] = {
                name: self._member(inner, f"{path}.{name}")
                for name, inner in done["properties"].items()
            }
        for keyword in _SINGLE:
            # A closed object has a boolean here, which is compared as a bound.
            if is_object(done.get(keyword)):
                done[keyword] = self.schema(done[keyword], path)
        if "items" in done:
            done["items"] = self._items(done["items"], path)
        for keyword in _LISTS:
            if keyword in done:
                done[keyword] = [self.schema(arm, path) for arm in done[keyword]]
        if len(done.get("allOf", ())) > 1:
            done["allOf"] = [_reference(part, is_part=True) for part in done["allOf"]]
        if "anyOf" not in done and "oneOf" in done:
            done["anyOf"] = done.pop("oneOf")
        return _reference(without_lone_arms(done))

    def _items(self, value: Any, path: str) -> Json:
        """Return the items of a list; items by position are read as alternatives."""
        if is_array(value):
            return {"anyOf": [self.schema(item, path) for item in value]}
        return self.schema(value, path)

    def _member(self, value: Any, path: str) -> Json:
        if path in self._json_schemas:
            rest = {key: value[key] for key in value if key not in _ANNOTATIONS}
            kept = {key: value[key] for key in value if key in _ANNOTATIONS}
            return {"type": "object", EMBEDDED: sha256(essence(rest))[:_DIGITS], **kept}
        return self.schema(value, path)


def _reference(schema: Json, *, is_part: bool = False) -> Json:
    """Return a schema with an `allOf` if it has a reference beside members.

    In a part of an intersection, anything beside a reference is joined.
    """
    if "$ref" not in schema or not (schema.keys() & _JOINED or (is_part and len(schema) > 1)):
        return schema
    rest = {key: value for key, value in schema.items() if key not in ("$ref", "allOf")}
    return {"allOf": [{"$ref": schema["$ref"]}, *schema.get("allOf", ()), rest]}
