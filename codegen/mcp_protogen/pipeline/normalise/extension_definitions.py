"""The definitions of an extension, without copies.

Published schemas of extensions are compiled file by file: they copy types of the core schema, and
repeat their own types inline at each use. Copies are compared with the core schema and left out;
repetitions of a definition become references to it.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from mcp_protogen.base import jsonpointer
from mcp_protogen.base.canonical import canonical
from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.base.problems import Problem, raising
from mcp_protogen.pipeline.inputs.absorbed import texts_of_absorbed
from mcp_protogen.pipeline.inputs.facts import Facts
from mcp_protogen.pipeline.inputs.snapshot import differences
from mcp_protogen.pipeline.normalise.references import to

Json = dict[str, Any]

_SAFE = 2**53 - 1
"""The largest integer that every reader of JSON keeps (RFC 8259, section 6)."""
_MAPS = frozenset({"$defs", "properties"})
_ALLOWED: tuple[str, Json] = ("additionalProperties", {})
"""As without it, except that a class may show it."""


def own_definitions(schema: Json, core: Json, place: str) -> Json:
    """Return the definitions that `schema` does not share with `core`.

    Raise `ProblemError` (`extension-differs`) for each copy that differs from its original.
    """
    definitions: Json = {
        name: plain(definition) for name, definition in schema.get("$defs", {}).items()
    }
    _refuse_different_copies(definitions, core["$defs"], place)
    own = {
        name: definition for name, definition in definitions.items() if name not in core["$defs"]
    }
    return _with_references(own)


def with_absorbed(schema: Json, facts: Facts) -> Json:
    """Return a schema whose definitions of absorbed extensions are as those of the extension."""
    definitions: Json = schema["$defs"]
    names = texts_of_absorbed(facts.document).get("types", {})
    absorbed = {name: plain(definitions[name]) for name in names if name in definitions}
    return {**schema, "$defs": {**definitions, **_with_references(absorbed)}}


def _with_references(own: Json) -> Json:
    named = {
        canonical(definition): name
        for name, definition in own.items()
        if _is_worth_a_name(definition)
    }
    return {name: _referring(definition, name, named) for name, definition in own.items()}


@raising
def _refuse_different_copies(definitions: Json, core: Json, place: str) -> Iterator[Problem]:
    for name in sorted(definitions.keys() & core.keys()):
        pointer = jsonpointer.join("$defs", name)
        sides = _comparable(definitions[name]), _comparable(plain(core[name]))
        for deeper in differences(*sides, pointer):
            message = f"the copy of {name} differs here from the core schema"
            hint = "correct the copy with a patch, or rename the definition if it is another type"
            yield Problem("extension-differs", message, place, deeper, hint)
            break


def _comparable(value: Any) -> Any:
    """Return a schema with sorted arrays, and without permission for what is not forbidden."""
    if is_object(value):
        entries = {key: _comparable(inner) for key, inner in value.items()}
        return {key: inner for key, inner in entries.items() if (key, inner) != _ALLOWED}
    return sorted(map(_comparable, value), key=canonical) if is_array(value) else value


def plain(schema: Any) -> Any:
    """Return a schema without keywords that have no effect, and with enumerations as `enum`."""
    if not is_object(schema):
        return schema
    if schema == {"not": {}}:
        return False
    done: Json = {}
    for keyword, value in schema.items():
        if keyword in _MAPS and is_object(value):
            done[keyword] = {name: plain(inner) for name, inner in value.items()}
        elif is_array(value):
            done[keyword] = [plain(item) for item in value]
        elif not _says_nothing(keyword, value):
            done[keyword] = plain(value) if is_object(value) else value
    return _enumeration(done)


def _says_nothing(keyword: str, value: Any) -> bool:
    return (
        keyword == "$schema"
        or (keyword == "propertyNames" and value == {"type": "string"})
        or (keyword == "minimum" and value == -_SAFE)
        or (keyword == "maximum" and value == _SAFE)
    )


def _enumeration(schema: Json) -> Json:
    arms = schema.get("anyOf", ())
    if len(schema) != 1 or not arms or not all(set(arm) == {"const", "type"} for arm in arms):
        return schema
    kinds = {canonical(arm["type"]) for arm in arms}
    if len(kinds) > 1:
        return schema
    return {"enum": [arm["const"] for arm in arms], "type": arms[0]["type"]}


def _is_worth_a_name(schema: Any) -> bool:
    return is_object(schema) and bool({"allOf", "anyOf", "enum", "properties"} & schema.keys())


def _referring(schema: Any, owner: str, named: Mapping[bytes, str]) -> Any:
    """Return a schema with references in place of copies of definitions other than `owner`."""

    def inside(value: Any) -> Any:
        if is_array(value):
            return [inside(item) for item in value]
        if not is_object(value):
            return value
        name = named.get(canonical(value))
        if name is not None and name != owner:
            return to(name)
        return {key: inside(item) for key, item in value.items()}

    return {key: inside(item) for key, item in schema.items()} if is_object(schema) else schema
