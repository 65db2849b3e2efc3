"""Pairs of schemas for Hypothesis; the second is often a small change of the first."""

from collections.abc import Callable, Iterator
from random import Random
from typing import Any, Final

from hypothesis import strategies as st
from mcp_protogen.base.jsonvalue import is_array, is_object

Json = dict[str, Any]

_NAMES: Final = st.sampled_from("abc")
_NUMBERS: Final = st.none() | st.integers(-3, 3)
_LENGTHS: Final = st.none() | st.integers(0, 3)
_FIXED: Final[tuple[Json, ...]] = (
    {},
    {"type": "null"},
    {"type": "boolean"},
    {"enum": ["x", "y"]},
    {"enum": ["x", 1, None]},
    {"const": 1},
    {"type": ["string", "null"]},
    {"type": ["integer", "string"]},
    {"type": "string", "pattern": "^x"},
    {"not": {"type": "string"}},
)


def _tagged_object(names: str, member: str, required: list[str]) -> Json:
    kind: Json = {"enum": [*names]} if len(names) > 1 else {"const": names}
    return {
        "type": "object",
        "properties": {"a": kind, "b": {"type": member}},
        "required": required,
    }


def _range(kind: str, low: int, high: int) -> Json:
    return {"type": kind, "minimum": low, "maximum": high}


# Unions may accept together what none of their alternatives accepts alone.
_ARMS: Final[tuple[st.SearchStrategy[Json], ...]] = (
    st.builds(
        _tagged_object,
        st.sampled_from(["x", "y", "z", "xy", "yz"]),
        st.sampled_from(["integer", "string"]),
        st.sampled_from([["a"], ["a"], [], ["a", "b"]]),
    ),
    st.builds(
        _range,
        st.sampled_from(["integer", "integer", "number"]),
        st.integers(-4, 4),
        st.integers(-4, 4),
    ),
    st.sampled_from(({"const": True}, {"const": False}, {"const": "x"}, {"enum": ["y", 1]})),
)
_UNIONS: Final = st.one_of(
    *_ARMS,
    *(
        st.fixed_dictionaries({key: st.lists(arms, min_size=1, max_size=3)})
        for key in ("anyOf", "oneOf")
        for arms in _ARMS
    ),
)
_NODE: Final[Json] = {
    "type": "object",
    "properties": {"a": {"type": ["string", "null"]}, "b": {"type": "integer"}},
}
_NODES: Final = st.sampled_from((_NODE, {**_NODE, "required": ["b"]}))


def _with(kind: str, **keywords: st.SearchStrategy[Any]) -> st.SearchStrategy[Json]:
    """Return schemas of a type with some optional keywords."""

    def schema(given: Json) -> Json:
        return {"type": kind, **{key: value for key, value in given.items() if value is not None}}

    return st.fixed_dictionaries(keywords).map(schema)


_ANYTHING: Final[tuple[Any, ...]] = (
    *(None, True, False, *range(-4, 5), -2.5, 0.5, 1.0, "", "x", "y", "xx", "zzz"),
    *([], ["x"], [1, None], {}, {"a": 1}, {"a": "x", "c": None}),
)
_SCALARS: Final = st.one_of(
    _with(
        "integer",
        minimum=_NUMBERS,
        exclusiveMaximum=_NUMBERS,
        multipleOf=st.sampled_from([None, 1, 2, 4]),
    ),
    _with("number", exclusiveMinimum=_NUMBERS, maximum=_NUMBERS),
    _with("string", minLength=_LENGTHS, maxLength=_LENGTHS),
    st.sampled_from(_FIXED),
)


def _around(inner: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    arms = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        _with(
            "object",
            properties=st.dictionaries(_NAMES, inner, max_size=3),
            required=st.none() | st.lists(_NAMES, unique=True, max_size=2),
            additionalProperties=st.sampled_from([None, None, False, True]) | inner,
            patternProperties=st.sampled_from([*[None] * 6, {"^a": {"type": "integer"}}]),
        ),
        _with("array", items=inner, minItems=_LENGTHS, maxItems=_LENGTHS),
        _with("array", prefixItems=arms, items=inner),
        *(st.fixed_dictionaries({key: arms}) for key in ("allOf", "anyOf", "oneOf")),
        st.just({"$ref": "#/$defs/N"}),
    )


_SCHEMAS: Final = st.recursive(_SCALARS, _around, max_leaves=6)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Json, Json]:
    """Draw two schemas, each with its definition."""
    if draw(st.booleans()):
        before, after = draw(_UNIONS), draw(_UNIONS)
    else:
        before = draw(_SCHEMAS)
        after = _change_schema(draw, before)
    nodes = draw(_NODES)
    other = draw(_NODES) if draw(st.booleans()) else nodes
    return {**before, "$defs": {"N": nodes}}, {**after, "$defs": {"N": other}}


