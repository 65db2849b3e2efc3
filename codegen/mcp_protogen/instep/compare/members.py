"""The members of a type by their paths on the wire, also through objects without a name.

`Tool.inputSchema.type` is a path through an inline object; `CallToolRequest.params.name` is a path
through the params of a message, whether or not these have a name. If an object is one of several
alternatives, a member is required only if all of them require it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mcp_protogen.base import jsonpointer
from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.instep.compare.plain_schemas import essence
from mcp_protogen.instep.compare.spelling import spell, value_text
from mcp_protogen.pipeline.normalise.references import definition_name

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Member:
    """One member, at the path `steps`; `pointer` leads to it in the schema.

    Inside alternatives, `arms` has the member of each of them, None where one lacks it.
    """

    steps: tuple[str, ...]
    schema: Json
    required: bool
    pointer: str
    arms: Mapping[str, "Member | None"] = field(default_factory=dict[str, "Member | None"])

    @property
    def path(self) -> str:
        """The steps as one text, as people write it."""
        return _path(self.steps)

    def of(self, name: str) -> "Member":
        """Return the same member of a type with another name."""
        return replace(self, steps=(name, *self.steps[1:]))

    @property
    def parent(self) -> str:
        """The path of the object around it, or of the list or map of such objects."""
        steps = self.steps[:-1]
        while steps and steps[-1] in ("[]", "{}"):
            steps = steps[:-1]
        return _path(steps)

    @property
    def type(self) -> str:
        """The type as short text, without null."""
        return spell(self.schema)

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
        return frozenset(value_text(value) for values in found for value in values)


def members(definitions: Json, name: str, *, message: bool) -> Mapping[str, Member]:
    """Return the members of a named type by path; for a `message`, only those of its params."""
    walk = _Walk(definitions)
    start = jsonpointer.join("$defs", name)
    schema = resolve_name(definitions[name], definitions)
    if not message:
        return _by_path(walk.inside((name,), schema, start))
    params: Json = schema.get("properties", {}).get("params", {})
    return _by_path(walk.through_names((name, "params"), params, f"{start}/properties/params"))


def resolve_name(schema: Json, definitions: Json) -> Json:
    """Return the schema behind a chain of names."""
    met: set[str] = set()
    while "$ref" in schema and (name := definition_name(schema["$ref"])) not in met:
        met.add(name)
        schema = definitions[name]
    return schema


def _path(steps: tuple[str, ...]) -> str:
    return ".".join(steps).replace(".[]", "[]").replace(".{}", "{}")


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
        yield from _merge_arms(
            {key: [*self.inside(steps, arm, pointer + at)] for key, at, arm in _keyed_arms(schema)}
        )

    def through_names(self, steps: _Steps, schema: Json, pointer: str) -> Iterator[Member]:
        """Yield the members below a place, following names and unions of names."""
        if "$ref" in schema:
            name = definition_name(schema["$ref"])
            at = jsonpointer.join("$defs", name)
            yield from self.through_names(steps, self._definitions[name], at)
        elif "anyOf" in schema:
            yield from _merge_arms(
                {
                    key: [*self.through_names(steps, arm, pointer + at)]
                    for key, at, arm in _keyed_arms(schema)
                }
            )
        else:
            yield from self.inside(steps, schema, pointer)


def _keyed_arms(schema: Json) -> Iterator[tuple[str, str, Json]]:
    """Yield alternatives with a key and a pointer; the key does not depend on their order."""
    arms: list[Json] = schema.get("anyOf", [])
    places = sorted(range(len(arms)), key=lambda number: essence(arms[number]))
    for number, arm in enumerate(arms):
        key = definition_name(arm["$ref"]) if "$ref" in arm else str(places.index(number))
        yield key, f"/anyOf/{number}", arm


def _merge_arms(arms: Mapping[str, list[Member]]) -> Iterator[Member]:
    """Yield the members of alternatives, each once, with all its types."""
    by_arm = {name: {member.steps: member for member in found} for name, found in arms.items()}
    for steps in dict.fromkeys(member.steps for found in arms.values() for member in found):
        having = {name: members.get(steps) for name, members in by_arm.items()}
        found = [member for member in having.values() if member is not None]
        required = len(found) == len(arms) and all(member.required for member in found)
        schemas = [member.schema for member in found]
        distinct = [
            candidate for at, candidate in enumerate(schemas) if candidate not in schemas[:at]
        ]
        schema = distinct[0] if len(distinct) == 1 else {"anyOf": distinct}
        yield Member(steps, schema, required, found[0].pointer, having)


def _allows_null(schema: Json) -> bool:
    if "anyOf" in schema:
        return any(_allows_null(arm) for arm in schema["anyOf"])
    if "const" in schema or "enum" in schema:
        return None in schema.get("enum", [schema.get("const")])
    kind = schema.get("type")
    return kind == "null" or (isinstance(kind, list) and "null" in kind)
