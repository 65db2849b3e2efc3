"""What the keywords of one schema say, without what they refer to."""

import json
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import floor, inf, isnan, nan
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

NAMED: Final = frozenset(
    {"$defs", "definitions", "dependencies", "dependentRequired", "dependentSchemas"}
    | {"patternProperties", "properties"}
)
"""The keywords of objects whose members have names of their own."""
VALUES: Final = frozenset({"const", "default", "enum", "examples"})
"""The keywords whose values are no schemas, whatever they look like."""
# What of these is about a schema as a whole, or decides what references lead to.
_SAID: Final = ANNOTATIONS - {"$anchor", "$defs", "$id", "$schema", "definitions", "format", "id"}
_UNORDERED: Final = frozenset({"allOf", "anyOf", "enum", "oneOf", "required", "type"})

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
_TIGHTER: Final[Mapping[str, Callable[[list[float]], float]]] = {
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"), max),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"), min),
}
"""Which of two bounds holds where both do."""
_GROUPS: Final = (*TOGETHER, frozenset({"items", "additionalItems", "prefixItems"}))
_OF_WHOLE: Final = frozenset({"unevaluatedItems", "unevaluatedProperties"})
"""What depends on the whole schema that has it."""
_TYPES: Final = ("array", "boolean", "integer", "null", "number", "object", "string")


def shown(value: object) -> str:
    """Return a value as short text; a text stays as it is."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:79]}…"


def listed(value: Any) -> list[Any]:
    """Return an array; an empty one for anything else."""
    return value if is_array(value) else []


def strings(value: Any) -> list[str]:
    """Return the strings of an array."""
    return [one for one in listed(value) if isinstance(one, str)]


def required_of(schema: Json) -> list[str]:
    """Return the names of required members."""
    return strings(schema.get("required"))


def properties_of(schema: Json) -> Json:
    """Return the schemas of declared members."""
    found = schema.get("properties")
    return found if is_object(found) else {}


def types_of(schema: Json) -> list[str]:
    """Return the types of values that a schema may accept."""
    kinds = schema.get("type")
    found = [kinds] if isinstance(kinds, str) else strings(kinds) or list(_TYPES)
    values = values_of(schema)
    if values is not None:
        found = [one for one in found if any(one in kinds_of(value) for value in values)]
    return [one for one in found if one != "integer" or "number" not in found]


def accepts(kinds: Sequence[str], kind: str) -> bool:
    """Return whether a type is one of several, or within one."""
    return kind in kinds or (kind == "integer" and "number" in kinds)


def common(kinds: Sequence[str], more: Sequence[str]) -> list[str]:
    """Return the types of values that are of a type of either."""
    found = [kind for kind in kinds if accepts(more, kind)]
    return list(dict.fromkeys([*found, *(kind for kind in more if accepts(kinds, kind))]))


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
    found = schema.get("enum")
    if "const" not in schema:
        return found if is_array(found) else None
    value = canonical([as_number(schema["const"])])
    refused = is_array(found) and value not in [canonical([as_number(one)]) for one in found]
    return [] if refused else [schema["const"]]


def enumerated(arms: Sequence[Any], *, alone: bool) -> list[Any] | None:
    """Return the constants of alternatives, if they are nothing else: each with a title, maybe.

    With `alone`, return None if two of them have the same one.
    """
    found: list[Any] = []
    for arm in arms:
        values = values_of(arm) if is_object(arm) else None
        if values is None or arm.keys() - ANNOTATIONS - {"const", "enum", "type"}:
            return None
        found += [value for value in values if may_be(arm, value)]
    different = {canonical([as_number(value)]) for value in found}
    return None if alone and len(different) < len(found) else found


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
    """Return whether all multiples of `by` are multiples of `step`, as floating point has them."""
    are_numbers = all(isinstance(one, int | float) and one is not True for one in (step, by))
    if not are_numbers or not step:
        return canonical([step]) == canonical([by])
    return (Fraction(by) / Fraction(step)).denominator == 1


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

    It has the keywords of both; of two bounds the tighter one, and of others that both have, or
    that belong together, the first.
    """
    first = {keyword for group in _GROUPS if one.keys() & group for keyword in group}
    rest = {key: value for key, value in other.items() if key not in first}
    done = {key: value for key, value in {**rest, **one}.items() if key not in _OF_WHOLE}
    for keyword, tighter_of in _TIGHTER.items():
        ends = [measure(side, keyword, nan) for side in (one, other) if keyword in side]
        if len(ends) == 2 and not any(map(isnan, ends)):
            done[keyword] = tighter_of(ends)
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
    if needed := [*required_of(one), *required_of(other)]:
        done["required"] = list(dict.fromkeys(needed))
    if "type" in one and "type" in other:
        sides = (types_of({"type": side["type"]}) for side in (one, other))
        done["type"] = common(*sides) or one["type"]
    return done


def _patterns(schema: Json) -> Json:
    found = schema.get("patternProperties")
    return found if is_object(found) else {}


def meaning(schema: Any, *, ordered: bool = False) -> Any:
    """Return a schema without its texts, to compare it.

    Unless it is `ordered`, what has no order comes in one: a reference may lead to a place in it.
    """
    if not is_object(schema):
        return [meaning(one, ordered=ordered) for one in schema] if is_array(schema) else schema
    done: Json = {}
    for key, value in schema.items():
        # A schema has one of these words as a name only where nothing says that these are names.
        if key in _SAID and isinstance(value, str):
            continue
        if key in NAMED and is_object(value):
            done[key] = {name: meaning(one, ordered=ordered) for name, one in value.items()}
        else:
            done[key] = as_number(value) if key in VALUES else meaning(value, ordered=ordered)
        if key in _UNORDERED and is_array(value) and not ordered:
            done[key] = sorted(done[key], key=lambda one: canonical([one]))
    return done


def is_idle(keyword: str, value: Any) -> bool:
    """Return whether a keyword refuses nothing with this value."""
    match keyword:
        case "uniqueItems":
            return value is False
        case "pattern":
            return value in ("", ".*")
        case "propertyNames":
            return value in (True, {}, {"type": "string"})
        case "unevaluatedItems" | "unevaluatedProperties":
            return value in (True, {})
        case "not":
            return value is False
        case _:
            return keyword in OF_OBJECTS and value == {}


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
