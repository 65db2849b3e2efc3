"""Containment of schemas: whether one accepts what another describes."""

from itertools import product
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from mcp_protogen.servers.clients.compatibility import ARGUMENTS, RESULTS, faults
from mcp_protogen.servers.clients.dialects import is_ambiguous
from mcp_protogen.servers.clients.schema_faults import FaultKind
from support.tables import case

HARMLESS = {FaultKind.EXTRA, FaultKind.FORMAT}
STRING, INTEGER = {"type": "string"}, {"type": "integer"}
EMPTY: Any = {}
DRAFT_4, DRAFT_7 = (f"http://json-schema.org/draft-0{draft}/schema#" for draft in (4, 7))
OUTSIDE = {"$ref": "http://example.com/schema"}
NEWEST = "https://json-schema.org/draft/2020-12/schema"


def valid(schema: Any, value: Any) -> bool:
    validator: Any = Draft202012Validator(schema)
    return bool(validator.is_valid(value))


def properties(members: Any, *required: str, **more: Any) -> Any:
    return {"type": "object", "properties": members, "required": list(required), **more}


def tree(kind: Any) -> Any:
    node = properties({"a": {"anyOf": [{"$ref": "#/$defs/T"}, {"type": "null"}]}, "b": kind})
    return {"$ref": "#/$defs/T", "$defs": {"T": node}}


def test_compatible_schemas_have_no_fault() -> None:
    nullable = {"anyOf": [STRING, {"type": "null"}]}
    cases: tuple[tuple[Any, Any], ...] = (
        (INTEGER, {"type": "number"}),
        (STRING, nullable),
        (nullable, {"type": ["null", "string"]}),
        ({"enum": ["a"]}, {"enum": ["b", "a"]}),
        ({"const": "a"}, STRING),
        ({"type": "boolean"}, {"enum": [False, True]}),
        ({**INTEGER, "minimum": 1}, {**INTEGER, "exclusiveMinimum": 0}),
        ({**INTEGER, "multipleOf": 4}, {**INTEGER, "multipleOf": 2}),
        (properties({"a": STRING}, "a"), properties({"a": STRING, "b": INTEGER})),
        (properties({"a": STRING}), {"type": "object", "additionalProperties": STRING}),
        (
            {"allOf": [properties({"a": STRING}, "a"), properties({"b": STRING})]},
            properties({}, "a"),
        ),
        (tree(INTEGER), tree({"type": "number"})),
        ({"not": STRING}, {"not": STRING}),
        ({"oneOf": [STRING, INTEGER]}, {"oneOf": [INTEGER, {"type": "null"}, STRING]}),
        ({"type": ["string", "null"]}, nullable),
        ({"enum": ["a", 1]}, {"anyOf": [STRING, INTEGER]}),
        ({"enum": ["a", None]}, {"anyOf": [{"enum": ["a"]}, {"type": "null"}]}),
        ({"const": 1}, {"enum": [1.0]}),
        (properties({"a": OUTSIDE}), properties({"a": OUTSIDE, "b": INTEGER})),
        ({"enum": [{"a": 1.0}]}, {"enum": [{"a": 1}]}),
        ({"const": 1.0}, INTEGER),
        ({"const": True}, {"oneOf": [{"const": True}, {"const": 1}]}),
        ({**STRING, "$schema": DRAFT_7}, {**nullable, "$schema": NEWEST}),
        (properties({"dependencies": STRING}), properties({"dependencies": STRING, "a": INTEGER})),
    )
    for narrow, wide in cases:
        with case((narrow, wide)):
            assert {fault.kind for fault in faults(narrow, wide, ARGUMENTS)} <= HARMLESS


def between(low: int, high: int, kind: str = "integer") -> Any:
    return {"type": kind, "minimum": low, "maximum": high}


def tagged_object(kind: Any, *required: str, **members: Any) -> Any:
    return properties({"kind": kind, **members}, "kind", *required)


A, B = ({"const": name} for name in "ab")
POSITIVE = {"type": "number", "exclusiveMinimum": 0}


