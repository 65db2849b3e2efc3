"""The meaning of the keywords of one schema, without its references."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isnan, nan
from typing import Any, Final

from mcp_protogen.base.canonical import canonical
from mcp_protogen.base.jsonvalue import is_array, is_object, json_type
from mcp_protogen.base.subschemas import UNORDERED, VALUES, map_schemas
from mcp_protogen.servers.call.input_schemas import strings
from mcp_protogen.servers.clients.ranges import measure

Json = dict[str, Any]

# https://json-schema.org/draft/2020-12/json-schema-validation, section 9 and 7.2.1, and core, 8.2
# and 8.3: annotations, which refuse no value.
ANNOTATIONS: Final = frozenset(
    {"$anchor", "$comment", "$defs", "$id", "$schema", "contentEncoding", "contentMediaType"}
    | {"contentSchema", "default", "definitions", "deprecated", "description", "examples"}
    | {"format", "id", "readOnly", "title", "writeOnly"}
)

UNIONS: Final = ("anyOf", "oneOf")
"""The keywords of alternatives."""
# Those that concern the whole schema, or the targets of references.
_SAID: Final = ANNOTATIONS - {"$anchor", "$defs", "$id", "$schema", "definitions", "format", "id"}

# Keywords whose meanings depend on each other: two schemas agree on a whole group or not at all.
TOGETHER: Final = (
    frozenset({"if", "then", "else"}),
    frozenset({"contains", "minContains", "maxContains"}),
)
_TIGHTER: Final[Mapping[str, Callable[[list[float]], float]]] = {
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"), max),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"), min),
}
"""The bound that applies if there are two."""
_GROUPS: Final = (*TOGETHER, frozenset({"items", "additionalItems", "prefixItems"}))
_OF_WHOLE: Final = frozenset({"unevaluatedItems", "unevaluatedProperties"})
"""Keywords that depend on the whole schema around them."""
_TYPES: Final = ("array", "boolean", "integer", "null", "number", "object", "string")


def required_of(schema: Json) -> list[str]:
    """Return the names of required members."""
    return strings(schema.get("required"))


def properties_of(schema: Json) -> Json:
    """Return the schemas of declared members."""
    found = schema.get("properties")
    return found if is_object(found) else {}


def patterns_of(schema: Json) -> Json:
    """Return the schemas of members whose names match a pattern."""
    found = schema.get("patternProperties")
    return found if is_object(found) else {}


def types_of(schema: Json) -> list[str]:
    """Return the types of values that a schema may accept."""
    kinds = schema.get("type")
    found = [kinds] if isinstance(kinds, str) else strings(kinds) or list(_TYPES)
    values = values_of(schema)
    if values is not None:
        found = [kind for kind in found if any(kind in kinds_of(value) for value in values)]
    return [kind for kind in found if kind != "integer" or "number" not in found]


def accepts(kinds: Sequence[str], kind: str) -> bool:
    """Return whether a type is one of several, or a part of one."""
    return kind in kinds or (kind == "integer" and "number" in kinds)


def common(kinds: Sequence[str], more: Sequence[str]) -> list[str]:
    """Return the types that both lists have."""
    found = [kind for kind in kinds if accepts(more, kind)]
    return list(dict.fromkeys([*found, *(kind for kind in more if accepts(kinds, kind))]))


def kinds_of(value: Any) -> tuple[str, ...]:
    """Return the types of a value."""
    kind = json_type(as_number(value))
    return ("integer", "number") if kind == "integer" else (kind,)


def values_of(schema: Json) -> list[Any] | None:
    """Return the constants of a schema; None if it has other values, too."""
    found = schema.get("enum")
    if "const" not in schema:
        return found if is_array(found) else None
    refused = is_array(found) and not identities(found) >= identities([schema["const"]])
    return [] if refused else [schema["const"]]


def enum_values(arms: Sequence[Any], *, alone: bool) -> list[Any] | None:
    """Return the constants of alternatives, if each is only a constant, perhaps with a title.

    With `alone`, return None if two of them have the same one.
    """
    found: list[Any] = []
    for arm in arms:
        values = values_of(arm) if is_object(arm) else None
        if values is None or arm.keys() - ANNOTATIONS - {"const", "enum", "type"}:
            return None
        found += [value for value in values if may_be(arm, value)]
    return None if alone and len(identities(found)) < len(found) else found


def may_be(schema: Json, value: Any) -> bool:
    """Return whether the type of a schema accepts a value."""
    if "type" not in schema:
        return True
    kinds = types_of({"type": schema["type"]})
    return any(accepts(kinds, kind) for kind in kinds_of(value))


def identities(values: Iterable[Any]) -> set[bytes]:
    """Return keys of values: equal for values that are equal in JSON Schema."""
    return {canonical(as_number(value)) for value in values}


def as_number(value: Any) -> Any:
    """Return a value with 1 for 1.0 everywhere: they are the same in JSON Schema."""
    if is_object(value):
        return {name: as_number(member) for name, member in value.items()}
    if is_array(value):
        return [as_number(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def intersect(one: Json, other: Json) -> Json:
    """Return a schema that accepts at least the values that two schemas share.

    It has the keywords of both: the tighter of two bounds, and the first of other keywords that
    both have or that belong together.
    """
    first = {keyword for group in _GROUPS if one.keys() & group for keyword in group}
    rest = {key: value for key, value in other.items() if key not in first}
    done = {key: value for key, value in {**rest, **one}.items() if key not in _OF_WHOLE}
    for keyword in _TIGHTER.keys() & one.keys() & other.keys():
        ends = [measure(side, keyword, nan) for side in (one, other)]
        if not any(map(isnan, ends)):
            done[keyword] = _TIGHTER[keyword](ends)
    ours, theirs = properties_of(one), properties_of(other)
    if theirs and ours:
        shared = {name: {"allOf": [ours[name], theirs[name]]} for name in ours.keys() & theirs}
        done["properties"] = {**ours, **theirs, **shared}
    if patterns := {**patterns_of(other), **patterns_of(one)}:
        done["patternProperties"] = patterns
    if needed := [*required_of(one), *required_of(other)]:
        done["required"] = list(dict.fromkeys(needed))
    if "type" in one and "type" in other:
        sides = (types_of({"type": side["type"]}) for side in (one, other))
        done["type"] = common(*sides) or one["type"]
    return done


def meaning(schema: Any, *, ordered: bool = False) -> Any:
    """Return a schema without its texts, to compare it.

    Unless `ordered`, lists whose order has no meaning are sorted; a reference may need their order.
    """

    def change(schema: Json) -> Json:
        done: Json = {}
        for key, value in schema.items():
            # Only texts: the value of an unknown keyword may have members of these names.
            if key not in _SAID or not isinstance(value, str):
                done[key] = as_number(value) if key in VALUES else value
            if key in UNORDERED and is_array(value) and not ordered:
                done[key] = sorted(done[key], key=canonical)
        return done

    return map_schemas(schema, change)
