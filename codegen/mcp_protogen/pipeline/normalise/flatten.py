"""Intersections as single schemas, and conditions on required members as data."""

from collections.abc import Mapping
from typing import Any

from mcp_protogen.base import jsonpointer
from mcp_protogen.base.canonical import canonical
from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.base.problems import Level, Problem, raise_errors
from mcp_protogen.base.subschemas import subschemas
from mcp_protogen.pipeline.normalise.intersection import (
    NOTHING,
    Intersection,
    TooLarge,
    alternatives,
    either,
    only_required,
)
from mcp_protogen.pipeline.normalise.references import dependencies_first

Json = dict[str, Any]

_CONTENTS = frozenset({"additionalProperties", "anyOf", "items", "properties", "required"})
# These apply to all alternatives together.
_ANNOTATIONS = frozenset({"default", "deprecated"})
_DEEPEST = 20
_BOUNDS = frozenset(
    {"maxItems", "maxLength", "maximum", "minItems", "minLength", "minimum"}
    | {"exclusiveMaximum", "exclusiveMinimum"}
)
_MOST_SCHEMAS = 30_000
_MOST_FOR_EACH = 3
"""The largest number of resulting schemas: a base, and a number for each written schema."""
_ENDLESS: Mapping[type[Exception], str] = {
    RecursionError: "refer to themselves without end",
    TooLarge: "multiply into too many schemas",
}


def flatten_definitions(definitions: Json, place: str) -> tuple[Json, tuple[Problem, ...]]:
    """Return `definitions` without `allOf`, and a warning for each loss.

    An `anyOf` of `required` lists becomes `x-any-of-required`. Raise `ProblemError` for a
    definition that no value satisfies.
    """
    problems: dict[Problem, None] = {}
    impossible: list[Problem] = []
    sizes: dict[str, int] = {}
    count = sum(1 for _ in subschemas([*definitions.values()]))
    room = _MOST_SCHEMAS + _MOST_FOR_EACH * count
    flat: Json = {}
    # The definitions that one refers to come first, so that they are joined already.
    joined = dict(definitions)
    for name in dependencies_first(definitions):
        schema = definitions[name]
        pointer = jsonpointer.join("$defs", name)
        flattening = _Flattening(joined, place, pointer, problems)
        try:
            flat[name] = flattening.flat(schema)
            if flat[name] == NOTHING:
                impossible.append(flattening.impossible())
            elif "allOf" in schema:
                joined[name] = flattening.intersection.join(schema)
            sizes[name] = flattening.intersection.schemas
            room -= sizes[name]
            if room < 0:
                pointer = jsonpointer.join("$defs", max(sizes, key=sizes.__getitem__))
                raise TooLarge
        except (RecursionError, TooLarge) as error:
            message = f"its intersections {_ENDLESS[type(error)]}"
            hint = "give the joined part a definition of its own"
            impossible.append(Problem("unsupported-schema", message, place, pointer, hint))
            break
    raise_errors(impossible)
    return {name: flat[name] for name in definitions}, tuple(problems)


