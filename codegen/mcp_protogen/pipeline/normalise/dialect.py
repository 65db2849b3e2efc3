"""The part of JSON Schema that models can express.

The resulting definitions are plain objects: no boolean schemas, no `oneOf`, nothing beside a
`$ref`, and only keywords that the later stages read. A keyword that a type cannot express is left
out with a warning: the models then accept more than the schema. A schema that cannot be a type is
refused.
"""

import math
from collections.abc import Collection, Container
from typing import Any

from mcp_protogen.base.jsonpointer import escape
from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.base.names import pascal
from mcp_protogen.base.problems import Level, Problem, raise_errors
from mcp_protogen.pipeline.normalise.intersection import NOTHING, is_equal, of_type
from mcp_protogen.pipeline.normalise.references import PREFIX, circles

Json = dict[str, Any]

_PLAIN = frozenset({"$ref", "format", "required"})
_LISTS = frozenset({"allOf", "anyOf", "oneOf"})
# The bounds of each type that become part of the annotation of a member.
_BOUNDS = {
    "integer": frozenset({"minimum", "maximum"}),
    "number": frozenset({"minimum", "maximum"}),
    "string": frozenset({"minLength", "maxLength"}),
    "array": frozenset({"minItems", "maxItems"}),
}
# Protocol packages do without these two: some targets cannot express them.
_EXCLUSIVE = frozenset({"exclusiveMaximum", "exclusiveMinimum"})
_ALL_BOUNDS = _EXCLUSIVE.union(*_BOUNDS.values())
_UNCHECKED = frozenset(
    {"contains", "dependencies", "dependentRequired", "dependentSchemas", "else", "if", "then"}
    | {"maxContains", "maxProperties", "minContains"}
    | {"minProperties", "multipleOf", "not", "pattern", "patternProperties", "prefixItems"}
    | {
        "propertyNames",
        "unevaluatedItems",
        "unevaluatedProperties",
        "uniqueItems",
        "additionalItems",
    }
)
_TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")
_REFUSED = frozenset({"$dynamicRef", "$recursiveRef"})
# In these, a keyword beside a reference has no meaning.
_OLD_DRAFTS = ("draft-03/", "draft-04/", "draft-06/", "draft-07/")
# An object that forbids other members, and has none of these keywords, is empty.
_OF_MEMBERS = _LISTS | {"$ref", "patternProperties", "properties", "required"}
_OBJECT: Json = {"type": "object", "additionalProperties": {}}


def plain(
    schema: Json, json_schemas: Container[str], place: str, *, exclusive: bool = False
) -> tuple[Json, tuple[Problem, ...]]:
    """Return `schema` with plain definitions, and a warning for each omission.

    Members in `json_schemas` (as `Type.member`) contain a JSON Schema and are not read, unless they
    have a title, for example from a patch: then they become types. `place` names the schema's file;
    `exclusive` keeps exclusive bounds. Raise `ProblemError` with everything that is refused.
    """
    found: Json = schema.get("$defs", {})
    reading = _PlainSchemas(
        json_schemas, place, frozenset(map(PREFIX.__add__, found)), exclusive=exclusive
    )
    reading.is_old = any(draft in str(schema.get("$schema")) for draft in _OLD_DRAFTS)
    definitions = {
        name: reading.schema(value, f"/$defs/{escape(name)}", name) for name, value in found.items()
    }
    raise_errors((*reading.problems, *circles(definitions, place)))
    return {**schema, "$defs": definitions}, tuple(reading.problems)


