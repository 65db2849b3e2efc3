"""Definitions of `$ref`s: inner schemas, cycles, and aliases."""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from functools import partial
from typing import Any
from urllib.parse import unquote

from mcp_protogen.base import graph, jsonpointer, names
from mcp_protogen.base.graph import Graph, reach
from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.base.problems import Problem
from mcp_protogen.base.subschemas import NAMED, VALUES, map_schemas, subschemas

Json = dict[str, Any]
PREFIX = "#/$defs/"
# Calls that Python and Pydantic nest for each type within another one, as measured. Python allows
# 1,000; those of the program that imports the types come on top.
_CALLS_OF_MAP, _CALLS_OF_NAMED_UNION, _CALLS_OF_UNION = 10, 8, 4
_MOST_CALLS = 840


def definition_name(ref: str) -> str:
    """Return the name of the definition that `ref` leads to."""
    return ref.removeprefix(PREFIX)


def to(name: str) -> Json:
    """Return a schema that refers to the definition `name`."""
    return {"$ref": PREFIX + name}


def references_in(value: Any) -> Iterator[str]:
    """Yield the definitions that a schema names, anywhere inside it."""
    refs = (schema.get("$ref") for schema in subschemas(value))
    return (definition_name(ref) for ref in refs if isinstance(ref, str))


def hoist(
    schema: Json,
    named: Mapping[str, str] | None = None,
    drop: Callable[[str], None] | None = None,
) -> tuple[Json, Mapping[str, str]]:
    """Return `schema` with references only to definitions, and the origins of new definitions.

    A schema inside a definition that is referred to becomes a definition, named after its path; the
    reference may be escaped as in a URI. `named` has the names of definitions by their pointers, by
    default those of `$defs`. References that lead nowhere stay, or with `drop` are left out and
    passed to it.
    """
    hoisting = _Hoisting(schema, named, drop)
    return hoisting.document(), hoisting.origins


_KEYWORDS = frozenset({"$defs", "additionalProperties", "items", "properties"})
_ROOT = "Root"
_OF_DOCUMENT = frozenset({"$defs", "$id", "$schema", "definitions"})


class _Hoisting:
    """The names of the definitions of references, by pointers into the schema."""

    def __init__(
        self, schema: Json, named: Mapping[str, str] | None, drop: Callable[[str], None] | None
    ) -> None:
        self._schema = schema
        self._drop = drop
        usual = {jsonpointer.join("$defs", name): name for name in schema.get("$defs", {})}
        self._owners: Mapping[str, str] = usual if named is None else named
        self._named: dict[str, str] = {**self._owners}
        self._taken = {*self._named.values()}
        self.origins: dict[str, str] = {}
        for inner in subschemas(schema):
            if isinstance(inner.get("$ref"), str):
                self._name(inner["$ref"])

    def document(self) -> Json:
        """Return the schema with all definitions."""
        result: Json = {}
        while pointers := [pointer for pointer, name in self._named.items() if name not in result]:
            result |= {self._named[pointer]: self._content(pointer) for pointer in pointers}
        return {**self._schema, "$defs": result}

    def _content(self, pointer: str) -> Any:
        value = jsonpointer.get(self._schema, pointer)
        if not pointer:
            value = {key: inner for key, inner in value.items() if key not in _OF_DOCUMENT}
        return self._inside(value, pointer)

    def _inside(self, value: Any, pointer: str) -> Any:
        """Return a schema with references in place of its new definitions."""
        if is_array(value):
            return [self._refer(item, f"{pointer}/{index}") for index, item in enumerate(value)]
        if not is_object(value):
            return value
        result: Json = {}
        for key, inner in value.items():
            place = f"{pointer}/{jsonpointer.escape(key)}"
            if key in NAMED and is_object(inner):
                result[key] = {
                    name: self._refer(item, place + jsonpointer.join(name))
                    for name, item in inner.items()
                }
            elif key == "$ref" and isinstance(inner, str):
                name = self._name(inner)
                if name is None and self._drop is not None:
                    self._drop(inner)
                else:
                    result[key] = inner if name is None else PREFIX + name
            else:
                result[key] = inner if key in VALUES else self._refer(inner, place)
        return result

    def _refer(self, value: Any, pointer: str) -> Any:
        name = self._named.get(pointer)
        return self._inside(value, pointer) if name is None else to(name)

    def _name(self, ref: str) -> str | None:
        """Return the name of the definition of a reference, or None; chains are followed."""
        pointers: dict[str, None] = {}
        while (ref == "#" or ref.startswith("#/")) and unquote(ref[1:]) not in pointers:
            pointer = unquote(ref[1:])
            if pointer in self._named:
                return self._named[pointer]
            try:
                value = jsonpointer.get(self._schema, pointer)
            except jsonpointer.NothingThere:
                break
            if not is_object(value) and not isinstance(value, bool):
                break
            pointers[pointer] = None
            if not is_object(value) or value.keys() != {"$ref"}:
                break
            ref = str(value["$ref"])
        return self._add(next(reversed(pointers))) if pointers else None

    def _add(self, pointer: str) -> str:
        around = (known for known in self._owners if pointer.startswith(f"{known}/"))
        place = max(around, key=len, default="")
        steps = jsonpointer.split(pointer.removeprefix(place))
        name = self._owners.get(place, _ROOT)
        name += "".join(names.pascal(step) for step in steps if step not in _KEYWORDS)
        while name in self._taken:
            name += "Object"
        self._taken.add(name)
        self._named[pointer] = name
        self.origins[name] = pointer
        return name