def test_a_union_accepts_what_its_alternatives_accept_together() -> None:
    text = {"type": "string", "maxLength": 5}
    longer = {"type": "string", "minLength": 6}
    both = properties({"kind": {"enum": ["a", "b"]}, "x": STRING}, "kind")
    anything = ("null", "boolean", "number", "string", "array", "object")
    cases: tuple[tuple[Any, Any], ...] = (
        (between(0, 10), {"anyOf": [between(0, 5), between(6, 10)]}),
        (between(0, 10), {"oneOf": [between(6, 20), between(-5, 5)]}),
        (INTEGER, {"anyOf": [{**INTEGER, "minimum": 0}, {**INTEGER, "maximum": -1}]}),
        (
            {"type": "number"},
            {"anyOf": [{"type": "number", "minimum": 0}, {"exclusiveMaximum": 0}]},
        ),
        ({"type": "number"}, {"oneOf": [POSITIVE, {"type": "number", "maximum": 0}]}),
        (STRING, {"anyOf": [text, longer]}),
        ({"type": "boolean"}, {"anyOf": [{"const": True}, {"const": False}]}),
        ({"enum": [1, 2]}, {"oneOf": [{"const": 2}, {"const": 1}]}),
        ({"anyOf": [A, B]}, {"enum": ["b", "a"]}),
        (
            {"enum": [*range(300)]},
            {"oneOf": [{"const": value, "title": "x"} for value in range(300)]},
        ),
        ({}, {"anyOf": [{"type": kind} for kind in anything]}),
        ({"type": ["integer", "string"]}, {"anyOf": [between(-3, 3), {"not": False}]}),
        (both, {"oneOf": [tagged_object(A, x=STRING), tagged_object(B)]}),
        (
            {"oneOf": [tagged_object(A), tagged_object(B)]},
            {
                "oneOf": [
                    tagged_object({"const": "c"}),
                    tagged_object(B, x=STRING),
                    tagged_object(A),
                ]
            },
        ),
        # `kind` has a default, and only one alternative requires it.
        (tagged_object(A), {"oneOf": [properties({"kind": B}), tagged_object(A)]}),
        (
            {"oneOf": [properties({"kind": A}), properties({"kind": B})]},
            {"oneOf": [properties({"kind": B}), properties({"kind": A}, title="A")]},
        ),
        (
            properties({"on": {"type": "boolean"}}),
            {
                "anyOf": [
                    properties({"on": {"const": True}}),
                    tagged_object({}),
                    properties({"on": {}}),
                ]
            },
        ),
        (
            tagged_object({"type": "boolean"}),
            {"anyOf": [tagged_object({"const": True}), tagged_object({"const": False})]},
        ),
    )
    for narrow, wide in cases:
        with case((narrow, wide)):
            assert {fault.kind for fault in faults(narrow, wide, ARGUMENTS)} <= HARMLESS


def test_a_union_with_a_gap_or_an_overlap_is_a_fault() -> None:
    some = {"oneOf": [properties({"kind": A}), properties({"kind": B})]}
    cases: tuple[tuple[Any, Any], ...] = (
        (between(0, 10), {"anyOf": [between(0, 4), between(6, 10)]}),
        (between(0, 10), {"oneOf": [between(0, 5), between(5, 10)]}),
        (between(0, 10, "number"), {"anyOf": [between(0, 5), between(6, 10)]}),
        (
            {"type": "number"},
            {"anyOf": [POSITIVE, {"exclusiveMaximum": 0}]},
        ),
        ({"type": "number"}, {"oneOf": [{"minimum": 0}, {"maximum": 0}]}),
        ({"type": "boolean"}, {"anyOf": [{"const": True}, {"const": 0}]}),
        (
            properties({"kind": {"enum": ["a", "b"]}}),
            {"anyOf": [tagged_object(A), tagged_object(B)]},
        ),
        (some, {"oneOf": [*some["oneOf"], properties({"kind": {"const": "c"}})]}),
        ({"const": "a"}, {"const": "a", "enum": ["b"]}),
        (
            {"$ref": "#/anyOf/0", "anyOf": [STRING, INTEGER]},
            {"$ref": "#/anyOf/0", "anyOf": [INTEGER, STRING]},
        ),
        (
            {"type": "object", "dependentRequired": {"title": ["a"]}},
            {"type": "object", "dependentRequired": {"title": ["b"]}},
        ),
    )
    for narrow, wide in cases:
        with case((narrow, wide)):
            assert {fault.kind for fault in faults(narrow, wide, ARGUMENTS)} - HARMLESS


