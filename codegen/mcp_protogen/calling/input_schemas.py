"""What the input schema of a tool says about its arguments: members, types, choices, defaults.

Schemas come from servers. Nothing is fetched, references are followed within the schema alone, and
what cannot be understood is taken as "anything".
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from mcp_protogen.base.jsonpointer import Absent, get
from mcp_protogen.base.jsonvalue import is_array, is_object

Schema: TypeAlias = Mapping[str, Any]

NULL: Final = "null"
_NONE: Final[Schema] = {}
_FOLLOWED: Final = 20
_ARMS: Final = ("anyOf", "oneOf", "allOf")
_JSON_TYPES: Final[Mapping[str, str]] = {
    "bool": "boolean",
    "int": "integer",
    "float": "number",
    "str": "string",
    "NoneType": NULL,
    "list": "array",
    "dict": "object",
}
"""The types of decoded JSON, by what they are called in Python."""
# In signatures, as readers of Python know them.
_WORDS: Final[Mapping[str, str]] = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "object": "dict",
    NULL: "None",
}
_MOST_CHOICES: Final = 4


def members(schema: Schema) -> Mapping[str, Schema]:
    """Return the schemas of the arguments that an input schema names, with references followed."""
    root = resolved(schema, schema)
    listed = root.get("properties")
    if not is_object(listed):
        return {}
    return {name: resolved(one, schema) for name, one in listed.items()}


def required(schema: Schema) -> list[str]:
    """Return the names of the arguments that have to be given."""
    named = resolved(schema, schema).get("required")
    return [name for name in named if isinstance(name, str)] if is_array(named) else []


def is_closed(schema: Schema) -> bool:
    """Return whether no arguments are meant but those that the schema names.

    JSON Schema allows others unless they are forbidden. Tools seldom mean that, so they are meant
    only where the schema says something about them.
    """
    root = resolved(schema, schema)
    says = {"patternProperties", "unevaluatedProperties", "if", "dependentSchemas", *_ARMS}
    return (
        is_object(root.get("properties"))
        and root.get("additionalProperties", False) is False
        and says.isdisjoint(root)
    )


def resolved(part: object, root: Schema) -> Schema:
    """Return a part of a schema after its references; an empty schema if they lead nowhere."""
    for _ in range(_FOLLOWED):
        if not is_object(part):
            return _NONE
        reference = part.get("$ref")
        if not isinstance(reference, str):
            return part
        beside = {key: value for key, value in part.items() if key != "$ref"}
        if not reference.startswith("#"):
            return beside
        try:
            target = get(root, reference[1:])
        except Absent:
            return beside
        part = {**target, **beside} if is_object(target) else beside
    return _NONE


def arms(part: Schema, root: Schema, depth: int = 5) -> Iterator[Schema]:
    """Yield a part of a schema and its alternatives, with references followed."""
    part = resolved(part, root)
    yield part
    for key in _ARMS:
        listed = part.get(key)
        for one in listed if is_array(listed) and depth else ():
            yield from arms(one, root, depth - 1)


def types_of(part: Schema, root: Schema) -> frozenset[str]:
    """Return the JSON types that a value may have; none if the schema does not say."""
    found: set[str] = set()
    for one in arms(part, root):
        said = one.get("type")
        if isinstance(said, str):
            found.add(said)
        elif is_array(said):
            found.update(name for name in said if isinstance(name, str))
        else:
            found.update(map(json_type, _listed(one)))
    return frozenset(found)


def json_type(value: object) -> str:
    """Return the type of a decoded JSON value."""
    return _JSON_TYPES[type(value).__name__]


def choices(part: Schema, root: Schema) -> list[Any]:
    """Return the values that an enumeration lists; none if there is no enumeration."""
    found: list[Any] = []
    for one in arms(part, root):
        found += [value for value in _listed(one) if value not in found]
    return found


def items_of(part: Schema, root: Schema) -> Schema:
    """Return the schema of the items of an array; an empty one if it says nothing."""
    return next(
        (resolved(one["items"], root) for one in arms(part, root) if is_object(one.get("items"))),
        _NONE,
    )


def signature(tool: Schema) -> str:
    """Return a tool with its arguments, as a signature: `greet(name: str = "world")`."""
    schema: Schema = tool.get("inputSchema") or _NONE
    needed = set(required(schema))
    listed = members(schema)
    ordered = sorted(listed, key=lambda name: name not in needed)
    parts = [_parameter(name, listed[name], schema, name in needed) for name in ordered]
    return f"{tool.get('name', '')}({', '.join(parts)})"


def type_words(part: Schema, root: Schema) -> str:
    """Return the type of a value in a few words: `str`, `list[int]`, `"a" | "b"`."""
    listed = choices(part, root)
    if listed:
        shown = [json.dumps(value, ensure_ascii=False) for value in listed[:_MOST_CHOICES]]
        return " | ".join([*shown, *(["…"] if len(listed) > _MOST_CHOICES else [])])
    types = types_of(part, root)
    if {"integer", "number"} <= types:
        types -= {"integer"}
    words = [_items_words(part, root)] if "array" in types else []
    words += [word for name, word in _WORDS.items() if name in types]
    return " | ".join(words) or "Any"


def _items_words(part: Schema, root: Schema) -> str:
    items = items_of(part, root)
    simple = items and not any("items" in one for one in arms(items, root))
    return f"list[{type_words(items, root)}]" if simple else "list"


def _parameter(name: str, part: Schema, root: Schema, needed: bool) -> str:
    text = f"{name}: {type_words(part, root)}"
    if "default" in part:
        return f"{text} = {json.dumps(part['default'], ensure_ascii=False)}"
    return text if needed else f"{text} = …"


def _listed(one: Schema) -> Sequence[Any]:
    if "const" in one:
        return [one["const"]]
    listed = one.get("enum")
    return listed if is_array(listed) else ()