class _PlainSchemas:
    """One pass over all definitions; `pointer` is the current place, `name` its name."""

    def __init__(
        self,
        json_schemas: Container[str],
        place: str,
        references: Container[str],
        *,
        exclusive: bool,
    ) -> None:
        self.exclusive = exclusive
        self.json_schemas = json_schemas
        self.place = place
        self.references = references
        self.is_old = False
        self.problems: list[Problem] = []

    def schema(self, value: Any, pointer: str, name: str, *, member: bool = False) -> Json:
        """Return one schema, normalised; only a `member` may have bounds."""
        if not is_object(value):
            if value is False:
                self._refuse("no value is valid here", pointer, "remove the definition or member")
            elif value is not True:
                self._refuse("this is not a schema", pointer, "write an object or a boolean")
            return {}
        if "$ref" in value and value["$ref"] not in self.references:
            self._refuse_reference(value["$ref"], pointer)
        if "$ref" in value and self.is_old:
            return {"$ref": value["$ref"]}
        result: Json = {key: value[key] for key in value if key in _PLAIN}
        self._report_unread(value, pointer)
        self._alternatives(value, result, pointer, name, member=member)
        self._containers(value, result, pointer, name)
        self._values(value, result, pointer)
        limit = _most_items(value)
        if limit is not None and member:
            value = {**value, "maxItems": limit}
        elif limit is not None:
            self._leave_out(["items"], pointer)
        if member:
            result |= {key: value[key] for key in value if key in self._bounds(value, result)}
        self._leave_out((key for key in value if key in _ALL_BOUNDS - result.keys()), pointer)
        return _reference(result)

    def _bounds(self, value: Json, result: Json) -> Collection[str]:
        """Return the bounds for the annotation of a type."""
        bounds = (
            _BOUNDS.get(result["type"], frozenset()) if _is_single(result) else frozenset[str]()
        )
        if not self.exclusive or "minimum" not in bounds:
            return bounds
        # In draft 4, these are booleans.
        return bounds.union(key for key in _EXCLUSIVE if not isinstance(value.get(key), bool))

    def _report_unread(self, value: Json, pointer: str) -> None:
        for keyword in sorted(value.keys() & _REFUSED):
            self._refuse(f"{keyword} is not supported", f"{pointer}/{keyword}", "use $ref")
        self._leave_out(sorted(value.keys() & _UNCHECKED), pointer)

    def _alternatives(
        self, value: Json, result: Json, pointer: str, name: str, *, member: bool
    ) -> None:
        for keyword in sorted(value.keys() & _LISTS):
            within = member and keyword == "allOf"
            result[keyword] = [
                self.schema(arm, f"{pointer}/{keyword}/{index}", name, member=within)
                for index, arm in enumerate(value[keyword])
                if arm is not False or keyword == "allOf"
            ]
            if not result[keyword]:
                self._refuse("no value is valid here", pointer, "remove it")
        if "oneOf" in result:
            message = "oneOf is read as anyOf: several alternatives may match"
            self._warn(message, f"{pointer}/oneOf")
            arms = result.pop("oneOf")
            if "anyOf" in result:
                result["allOf"] = [*result.get("allOf", ()), {"anyOf": arms}]
            else:
                result["anyOf"] = arms

    def _containers(self, value: Json, result: Json, pointer: str, name: str) -> None:
        if "properties" in value:
            result["properties"] = {
                member: self._member(schema, f"{pointer}/properties/{escape(member)}", name, member)
                for member, schema in value["properties"].items()
            }
        items = value.get("items")
        if is_array(items):
            self._leave_out(["items"], pointer)
        elif items is not None and "prefixItems" not in value:
            inner = NOTHING if items is False else self.schema(items, f"{pointer}/items", name)
            result["items"] = inner
        extra = value.get("additionalProperties")
        if extra is False and not any(map(value.get, _OF_MEMBERS)):
            result["additionalProperties"] = NOTHING
        elif extra is False or (extra not in (None, True, {}) and value.get("properties")):
            self._leave_out(["additionalProperties"], pointer)
        elif extra is not None:
            result["additionalProperties"] = self.schema(
                extra, f"{pointer}/additionalProperties", name
            )

    def _member(self, value: Any, pointer: str, owner: str, member: str) -> Json:
        titled = is_object(value) and "title" in value
        if f"{owner}.{member}" in self.json_schemas and not titled:
            return dict(_OBJECT)
        return self.schema(value, pointer, owner + pascal(member), member=True)

    def _values(self, value: Json, result: Json, pointer: str) -> None:
        """Read types, constants and enumerations; `Literal` takes strings and whole numbers."""
        kinds = value.get("type")
        if kinds is not None:
            if kinds == [] or any(
                kind not in _TYPES for kind in (kinds if is_array(kinds) else (kinds,))
            ):
                hint = f"types are {', '.join(_TYPES)}"
                self._refuse("this is not a type", f"{pointer}/type", hint)
            result["type"] = kinds[0] if is_array(kinds) and len(kinds) == 1 else kinds
        keyword = "const" if "const" in value else "enum"
        if keyword not in value:
            return
        allowed: list[Any] = [value["const"]] if keyword == "const" else value["enum"]
        if not all(map(_is_literal, allowed)):
            self._leave_out([keyword], pointer)
            return
        values = [
            constant for constant in _distinct(allowed) if kinds is None or of_type(constant, kinds)
        ]
        if "const" in value and "enum" in value:
            values = [
                constant
                for constant in values
                if any(is_equal(constant, candidate) for candidate in value["enum"])
            ]
        if not values:
            self._refuse("the enumeration is empty", f"{pointer}/{keyword}", "list its values")
        else:
            _allow(values, keyword, result)

    def _leave_out(self, keywords: Any, pointer: str) -> None:
        for keyword in keywords:
            self._warn(f"{keyword} is not checked by the models", f"{pointer}/{keyword}")

    def _refuse_reference(self, reference: str, pointer: str) -> None:
        message = f"{reference} leads nowhere"
        hint = f"refer to a schema in this file, for example by {PREFIX}Name"
        self.problems.append(Problem("dangling-ref", message, self.place, pointer, hint))

    def _warn(self, message: str, pointer: str) -> None:
        hint = "the models accept more than the schema does"
        self.problems.append(
            Problem("loosened-schema", message, self.place, pointer, hint, Level.WARNING)
        )

    def _refuse(self, message: str, pointer: str, hint: str) -> None:
        self.problems.append(Problem("unsupported-schema", message, self.place, pointer, hint))


