"""Containment of schemas: what is said to be compatible is, by `jsonschema` and by samples."""

from random import Random
from typing import Any

from hypothesis import HealthCheck, Phase, event, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from mcp_protogen.typed_clients.compatibility import ARGUMENTS, RESULTS, Kind, faults
from support import tables
from support.tables import case
from support.typed_clients.schema_pairs import closed, opened, pairs, samples

HARMLESS = {Kind.EXTRA, Kind.FORMAT}
STRING, INTEGER = {"type": "string"}, {"type": "integer"}


def valid(schema: Any, value: Any) -> bool:
    validator: Any = Draft202012Validator(schema)
    return bool(validator.is_valid(value))


@settings(
    max_examples=tables.count(120, 5000),
    phases=(Phase.generate,),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(pairs(), st.integers(0, 1 << 30))
def test_where_there_is_no_fault_every_sample_is_accepted(pair: tuple[Any, Any], seed: int) -> None:
    before, after = pair
    sides = (
        (before, after, ARGUMENTS, closed(before), after),
        (after, before, RESULTS, after, opened(before)),
    )
    for narrow, wide, ends, writer, reader in sides:
        if {one.kind for one in faults(narrow, wide, ends)} <= HARMLESS:
            for value in samples(writer, Random(seed), 12):
                if valid(writer, value) and valid(narrow, value):
                    event("compatible, with a sample")
                    assert valid(reader, value), (writer, reader, value)


def properties(members: Any, *required: str, **more: Any) -> Any:
    return {"type": "object", "properties": members, "required": list(required), **more}


def tree(kind: Any) -> Any:
    node = properties({"a": {"anyOf": [{"$ref": "#/$defs/T"}, {"type": "null"}]}, "b": kind})
    return {"$ref": "#/$defs/T", "$defs": {"T": node}}


def test_what_is_accepted_before_and_after_is_no_fault() -> None:
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
    )
    for narrow, wide in cases:
        with case((narrow, wide)):
            assert {one.kind for one in faults(narrow, wide, ARGUMENTS)} <= HARMLESS


def test_what_is_refused_afterwards_is_a_fault_at_its_place() -> None:
    cases: tuple[tuple[Any, Any, Kind, str], ...] = (
        ({"type": "number"}, INTEGER, Kind.TYPE, ""),
        ({"enum": ["a", "b"]}, {"enum": ["a"]}, Kind.VALUE, ""),
        (STRING, {"enum": ["a"]}, Kind.VALUE, ""),
        (INTEGER, {**INTEGER, "minimum": 0}, Kind.BOUND, ""),
        (properties({}), properties({"a": STRING}, "a"), Kind.REQUIRED, "a"),
        (
            properties({"a": STRING}),
            properties({}, additionalProperties=False),
            Kind.UNDECLARED,
            "a",
        ),
        (properties({"a": [STRING]}), properties({"a": INTEGER}), Kind.RULE, "a"),
        (
            properties({"a": {"type": "array", "items": properties({"b": STRING})}}),
            properties({"a": {"type": "array", "items": properties({"b": INTEGER})}}),
            Kind.TYPE,
            "a[].b",
        ),
        (STRING, {**STRING, "pattern": "x"}, Kind.RULE, ""),
        (tree(INTEGER), tree(STRING), Kind.TYPE, "a.b"),
        (STRING, {"oneOf": [STRING, {"minLength": 0}]}, Kind.RULE, ""),
        (STRING, {"$ref": "http://127.0.0.1:1/x"}, Kind.RULE, ""),
        ({"const": "aaa"}, {"type": "string", "pattern": "(a+)+b"}, Kind.TYPE, ""),
        (INTEGER, {"$ref": "#/x", "x": {"$ref": "#/x"}}, Kind.RULE, ""),
    )
    for narrow, wide, kind, path in cases:
        with case((narrow, wide)):
            found = [one for one in faults(narrow, wide, ARGUMENTS) if one.kind not in HARMLESS]
            assert [(one.kind, one.path) for one in found][:1] == [(kind, path)]


def test_readers_ignore_members_that_they_do_not_know_and_servers_may_send_others() -> None:
    closed_one = properties({"a": STRING}, additionalProperties=False)
    open_one = properties({"a": STRING, "b": INTEGER})
    assert {one.kind for one in faults(open_one, closed_one, RESULTS)} == {Kind.EXTRA}
    assert {one.kind for one in faults(open_one, closed_one, ARGUMENTS)} == {Kind.UNDECLARED}
    gone = faults(properties({"a": STRING}), open_one, RESULTS)
    assert [(one.kind, one.path) for one in gone] == [(Kind.REMOVED, "b")]
    assert faults(properties({"a": STRING}), open_one, ARGUMENTS) == ()


def test_work_without_end_is_given_up_with_a_fault() -> None:
    arms = {f"A{n}": {"anyOf": [{"$ref": f"#/$defs/A{n + 1}"}] * 2} for n in range(40)}
    wide = {"$ref": "#/$defs/A0", "$defs": {**arms, "A40": INTEGER}}
    circle = {"allOf": [{"$ref": "#"}], "type": "object"}
    for schema in (wide, circle):
        with case(str(schema)[:80]):
            assert {one.kind for one in faults(STRING, schema, ARGUMENTS)} - HARMLESS
