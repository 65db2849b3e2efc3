"""A schema, split into a model and its wires: the inverse of `pipeline.inputs.wires`.

A split has the `types` of the model that all messages of a kind extend. By their names, `kinds` has
the types of JSON-RPC in their place, and the places of their parts in JSON; `headers` has those in
headers, by transport. `of_wires` are further types and members (`Type.member`) that stay with the
wires. In names, `*` stands for any letters.
"""

import copy
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any, Final, NamedTuple

from mcp_protogen.base import jsonpointer

Json = dict[str, Any]

_REFERENCE: Final = "#/$defs/"


class _Part(NamedTuple):
    """A part of a message, and the objects that have it as a member of this name."""

    schema: Json
    required: bool
    name: str
    objects: list[Json]


def split(schema: Json, how: Json) -> tuple[Json, Json]:
    """Return the model of a schema, and the content of its `wires.json`."""
    types: Json = copy.deepcopy(schema["$defs"])
    kinds: Json = how["kinds"]
    wire_types = _take_types(types, how["of_wires"])
    parts = {
        name: (base, _parts(types, name, kind["places"]))
        for base, kind in kinds.items()
        for name in (kind["type"], *_messages(types, kind))
    }
    for _, found in parts.values():
        for part in found.values():
            for object_ in part.objects:
                _remove(object_, part.name)
    for name, (base, found) in parts.items():
        places = kinds[base]["places"]
        types[name] = _model_message(types[name], found, how["types"][base], places)
    for kind in kinds.values():
        del types[kind["type"]]
        wire_types[kind["type"]] = schema["$defs"][kind["type"]]
    wires = {
        transport: {"messages": _with_headers(kinds, headers), "types": copy.deepcopy(wire_types)}
        for transport, headers in how["headers"].items()
    }
    return {**schema, "$defs": types | how["types"]}, {"wires": wires}


def _take_types(types: Json, patterns: list[str]) -> Json:
    """Take types, and members of types, out of a schema; return them as types of a wire."""
    taken: Json = {}
    for pattern in patterns:
        of_types, dot, of_members = pattern.partition(".")
        for name in [name for name in types if fnmatchcase(name, of_types)]:
            if not dot:
                taken[name] = types.pop(name)
                continue
            members = types[name].get("properties", {})
            for member in [name for name in members if fnmatchcase(name, of_members)]:
                type_ = taken.setdefault(name, {"properties": {}})
                type_["properties"][member] = members[member]
                if _remove(types[name], member):
                    type_["required"] = sorted([*type_.get("required", ()), member])
    return taken


def _messages(types: Json, kind: Json) -> list[str]:
    """Return the types with all that JSON-RPC requires of a message of a kind."""
    required = {*types[kind["type"]].get("required", ())}
    return [
        name
        for name, type_ in types.items()
        if any(fnmatchcase(name, pattern) for pattern in kind["names"])
        and name != kind["type"]
        and required <= {*type_.get("required", ())}
    ]


def _parts(types: Json, name: str, places: Json) -> dict[str, _Part]:
    parts: dict[str, _Part] = {}
    for path, pointers in places.items():
        for pointer in pointers:
            steps = jsonpointer.split(pointer)
            if objects := [*_objects_with(types, types[name], steps)]:
                schemas = [object_["properties"][steps[-1]] for object_ in objects]
                required = {steps[-1] in object_.get("required", ()) for object_ in objects}
                assert schemas.count(schemas[0]) == len(schemas), (name, path)
                assert len(required) == 1, (name, path)
                parts[path] = _Part(schemas[0], required.pop(), steps[-1], objects)
    return parts


def _objects_with(types: Json, schema: Json, steps: list[str]) -> Iterator[Json]:
    """Yield the objects that have the last of some steps as a member."""
    name, *inner = steps
    while "$ref" in schema:
        schema = types[schema["$ref"].removeprefix(_REFERENCE)]
    for arm in schema.get("anyOf", ()):
        yield from _objects_with(types, arm, steps)
    member = schema.get("properties", {}).get(name)
    if member is not None:
        yield from _objects_with(types, member, inner) if inner else (schema,)


def _remove(object_: Json, name: str) -> bool:
    """Remove a member from an object; return whether it was required."""
    object_["properties"].pop(name, None)
    required: list[str] = object_.get("required", [])
    if name not in required:
        return False
    required.remove(name)
    if not required:
        del object_["required"]
    return True


def _model_message(type_: Json, parts: dict[str, _Part], base: Json, places: Json) -> Json:
    """Return a message of the model; what has no place is as all messages of its kind have it."""
    members: Json = {}
    required: list[str] = []
    for name, usual in base["properties"].items():
        inner = {path: part for path, part in parts.items() if path.startswith(f"{name}.")}
        if name in parts:
            members[name] = parts[name].schema
            required += [name] if parts[name].required else []
        elif not places.get(name):
            holds = any(path.startswith(f"{name}.") for path in places)
            members[name] = _holder(inner) if holds else usual
            required += [name] if name in base["required"] else []
    rest = {key: value for key, value in type_.items() if key not in ("properties", "required")}
    return {**rest, "properties": members, "required": sorted(required)}


def _holder(parts: dict[str, _Part]) -> Json:
    members = {path.partition(".")[2]: part for path, part in parts.items()}
    required = sorted(name for name, part in members.items() if part.required)
    properties = {name: part.schema for name, part in members.items()}
    holder: Json = {"type": "object", "properties": properties}
    return {**holder, "required": required} if required else holder


def _with_headers(kinds: Json, headers: Json) -> Json:
    """Return kinds with the places of their parts in headers, too."""
    kinds = copy.deepcopy(kinds)
    for base, named in headers.items():
        for part, header in named.items():
            kinds[base]["places"][part].append(header)
    return kinds