def _change_schema(draw: st.DrawFn, schema: Json) -> Json:
    """Return a schema with one small change, or another schema."""
    how = draw(st.integers(0, 5))
    members: Json = schema.get("properties", {})
    if how == 0 and schema:
        gone = draw(st.sampled_from(sorted(schema)))
        return {key: value for key, value in schema.items() if key != gone}
    if how == 1 and members:
        name = draw(st.sampled_from(sorted(members)))
        return {**schema, "properties": {**members, name: _change_schema(draw, members[name])}}
    if how == 2:
        return {"anyOf": [schema, draw(_SCALARS)]}
    if how == 3 and is_object(schema.get("items")):
        return {**schema, "items": _change_schema(draw, schema["items"])}
    return draw(st.sampled_from([{"allOf": [schema]}, {"oneOf": [schema]}, schema]) | _SCHEMAS)


def close_schema(schema: Any) -> Any:
    """Return the schema of a typed caller: only declared members, unless others are meant."""

    def change(one: Json) -> Json:
        declares = one.get("properties") or one.get("patternProperties")
        return {"additionalProperties": False, **one} if declares else one

    return _changed_inside(schema, change)


def open_schema(schema: Any) -> Any:
    """Return the schema of a model's values: other members are ignored, any alternative may fit."""

    def change(one: Json) -> Json:
        open_one = {key: v for key, v in one.items() if (key, v) != ("additionalProperties", False)}
        if "oneOf" in open_one:
            open_one["anyOf"] = open_one.pop("oneOf")
        return open_one

    return _changed_inside(schema, change)


def samples(schema: Json, random: Random, number: int) -> Iterator[Any]:
    """Yield values that a schema mostly accepts."""
    for _ in range(number):
        yield _sample(schema, schema, random)


def _sample(schema: Any, document: Json, random: Random) -> Any:
    """Return a value that is valid for a part of a schema, perhaps for all of it."""
    if not is_object(schema) or not schema.keys() - {"$defs"}:
        return random.choice(_ANYTHING)
    if "$ref" in schema:
        return _sample(document["$defs"]["N"], document, random)
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return _sample(random.choice(schema[key]), document, random)
    if "allOf" in schema:
        parts = [_sample(subschema, document, random) for subschema in schema["allOf"]]
        merged: Json = {}
        for part in parts:
            merged |= part if is_object(part) else {}
        return merged if all(map(is_object, parts)) else random.choice(parts)
    if "enum" in schema or "const" in schema:
        return random.choice(schema.get("enum") or [schema["const"]])
    kinds = schema.get("type", "null")
    kind = random.choice(kinds) if is_array(kinds) else kinds
    if kind == "object":
        return _object(schema, document, random)
    if kind == "array":
        first = [_sample(item, document, random) for item in schema.get("prefixItems", ())]
        items = schema.get("items", True)
        more = [_sample(items, document, random) for _ in range(random.randrange(3))]
        return (
            [*first[: random.randrange(len(first) + 1)]]
            if first and random.random() < 0.2
            else first + more
        )
    return random.choice(
        [candidate for candidate in _ANYTHING if _is(kind, candidate)] or _ANYTHING
    )


def _object(schema: Json, document: Json, random: Random) -> Json:
    members: Json = schema.get("properties", {})
    required = schema.get("required", ())
    rest = schema.get("additionalProperties", True)
    found: Json = {}
    for name in "abc":
        declared = name in members
        if name not in required and random.random() < (0.4 if declared else 0.7):
            continue
        if declared or rest is not False:
            found[name] = _sample(members.get(name, rest), document, random)
        elif "patternProperties" in schema:
            found[name] = random.randrange(3)
    return found


def _is(kind: str, value: Any) -> bool:
    types: dict[str, Any] = {"string": str, "boolean": bool, "integer": int, "number": (int, float)}
    if kind == "null" or isinstance(value, bool):
        return value is None or kind == "boolean"
    return isinstance(value, types.get(kind, ()))


def _changed_inside(schema: Any, change: Callable[[Json], Json]) -> Any:
    if is_array(schema):
        return [_changed_inside(item, change) for item in schema]
    if not is_object(schema):
        return schema
    done: Json = {}
    for key, part in schema.items():
        if key in ("properties", "patternProperties", "$defs"):
            done[key] = {name: _changed_inside(value, change) for name, value in part.items()}
        else:
            done[key] = part if key in ("const", "enum") else _changed_inside(part, change)
    return change(done)
