"""The intersection of two schemas, as one schema.

Schemas are those of the dialect, and may contain `allOf`. Alternatives are multiplied out and
values are filtered; losses are noted. An enumeration without values stands for a schema that no
value satisfies.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from mcp_protogen.base.canonical import canonical
from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.pipeline.normalise.references import definition_name

Json = dict[str, Any]

NOTHING: Json = {"enum": []}

# Bounds, with the function that chooses between two.
_BOUNDS: Mapping[str, Callable[[Any, Any], Any]] = {
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minLength", "minItems"), max),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength", "maxItems"), min),
}
_RANGES = (("minimum", "maximum"), ("minLength", "maxLength"), ("minItems", "maxItems"))
# Keywords that are joined separately; for all others, the first value is taken.
_JOINED = frozenset({"additionalProperties", "items", "properties", "required", "type"})
_OF_OBJECTS = frozenset({"additionalProperties", "anyOf", "properties", "required"})
_OF_ARRAYS = frozenset({"items", "maxItems", "minItems"})
_MOST_ALTERNATIVES = 64
_MOST_SCHEMAS = 20_000
_DEEPEST = 8


class TooLarge(Exception):
    """Raised for an intersection with too many schemas."""


class Intersection:
    """A join of schemas that may refer to `definitions`; `note` is called with each loss."""

    def __init__(self, definitions: Json, note: Callable[[str], None]) -> None:
        self._definitions = definitions
        self._note = note
        self._done: dict[bytes, tuple[Json, int]] = {}
        self.schemas = 0
        """The number of schemas in all results."""
        self._open: set[bytes] = set()

    def count(self, schemas: int = 1) -> None:
        """Count schemas of the result; raise `TooLarge` if there are too many."""
        self.schemas += schemas
        if self.schemas > _MOST_SCHEMAS:
            raise TooLarge

    def join(self, schema: Json) -> Json:
        """Return one schema for an `allOf` and the keywords beside it."""
        if "allOf" not in schema:
            return schema
        rest = {key: value for key, value in schema.items() if key != "allOf"}
        merged: Json = {}
        for part in (*schema["allOf"], rest):
            merged = self.intersect(merged, part)
        return merged

    def intersect(self, left: Json, right: Json) -> Json:
        """Return a schema for the values that both accept."""
        self.count()
        left, right = self.join(left), self.join(right)
        if not left or not right or is_equal(left, right):
            return left or right
        if "$ref" in left or "$ref" in right:
            return self._join_references(left, right)
        for first, second in ((left, right), (right, left)):
            arms = alternatives(first, beside=second)
            if len(arms) * len(alternatives(second)) > _MOST_ALTERNATIVES:
                self._note("an intersection has too many alternatives")
                return first
            if arms:
                return either(self._in_order(first is left, arm, second) for arm in arms)
        if {"const", "enum"} & (left.keys() | right.keys()):
            return _values(left, right)
        kind = _kind(left.get("type"), right.get("type"))
        if kind == "":
            return NOTHING
        merged = {**left, **right, **({"type": kind} if kind else {})}
        return self._contents(left, right, drop_unfit_keywords(kind, merged))

    def _in_order(self, is_left: bool, arm: Json, other: Json) -> Json:
        return self.intersect(arm, other) if is_left else self.intersect(other, arm)

    def _join_references(self, left: Json, right: Json) -> Json:
        """Return the intersection with a named type: its reference, if it is not restricted."""
        key = canonical([left, right])
        if key in self._done:
            name, schemas = self._done[key]
            self.count(schemas)  # it is written out once more
            return name
        if key in self._open or len(self._open) > _DEEPEST:
            self._note("an intersection refers to itself")
            return left
        self._open.add(key)
        before = self.schemas
        name = self._join_resolved(left, right)
        self._done[key] = name, self.schemas - before
        self._open.discard(key)
        return name

    def _join_resolved(self, left: Json, right: Json) -> Json:
        left_object, right_object = self._resolve(left), self._resolve(right)
        merged = self.intersect(left_object, right_object)
        for schema, content in ((left, left_object), (right, right_object)):
            if "$ref" in schema and is_equal(merged, content):
                return schema
        return merged

    def _resolve(self, schema: Json) -> Json:
        while "$ref" in schema:
            schema = self.join(self._definitions[definition_name(schema["$ref"])])
        return schema

    def _contents(self, left: Json, right: Json, merged: Json) -> Json:
        if "required" in merged:
            merged["required"] = sorted({*left.get("required", ()), *right.get("required", ())})
        for keyword in (left.keys() & right.keys() & merged.keys()) - _JOINED:
            choose = _BOUNDS.get(keyword, _take_left)
            merged[keyword] = choose(left[keyword], right[keyword])
        for keyword in ("items", "additionalProperties"):
            if keyword in merged and is_object(left.get(keyword)) and is_object(right.get(keyword)):
                merged[keyword] = self.intersect(left[keyword], right[keyword])
        if merged.get("items") == NOTHING and merged.get("minItems"):
            return NOTHING
        if any(merged[low] > merged[high] for low, high in _RANGES if {low, high} <= merged.keys()):
            return NOTHING
        return self._members(left, right, merged) if "properties" in merged else merged

    def _members(self, left: Json, right: Json, merged: Json) -> Json:
        schemas = (left, right)
        members: Json = {}
        for name in dict.fromkeys(
            name for schema in schemas for name in schema.get("properties", {})
        ):
            member = self.intersect(*(_member(schema, name) for schema in schemas))
            if member != NOTHING:
                members[name] = member
            elif name in merged.get("required", ()):
                return NOTHING
            else:
                self._note(f"the models do not check that {name} is always absent")
        return {**merged, "properties": members}


def alternatives(schema: Json, *, beside: Json | None = None) -> Sequence[Json]:
    """Return the alternatives of a schema, without arms that only require members."""
    if is_array(schema.get("type")):
        return [drop_unfit_keywords(kind, {**schema, "type": kind}) for kind in schema["type"]]
    arms: Sequence[Json] = schema.get("anyOf", ())
    if only_required(arms) and (beside is None or "anyOf" not in beside):
        return ()
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    return [{"allOf": [rest, arm]} for arm in arms] if rest else arms


def either(arms: Iterable[Json]) -> Json:
    """Return the choice between schemas, without repeated and unsatisfiable ones."""
    arms_by_key: dict[bytes, Json] = {}
    for arm in arms:
        for inner in arm["anyOf"] if set(arm) == {"anyOf"} else [arm]:
            if inner != NOTHING:
                arms_by_key.setdefault(canonical(inner), inner)
    different = [*arms_by_key.values()]
    if len(different) < 2:
        return different[0] if different else NOTHING
    return {"anyOf": different}


def drop_unfit_keywords(kind: str | None, schema: Json) -> Json:
    """Return a schema without keywords of objects or arrays that do not fit its type."""
    away = {"object": _OF_ARRAYS, "array": _OF_OBJECTS}.get(kind or "", _OF_OBJECTS | _OF_ARRAYS)
    return {key: value for key, value in schema.items() if kind is None or key not in away}


def only_required(arms: Sequence[Json]) -> bool:
    """Return whether each alternative only requires one member."""
    return bool(arms) and all(
        set(arm) == {"required"} and len(arm["required"]) == 1 for arm in arms
    )


def of_type(value: object, kind: object) -> bool:
    """Return whether a scalar has a type, or one of several."""
    if is_array(kind):
        return any(of_type(value, alternative) for alternative in kind)
    match value:
        case bool():
            return kind == "boolean"
        case str():
            return kind == "string"
        case None:
            return kind == "null"
        case _:
            return kind in ("integer", "number")


def is_equal(one: Any, other: Any) -> bool:
    """Return whether two JSON values are equal, where true differs from 1."""
    return bool(one == other) and canonical(one) == canonical(other)


def _take_left(left: Any, _: Any) -> Any:
    return left


def _kind(left: str | None, right: str | None) -> str | None:
    """Return the common type of both; empty without one."""
    if left == right or left is None or right is None:
        return left or right
    return "integer" if {left, right} == {"integer", "number"} else ""


def _member(schema: Json, name: str) -> Json:
    members: Mapping[str, Json] = schema.get("properties", {})
    if name in members:
        return members[name]
    others = schema.get("additionalProperties")
    return others if is_object(others) else {}


def _values(left: Json, right: Json) -> Json:
    """Return the constants that the other side accepts."""
    one, other = (left, right) if {"const", "enum"} & left.keys() else (right, left)
    allowed: Sequence[Any] = [one["const"]] if "const" in one else one["enum"]
    shared = [value for value in allowed if _accepts(other, value)]
    if len(shared) == len(allowed):
        return one
    if not shared:
        return NOTHING
    others = {key: value for key, value in one.items() if key not in ("const", "enum")}
    return {**others, "const": shared[0]} if len(shared) == 1 else {**others, "enum": shared}


def _accepts(schema: Json, value: Any) -> bool:
    if "const" in schema or "enum" in schema:
        values: Sequence[Any] = schema.get("enum", [schema.get("const")])
        return any(is_equal(value, allowed) for allowed in values)
    if "type" in schema and not of_type(value, schema["type"]):
        return False
    size, bounds = (len(value), _RANGES[1]) if isinstance(value, str) else (value, _RANGES[0])
    low, high = map(schema.get, bounds)
    above, below = map(schema.get, ("exclusiveMinimum", "exclusiveMaximum"))
    return (
        (low is None or size >= low)
        and (high is None or size <= high)
        and (above is None or size > above)
        and (below is None or size < below)
    )
