"""Definitions that published schemas lack, and values to try on them.

The models must accept exactly the values that each definition accepts.
"""

import json
from collections.abc import Iterator
from typing import Any

from mcp_protogen.base.jsonvalue import is_array, is_object
from support.unit import schemas as schemas
from support.unit.schemas import STRING, Json, record, ref

INTEGER: Json = {"type": "integer"}
NUMBER: Json = {"type": "number"}
NULL: Json = {"type": "null"}
TRUE: Json = {"const": True}


def array(items: Json) -> Json:
    """An array of one type."""
    return {"type": "array", "items": items}


def free(values: Json) -> Json:
    """A map."""
    return {"type": "object", "additionalProperties": values}


def both(*parts: Json) -> Json:
    """An intersection."""
    return {"allOf": list(parts)}


def either(*arms: Json) -> Json:
    """A choice."""
    return {"anyOf": list(arms)}


NAMES: dict[str, Json] = {
    "Annotated": record(x=STRING),
    "Exact": record(x=TRUE),
    "None": STRING,
    "Model": record(x=STRING),
    "class": record(x=INTEGER),
    "Box<Item>": record(x=STRING),
    "Box-Lid": record(y=ref("Box<Item>"), z=ref("class"), n=ref("None")),
    "_x": INTEGER,
    "1a": record(q=ref("_x"), e=ref("Annotated")),
    "Escaped": record(u={"$ref": "#/$defs/Box%3CItem%3E"}, v={"$ref": "#/$defs/Tilde~1~0"}),
    "Tilde/~": record(a=INTEGER),
    "Attributes": record(register=STRING, mro=STRING, copy=INTEGER, self=STRING, cls=STRING),
    "OddMembers": record(**{"200": STRING, "x-y": INTEGER, "@type": STRING, "a b": INTEGER}),
}

PLACES: dict[str, Json] = {
    "MapOfInline": free(record(("y",), y=STRING)),
    "ArrayOfInline": array(record(("y",), y=STRING)),
    "OneInline": either(ref("MapOfInline"), record(("k",), k=INTEGER)),
    "TwoInline": either(record(("y",), y=STRING), record(("z",), z=INTEGER)),
    "TaggedInline": either(record(("t",), t={"const": "a"}), record(("t",), t={"const": "b"})),
    "TaggedByTruth": record(
        x=either(record(("r",), r=TRUE), record(("r",), r={"const": False}, d=STRING))
    ),
    "TakenX": INTEGER,
    "Taken": record(x=record(y=INTEGER), fooBar=record(x=STRING)),
    "TakenFooBar": INTEGER,
    "Inside": record(x=record(y=record(z=INTEGER)), w=STRING),
    "Pointers": record(
        a={"$ref": "#/$defs/Inside/properties/x"},
        b={"$ref": "#/$defs/Inside/properties/x/properties/y"},
        c={"$ref": "#/$defs/Inside/properties/w"},
    ),
    "Pointer": {"$ref": "#/$defs/Inside/properties/x/properties/y/properties/z"},
}

KINDS: dict[str, Json] = {
    "OnlyNull": record(x=NULL, y={"const": None}, z={"enum": [None]}),
    "ObjectOrText": {**record(("a",), a=STRING), "type": ["object", "string"]},
    "ObjectOrTextInside": record(x={**record(("a",), a=STRING), "type": ["object", "string"]}),
    "ArrayOrNull": {"type": ["array", "null"], "items": INTEGER},
    "ManyKinds": record(
        x={"type": ["array", "null", "object"], "items": INTEGER, "additionalProperties": STRING}
    ),
    "NoMembersButOthers": {"type": "object", "properties": {}, "additionalProperties": STRING},
    "True": record(("t",), t=TRUE),
    "Truths": record(f={"const": False}, z={"enum": [0, "a"]}, m={"enum": [True, 2]}),
    "One": {"const": 1},
    "OneWithFraction": record(("o",), o={"const": 1.0}),
    "Mixed": {"enum": [1, True, None]},
    "ArrayOfTrue": array(TRUE),
    "TrueOrNumber": either(TRUE, INTEGER),
    "TypedValues": {"type": "string", "enum": ["a", 1, "b"]},
    "ConstantAmongValues": {"enum": ["a", "b"], "const": "a"},
}

INTERSECTIONS: dict[str, Json] = {
    "Values": both(record(x={"enum": ["a", "b"]}), record(x={"enum": ["b", "c"]})),
    "ValueOfType": both(STRING, {"enum": ["a", 1]}),
    "Bounds": both(
        record(x={"type": "integer", "minimum": 1}),
        record(x={"type": "number", "minimum": 0, "maximum": 5}),
    ),
    "BoundsInMember": record(x=both({"type": "integer", "minimum": 1}, NUMBER)),
    "Types": both(
        record(x={"type": ["string", "integer"]}), record(x={"type": ["integer", "null"]})
    ),
    "ConstantInBounds": both(
        record(x={"const": "a"}), record(x={"type": "string", "minLength": 1})
    ),
    "Choices": both(record(x=either(STRING, INTEGER, NULL)), record(x=either(INTEGER, TRUE, NULL))),
    "Items": both(record(x=array(STRING)), record(x=array({"enum": ["a"]}))),
    "NoItems": both(record(x=array(STRING)), record(x=array(INTEGER))),
    "NamedAndInline": both(record(x=ref("Values")), record(x=record(("y",), y=STRING))),
    "ChoiceOfObjects": both(
        either(record(("x",), x=STRING), record(("y",), y=STRING)), record(("z",), z=STRING)
    ),
    "MembersBesideChoice": {
        **record(a=STRING),
        **either(record(("x",), x=STRING), record(("y",), y=STRING)),
    },
    "SeveralRequired": {
        **record(a=STRING),
        **either({"required": ["x", "y"]}, {"required": ["z"]}),
    },
    "OneRequired": {
        **record(x=STRING, y=STRING),
        **either({"required": ["x"]}, {"required": ["y"]}),
    },
    "OnlyReference": record(x=both(ref("Values")), y=both(ref("Node"), {"type": "object"})),
    "ReferenceWithBounds": record(x={"$ref": "#/$defs/TrueOrNumber", "type": "integer"}),
    "ValuesBesideChoice": record(
        x={"type": "string", **either({"const": "a"}, {})},
        y={"enum": ["a", "b", None], **either(STRING, NULL)},
    ),
    "Maps": both(free(NUMBER), free(INTEGER)),
    "Arrays": both(array(INTEGER), array(NUMBER)),
    "Recursive": both(ref("Node"), record(x=record(("y",), y=STRING))),
}

