"""Every small change of a schema, and the changes that a comparison reports for it.

A mutation has the name of its change and the place in the schema. Those in `neutral` leave the
accepted values unchanged.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

from mcp_protogen.base import jsonpointer
from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.instep.compare.compare_revisions import compare_revisions
from mcp_protogen.instep.compare.revisions import ComparedRevision, as_given, compared_as
from mcp_protogen.pipeline.inputs import sources
from mcp_protogen.pipeline.inputs.snapshot import snapshot_of
from mcp_protogen.pipeline.inputs.sources import RevisionSource
from mcp_protogen.pipeline.reports.change import ReportedChange
from support.generated.mutants import Edit

Json = dict[str, Any]

NAME = "mutated"
STRING: Json = {"type": "string"}
_KINDS = ("array", "boolean", "integer", "number", "object", "string")
_ADDED: Mapping[str, Mapping[str, Any]] = {
    "string": {"minLength": 1, "maxLength": 7, "pattern": "^a", "format": "uuid"},
    "integer": {"minimum": 1, "maximum": 7, "exclusiveMinimum": 1, "exclusiveMaximum": 7},
    "number": {"minimum": 1, "maximum": 7, "exclusiveMinimum": 1, "multipleOf": 2},
    "array": {"minItems": 1, "maxItems": 7, "uniqueItems": True, "contains": STRING},
    "object": {"minProperties": 9, "maxProperties": 7, "propertyNames": {"pattern": "^a"}},
}
_NEUTRAL: Mapping[str, Mapping[str, Any]] = {
    "string": {"minLength": 0, "pattern": ""},
    "integer": {"multipleOf": 1},
    "array": {"minItems": 0, "uniqueItems": False},
    "object": {"minProperties": 0, "propertyNames": STRING, "patternProperties": {}}
    | {"dependentRequired": {NAME: []}, "dependentSchemas": {NAME: True}},
}
# Accepts any value of any type.
_OF_ANY: Json = {"if": STRING, "then": True, "else": {}}
# Facts with a closed set of values.
_WORDS: Mapping[str, tuple[str, ...]] = {
    "emit": ("never", "both"),
    "era": ("handshake", "stateless"),
    "level": ("MAY", "MUST", "SHOULD"),
    "phase": ("ready", "before_ready"),
    "policy": ("both", "if_present"),
    "rule": ("absent_reads_as", "negative_reads_as"),
}
_EVERYWHERE: Json = {"description": "x", "title": "x", "$comment": "x", "examples": ["x"]}


class Mutation(NamedTuple):
    """A changed schema in place of the one at `pointer`; `what` names the change."""

    what: str
    pointer: str
    changed: Any

    def __str__(self) -> str:
        return f"{self.what} at {self.pointer}"

    def within(self, schema: Json) -> Json:
        """Return the whole schema with the change; the rest is shared."""
        changed: Json = Edit((*jsonpointer.split(self.pointer),), self.changed).of(schema)
        return changed


def places(schema: Json) -> Iterator[tuple[str, Json]]:
    """Yield each schema inside a whole one, with its pointer."""
    for name, value in schema["$defs"].items():
        yield from _inside(value, jsonpointer.join("$defs", name))


def _inside(schema: Any, pointer: str) -> Iterator[tuple[str, Json]]:
    if not is_object(schema):
        return
    yield pointer, schema
    for name, value in schema.get("properties", {}).items():
        yield from _inside(value, pointer + jsonpointer.join("properties", name))
    for keyword in ("items", "additionalProperties"):
        yield from _inside(schema.get(keyword), f"{pointer}/{keyword}")
    for keyword in ("allOf", "anyOf", "oneOf"):
        for number, arm in enumerate(schema.get(keyword, ())):
            yield from _inside(arm, f"{pointer}/{keyword}/{number}")


def mutations(schema: Json) -> list[Mutation]:
    """Return every mutation of a schema that changes its meaning."""
    names = sorted(schema["$defs"])
    return [
        Mutation(what, pointer, changed)
        for pointer, place in places(schema)
        for what, changed in _variants(place, names)
    ]


def neutral(schema: Json) -> list[Mutation]:
    """Return every mutation of a schema that changes its words and not its meaning."""
    return [
        Mutation(what, pointer, changed)
        for pointer, place in places(schema)
        for what, changed in _rewordings(place)
    ]


def _variants(place: Json, names: list[str]) -> Iterator[tuple[str, Json]]:
    # A constant makes its type redundant.
    unchanged = {"type"} if {"const", "enum"} & place.keys() else set[str]()
    if place.get("additionalProperties") in (True, {}):
        unchanged |= {"additionalProperties"}
    for keyword in sorted(place.keys() - unchanged):
        rest = {key: value for key, value in place.items() if key != keyword}
        if keyword != "properties":
            yield f"{keyword} removed", rest
    for keyword in sorted(place):
        for how, value in _other_values(keyword, place[keyword], names):
            if keyword != "type" or keyword not in unchanged:
                yield f"{keyword} {how}", {**place, keyword: value}
    kinds = place.get("type")
    for kind in kinds if is_array(kinds) else (kinds,):
        for keyword, value in _ADDED.get(str(kind), {}).items():
            if keyword not in place and "const" not in place and "enum" not in place:
                yield f"{keyword} added", {**place, keyword: value}
    if "default" not in place:
        for name, value in {"": "x", "null ": None, "false ": False, "empty ": ""}.items():
            yield f"default {name}added", {**place, "default": value}
    if "properties" not in place:
        for keyword in ("readOnly", "writeOnly", "x-unknown"):
            yield f"{keyword} added", {**place, keyword: True}
    if "const" not in place and "enum" not in place and "properties" not in place:
        yield "enum added", {**place, "enum": ["x", "y"]}
    if kinds == "object":
        yield from _of_objects(place)
    if kinds == "array" and "items" not in place:
        yield "items added", {**place, "items": STRING}


def _of_objects(place: Json) -> Iterator[tuple[str, Json]]:
    members, required = place.get("properties", {}), place.get("required", [])
    grown = {**place, "properties": {**members, NAME: STRING}}
    yield "member added", grown
    yield "required member added", {**grown, "required": [*required, NAME]}
    yield "undeclared member required", {**place, "required": [*required, NAME]}
    for name in members:
        rest = {key: value for key, value in members.items() if key != name}
        yield "member removed", {
            **place,
            "properties": rest,
            "required": [key for key in required if key != name],
        }
        yield "member declared no more", {**place, "properties": rest}
        if name not in required:
            yield "member required", {**place, "required": [*required, name]}
    if "additionalProperties" not in place:
        yield "additionalProperties false added", {**place, "additionalProperties": False}
        yield "additionalProperties added", {**place, "additionalProperties": STRING}


def _other_values(keyword: str, value: Any, names: list[str]) -> Iterator[tuple[str, Any]]:
    match keyword:
        case "type":
            kinds = value if is_array(value) else [value]
            yield "changed", next(kind for kind in _KINDS if kind not in kinds)
            yield "added", [*kinds, next(kind for kind in reversed(_KINDS) if kind not in kinds)]
            if "null" not in kinds:
                yield "null added", [*kinds, "null"]
            for kind in kinds if len(kinds) > 1 else ():
                yield "dropped", [other_kind for other_kind in kinds if other_kind != kind]
        case "enum":
            yield "grown", [*value, NAME]
            for member in value if len(value) > 1 else ():
                yield "shrunk", [member_left for member_left in value if member_left != member]
        case "const":
            yield "changed", NAME if isinstance(value, str) else value + 1
        case "default":
            yield "changed", NAME
        case "required":
            for member in value:
                yield "shrunk", [member_left for member_left in value if member_left != member]
        case "$ref":
            name = value.rpartition("/")[2]
            yield "changed", value.replace(
                name, next(other_name for other_name in names if other_name != name)
            )
        case "format" | "pattern":
            yield "changed", "date" if keyword == "format" else "^b"
        case "allOf" | "anyOf" | "oneOf":
            yield "grown", [*value, {"type": "array", "items": {"type": "boolean"}}]
            for index in range(len(value)) if len(value) > 1 else ():
                yield "shrunk", value[:index] + value[index + 1 :]
        case "additionalProperties":
            yield "false", False
            if not value or value is True:
                yield "restricted", STRING
        case _ if isinstance(value, int | float) and not isinstance(value, bool):
            yield "raised", value + 1
            yield "lowered", value - 1
        case _:
            return


def _rewordings(place: Json) -> Iterator[tuple[str, Any]]:
    for keyword, value in _EVERYWHERE.items():
        yield f"{keyword} added", {**place, keyword: value}
    for keyword in ("allOf", "anyOf", "oneOf"):
        yield f"{keyword} around it", {keyword: [place]}
    yield "empty allOf", {**place, "allOf": [*place.get("allOf", ()), {}]}
    yield "if without effect", {**place, **_OF_ANY}
    if {"const", "enum"} & place.keys():
        yield "limits kept by each value", {
            **place,
            "minLength": 1,
            "maxLength": 99,
            "minimum": -1e9,
        }
    kind = place.get("type")
    if kind == "boolean" and not {"const", "enum"} & place.keys():
        yield "both values listed", {**place, "enum": [True, False]}
    if kind == "object" and place.get("required"):
        required = place["required"]
        yield "minProperties of required", {**place, "minProperties": len(required)}
        yield "dependentRequired of required", {**place, "dependentRequired": {NAME: required}}
    if isinstance(kind, str):
        yield "type as a list", {**place, "type": [kind]}
        if "const" not in place and "enum" not in place:
            for keyword, value in _NEUTRAL.get(kind, {}).items():
                yield f"{keyword} {value!r:.5} added", {**place, keyword: value}
    if kind == "object":
        if place.get("additionalProperties") in (None, True, {}):
            yield "additionalProperties true", {**place, "additionalProperties": True}
            yield "additionalProperties {}", {**place, "additionalProperties": {}}
        if "required" not in place:
            yield "required of nothing", {**place, "required": []}
    if kind == "array" and "items" not in place:
        yield "items true", {**place, "items": True}
    if "const" in place:
        rest = {key: value for key, value in place.items() if key != "const"}
        yield "const as enum", {**rest, "enum": [place["const"]]}
    for keyword in ("enum", "required", "anyOf", "oneOf"):
        if keyword in place and len(place[keyword]) > 1:
            yield f"{keyword} reversed", {**place, keyword: place[keyword][::-1]}
    for keyword in ("enum", "required"):
        if place.get(keyword):
            yield f"{keyword} repeated", {**place, keyword: [*place[keyword], place[keyword][0]]}


def fact_mutations(facts: Any, pointer: str = "") -> Iterator[Mutation]:
    if is_object(facts):
        for key, value in facts.items():
            yield from fact_mutations(value, pointer + jsonpointer.join(key))
    elif is_array(facts):
        yield Mutation("shrunk", pointer, facts[:-1])
    elif isinstance(facts, bool):
        yield Mutation("switched", pointer, not facts)
    elif isinstance(facts, int):
        yield Mutation("raised", pointer, facts + 1)
    else:
        words = _WORDS.get(pointer.rpartition("/")[2], (f"{facts}x",))
        yield Mutation("changed", pointer, next(word for word in words if word != facts))


class Mutable:
    """A pinned revision as one side of a comparison, and a changed one as the other."""

    def __init__(self, revision: str) -> None:
        self._source = sources.load_pinned(revision, schema_folder())
        self.schema: Json = self._source.schema
        self.before = self._side(self.schema)

    @property
    def facts(self) -> Json:
        """The facts of the revision, as its files have them."""
        return self._source.facts.document

    def changes_of_facts(self, mutation: Mutation) -> tuple[ReportedChange, ...] | str:
        facts = replace(self._source.facts, document=mutation.within(self.facts))
        return self._report_changes(
            lambda: self._side(self.schema, replace(self._source, facts=facts))
        )

    def changes(self, mutation: Mutation) -> tuple[ReportedChange, ...] | str:
        """Return the reported changes for a mutation, or the reason why it is refused."""
        return self._report_changes(lambda: self._side(snapshot_of(mutation.within(self.schema))))

    def _report_changes(
        self, make: Callable[[], ComparedRevision]
    ) -> tuple[ReportedChange, ...] | str:
        try:
            after = make()
        except ProblemError as error:
            return error.problems[0].code
        known = {note.message for note in self.before.notes}
        notes = [note.message for note in after.notes if note.message not in known]
        return compare_revisions(self.before, after).changes or "; ".join(notes) or ()

    def _side(self, schema: Json, source: RevisionSource | None = None) -> ComparedRevision:
        source, notes = as_given(replace(source or self._source, schema=schema))
        return compared_as(source, notes, title="x")


@cache
def mutable(revision: str) -> Mutable:
    """Return a revision that can be changed; made once."""
    return Mutable(revision)
