"""The part of JSON Schema that models can say."""

from typing import Any

import pytest
from mcp_protogen.base.problems import Level, ProblemError
from mcp_protogen.normalise import dialect
from support import tables
from support.unit.schemas import STRING, Json, record, ref


def plain(value: Any, *json_schemas: str) -> Json:
    document, _ = dialect.plain({"$defs": {"A": value}}, json_schemas, "x.json")
    definition: Json = document["$defs"]["A"]
    return definition


def warned(value: Any) -> list[str]:
    _, problems = dialect.plain({"$defs": {"A": value}}, (), "x.json")
    assert {problem.level for problem in problems} <= {Level.WARNING}
    return [problem.pointer for problem in problems]


def test_forms_become_plain() -> None:
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
    assert warned(bounded) == ["/$defs/A/minimum"]
    assert warned(record(x={"type": "array", "items": bounded})) == [
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
    assert warned(strings) == []
    assert warned({**record(x=STRING), "additionalProperties": STRING}) == [
        "/$defs/A/additionalProperties"
    ]
    assert warned({**record(x=STRING), "additionalProperties": {}}) == []


def test_everything_refused_is_shown_with_its_place() -> None:
    members: Json = {"x": False, "y/z": {"enum": []}, "n": 5, "t": {"type": ["string", "strang"]}}
    with pytest.raises(ProblemError) as caught:
        plain({"properties": members, "pattern": "x"})
    refused = [p.pointer for p in caught.value.problems if p.level is Level.ERROR]
    assert refused == [
        f"/$defs/A/properties/{place}" for place in ("x", "y~1z/enum", "n", "t/type")
    ]
