"""What the keywords of one schema say, without what they refer to."""

import json
from collections.abc import Iterator, Sequence
from math import floor, inf
from typing import Any, Final, NamedTuple

from mcp_protogen.base.canonical import canonical
from mcp_protogen.base.jsonvalue import is_array, is_object

Json = dict[str, Any]

# https://json-schema.org/draft/2020-12/json-schema-validation, section 9 and 7.2.1, and core, 8.2
# and 8.3: these say something about a value, and refuse none.
ANNOTATIONS: Final = frozenset(
    {"$anchor", "$comment", "$defs", "$id", "$schema", "contentEncoding", "contentMediaType"}
    | {"contentSchema", "default", "definitions", "deprecated", "description", "examples"}
    | {"format", "id", "readOnly", "title", "writeOnly"}
)

OF_ARRAYS: Final = frozenset({"contains", "minContains", "maxContains", "uniqueItems"})
OF_OBJECTS: Final = frozenset(
    {"dependencies", "dependentRequired", "dependentSchemas", "patternProperties"}
    | {"propertyNames", "unevaluatedProperties"}
)
# What any of these says depends on the others: two schemas agree on all of a group or on none.
TOGETHER: Final = (
    frozenset({"if", "then", "else"}),
    frozenset({"contains", "minContains", "maxContains"}),
)
_GROUPS: Final = (*TOGETHER, frozenset({"items", "additionalItems", "prefixItems"}))
_OF_WHOLE: Final = frozenset({"unevaluatedItems", "unevaluatedProperties"})
"""What depends on the whole schema that has it."""
_MOST_PIECES: Final = 200
_TYPES: Final = ("array", "boolean", "integer", "null", "number", "object", "string")


def shown(value: object) -> str:
    """Return a value as short text; a text stays as it is."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:79]}…"


def listed(value: Any) -> list[Any]:
    """Return an array; an empty one for anything else."""
    return value if is_array(value) else []


def properties_of(schema: Json) -> Json:
    """Return the schemas of declared members."""
    found = schema.get("properties")
    return found if is_object(found) else {}


def types_of(schema: Json) -> list[str]:
    """Return the types of values that a schema may accept."""
    kinds = schema.get("type")
    found = [kinds] if isinstance(kinds, str) else listed(kinds) or list(_TYPES)
    values = values_of(schema)
    if values is not None:
        found = [one for one in found if any(one in kinds_of(value) for value in values)]
    return [one for one in found if one != "integer" or "number" not in found]


def accepts(kinds: Sequence[str], kind: str) -> bool:
    """Return whether a type is one of several, or within one."""
    return kind in kinds or (kind == "integer" and "number" in kinds)


def overlap(one: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether a value may be of a type of either."""
    return any(accepts(other, kind) for kind in one) or any(accepts(one, kind) for kind in other)


def kinds_of(value: Any) -> tuple[str, ...]:
    """Return the types of a value."""
    match value:
        case None:
            return ("null",)
        case bool():
            return ("boolean",)
        case int():
            return ("integer", "number")
        case float():
            return ("integer", "number") if value.is_integer() else ("number",)
        case str():
            return ("string",)
        case list():
            return ("array",)
        case _:
            return ("object",)


def values_of(schema: Json) -> list[Any] | None:
    """Return the constants of a schema; None if it has other values, too."""
    if "const" in schema:
        return [schema["const"]]
    found = schema.get("enum")
    return found if is_array(found) else None


def may_be(schema: Json, value: Any) -> bool:
    """Return whether the type of a schema accepts a value."""
    if "type" not in schema:
        return True
    kinds = types_of({"type": schema["type"]})
    return any(accepts(kinds, one) for one in kinds_of(value))


