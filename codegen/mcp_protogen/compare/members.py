"""The members of a type by their paths on the wire, also through objects without a name.

`Tool.inputSchema.type` is a path through an inline object; `CallToolRequest.params.name` is a path
through the params of a message, whether or not these have a name. If an object is one of several
alternatives, a member is required only if all of them require it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from mcp_protogen.base import jsonpointer
from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.compare.reading import EMBEDDED
from mcp_protogen.compare.spelling import spelled
from mcp_protogen.normalise.references import target

Json = dict[str, Any]

# Annotations do not restrict values, and the other keywords are compared separately.
_NOT_A_BOUND = frozenset(
    {"const", "default", "deprecated", "enum", "readOnly", "required", "type", "writeOnly"}
    | {"$defs", "$ref", "additionalProperties", "anyOf", "items", "properties", EMBEDDED}
)


@dataclass(frozen=True, slots=True)
class Member:
    """One member, at the path `steps`; `pointer` leads to it in the schema."""

    steps: tuple[str, ...]
    schema: Json
    required: bool
    pointer: str

    @property
    def path(self) -> str:
        """The steps as one text, as people write it."""
        return _path(self.steps)

    def of(self, name: str) -> "Member":
        """Return the same member of a type with another name."""
        return replace(self, steps=(name, *self.steps[1:]))

    @property
    def holder(self) -> str:
        """The path of the object around it, or of the list or map of such objects."""
        steps = self.steps[:-1]
        while steps and steps[-1] in ("[]", "{}"):
            steps = steps[:-1]
        return _path(steps)

    @property
    def type(self) -> str:
        """The type as short text, without null."""
        return spelled(self.schema)

    @property
    def nullable(self) -> bool:
        """Return whether null is one of its values."""
        return _allows_null(self.schema)

    @property
    def deprecated(self) -> bool:
        """Return whether it is deprecated, by the schema or by a fact."""
        return self.schema.get("deprecated") is True

    @property
    def text(self) -> str:
        """The type as text, with whether it is required and may be null."""
        null = "|null" if self.nullable and self.type != "null" else ""
        return f"{'required' if self.required else 'optional'} {self.type}{null}"

    @property
    def choices(self) -> frozenset[str]:
        """The only values that it may have, as text; empty if it is not limited."""
        arms: list[Json] = self.schema.get("anyOf", [self.schema])
        if not all("const" in arm or "enum" in arm for arm in arms):
            return frozenset()
        found = (arm["enum"] if "enum" in arm else [arm["const"]] for arm in arms)
        return frozenset(str(value) for values in found for value in values)

    @property
    def bounds(self) -> Mapping[str, Any]:
        """The constraints by keyword, including those of list items and map values."""
        return dict(_bounds(self.schema))


def members(definitions: Json, name: str, *, message: bool) -> Mapping[str, Member]:
    """Return the members of a named type by path; for a `message`, only those of its params."""
    walk = _Walk(definitions)
    start = jsonpointer.join("$defs", name)
    schema = named(definitions[name], definitions)
    if not message:
        return _by_path(walk.inside((name,), schema, start))
    params: Json = schema.get("properties", {}).get("params", {})
    return _by_path(walk.through_names((name, "params"), params, f"{start}/properties/params"))


def named(schema: Json, definitions: Json) -> Json:
    """Return the schema behind a chain of names."""
    met: set[str] = set()
    while "$ref" in schema and (name := target(schema["$ref"])) not in met:
        met.add(name)
        schema = definitions[name]
    return schema


def _path(steps: tuple[str, ...]) -> str:
    return ".".join(steps).replace(".[]", "[]").replace(".{}", "{}")


def _bounds(schema: Json, start: str = "") -> Iterator[tuple[str, Any]]:
    """Yield constraints by their place; a switch that is false is left out."""
    for keyword, value in schema.items():
        if keyword == "x-any-of-required":
            yield f"{start}anyOf", value
        elif keyword not in _NOT_A_BOUND and value is not False:
            yield start + keyword, value
    if schema.get("additionalProperties") is False:
        yield f"{start}additionalProperties", False
    for keyword in ("items", "additionalProperties"):
        inner: Any = schema.get(keyword)
        # Members of an object without a name have their own paths.
        if is_object(inner) and "properties" not in inner:
            yield from _bounds(inner, f"{start}{keyword}/")


def _by_path(found: Iterable[Member]) -> Mapping[str, Member]:
    return {member.path: member for member in found}


_Steps = tuple[str, ...]


class _Walk:
    def __init__(self, definitions: Json) -> None:
        self._definitions = definitions

    def inside(self, steps: _Steps, schema: Json, pointer: str) -> Iterator[Member]:
        """Yield the members below a place, without following names."""
        required = schema.get("required", ())
        for name, value in schema.get("properties", {}).items():
            here = (*steps, name)
            at = pointer + jsonpointer.join("properties", name)
            yield Member(here, value, name in required, at)
            yield from self.inside(here, value, at)
        for keyword, mark in (("items", "[]"), ("additionalProperties", "{}")):
            inner: Any = schema.get(keyword)
            if is_object(inner):
                yield from self.inside((*steps, mark), inner, f"{pointer}/{keyword}")
        arms = [
            [*self.inside(steps, arm, f"{pointer}/anyOf/{number}")]
            for number, arm in enumerate(schema.get("anyOf", ()))
        ]
        yield from _merged(arms)

    def through_names(self, steps: _Steps, schema: Json, pointer: str) -> Iterator[Member]:
        """Yield the members below a place, following names and unions of names."""
        if "$ref" in schema:
            name = target(schema["$ref"])
            at = jsonpointer.join("$defs", name)
            yield from self.through_names(steps, self._definitions[name], at)
        elif "anyOf" in schema:
            arms = [
                [*self.through_names(steps, arm, f"{pointer}/anyOf/{number}")]
                for number, arm in enumerate(schema["anyOf"])
            ]
            yield from _merged(arms)
        else:
            yield from self.inside(steps, schema, pointer)


def _merged(arms: list[list[Member]]) -> Iterator[Member]:
    """Yield the members of alternatives, each once, with all types that it has."""
    by_steps: dict[_Steps, list[Member]] = {}
    for arm in arms:
        for member in arm:
            by_steps.setdefault(member.steps, []).append(member)
    for steps, found in by_steps.items():
        required = len(found) == len(arms) and all(member.required for member in found)
        schemas = [member.schema for member in found]
        distinct = [one for at, one in enumerate(schemas) if one not in schemas[:at]]
        schema = distinct[0] if len(distinct) == 1 else {"anyOf": distinct}
        yield Member(steps, schema, required, found[0].pointer)


def _allows_null(schema: Json) -> bool:
    if "anyOf" in schema:
        return any(_allows_null(arm) for arm in schema["anyOf"])
    kind = schema.get("type")
    return kind == "null" or (isinstance(kind, list) and "null" in kind)