def test_alternatives_that_cannot_be_told_apart_are_a_fault() -> None:
    def nest(depth: int, constant: str) -> Any:
        if not depth:
            return {"const": constant}
        return properties({"a": nest(depth - 1, constant)}, "a")

    rows: list[tuple[Any, Any, bool]] = [
        (STRING, False, True),
        (STRING, INTEGER, True),
        (STRING, STRING, False),
        (STRING, {"maxLength": 1}, False),
        (STRING, OUTSIDE, False),
        # Comparison goes five levels deep.
        *((nest(depth, "a"), nest(depth, "b"), depth < 5) for depth in range(1, 8)),
    ]
    for first, second, apart in rows:
        with case((first, second)):
            found = faults(first, {"oneOf": [first, second]}, ARGUMENTS)
            assert ({fault.kind for fault in found} <= HARMLESS) is apart


def test_empty_constraints_have_no_fault() -> None:
    numbers = {"type": "array", "uniqueItems": False}
    cases: tuple[tuple[Any, Any], ...] = (
        ({"type": "array"}, numbers),
        ({"type": "object"}, {"type": "object", "propertyNames": STRING, "dependentRequired": {}}),
        (STRING, {**STRING, "pattern": ".*", "not": False}),
        ({"not": {"const": 1, "title": "a"}}, {"not": {"title": "b", "const": 1}}),
        (INTEGER, {**INTEGER, "multipleOf": 0.5}),
        ({"allOf": [between(0, 9), between(3, 20)]}, between(3, 9)),
        ({"const": {"a": [1, "x"]}}, properties({"a": {"type": "array", "minItems": 2}}, "a")),
        ({"const": 1.5}, {"type": "number", "multipleOf": 0.25}),
        (properties({"a": STRING}), {"allOf": [{"required": [EMPTY]}], "required": [EMPTY]}),
    )
    for narrow, wide in cases:
        with case((narrow, wide)):
            assert {fault.kind for fault in faults(narrow, wide, ARGUMENTS)} <= HARMLESS


def test_narrowed_schema_is_fault_at_its_place() -> None:
    cases: tuple[tuple[Any, Any, FaultKind, str], ...] = (
        ({"type": "number"}, INTEGER, FaultKind.TYPE, ""),
        ({"enum": ["a", "b"]}, {"enum": ["a"]}, FaultKind.VALUE, ""),
        (STRING, {"enum": ["a"]}, FaultKind.VALUE, ""),
        (INTEGER, {**INTEGER, "minimum": 0}, FaultKind.BOUND, ""),
        (properties({}), properties({"a": STRING}, "a"), FaultKind.MISSING, "a"),
        (properties({"a": STRING}), properties({"a": STRING}, "a"), FaultKind.REQUIRED, "a"),
        (
            properties({"a": STRING}),
            properties({}, additionalProperties=False),
            FaultKind.UNDECLARED,
            "a",
        ),
        (properties({"a": [STRING]}), properties({"a": INTEGER}), FaultKind.UNKNOWN, "a"),
        (
            properties({"a": {"type": "array", "items": properties({"b": STRING})}}),
            properties({"a": {"type": "array", "items": properties({"b": INTEGER})}}),
            FaultKind.TYPE,
            "a[].b",
        ),
        (STRING, {**STRING, "pattern": "x"}, FaultKind.RULE, ""),
        (tree(INTEGER), tree(STRING), FaultKind.TYPE, "a.b"),
        (STRING, {"oneOf": [STRING, {"minLength": 0}]}, FaultKind.RULE, ""),
        (STRING, {"$ref": "http://127.0.0.1:1/x"}, FaultKind.UNKNOWN, ""),
        ({"const": "aaa"}, {"type": "string", "pattern": "(a+)+b"}, FaultKind.TYPE, ""),
        (INTEGER, {"$ref": "#/x", "x": {"$ref": "#/x"}}, FaultKind.UNKNOWN, ""),
    )
    for narrow, wide, kind, path in cases:
        with case((narrow, wide)):
            found = [
                fault for fault in faults(narrow, wide, ARGUMENTS) if fault.kind not in HARMLESS
            ]
            assert [(fault.kind, fault.path) for fault in found][:1] == [(kind, path)]


def array(**more: Any) -> Any:
    return {"type": "array", **more}


def pattern_object(patterns: Any, **more: Any) -> Any:
    return {"type": "object", "patternProperties": patterns, "additionalProperties": False, **more}


P, Q = ({"properties": {name: STRING}} for name in "pq")
CLOSED: Any = {"type": "object", "unevaluatedProperties": False}
REFERRING: Any = {"type": "object", "properties": {"x": {"$ref": "#/$defs/q"}}, "$defs": {"q": {}}}
ROOTED: Any = {"type": "object", "properties": {"x": {"$ref": "#"}}}
AT_LEAST: Any = {"type": "number", "minimum": 5}


