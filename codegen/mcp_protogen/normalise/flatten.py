"""Intersections become one object, and rules about required members become data."""

from collections.abc import Mapping
from typing import Any

from mcp_protogen import jsonpointer
from mcp_protogen.jsonvalue import is_object
from mcp_protogen.normalise.references import target
from mcp_protogen.problems import Problem, ProblemError

Json = dict[str, Any]


def flattened(definitions: Json, place: str) -> Json:
    """`definitions` without `allOf`, and with `anyOf` of `required` lists as `x-any-of-required`.

    Raises `ProblemError` for an intersection that is not one of objects.
    """
    return {
        name: _Flattening(definitions, place, jsonpointer.join("$defs", name)).flat(schema)
        for name, schema in definitions.items()
    }


class _Flattening:
    """Works on one definition, at `pointer` of the file `place`."""

    def __init__(self, definitions: Json, place: str, pointer: str) -> None:
        self.definitions = definitions
        self.place = place
        self.pointer = pointer

    def flat(self, schema: Json) -> Json:
        """A schema and everything inside it."""
        flat = dict(self._joined(schema))
        if "properties" in flat:
            flat["properties"] = {
                member: self.flat(value) for member, value in flat["properties"].items()
            }
        for keyword in ("items", "additionalProperties"):
            if is_object(flat.get(keyword)):
                flat[keyword] = self.flat(flat[keyword])
        if "anyOf" in flat:
            flat["anyOf"] = [
                self.flat(arm) if set(arm) != {"required"} else arm for arm in flat["anyOf"]
            ]
        return _declared(self._one_of_required(flat))

    def _joined(self, schema: Json) -> Json:
        """The one schema that an `allOf` and what stands beside it come to."""
        if "allOf" not in schema:
            return schema
        rest = {key: value for key, value in schema.items() if key != "allOf"}
        merged: Json = {}
        for part in (*schema["allOf"], rest):
            merged = self._merged(merged, self._joined(self._resolved(part)))
        return merged

    def _resolved(self, part: Json) -> Json:
        while set(part) == {"$ref"}:
            part = self.definitions[target(part["$ref"])]
        return part

    def _merged(self, left: Json, right: Json) -> Json:
        """Both schemas in one; where they name the same member, the later and narrower one wins."""
        merged = {**left, **right}
        if "properties" in left and "properties" in right:
            merged["properties"] = {**left["properties"], **right["properties"]}
        if "required" in left or "required" in right:
            merged["required"] = sorted({*left.get("required", ()), *right.get("required", ())})
        if left.get("type", "object") != right.get("type", "object"):
            raise self._bad("allOf joins different types")
        for keyword in sorted(left.keys() & right.keys() - {"properties", "required", "type"}):
            if left[keyword] != right[keyword] and keyword != "additionalProperties":
                raise self._bad(f"allOf joins two different {keyword}")
        return merged

    def _one_of_required(self, schema: Json) -> Json:
        if "anyOf" not in schema:
            return schema
        arms: list[Json] = schema["anyOf"]
        if all(set(arm) == {"required"} and len(arm["required"]) == 1 for arm in arms):
            rest = {key: value for key, value in schema.items() if key != "anyOf"}
            return {**rest, "x-any-of-required": [arm["required"][0] for arm in arms]}
        if "properties" in schema or any(set(arm) == {"required"} for arm in arms):
            raise self._bad("members stand beside alternatives")
        return schema

    def _bad(self, message: str) -> ProblemError:
        hint = "only objects can be joined, and each alternative needs all of its members"
        return ProblemError(Problem("bad-intersection", message, self.place, self.pointer, hint))


def _declared(schema: Json) -> Json:
    """Members that are required without being declared may be anything."""
    required: list[str] = [*schema.get("required", ()), *schema.get("x-any-of-required", ())]
    members: Mapping[str, Json] = schema.get("properties", {})
    anything: Json = schema.get("additionalProperties", {})
    missing = {member: anything for member in required if member not in members}
    return {**schema, "properties": {**members, **missing}} if missing else schema
