"""The targets of `$ref`s: missing ones, circular ones, and plain aliases."""

from collections.abc import Container, Iterator, Mapping
from copy import deepcopy
from typing import Any
from urllib.parse import unquote

from mcp_protogen.base import graph, jsonpointer, names
from mcp_protogen.base.graph import Graph
from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.base.problems import Problem, raise_errors

Json = dict[str, Any]
PREFIX = "#/$defs/"


def target(ref: str) -> str:
    """Return the name of the definition that `ref` points at."""
    return ref.removeprefix(PREFIX)


def to(name: str) -> Json:
    """Return a schema that refers to the definition `name`."""
    return {"$ref": PREFIX + name}


def hoisted(schema: Json) -> Json:
    """Return `schema` in which references lead only to definitions.

    A target inside a definition becomes a definition, too, named after its path; the reference may
    be escaped as in a URI. References that lead nowhere stay as they are.
    """
    done: Json = deepcopy(schema)
    definitions: Json = done.get("$defs", {})
    for _, value in list(jsonpointer.walk(definitions)):
        ref = value.get("$ref") if is_object(value) else None
        if isinstance(ref, str) and ref.startswith(PREFIX) and target(ref) not in definitions:
            name = _named(ref, definitions)
            if name is not None:
                value["$ref"] = PREFIX + name
    return done


_KEYWORDS = frozenset({"$defs", "additionalProperties", "items", "properties"})


def _named(ref: str, definitions: Json) -> str | None:
    """Return the name of the definition that `ref` leads to; make one if needed.

    Return None if it leads nowhere.
    """
    owner, *steps = jsonpointer.split(unquote(ref.removeprefix("#/$defs")))
    if owner not in definitions or not steps:
        return owner if owner in definitions else None
    inner: Any = definitions[owner]
    outer: Any = definitions
    last: str | int = owner
    for step in steps:
        for _ in definitions:  # an upper limit, in case of a circle
            if not is_object(inner) or not isinstance(inner.get("$ref"), str):
                break
            outer, last = definitions, target(inner["$ref"])
            inner = definitions.get(last)
        if is_array(inner) and step.isdigit() and int(step) < len(inner):
            outer, last = inner, int(step)
        elif is_object(inner) and step in inner:
            outer, last = inner, step
        else:
            return None
        inner = outer[last]
    if outer is definitions:
        return str(last)
    if is_object(inner) and inner.keys() == {"$ref"} and target(inner["$ref"]) in definitions:
        return target(inner["$ref"])
    name = owner + "".join(names.pascal(step) for step in steps if step not in _KEYWORDS)
    while name in definitions:
        name += "Object"
    definitions[name], outer[last] = inner, to(name)
    return name


def checked(definitions: Json, place: str) -> Json:
    """Return `definitions`; raise `ProblemError` for references that lead nowhere or in circles."""
    raise_errors((*_dangling(definitions, place), *_circular(definitions, place)))
    return definitions


def _dangling(definitions: Json, place: str) -> Iterator[Problem]:
    for pointer, value in jsonpointer.walk(definitions, "/$defs"):
        if not is_object(value) or not isinstance(value.get("$ref"), str):
            continue
        ref: str = value["$ref"]
        if not ref.startswith(PREFIX) or target(ref) not in definitions:
            yield Problem(
                "dangling-ref",
                f"{ref} leads nowhere",
                place,
                pointer,
                f"references have the form {PREFIX}Name, with a definition of that name",
            )


def _circular(definitions: Json, place: str) -> Iterator[Problem]:
    """Yield a problem for each definition that refers to itself without an array or object."""
    for name in sorted(graph.circular(direct(definitions)), key=list(definitions).index):
        yield Problem(
            "ref-cycle",
            f"{name} refers to itself without an array or object in between",
            place,
            jsonpointer.join("$defs", name),
            "no finite value has this type; break the cycle",
        )


def direct(definitions: Json) -> Graph:
    """Return which definitions lead to which without an array or object in between."""
    return {
        name: [target(one["$ref"]) for one in _direct(schema) if isinstance(one.get("$ref"), str)]
        for name, schema in definitions.items()
    }


def _direct(schema: Json) -> Iterator[Json]:
    """Yield the schemas that a value of `schema` is checked against at the same place."""
    yield schema
    for keyword in ("anyOf", "oneOf", "allOf"):
        for arm in schema.get(keyword, ()):
            yield from _direct(arm)


def renamed(definitions: Json, called: Mapping[str, str]) -> Json:
    """Return `definitions` with the new names in `called`, also in references."""
    if not called:
        return definitions

    def rename(value: Any) -> Any:
        if is_object(value):
            if isinstance(value.get("$ref"), str) and target(value["$ref"]) in called:
                return to(called[target(value["$ref"])])
            return {key: rename(item) for key, item in value.items()}
        return [rename(item) for item in value] if is_array(value) else value

    return {called.get(name, name): rename(schema) for name, schema in definitions.items()}


def expanded(definitions: Json, keep: Container[str]) -> Json:
    """Return `definitions` in which an alias of an object becomes an object itself.

    An alias cannot be called, but people write `EmptyResult()`. Names in `keep` stay aliases.
    """

    meant: Json = {}
    for name in graph.targets_first(direct(definitions)):
        schema: Json = definitions[name]
        meant[name] = meant[target(schema["$ref"])] if set(schema) == {"$ref"} else schema
    return {
        name: meant[name] if name not in keep and "properties" in meant[name] else schema
        for name, schema in definitions.items()
    }


def spelled_out(definitions: Json, *, marks: bool = False) -> Json:
    """Return `definitions` in which a schema that accepts every JSON value is empty.

    The same is done where such a definition, for example `JSONValue`, is used, because it includes
    null. It is recognised by its structure. With `marks`, `x-value` has the name of one that says
    so at length.
    """
    kinds = {name: _KINDS for name in definitions if "properties" not in definitions[name]}
    order = [name for name in graph.targets_first(direct(definitions)) if name in kinds]
    before: Mapping[str, frozenset[str]] = {}
    while kinds != before:
        # The last round may have used definitions that have changed since.
        before = dict(kinds)
        for name in order:
            kinds[name] = _kinds(definitions[name], kinds)
    anything: dict[str, Json] = {
        name: {"x-value": name} if marks and definitions[name] else {}
        for name, found in kinds.items()
        if found >= _KINDS
    }
    return {
        name: anything[name] if name in anything else _without(schema, anything)
        for name, schema in definitions.items()
    }


_KINDS = frozenset({"array", "boolean", "null", "number", "object", "string"})


def _kinds(schema: Json, known: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """Return the types whose values a schema accepts completely; `known` has definitions."""
    if not schema:
        return _KINDS
    if "$ref" in schema:
        return known.get(target(schema["$ref"]), frozenset())
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


def _without(schema: Any, anything: Mapping[str, Json]) -> Any:
    if is_object(schema):
        if isinstance(schema.get("$ref"), str) and target(schema["$ref"]) in anything:
            return anything[target(schema["$ref"])]
        return {key: _without(value, anything) for key, value in schema.items()}
    if is_array(schema):
        return [_without(value, anything) for value in schema]
    return schema