def restore_places(problems: Iterable[Problem], origins: Mapping[str, str]) -> Iterator[Problem]:
    """Yield problems of a hoisted schema at their places in the original schema."""
    for problem in problems:
        owner = "/".join(problem.pointer.split("/")[:3])
        origin = origins.get("".join(jsonpointer.split(owner)[1:]))
        if origin is not None:
            problem = problem._replace(pointer=origin + problem.pointer.removeprefix(owner))
        yield problem


def circles(definitions: Json, place: str) -> Iterator[Problem]:
    """Yield a problem for each definition in a cycle without an array or object."""
    for name in sorted(graph.circular(direct(definitions)), key=list(definitions).index):
        yield Problem(
            "ref-cycle",
            f"{name} refers to itself without an array or object in between",
            place,
            jsonpointer.join("$defs", name),
            "no finite value has this type; break the cycle",
        )


def deep_aliases(definitions: Json, place: str) -> Iterator[Problem]:
    """Yield a problem for each alias that leads through too many others before it ends.

    Python and Pydantic nest their calls for each of them, but not for objects.
    """
    aliases = {
        name: [*references_in(schema)]
        for name, schema in definitions.items()
        if "properties" not in schema
    }
    calls: dict[str, int] = {}
    for name in graph.dependencies_first(aliases):
        inside = max((calls.get(inner, 0) for inner in aliases[name]), default=0)
        calls[name] = _nested_calls(definitions[name], calls)
        if inside <= _MOST_CALLS < calls[name]:
            message = f"{name} leads through too many types without an object in between"
            hint = "put an object in between, or remove some of them"
            pointer = jsonpointer.join("$defs", name)
            yield Problem("unsupported-schema", message, place, pointer, hint)


def _nested_calls(schema: Json, calls: Mapping[str, int]) -> int:
    """Return about how many calls are nested when a type is built; `calls` has those of aliases."""
    if "$ref" in schema:
        return calls.get(definition_name(schema["$ref"]), 0)
    members = (schema.get("items"), schema.get("additionalProperties"))
    inner: list[Json] = [member for member in members if is_object(member)]
    arms: list[Json] = schema.get("anyOf", [])
    union = _CALLS_OF_NAMED_UNION if all("$ref" in arm for arm in arms) else _CALLS_OF_UNION
    own = _CALLS_OF_MAP if inner else union if arms else 0
    return own + max((_nested_calls(part, calls) for part in (*inner, *arms)), default=0)


def dependencies_first(definitions: Json) -> list[str]:
    """Return all names, each after those that its definition refers to; see `direct`."""
    return graph.dependencies_first(direct(definitions))