def as_number(value: Any) -> Any:
    """Return a value with 1 for 1.0, wherever it is: they are the same in JSON Schema."""
    if is_object(value):
        return {name: as_number(one) for name, one in value.items()}
    if is_array(value):
        return [as_number(one) for one in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def measure(schema: Json, keyword: str, otherwise: float) -> float:
    """Return the number that a keyword has."""
    value = schema.get(keyword)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else otherwise


class Edge(NamedTuple):
    """The keywords of one end of a range, and 1 for the lower end."""

    closed: str
    opened: str
    sign: int


EDGES: Final = (
    Edge("minimum", "exclusiveMinimum", 1),
    Edge("maximum", "exclusiveMaximum", -1),
)


def tighter(schema: Json, edge: Edge, *, whole: bool) -> tuple[float, bool]:
    """Return the tighter of two bounds, as if both were lower ones; true if it is excluded."""
    edges: list[tuple[float, bool]] = [(-inf, False)]
    for keyword, excluded in ((edge.closed, False), (edge.opened, True)):
        value = schema.get(keyword)
        if isinstance(value, int | float) and not isinstance(value, bool):
            bound = edge.sign * value
            edges.append((floor(bound) + 1, False) if excluded and whole else (bound, excluded))
    return max(edges)


def divides(step: Any, by: Any) -> bool:
    """Return whether all multiples of `by` are multiples of `step`."""
    if not isinstance(step, int) or not isinstance(by, int) or not step:
        return canonical([step]) == canonical([by])
    return by % step == 0


def spelled_keyword(schema: Json, keyword: str) -> str:
    """Return a keyword with its value, as short text."""
    return (
        f"{keyword} {json.dumps(schema[keyword], ensure_ascii=False)}"
        if keyword in schema
        else f"no {keyword}"
    )


def positions(schema: Json) -> tuple[list[Any], Any]:
    """Return the schemas of the first items of an array, and of all others."""
    items = schema.get("items", True)
    if is_array(items):  # as up to draft 2019-09
        return items, schema.get("additionalItems", True)
    return listed(schema.get("prefixItems")), items


def both(one: Json, other: Json) -> Json:
    """Return a schema of all values that two schemas accept, and perhaps of more.

    It has the keywords of both; of two equal ones, and of those that belong together, the first.
    """
    first = {keyword for group in _GROUPS if one.keys() & group for keyword in group}
    rest = {key: value for key, value in other.items() if key not in first}
    done = {key: value for key, value in {**rest, **one}.items() if key not in _OF_WHOLE}
    ours, theirs = properties_of(one), properties_of(other)
    if theirs and ours:
        done["properties"] = {
            name: (
                {"allOf": [ours[name], theirs[name]]}
                if name in ours and name in theirs
                else ours.get(name, theirs.get(name))
            )
            for name in {**ours, **theirs}
        }
    if patterns := {**_patterns(other), **_patterns(one)}:
        done["patternProperties"] = patterns
    needed = [*listed(one.get("required")), *listed(other.get("required"))]
    if needed:
        done["required"] = list(dict.fromkeys(needed))
    if "type" in one and "type" in other:
        kinds, more = types_of({"type": one["type"]}), types_of({"type": other["type"]})
        common = [kind for kind in kinds if accepts(more, kind)]
        common += [kind for kind in more if accepts(kinds, kind)]
        done["type"] = list(dict.fromkeys(common)) or one["type"]
    return done


def _patterns(schema: Json) -> Json:
    found = schema.get("patternProperties")
    return found if is_object(found) else {}


def pieces(schema: Json) -> Iterator[Json]:
    """Yield schemas of single values or single types, which together accept what a schema does."""
    values = values_of(schema)
    if values is not None and len(values) <= _MOST_PIECES:
        yield from ({"const": value} for value in values if may_be(schema, value))
    elif values is None and is_array(schema.get("type")):
        yield from ({**schema, "type": kind} for kind in types_of(schema))
    else:
        yield schema


def spelled(schema: Any) -> str:
    """Return a schema in a few words."""
    if not is_object(schema):
        return "anything" if schema is not False else "nothing"
    if (values := values_of(schema)) is not None:
        return shown(" | ".join(json.dumps(one, ensure_ascii=False) for one in values))
    if isinstance(schema.get("$ref"), str):
        return shown(str(schema["$ref"]).rpartition("/")[2])
    for keyword in ("anyOf", "oneOf"):
        if is_array(schema.get(keyword)):
            return shown(" | ".join(spelled(arm) for arm in schema[keyword]))
    kinds = schema.get("type")
    if kinds == "array":
        return f"array of {spelled(schema.get('items', True))}"
    return shown(" | ".join(map(str, kinds)) if is_array(kinds) else str(kinds or "anything"))
