"""Schemas without redundant keywords: two that accept the same values look the same.

Left out are bounds that every value of the type keeps, and keywords of other types. The rest has
one spelling: one type is not a list, and one constant is not an enumeration.
"""

import math
from collections.abc import Callable, Mapping
from operator import ge, gt, le, lt
from typing import Any

from mcp_protogen.base.canonical import canonical
from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.base.subschemas import LISTS, MAPS, PROSE, SINGLE, UNORDERED
from mcp_protogen.pipeline.normalise.intersection import is_equal, of_type
from mcp_protogen.runtime.core.json import is_same

Json = dict[str, Any]

# https://json-schema.org/draft/2020-12/json-schema-validation, section 6, and
# https://json-schema.org/draft/2020-12/json-schema-core, section 10.3: keywords ignore other types.
OF_KIND: Mapping[str, frozenset[str]] = {
    "number": frozenset(
        {"exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum", "multipleOf"}
    ),
    "string": frozenset({"contentEncoding", "contentMediaType", "maxLength", "minLength"})
    | {"contentSchema", "format", "pattern"},
    "array": frozenset({"contains", "items", "maxContains", "maxItems", "minContains"})
    | {"minItems", "prefixItems", "unevaluatedItems", "uniqueItems"},
    "object": frozenset({"additionalProperties", "dependentRequired", "dependentSchemas"})
    | {"maxProperties", "minProperties", "patternProperties", "properties", "propertyNames"}
    | {"required", "unevaluatedProperties"},
}
# Of listed values, those outside of these limits are left out.
_LIMITS: Mapping[type, Mapping[str, Callable[[float, float], bool]]] = {
    int: {"exclusiveMaximum": lt, "exclusiveMinimum": gt, "maximum": le, "minimum": ge},
    str: {"maxLength": le, "minLength": ge},
}
# False refuses everything; so does a schema that no value satisfies.
_CLOSING = frozenset({"additionalProperties", "unevaluatedItems", "unevaluatedProperties"})
_NOTHING: Json = {"enum": []}
_BINDS_NOTHING: Mapping[str, tuple[Any, ...]] = {
    **dict.fromkeys(("minItems", "minLength", "minProperties"), (0,)),
    **dict.fromkeys(("deprecated", "readOnly", "uniqueItems", "writeOnly"), (False,)),
    **dict.fromkeys(("exclusiveMaximum", "exclusiveMinimum"), (False,)),
    **dict.fromkeys(SINGLE - {"contains", "if", "not"}, ({},)),
    **dict.fromkeys(("dependentRequired", "patternProperties", "properties"), ({},)),
    **dict.fromkeys(("allOf", "dependentSchemas", "prefixItems", "required"), ([], {})),
    "not": (_NOTHING,),
    "propertyNames": ({}, {"type": "string"}),
    "pattern": ("", "^", "$", ".*", "^.*", ".*$"),
}


def plain(schema: Any) -> Json:
    """Return a schema of the same values, without redundant keywords."""
    if not is_object(schema):
        return {} if schema is not False else dict(_NOTHING)
    done = {key: _inside(key, value) for key, value in schema.items()}
    for step in (without_lone_arms, _values, _kind, _of_own_kind, _number, _binding):
        done = step(done)
    return done


def essence(schema: Any) -> bytes:
    """Return the same bytes for schemas that differ only in prose or in the order of a set."""
    return canonical(_normalise(plain(schema)))


def reword(schema: Any, known: Any) -> Any:
    """Return a schema in the words of a known one, wherever both accept the same."""
    if is_equal(schema, known):
        return known
    if not is_object(schema) or not is_object(known):
        return schema
    if "$defs" not in schema and essence(schema) == essence(known):
        return known
    done: Json = {}
    for key, value in without_lone_arms(schema).items():
        other: Any = known.get(key)
        if key in MAPS and is_object(value) and is_object(other):
            value = {name: reword(inner, other.get(name)) for name, inner in value.items()}
        elif key in LISTS and is_array(value) and is_array(other) and len(value) == len(other):
            value = [reword(item, beside) for item, beside in zip(value, other, strict=True)]
        elif key in SINGLE:
            value = reword(value, other)
        done[key] = value
    return done


def _inside(keyword: str, value: Any) -> Any:
    if keyword in MAPS and is_object(value):
        return {name: plain(inner) for name, inner in value.items()}
    if keyword in LISTS and is_array(value):
        return [plain(arm) for arm in value]
    if keyword in SINGLE and not is_array(value):
        return False if value is False and keyword in _CLOSING else plain(value)
    return value


