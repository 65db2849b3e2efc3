"""Intersections become one schema each, and rules about required members become data."""

from collections.abc import Mapping
from typing import Any

from mcp_protogen import graph, jsonpointer
from mcp_protogen.canonical import canonical
from mcp_protogen.jsonvalue import is_array, is_object
from mcp_protogen.normalise.intersection import (
    NOTHING,
    Intersection,
    alternatives,
    either,
    only_required,
)
from mcp_protogen.normalise.references import direct
from mcp_protogen.problems import Level, Problem, ProblemError

Json = dict[str, Any]

_CONTENTS = frozenset({"additionalProperties", "anyOf", "items", "properties", "required"})
# Said of alternatives together, and of none of them.
_ANNOTATIONS = frozenset({"default", "deprecated"})
_DEEPEST = 20
_BOUNDS = frozenset({"maxItems", "maxLength", "maximum", "minItems", "minLength", "minimum"})


def flattened(definitions: Json, place: str) -> tuple[Json, tuple[Problem, ...]]:
    """`definitions` without `allOf`, and with `anyOf` of `required` lists as `x-any-of-required`.

    With a warning for each thing that is lost. Raises `ProblemError` for what no value satisfies.
    """
    problems: dict[Problem, None] = {}
    done: Json = {}
    # What a definition joins is joined already, however long the line of those it extends.
    joined = dict(definitions)
    for name in graph.targets_first(direct(definitions)):
        schema = definitions[name]
        pointer = jsonpointer.join("$defs", name)
        flattening = _Flattening(joined, place, pointer, problems)
        try:
            done[name] = flattening.flat(schema)
        except RecursionError as error:
            message = "allOf and the references in it have no end"
            hint = "give what is joined a definition of its own"
            problem = Problem("unsupported-schema", message, place, pointer, hint)
            raise ProblemError(problem) from error
        if done[name] == NOTHING:
            raise ProblemError(flattening.impossible())
        if "allOf" in schema:
            joined[name] = flattening.intersection.joined(schema)
    return {name: done[name] for name in definitions}, tuple(problems)


class _Flattening:
    """Works on one definition, at `pointer` of the file `place`."""

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
        """What is wrong with a definition that nothing satisfies, where that begins."""
        message = "no value can be all of this at once"
        hint = "look at what the parts of the allOf say of the same thing, and say it once"
        pointer = self.pointer + next(iter(self._nowhere), "")
        return Problem("bad-intersection", message, self.place, pointer, hint)

    def flat(self, schema: Json, steps: str = "") -> Json:
        """A schema and everything inside it; `steps` lead to it from the definition."""
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
        flat = self._inside(dict(self._spread(self.intersection.joined(schema))), steps)
        if flat == NOTHING:
            self._nowhere.append(steps)
            return NOTHING
        done = _declared(_one_of_required(self._typed(flat, steps)))
        if "properties" in done and done.get("additionalProperties"):
            self._note("additionalProperties is not checked by the models", steps)
        return done

    def _inside(self, flat: Json, steps: str) -> Json:
        """A schema whose inner ones are flat."""
        if "properties" in flat:
            members = {
                member: self.flat(value, steps + jsonpointer.join("properties", member))
                for member, value in flat["properties"].items()
            }
            flat["properties"] = {name: one for name, one in members.items() if one != NOTHING}
            if not flat["properties"] and flat.get("additionalProperties"):
                del flat["properties"]
            for name in sorted(members.keys() - flat.get("properties", {}).keys()):
                if name in flat.get("required", ()):
                    return NOTHING
                self._note(f"that {name} is never there is not checked by the models", steps)
        for keyword in ("items", "additionalProperties"):
            if is_object(flat.get(keyword)):
                inner = self._inner(flat[keyword], f"{steps}/{keyword}")
                if inner == NOTHING:
                    self._note(f"{keyword} that nothing satisfies are not checked", steps)
                flat[keyword] = {} if inner == NOTHING else inner
        if "anyOf" in flat and not only_required(flat["anyOf"]):
            arms = enumerate(flat.pop("anyOf"))
            choice = either(self._inner(arm, f"{steps}/anyOf/{index}") for index, arm in arms)
            return {**flat, **choice}
        return flat

    def _typed(self, schema: Json, steps: str) -> Json:
        """A schema that says of objects or arrays what they hold, said of them alone."""
        if "type" in schema or "anyOf" in schema or not schema.keys() & _CONTENTS:
            return schema
        kind = "array" if "items" in schema else "object"
        message = f"this has no type, and is read as that of an {kind}"
        hint = f'write "type": "{kind}" beside it'
        problem = Problem(
            "unsupported-schema", message, self.place, self.pointer + steps, hint, Level.WARNING
        )
        self.problems[problem] = None
        return {"type": kind, **schema}

    def _inner(self, schema: Json, steps: str) -> Json:
        """A schema that is not a member's own, whose bounds are in no annotation."""
        flat = self.flat(schema, steps)
        for keyword in sorted(flat.keys() & _BOUNDS):
            self._note(f"{keyword} is not checked by the models", steps)
        return flat

    def _spread(self, schema: Json) -> Json:
        """Alternatives that have something beside them, each with that."""
        of_types = is_array(schema.get("type")) and schema.keys() & _CONTENTS
        alone = len(schema.keys() - _ANNOTATIONS) == 1
        if not of_types and (alone or only_required(schema.get("anyOf", ({},)))):
            return schema
        arms = alternatives(schema) if of_types or "anyOf" in schema else ()
        if not arms:
            return schema
        return self._spread(either(map(self.intersection.joined, arms)))

    def _note(self, message: str, steps: str = "") -> None:
        hint = "they accept more than the schema does"
        pointer = self.pointer + steps
        problem = Problem("loosened-schema", message, self.place, pointer, hint, Level.WARNING)
        self.problems[problem] = None


def _one_of_required(schema: Json) -> Json:
    arms: list[Json] = schema.get("anyOf", [])
    if not only_required(arms):
        return schema
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    return {**rest, "x-any-of-required": [arm["required"][0] for arm in arms]}


def _declared(schema: Json) -> Json:
    """Members that are required without being declared may be anything."""
    required: list[str] = [*schema.get("required", ()), *schema.get("x-any-of-required", ())]
    members: Mapping[str, Json] = schema.get("properties", {})
    anything: Json = schema.get("additionalProperties", {})
    missing = {member: anything for member in required if member not in members}
    return {**schema, "properties": {**members, **missing}} if missing else schema
