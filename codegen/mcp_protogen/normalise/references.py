"""Where `$ref`s lead: nowhere, in circles, or to a definition that is only another name."""

from collections.abc import Container, Iterator, Mapping
from typing import Any

from mcp_protogen import jsonpointer
from mcp_protogen.jsonvalue import is_array, is_object
from mcp_protogen.problems import Problem, raise_errors

Json = dict[str, Any]
PREFIX = "#/$defs/"


def target(ref: str) -> str:
    """The name of the definition that `ref` points at."""
    return ref.removeprefix(PREFIX)


def to(name: str) -> Json:
    """A schema that refers to the definition `name`."""
    return {"$ref": PREFIX + name}


def checked(definitions: Json, place: str) -> Json:
    """`definitions` themselves, if every reference leads somewhere and no name means itself."""
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
    """Definitions that mean themselves with no array or object in between."""
    for name in definitions:
        if name in _reached(definitions, name, _direct):
            yield Problem(
                "ref-cycle",
                f"{name} refers to itself without an array or object in between",
                place,
                jsonpointer.join("$defs", name),
                "no finite value has this type; break the cycle",
            )


def _direct(schema: Json) -> Iterator[Json]:
    """The schemas that a value of `schema` is checked against at the same place."""
    yield schema
    for keyword in ("anyOf", "oneOf", "allOf"):
        for arm in schema.get(keyword, ()):
            yield from _direct(arm)


def _through_containers(schema: Json) -> Iterator[Json]:
    """As `_direct`, and into arrays and maps, but not into the members of objects."""
    yield from _direct(schema)
    for part in (schema.get("items"), schema.get("additionalProperties")):
        if is_object(part) and not schema.get("properties"):
            yield from _through_containers(part)
    for arm in schema.get("anyOf", ()):
        yield from _through_containers(arm)


def _reached(definitions: Json, start: str, step: Any) -> set[str]:
    reached: set[str] = set()
    waiting = [start]
    while waiting:
        for schema in step(definitions.get(waiting.pop(), {})):
            name = target(schema["$ref"]) if isinstance(schema.get("$ref"), str) else None
            if name is not None and name not in reached:
                reached.add(name)
                waiting.append(name)
    return reached


def renamed(definitions: Json, names: Mapping[str, str]) -> Json:
    """`definitions` in which the types of `names` are called as it says, references included."""
    if not names:
        return definitions

    def rename(value: Any) -> Any:
        if is_object(value):
            if isinstance(value.get("$ref"), str) and target(value["$ref"]) in names:
                return to(names[target(value["$ref"])])
            return {key: rename(item) for key, item in value.items()}
        return [rename(item) for item in value] if is_array(value) else value

    return {names.get(name, name): rename(schema) for name, schema in definitions.items()}


def expanded(definitions: Json, keep: Container[str]) -> Json:
    """Definitions that only name another object become objects of their own.

    An alias cannot be called, and people write `EmptyResult()`. Names in `keep` stay aliases.
    """

    def resolve(name: str) -> Json:
        schema: Json = definitions[name]
        while set(schema) == {"$ref"}:
            schema = definitions[target(schema["$ref"])]
        return schema

    return {
        name: (
            resolve(name)
            if set(schema) == {"$ref"} and name not in keep and "properties" in resolve(name)
            else schema
        )
        for name, schema in definitions.items()
    }


def acyclic(definitions: Json) -> Json:
    """Aliases that contain themselves (any-JSON types) lose what is inside them.

    `JSONValue` becomes anything, `JSONObject` an object of anything: a recursive alias costs
    every import and says no more, since every JSON value satisfies it. Where a name means anything,
    its uses say so themselves: anything includes null.
    """
    recursive = {
        name for name in definitions if name in _reached(definitions, name, _through_containers)
    }
    anything = {name for name in recursive if "anyOf" in definitions[name]}
    anything |= {name for name, schema in definitions.items() if not schema}
    loosened: Json = {}
    for name, schema in definitions.items():
        if name in recursive:
            loosened[name] = {} if name in anything else _emptied(schema)
        else:
            loosened[name] = _without(schema, anything)
    return loosened


def _emptied(schema: Json) -> Json:
    kind = schema["type"]
    return {"type": kind, "items" if kind == "array" else "additionalProperties": {}}


def _without(schema: Any, anything: set[str]) -> Any:
    if is_object(schema):
        if isinstance(schema.get("$ref"), str) and target(schema["$ref"]) in anything:
            return {}
        return {key: _without(value, anything) for key, value in schema.items()}
    if is_array(schema):
        return [_without(value, anything) for value in schema]
    return schema