class _Flattening:
    """The work on one definition, at `pointer` of the file `place`."""

    def __init__(
        self, definitions: Json, place: str, pointer: str, problems: dict[Problem, None]
    ) -> None:
        self.place = place
        self.pointer = pointer
        self.problems = problems
        self.intersection = Intersection(definitions, self._note)
        self._nowhere: list[str] = []
        self._open: set[bytes] = set()

    def impossible(self) -> Problem:
        """Return the problem of a definition without valid values, at its first place."""
        message = "no value can satisfy all parts of this"
        hint = "compare the parts of the allOf: they contradict each other"
        pointer = self.pointer + next(iter(self._nowhere), "")
        return Problem("bad-intersection", message, self.place, pointer, hint)

    def flat(self, schema: Json, steps: str = "") -> Json:
        """Return a schema, flattened with its inner schemas; `steps` lead to it."""
        self.intersection.count()
        if "allOf" not in schema and ("anyOf" not in schema or len(schema) == 1):
            return self._flat(schema, steps)
        key = canonical(schema)
        if key in self._open or len(self._open) > _DEEPEST:
            self._note("an intersection that contains itself is not checked by the models", steps)
            parts: list[Json] = schema.get("allOf", [])
            return next((part for part in parts if "$ref" in part), dict[str, Any]())
        self._open.add(key)
        flat = self._flat(schema, steps)
        self._open.discard(key)
        return flat

    def _flat(self, schema: Json, steps: str) -> Json:
        flat = self._inside(dict(self._spread(self.intersection.join(schema))), steps)
        if flat == NOTHING:
            self._nowhere.append(steps)
            return NOTHING
        result = _declare_required(_mark_any_required(self._add_type(flat, steps)))
        if "properties" in result and result.get("additionalProperties"):
            self._note("additionalProperties is not checked by the models", steps)
        return result

    def _inside(self, flat: Json, steps: str) -> Json:
        """Return a schema whose inner schemas are flat."""
        if "properties" in flat:
            members = {
                member: self.flat(value, steps + jsonpointer.join("properties", member))
                for member, value in flat["properties"].items()
            }
            flat["properties"] = {
                name: schema for name, schema in members.items() if schema != NOTHING
            }
            if not flat["properties"] and flat.get("additionalProperties"):
                del flat["properties"]
            for name in sorted(members.keys() - flat.get("properties", {}).keys()):
                if name in flat.get("required", ()):
                    return NOTHING
                self._note(f"the models do not check that {name} is always absent", steps)
        for keyword in ("items", "additionalProperties"):
            if is_object(flat.get(keyword)):
                flat[keyword] = self._flatten_inner(flat[keyword], f"{steps}/{keyword}")
        if "anyOf" in flat and not only_required(flat["anyOf"]):
            arms = enumerate(flat.pop("anyOf"))
            choice = either(
                self._flatten_inner(arm, f"{steps}/anyOf/{index}") for index, arm in arms
            )
            return {**flat, **choice}
        return flat

    def _add_type(self, schema: Json, steps: str) -> Json:
        """Return a schema with the type of its keywords."""
        if "type" in schema or "anyOf" in schema or not schema.keys() & _CONTENTS:
            return schema
        kind = "array" if "items" in schema else "object"
        message = f"this schema has no type, and is read as an {kind}"
        hint = f'write "type": "{kind}" beside it'
        problem = Problem(
            "unsupported-schema", message, self.place, self.pointer + steps, hint, Level.WARNING
        )
        self.problems[problem] = None
        return {"type": kind, **schema}

    def _flatten_inner(self, schema: Json, steps: str) -> Json:
        """Return a flat schema for a place without bounds in its annotation."""
        flat = self.flat(schema, steps)
        for keyword in sorted(flat.keys() & _BOUNDS):
            self._note(f"{keyword} is not checked by the models", steps)
        return flat

    def _spread(self, schema: Json) -> Json:
        """Return a schema with the keywords beside its alternatives moved into each of them."""
        of_types = is_array(schema.get("type")) and schema.keys() & _CONTENTS
        alone = len(schema.keys() - _ANNOTATIONS) == 1
        if not of_types and (alone or only_required(schema.get("anyOf", ({},)))):
            return schema
        arms = alternatives(schema) if of_types or "anyOf" in schema else ()
        if not arms:
            return schema
        return self._spread(either(map(self.intersection.join, arms)))

    def _note(self, message: str, steps: str = "") -> None:
        hint = "the models accept more than the schema does"
        pointer = self.pointer + steps
        problem = Problem("loosened-schema", message, self.place, pointer, hint, Level.WARNING)
        self.problems[problem] = None


def _mark_any_required(schema: Json) -> Json:
    arms: list[Json] = schema.get("anyOf", [])
    if not only_required(arms):
        return schema
    others = {key: value for key, value in schema.items() if key != "anyOf"}
    return {**others, "x-any-of-required": [arm["required"][0] for arm in arms]}


def _declare_required(schema: Json) -> Json:
    """Return a schema with declarations of all required members; new ones accept any value."""
    required: list[str] = [*schema.get("required", ()), *schema.get("x-any-of-required", ())]
    members: Mapping[str, Json] = schema.get("properties", {})
    anything: Json = schema.get("additionalProperties", {})
    missing = {member: anything for member in required if member not in members}
    return {**schema, "properties": {**members, **missing}} if missing else schema