def direct(definitions: Json) -> Graph:
    """Return the graph of references between definitions, without those in arrays or objects."""
    return {
        name: [
            definition_name(part["$ref"])
            for part in _direct(schema)
            if isinstance(part.get("$ref"), str)
        ]
        for name, schema in definitions.items()
    }


def arms_within(name: str, definitions: Json) -> list[str]:
    """Return a definition and its arms at any depth, each once, in order.

    An object has no arms; an unknown name is left out.
    """

    def arms_of(here: str) -> Iterator[str]:
        schema: Json = definitions.get(here, {})
        arms = [] if "properties" in schema else [schema, *schema.get("anyOf", ())]
        return (definition_name(arm["$ref"]) for arm in arms if "$ref" in arm)

    return [found for found in reach([name], arms_of) if found in definitions]


def _direct(schema: Json) -> Iterator[Json]:
    """Yield the schemas that apply to the same value as `schema`."""
    yield schema
    for keyword in ("anyOf", "oneOf", "allOf"):
        for arm in schema.get(keyword, ()):
            yield from _direct(arm)


def rename_definitions(definitions: Json, called: Mapping[str, str]) -> Json:
    """Return `definitions` with new names, also in references."""
    if not called:
        return definitions
    refer = partial(_replace_references, {old: to(new) for old, new in called.items()})
    return {called.get(name, name): refer(schema) for name, schema in definitions.items()}


def _replace_references(replacements: Mapping[str, Json], schema: Json) -> Json:
    def replace(part: Json) -> Json:
        ref = part.get("$ref")
        return replacements.get(definition_name(ref), part) if isinstance(ref, str) else part

    replaced: Json = map_schemas(schema, replace)
    return replaced


def expand_aliases(definitions: Json, keep: Container[str]) -> Json:
    """Return `definitions` with copies of objects in place of aliases, except those in `keep`.

    An alias cannot be called, but people write `EmptyResult()`.
    """

    replacements: Json = {}
    for name in dependencies_first(definitions):
        schema: Json = definitions[name]
        replacements[name] = (
            replacements[definition_name(schema["$ref"])] if set(schema) == {"$ref"} else schema
        )
    return {
        name: (
            replacements[name]
            if name not in keep and "properties" in replacements[name]
            else schema
        )
        for name, schema in definitions.items()
    }


def simplify_any_values(definitions: Json, *, marks: bool = False) -> Json:
    """Return `definitions` with empty schemas in place of those that accept every JSON value.

    References to such a definition, for example `JSONValue`, are replaced, too, because it includes
    null. The structure decides. With `marks`, `x-value` has the name of the definition.
    """
    kinds = {name: _KINDS for name in definitions if "properties" not in definitions[name]}
    order = [name for name in dependencies_first(definitions) if name in kinds]
    before: Mapping[str, frozenset[str]] = {}
    while kinds != before:
        # The last round may have used definitions that changed later.
        before = dict(kinds)
        for name in order:
            kinds[name] = _kinds(definitions[name], kinds)
    anything: dict[str, Json] = {
        name: {"x-value": name} if marks and definitions[name] else {}
        for name, found in kinds.items()
        if found >= _KINDS
    }
    return {
        name: anything[name] if name in anything else _replace_references(anything, schema)
        for name, schema in definitions.items()
    }


_KINDS = frozenset({"array", "boolean", "null", "number", "object", "string"})


def _kinds(schema: Json, known: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """Return the types whose values are all accepted; `known` has those of definitions."""
    if not schema:
        return _KINDS
    if "$ref" in schema:
        return known.get(definition_name(schema["$ref"]), frozenset())
    arms: list[Json] = schema.get("anyOf", ())
    if is_array(schema.get("type")):
        arms = [{**schema, "type": kind} for kind in schema["type"]]
    if arms:
        return frozenset[str]().union(*(_kinds(arm, known) for arm in arms))
    inner = {"array": "items", "object": "additionalProperties"}.get(schema.get("type", ""))
    if {"const", "enum", "properties"} & schema.keys():
        return frozenset()
    if inner is not None and not _kinds(schema.get(inner, {}), known) >= _KINDS:
        return frozenset()
    return frozenset({schema.get("type", "")})