RECURSION: dict[str, Json] = {
    "Node": record(x=ref("Node")),
    "JSONValue": either(STRING, ref("JSONObject"), array(ref("JSONValue"))),
    "JSONObject": free(ref("JSONValue")),
    "UsesJSON": record(x=ref("JSONValue"), y=ref("JSONObject")),
    "Anything": either(
        {"type": ["string", "number", "boolean", "null"]},
        free(ref("Anything")),
        array(ref("Anything")),
    ),
    "UsesAnything": record(x=ref("Anything")),
    "Text": either(STRING, array(ref("Text"))),
    "Odd": array(ref("Even")),
    "Even": either(free(ref("Odd")), INTEGER),
    "Nothing": array(ref("Nothing")),
    "Nullable": either(NULL, array(ref("Nullable"))),
    "UsesNullable": record(x=ref("Nullable")),
    "Through": either(ref("Object"), array(ref("Through"))),
    "Object": record(x=ref("Through"), y=array(ref("Text"))),
    "Later": either({"enum": [2, 0]}, array(NUMBER), ref("Sooner")),
    "Sooner": record(x=ref("Later"), y=STRING),
}

EMPTY: dict[str, Json] = {
    "EmptyArray": {"type": "array", "items": False},
    "EmptyObject": {"type": "object", "additionalProperties": False},
    "NoMembers": {"type": "object", "properties": {}, "additionalProperties": False},
    "UsesEmpty": record(
        x={"type": "array", "items": False},
        y={"type": "object", "additionalProperties": False},
        z=array({"type": "array", "items": False}),
        k=either(STRING, ref("EmptyArray"), free(ref("EmptyObject"))),
    ),
    "ClosedPositions": record(x={"type": "array", "items": {}, "maxItems": 1}),
}

# More alternatives than an annotation shows side by side.
WIDE: dict[str, Json] = {
    "WideTagged": either(*(record(("t",), t={"const": f"t{place}"}) for place in range(60))),
    "Wide": either(*(record(**{f"w{place}": INTEGER}) for place in range(55)), STRING),
    "UsesWide": record(x=ref("WideTagged"), y=either(ref("Wide"), array(ref("WideTagged")))),
}

CYCLE: dict[str, Json] = {
    f"Ring{place}": record(x=STRING, y=ref(f"Ring{(place + 1) % 40}")) for place in range(40)
}

_RINGS = ("Ring0", "Ring1", "Ring39")  # the others are like these
SCHEMAS = EMPTY | WIDE | CYCLE | NAMES | PLACES | KINDS | INTERSECTIONS | RECURSION

_MANY = 40
_SCALARS: tuple[Any, ...] = (None, True, False, 0, 1, 1.0, 2, 7, 1.5, "", "a", "b", "c")
# As text, because it would be a different type on each line.
_POOL: tuple[Any, ...] = (
    *_SCALARS,
    *json.loads("""[
        [], ["a"], [1], [1, 1.5], [true], [null], [[]], [["a"], []], [[1]], {},
        {"x": "a"}, {"x": 1}, {"y": "s"}, {"y": 1}, {"k": 1}, {"k": {"y": "s"}}, {"a": "a"},
        [{"y": "s"}], [{"y": 1}], {"x": {"x": {}}}, {"x": {"x": 1}}, {"k": [{"k": []}]},
        {"t": "a"}, {"t": "b", "x": null}, {"r": true}, {"r": false, "d": "s"}, {"r": 1}, {"r": 0},
        {"y": {"z": 1}}, {"y": {"z": "s"}}, {"z": "s"}, {"e": {"x": 1}}, {"q": true},
        [{"k": [1]}], [{"k": [{}]}], {"k": [[{"k": 1}]]}, [{"x": [{"y": [["a"]]}]}, [[]]]
    ]"""),
)


TRIED = {name: schema for name, schema in SCHEMAS.items() if name not in CYCLE or name in _RINGS}
"""Those for which values are tried."""


def values(schema: Json) -> Iterator[Any]:
    """Return values of all kinds, alone and in each declared member, or in some of very many."""
    yield from _POOL
    members = list(dict.fromkeys(_members(schema)))
    if "t" in members:
        yield from ({"t": f"t{place}"} for place in range(61))
    if len(members) > _MANY:
        members = [*members[:2], members[_MANY], *members[-2:]]
    for value in _POOL:
        yield [value]
        yield {"k": value}
        yield dict.fromkeys(members, value)
        yield from ({**dict.fromkeys(members, "a"), member: value} for member in members)
        yield from ({member: value} for member in members)


def _members(schema: Any) -> Iterator[str]:
    if is_object(schema):
        yield from schema.get("properties", {})
        yield from schema.get("required", ())
        for inner in schema.values():
            yield from _members(inner)
    elif is_array(schema):
        for inner in schema:
            yield from _members(inner)
