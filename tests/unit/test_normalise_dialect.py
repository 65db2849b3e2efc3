"""The part of JSON Schema that models can express."""

from typing import Any

import pytest
from mcp_protogen.base.problems import Level, ProblemError
from mcp_protogen.pipeline.normalise import dialect
from support import tables
from support.unit.schemas import STRING, Json, record, ref


def plain(value: Any, *json_schemas: str) -> Json:
    document, _ = dialect.plain({"$defs": {"A": value, "B": {}}}, json_schemas, "x.json")
    definition: Json = document["$defs"]["A"]
    return definition


def warning_pointers(value: Any) -> list[str]:
    _, problems = dialect.plain({"$defs": {"A": value, "B": {}}}, (), "x.json")
    assert {problem.level for problem in problems} <= {Level.WARNING}
    return [problem.pointer for problem in problems]


def test_dialects_become_plain() -> None:
    rows: list[tuple[Any, Json]] = [
        (True, {}),
        (record(x=True), record(x={})),
        ({"description": "x", "title": "x", "default": 1, "x-y": {}, "$anchor": "q"}, {}),
        ({"type": ["string"]}, STRING),
        ({"oneOf": [STRING]}, {"anyOf": [STRING]}),
        ({"enum": [1, 1.0, True, "a", "a"]}, {"enum": [1, True, "a"]}),
        ({"const": None}, {"type": "null"}),
        ({"enum": ["a", None]}, {"anyOf": [{"enum": ["a"]}, {"type": "null"}]}),
        ({**ref("B"), "description": "x"}, ref("B")),
        ({**ref("B"), "required": ["x"]}, {"allOf": [ref("B"), {"required": ["x"]}]}),
        (
            {"type": "object", "additionalProperties": True},
            {"type": "object", "additionalProperties": {}},
        ),
        ({"type": "string", "enum": ["a", 1]}, {"type": "string", "enum": ["a"]}),
        ({"enum": ["a", "b"], "const": "a"}, {"const": "a"}),
        ({"anyOf": [False, STRING]}, {"anyOf": [STRING]}),
        (
            {"anyOf": [STRING], "oneOf": [{"const": "a"}]},
            {"anyOf": [STRING], "allOf": [{"anyOf": [{"const": "a"}]}]},
        ),
    ]
    for value, expected in rows:
        with tables.case((value, expected)):
            assert plain(value) == expected


def test_a_foreign_json_schema_is_not_read() -> None:
    foreign = {"$dynamicRef": "#x", "properties": {"y": False}}
    found = plain(record(schema=foreign), "A.schema")
    assert found["properties"]["schema"] == {"type": "object", "additionalProperties": {}}


def test_a_foreign_json_schema_with_a_title_is_read() -> None:
    found = plain(record(schema={"title": "Outline", **record(y=STRING)}), "A.schema")
    assert found["properties"]["schema"] == record(y=STRING)


def test_bounds_stay_on_members_only() -> None:
    bounded = {"type": "integer", "minimum": 1}
    assert plain(record(x=bounded))["properties"]["x"] == bounded
    assert warning_pointers(bounded) == ["/$defs/A/minimum"]
    assert warning_pointers(record(x={"type": "array", "items": bounded})) == [
        "/$defs/A/properties/x/items/minimum"
    ]


def test_bounds_of_another_type_are_left_out() -> None:
    rows: list[Json] = [
        {"type": "string", "minimum": 1},
        {"type": "integer", "minLength": 1},
        {"const": "a", "minLength": 1},
        {"enum": ["a"], "maxLength": 1},
    ]
    for value in rows:
        with tables.case(value):
            assert plain(record(x=value))["properties"]["x"].keys() <= {"type", "const", "enum"}


def test_the_type_of_undeclared_members_counts_where_there_are_no_others() -> None:
    strings = {"type": "object", "additionalProperties": STRING}
    assert plain(strings) == strings
    assert warning_pointers(strings) == []
    assert warning_pointers({**record(x=STRING), "additionalProperties": STRING}) == [
        "/$defs/A/additionalProperties"
    ]
    assert warning_pointers({**record(x=STRING), "additionalProperties": {}}) == []


def test_array_without_valid_items_stays_an_array() -> None:
    empty = {"type": "array", "items": False}
    for value in (empty, record(x=empty), {"anyOf": [STRING, empty]}):
        assert warning_pointers(value) == []
    assert plain(empty) == {"type": "array", "items": {"enum": []}}


def test_closed_positions_bound_an_array() -> None:
    rows: list[tuple[Json, int | None]] = [
        ({"prefixItems": [STRING, STRING], "items": False}, 2),
        ({"prefixItems": [STRING, STRING], "items": False, "maxItems": 1}, 1),
        ({"prefixItems": [STRING, False, STRING]}, 1),
        ({"prefixItems": [STRING]}, None),
        ({"items": [STRING], "additionalItems": False}, 1),
        ({"items": [STRING], "additionalItems": True}, None),
    ]
    for value, most in rows:
        with tables.case(value):
            found = plain(record(x={"type": "array", **value}))["properties"]["x"]
            assert found.get("maxItems") == most


def test_every_dangling_reference_is_shown() -> None:
    definition = record(x=ref("X"), y={"type": "array", "items": {**ref("Y"), "minItems": 1}})
    with pytest.raises(ProblemError) as caught:
        plain(definition)
    assert [
        (problem.code, problem.pointer)
        for problem in caught.value.problems
        if problem.code != "loosened-schema"
    ] == [
        ("dangling-ref", "/$defs/A/properties/x"),
        ("dangling-ref", "/$defs/A/properties/y/items"),
    ]


def test_old_draft_reads_nothing_beside_a_reference() -> None:
    definitions = {"A": {**ref("B"), "required": ["x"]}, "B": {}}
    for draft, expected in (("draft-07/schema#", ref("B")), ("draft/2020-12/schema", None)):
        document = {"$schema": f"http://json-schema.org/{draft}", "$defs": definitions}
        found, _ = dialect.plain(document, (), "x.json")
        assert found["$defs"]["A"] == (expected or {"allOf": [ref("B"), {"required": ["x"]}]})


def test_everything_refused_is_shown_with_its_place() -> None:
    members: Json = {"x": False, "y/z": {"enum": []}, "n": 5, "t": {"type": ["string", "strang"]}}
    with pytest.raises(ProblemError) as caught:
        plain({"properties": members, "pattern": "x"})
    refused = [p.pointer for p in caught.value.problems if p.level is Level.ERROR]
    assert refused == [
        f"/$defs/A/properties/{place}" for place in ("x", "y~1z/enum", "n", "t/type")
    ]