def _normalise(value: Any, keyword: str = "") -> Any:
    if keyword in ("const", "default"):
        return value
    if is_object(value):
        is_named = keyword in MAPS
        return {
            key: _normalise(inner, "" if is_named else key)
            for key, inner in value.items()
            if is_named or key not in PROSE
        }
    if is_array(value):
        items = [_normalise(inner) for inner in value]
        return sorted(items, key=canonical) if keyword in UNORDERED else items
    return value


def without_lone_arms(schema: Json) -> Json:
    """Return a schema with a choice of one, and with an intersection of one, merged into it."""
    if "allOf" in schema:
        schema = {**schema, "allOf": [part for part in schema["allOf"] if part]}
    for keyword in ("allOf", "anyOf", "oneOf"):
        arms = schema.get(keyword, ())
        rest = {key: value for key, value in schema.items() if key != keyword}
        if len(arms) == 1 and not arms[0].keys() & rest.keys():
            schema = {**arms[0], **rest}
    return schema


def _values(schema: Json) -> Json:
    """Return a schema whose constants are all of its type and limits, which are left out."""
    if "const" not in schema and not is_array(schema.get("enum")):
        return schema
    values: list[Any] = [schema["const"]] if "const" in schema else schema["enum"]
    kinds = schema.get("type")
    distinct = {
        canonical(value): value
        for value in values
        if (kinds is None or is_object(value) or is_array(value) or of_type(value, kinds))
        and _is_within(value, schema)
    }
    left_out = {"const", "enum", "type"}.union(*_LIMITS.values())
    rest = {key: value for key, value in schema.items() if key not in left_out}
    found = list(distinct.values())
    if distinct.keys() == {b"false", b"true"}:
        return {**rest, "type": "boolean"}
    return {**rest, "const": found[0]} if len(found) == 1 else {**rest, "enum": found}


def _is_within(value: Any, limits: Json) -> bool:
    """Return whether a scalar is within the limits of a schema."""
    kind, size = (str, len(value)) if isinstance(value, str) else (int, value)
    known = _LIMITS[kind].items() if _is_number(size) else ()
    return all(compare(size, limits[key]) for key, compare in known if _is_number(limits.get(key)))


def _kind(schema: Json) -> Json:
    kinds = schema.get("type")
    if not is_array(kinds):
        return schema
    listed = [kind for kind in dict.fromkeys(kinds) if kind != "integer" or "number" not in kinds]
    return {**schema, "type": listed[0] if len(listed) == 1 else listed}


def _of_own_kind(schema: Json) -> Json:
    kinds = schema.get("type")
    if kinds is None:
        return schema
    listed = kinds if is_array(kinds) else [kinds]
    known = {"number" if kind == "integer" else kind for kind in listed}
    foreign = {key for kind, keys in OF_KIND.items() if kind not in known for key in keys}
    return {key: value for key, value in schema.items() if key not in foreign}


def _number(schema: Json) -> Json:
    """Return a schema with one lower and one upper bound: the one that leaves less."""
    step = schema.get("multipleOf")
    if step == 1 and schema.get("type") in ("integer", "number"):
        rest = {key: value for key, value in schema.items() if key != "multipleOf"}
        schema = {**rest, "type": "integer"}
    for closed, strict, sign in (
        ("minimum", "exclusiveMinimum", 1),
        ("maximum", "exclusiveMaximum", -1),
    ):
        if _is_number(schema.get(closed)) and _is_number(schema.get(strict)):
            idle = closed if sign * schema[strict] >= sign * schema[closed] else strict
            schema = {key: value for key, value in schema.items() if key != idle}
    return schema


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _binding(schema: Json) -> Json:
    schema = _demanding(schema)
    kept = {
        key: value
        for key, value in schema.items()
        if not any(is_same(value, nothing) for nothing in _BINDS_NOTHING.get(key, ()))
    }
    if "contains" not in kept or (kept.get("minContains") == 0 and "maxContains" not in kept):
        kept = {key: kept[key] for key in kept.keys() - {"contains", "maxContains", "minContains"}}
    if "if" not in kept or not {"then", "else"} & kept.keys():
        kept = {key: kept[key] for key in kept.keys() - {"if", "then", "else"}}
    return {key: kept[key] for key in schema if key in kept}


def _demanding(schema: Json) -> Json:
    """Return a schema that requires each member once."""
    done, listed = dict(schema), schema.get("required")
    required = dict.fromkeys(listed if is_array(listed) else ())
    if required:
        done["required"] = list(required)
    if is_object(demands := schema.get("dependentRequired")):
        done["dependentRequired"] = {
            name: names for name, names in demands.items() if not required.keys() >= {*names}
        }
    if is_object(demands := schema.get("dependentSchemas")):
        done["dependentSchemas"] = {name: inner for name, inner in demands.items() if inner}
    least = schema.get("minProperties")
    if least is not None and _is_number(least) and least <= len(required):
        del done["minProperties"]
    return done