def anchor_schema(reference: Any, kind: Any, **more: Any) -> Any:
    return {**properties({"a": reference}), "$defs": {"n": {**more, **kind}}}


def test_apparent_compatibility_is_fault() -> None:
    dynamic, anchor = {"$dynamicRef": "#n"}, {"$ref": "#n"}
    based = {"a": {"$id": "http://x/a", "$ref": "#/$defs/n", "$defs": {"n": STRING}}}
    own = {"$ref": "http://x/y#/$defs/n"}
    beside = {"a": {"$ref": "#/definitions/n", "minimum": 5}}
    cases: tuple[tuple[Any, Any], ...] = (
        (pattern_object({"^x": STRING}), properties({}, additionalProperties=False)),
        (pattern_object({"^x": STRING}), properties({}, additionalProperties=INTEGER)),
        (pattern_object({"^x": STRING}), properties({"x1": INTEGER})),
        (
            {
                "allOf": [
                    properties({}, patternProperties={"^a": STRING}),
                    pattern_object({"^b": {}}),
                ]
            },
            pattern_object({"^a": STRING}),
        ),
        (
            anchor_schema(dynamic, STRING, **{"$dynamicAnchor": "n"}),
            anchor_schema(dynamic, INTEGER, **{"$dynamicAnchor": "n"}),
        ),
        (
            anchor_schema(anchor, STRING, **{"$anchor": "n"}),
            anchor_schema(anchor, INTEGER, **{"$anchor": "n"}),
        ),
        ({**properties(based), "$defs": {"n": INTEGER}}, properties({"a": INTEGER})),
        (
            {**properties(beside), "$schema": DRAFT_7, "definitions": {"n": INTEGER}},
            properties({"a": {**INTEGER, "minimum": 5}}),
        ),
        ({**array(prefixItems=[STRING]), "$schema": DRAFT_7}, array(prefixItems=[STRING])),
        ({"const": {"a": 1}}, {**properties({}), "$schema": DRAFT_7, "dependencies": {"a": ["b"]}}),
        ({"const": 5}, {**AT_LEAST, "exclusiveMinimum": True}),
        (AT_LEAST, {**AT_LEAST, "exclusiveMinimum": True, "$schema": DRAFT_4}),
        ({"$schema": DRAFT_4, "const": 1}, {"const": 1}),
        ({"$schema": "http://example.com/own", "type": "string"}, STRING),
        ({"type": "boolean"}, {"enum": [True, False], "not": {"const": True}}),
        ({"const": {"x": {"z": 1}}}, {"allOf": [REFERRING], "$defs": {"q": STRING}}),
        (
            properties({"v": {"const": {"x": {}}}, "w": STRING}, "w"),
            properties({"v": ROOTED, "w": STRING}, "w"),
        ),
        ({**CLOSED, "anyOf": [P, Q]}, {"anyOf": [{**CLOSED, **P}, {**CLOSED, **Q}]}),
        (
            {"allOf": [{"if": STRING}, {"then": {"minLength": 2}}]},
            {"if": STRING, "then": {"minLength": 2}},
        ),
        (
            array(allOf=[{"contains": STRING}, {"minContains": 2}]),
            array(contains=STRING, minContains=2),
        ),
        (
            {"allOf": [array(items=[STRING]), {"additionalItems": False}]},
            array(items=[STRING], additionalItems=False),
        ),
        (
            {**anchor_schema(own, STRING), "$id": "http://x/y"},
            {**anchor_schema(own, INTEGER), "$id": "http://x/y"},
        ),
        (STRING, {"anyOf": [{"$ref": "#"}]}),
        (STRING, {"allOf": [{"$ref": "#"}], **STRING}),
        ({"const": [1]}, {"oneOf": [{"const": [1]}, {"const": [1.0]}]}),
        (INTEGER, {"oneOf": [INTEGER, {"type": "number"}]}),
        ({"const": 1}, {"type": "whatever"}),
        ({"enum": [1]}, {"enum": [True]}),
        (properties({"a": STRING}), properties({"a": False})),
        (array(prefixItems=[STRING]), array(prefixItems=[STRING, INTEGER])),
        ({**INTEGER, "maximum": 2**63}, {**INTEGER, "maximum": 2**63 - 1}),
        ({"type": ["string", "null"]}, {**STRING, "nullable": True}),
        # Invalid schemas.
        (STRING, {"type": [EMPTY]}),
        (STRING, {"type": 5}),
        (
            properties({"a": STRING}, "a"),
            {"type": [EMPTY], "required": [EMPTY], "dependencies": EMPTY},
        ),
    )
    for narrow, wide in cases:
        with case((narrow, wide)):
            assert {fault.kind for fault in faults(narrow, wide, ARGUMENTS)} - HARMLESS