def _reference(schema: Json) -> Json:
    """Return a schema; keywords beside a `$ref` go into an `allOf`."""
    if "$ref" not in schema or len(schema) == 1:
        return schema
    rest = {key: value for key, value in schema.items() if key not in ("$ref", "allOf")}
    return {"allOf": [{"$ref": schema["$ref"]}, *schema.get("allOf", ()), rest]}


def _most_items(schema: Json) -> int | None:
    """Return the largest number of items that the schemas of positions allow, or None."""
    items = schema.get("items")
    others = schema.get("additionalItems") if is_array(items) else items
    positions: list[Any] = items if is_array(items) else schema.get("prefixItems", [])
    limits = [place for place, item in enumerate(positions) if item is False]
    limits += [len(positions)] if others is False and positions else []
    return min([*limits, schema.get("maxItems", math.inf)]) if limits else None


def _is_single(schema: Json) -> bool:
    return isinstance(schema.get("type"), str) and not {"$ref", "const", "enum"} & schema.keys()


def _allow(values: list[Any], keyword: str, result: Json) -> None:
    """Restrict a schema to `values`; null becomes a separate type."""
    literals = [value for value in values if value is not None]
    if not literals:
        result["type"] = "null"
    elif len(literals) < len(values):
        result.pop("type", None)
        choice = {"anyOf": [{"enum": literals}, {"type": "null"}]}
        if "anyOf" in result:
            result["allOf"] = [*result.get("allOf", ()), choice]
        else:
            result |= choice
    else:
        result[keyword] = values[0] if keyword == "const" else values


def _is_literal(value: object) -> bool:
    if isinstance(value, float):
        return math.isfinite(value) and value.is_integer()
    return value is None or isinstance(value, bool | int | str)


def _distinct(values: list[Any]) -> list[Any]:
    """Return `values` without repetitions, where true differs from 1."""
    plain: dict[tuple[str, Any], Any] = {}
    for value in map(_plain_number, values):
        plain[type(value).__name__, value] = value
    return list(plain.values())


def _plain_number(value: Any) -> Any:
    """Return 1 for 1.0, because they are the same in JSON Schema."""
    return int(value) if isinstance(value, float) else value