def test_schema_is_ambiguous_outside_the_versions_that_know_its_keywords() -> None:
    drafts = [f"http://json-schema.org/draft-0{number}/schema#" for number in (4, 6, 7)]
    versions = [*drafts, "https://json-schema.org/draft/2019-09/schema", NEWEST]
    cases: tuple[tuple[Any, range], ...] = (
        ({"contains": STRING}, range(1, 5)),
        ({"if": STRING}, range(2, 5)),
        ({"dependentRequired": {}}, range(3, 5)),
        ({"prefixItems": []}, range(4, 5)),
        ({"dependencies": {}}, range(3)),
        ({"additionalItems": False}, range(4)),
        ({"$recursiveRef": "#"}, range(3, 4)),
        ({"$ref": "#/definitions/n", "minimum": 1}, range(3, 5)),
        ({"$ref": "#/definitions/n", "description": "A number."}, range(5)),
        ({"minimum": 1}, range(5)),
        ({"items": [STRING]}, range(4)),
        ({"items": STRING}, range(5)),
        ({"type": []}, range(0)),
        ({"type": ["string", 1]}, range(0)),
        ({"type": ["string", "null"]}, range(5)),
        ({"exclusiveMaximum": True}, range(0)),
        ({"exclusiveMinimum": False}, range(0)),
        ({"exclusiveMinimum": 1}, range(5)),
        ({"$id": "http://example.com/n"}, range(0)),
    )
    for schema, clear in cases:
        with case(schema):
            found = [
                number
                for number, version in enumerate(versions)
                if not is_ambiguous({"$schema": version, "properties": {"a": schema}})
            ]
            assert found == [*clear]
    for version in ("http://example.com/schema", 4):
        with case(version):
            assert is_ambiguous({"$schema": version})
    assert not is_ambiguous({"$id": "http://example.com/n"})
    assert is_ambiguous({"items": [STRING]})


def test_same_reference_leads_to_the_same_only_out_of_both_documents() -> None:
    def document(schema: Any, kind: Any, **more: Any) -> Any:
        members = {"a": schema, "b": {"$ref": "#/$defs/B"}}
        return properties(members, **{"$defs": {"B": kind}}, **more)

    inner: Any = {"$ref": "#/$defs/B"}
    rows: tuple[tuple[Any, bool], ...] = (
        (OUTSIDE, True),
        ({**OUTSIDE, "description": "The same."}, True),
        ({**OUTSIDE, "properties": {"x": inner}}, False),
        ({**OUTSIDE, "minLength": 3}, False),
        ({"$ref": "schema.json"}, False),
        ({"$ref": "#anchor"}, False),
        ({"$ref": "#/$defs/none", "type": "string"}, False),
        (7, False),
        ([], False),
    )
    for schema, leads_out in rows:
        for more in ({}, {"$id": "http://example.com/tools/"}):
            with case((schema, more)):
                narrow, wide = document(schema, INTEGER, **more), document(schema, STRING, **more)
                places = {fault.path for fault in faults(narrow, wide, ARGUMENTS)}
                same = leads_out and not more
                assert places - {"a.x"} == ({"b"} if same else {"a", "b"})
                assert faults(narrow, narrow, ARGUMENTS) == ()
    for ref in ("schema.json", "#anchor", "#/$defs/none"):
        assert faults({"$ref": ref}, {"$ref": ref}, ARGUMENTS) == ()
    for ids in (("$id", "other"), ("other", "$id")):
        narrow, wide = (
            document(OUTSIDE, kind, **{name: "http://example.com/tools/"})
            for name, kind in zip(ids, (INTEGER, STRING), strict=True)
        )
        assert {fault.path for fault in faults(narrow, wide, ARGUMENTS)} == {"a", "b"}


BOUNDS: tuple[Any, ...] = (None, -1, -0.5, 0, 0.5, 1)


def bounded_type(kind: str, keywords: tuple[str, str], values: tuple[Any, Any]) -> Any:
    limits = {key: value for key, value in zip(keywords, values, strict=True) if value is not None}
    return {"type": kind, **limits}


@pytest.mark.parametrize("kind", ["integer", "number"])
@pytest.mark.parametrize("end", ["minimum", "maximum"])
def test_exclusive_bounds_beside_others_are_compared_by_their_values(kind: str, end: str) -> None:
    keywords = (end, f"exclusive{end.capitalize()}")
    schemas = [bounded_type(kind, keywords, limits) for limits in product(BOUNDS, repeat=2)]
    step = 1 if kind == "integer" else 0.25
    values = [number * step for number in range(int(-3 / step), int(3 / step) + 1)]
    accepted = [{value for value in values if valid(schema, value)} for schema in schemas]
    for narrow, inner in zip(schemas, accepted, strict=True):
        for wide, outer in zip(schemas, accepted, strict=True):
            with case((narrow, wide)):
                found = faults(narrow, wide, ARGUMENTS)
                assert bool(found) == (not inner <= outer)
                for fault in found:
                    assert fault.kind is FaultKind.BOUND
                    # Both sides are effective bounds, so that they differ.
                    assert fault.narrow != fault.wide
                    key, _, text = fault.wide.partition(" ")
                    edge = {"type": kind, key: float(text)}
                    assert {value for value in values if valid(edge, value)} == outer


def test_readers_ignore_members_that_they_do_not_know_and_servers_may_send_others() -> None:
    closed_one = properties({"a": STRING}, additionalProperties=False)
    open_one = properties({"a": STRING, "b": INTEGER})
    assert {fault.kind for fault in faults(open_one, closed_one, RESULTS)} == {FaultKind.EXTRA}
    assert {fault.kind for fault in faults(open_one, closed_one, ARGUMENTS)} == {
        FaultKind.UNDECLARED
    }
    gone = faults(properties({"a": STRING}), open_one, RESULTS)
    assert [(fault.kind, fault.path) for fault in gone] == [(FaultKind.REMOVED, "b")]
    assert faults(properties({"a": STRING}), open_one, ARGUMENTS) == ()


def test_work_without_end_is_given_up_with_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_protogen.servers.clients.compatibility._BUDGET", 500)
    arms = {f"A{n}": {"anyOf": [{"$ref": f"#/$defs/A{n + 1}"}] * 2} for n in range(40)}
    wide = {"$ref": "#/$defs/A0", "$defs": {**arms, "A40": INTEGER}}
    circle = {"allOf": [{"$ref": "#"}], "type": "object"}
    inside = {"properties": {"x": {"$ref": "#/$defs/A0"}}, "$defs": wide["$defs"]}
    bits = {f"b{n}": {"type": "boolean"} for n in range(40)}
    split = {"anyOf": [properties({name: {"const": True} for name in bits})] * 2}
    cases: tuple[tuple[Any, Any], ...] = (
        (STRING, wide),
        (STRING, circle),
        ({"const": {"x": "y"}}, inside),
        (properties(bits), split),
        (
            {"enum": [*range(3_000)]},
            {"anyOf": [between(number, number) for number in range(3_000)]},
        ),
    )
    for narrow, schema in cases:
        with case(str(schema)[:80]):
            assert {fault.kind for fault in faults(narrow, schema, ARGUMENTS)} - HARMLESS


def test_work_of_telling_alternatives_apart_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    narrow = properties({"kind": A}, "kind")
    arms = [properties({"kind": {"const": number}}, "kind") for number in range(9)]

    def least_work(keyword: str) -> int:
        for work in range(1, 1_000):
            monkeypatch.setattr("mcp_protogen.servers.clients.compatibility._BUDGET", work)
            found = faults(narrow, {keyword: [*arms, narrow]}, ARGUMENTS)
            if {fault.kind for fault in found} <= HARMLESS:
                return work
        raise AssertionError(keyword)

    # For each: all alternatives are compared to the end, and an object and its member are
    # distinguished.
    assert least_work("oneOf") - least_work("anyOf") >= 3 * len(arms)


def test_number_beyond_those_of_json_is_a_fault() -> None:
    finite, endless = ({"type": "number", "maximum": most} for most in (3, float("inf")))
    for pair in ((finite, endless), (endless, finite)):
        with case(pair):
            assert [fault.kind for fault in faults(*pair, ARGUMENTS)] == [FaultKind.UNKNOWN]
