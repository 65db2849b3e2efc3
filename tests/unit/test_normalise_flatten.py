"""Intersections become one object."""

import pytest
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.pipeline.normalise import flatten
from mcp_protogen.pipeline.normalise.flatten import flatten_definitions
from support import tables
from support.unit.schemas import STRING, Json, record, ref

INTEGER: Json = {"type": "integer"}
NEVER: Json = {"allOf": [STRING, INTEGER]}
LIST: Json = {"type": "array"}
BASE: Json = record(("x",), x=STRING)


def flat(**definitions: Json) -> Json:
    flat, _ = flatten_definitions({"Base": BASE, **definitions}, "x.json")
    found: Json = flat["A"]
    return found


def flatten_notes(**definitions: Json) -> list[tuple[str, str]]:
    _, problems = flatten_definitions({"Base": BASE, **definitions}, "x.json")
    return [(problem.code, problem.pointer) for problem in problems]


def test_parts_are_joined_with_what_stands_beside_them() -> None:
    joined = flat(A={"allOf": [ref("Base"), record(("y",), y=STRING)], "required": ["x"]})
    assert joined == record(("x", "y"), x=STRING, y=STRING)


def test_a_later_part_narrows_a_member() -> None:
    joined = flat(A={"allOf": [ref("Base"), record(x={"const": "a"})]})
    assert joined["properties"]["x"] == {"const": "a"}
    assert joined["required"] == ["x"]


def test_a_part_that_only_requires_does_not_loosen_the_member() -> None:
    assert flat(A={"allOf": [ref("Base"), {"allOf": [{"required": ["x"]}]}]}) == ref("Base")


def test_annotated_alternatives_stay_alternatives() -> None:
    union = {"anyOf": [ref("Base"), STRING], "default": "x"}
    assert flat(A=record(y=union)) == record(y=union)


def test_intersections_of_all_definitions_together_have_a_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(flatten, "_MOST_SCHEMAS", 0)
    large = record(**{f"x{number}": STRING for number in range(50)})
    # A realistic number of plain ones without intersections.
    plain = {f"Plain{number}": large for number in range(50)}
    assert flatten_definitions(plain, "x.json")[0] == plain
    parts = {name: {"allOf": [ref("Base"), record(y=STRING)]} for name in "ABC"}
    with pytest.raises(ProblemError) as raised:
        flatten_definitions({"Base": large, **parts}, "x.json")
    (problem,) = raised.value.problems
    assert problem.code == "unsupported-schema"
    assert "multiply into too many schemas" in problem.message


def test_inner_schemas_are_joined_too() -> None:
    joined = flat(
        A=record(y={"type": "array", "items": {"allOf": [ref("Base"), record(z=STRING)]}})
    )
    assert set(joined["properties"]["y"]["items"]["properties"]) == {"x", "z"}


def test_alternatives_of_required_members_become_data() -> None:
    found = flat(A={**BASE, "anyOf": [{"required": ["x"]}, {"required": ["y"]}]})
    assert found["x-any-of-required"] == ["x", "y"]
    assert "anyOf" not in found
    assert found["properties"] == {"x": STRING, "y": {}}


def test_required_members_are_declared() -> None:
    assert flat(A={"type": "object", "required": ["y"]})["properties"] == {"y": {}}
    typed = {"type": "object", "required": ["y"], "additionalProperties": INTEGER}
    assert flat(A=typed)["properties"] == {"y": INTEGER}


def test_member_keeps_constraints_of_both_parts() -> None:
    rows: list[tuple[Json, Json, Json]] = [
        (STRING, {}, STRING),
        ({"type": "number"}, INTEGER, INTEGER),
        ({"type": ["string", "null"]}, {"type": ["integer", "null"]}, {"type": "null"}),
        ({"enum": ["a", "b"]}, {"enum": ["b", "c"]}, {"const": "b"}),
        ({"enum": [1, "a"]}, {"enum": [True, "a"]}, {"const": "a"}),
        ({"const": True}, {"type": "boolean"}, {"const": True}),
        (
            {"type": "integer", "minimum": 1, "maximum": 9},
            {"type": "integer", "minimum": 2, "maximum": 10},
            {"type": "integer", "minimum": 2, "maximum": 9},
        ),
        (INTEGER, {"type": "integer", "maximum": -1}, {"type": "integer", "maximum": -1}),
        ({"enum": ["a", "bc"]}, {"type": "string", "minLength": 2}, {"const": "bc"}),
        ({"anyOf": [STRING, INTEGER]}, {"type": "number"}, INTEGER),
        (ref("Base"), {"type": "object"}, ref("Base")),
        (ref("Base"), record(x={"const": "a"}), record(("x",), x={"const": "a"})),
    ]
    for left, right, expected in rows:
        with tables.case(right):
            for first, second in ((left, right), (right, left)):
                joined = flat(A={"allOf": [record(y=first), record(y=second)]})
                assert joined["properties"]["y"] == expected


def test_constants_stay_if_the_other_part_accepts_them() -> None:
    text = {"enum": ["", "a", "bc", "def"]}
    whole = {"enum": [0, 1, 2, 3]}
    rows: list[tuple[Json, Json, Json]] = [
        (text, {"type": "string", "minLength": 1, "maxLength": 2}, {"enum": ["a", "bc"]}),
        (text, {"type": "string", "minLength": 3}, {"const": "def"}),
        (text, {"type": "string", "maxLength": 0}, {"const": ""}),
        (whole, {"type": "integer", "minimum": 1, "maximum": 2}, {"enum": [1, 2]}),
        (whole, {"type": "number", "minimum": 3}, {"const": 3}),
        (whole, {"type": "integer", "maximum": 0}, {"const": 0}),
        ({"enum": ["a", 1, True]}, {"type": "boolean"}, {"const": True}),
        ({"enum": ["a", 1, True]}, {"type": "string"}, {"const": "a"}),
        ({"enum": ["a", 1, True]}, {"type": "integer"}, {"const": 1}),
        ({"enum": ["a", 1]}, {"const": 1}, {"const": 1}),
        (text, {"minLength": 3}, {"const": "def"}),
    ]
    for constants, restriction, expected in rows:
        with tables.case((constants, restriction)):
            for parts in ([constants, restriction], [restriction, constants]):
                joined = flat(A=record(y={"allOf": parts}))
                assert joined["properties"]["y"] == expected
    with pytest.raises(ProblemError, match="bad-intersection"):
        flat(A={"allOf": [{"enum": ["a", "b"]}, INTEGER]})


def test_alternatives_are_joined_each_and_impossible_ones_go() -> None:
    arms = {"anyOf": [record(("y",), y={"const": kind}) for kind in ("a", "b")]}
    assert flat(A={**BASE, **arms}) == {
        "anyOf": [record(("x", "y"), x=STRING, y={"const": kind}) for kind in ("a", "b")]
    }
    joined = flat(A={"allOf": [arms, record(y={"const": "b"})]})
    assert joined == record(("y",), y={"const": "b"})
    several = flat(A={**BASE, "anyOf": [{"required": ["y", "z"]}, {"required": ["u"]}]})
    assert [arm["required"] for arm in several["anyOf"]] == [["x", "y", "z"], ["u", "x"]]


def test_neighbouring_types_keep_their_own_contents() -> None:
    found = flat(A={"type": ["array", "object", "string"], "items": STRING, "required": ["x"]})
    array = {"type": "array", "items": STRING}
    assert found == {"anyOf": [array, record(("x",), x={}), STRING]}


def test_inexpressible_schema_is_noted() -> None:
    never = {"allOf": [record(y=STRING), record(y=INTEGER)]}
    assert flat(A=never)["properties"] == {}
    assert flatten_notes(A=never) == [("loosened-schema", "/$defs/A")]
    itself = {"allOf": [ref("A"), record(y=INTEGER)]}
    assert flatten_notes(A=record(n=itself)) == [("loosened-schema", "/$defs/A")]
    bounded = {"allOf": [{"anyOf": [INTEGER, STRING]}, {"type": "integer", "minimum": 1}]}
    assert flatten_notes(A={"type": "array", "items": bounded}) == [
        ("loosened-schema", "/$defs/A/items")
    ]
    mixed = {"allOf": [{"type": "object", "additionalProperties": STRING}, BASE]}
    assert flatten_notes(A=mixed) == [("loosened-schema", "/$defs/A")]


def test_unsatisfiable_schema_is_refused_at_its_start() -> None:
    rows: list[tuple[Json, str]] = [
        ({"allOf": [ref("Base"), STRING]}, ""),
        (NEVER, ""),
        ({"allOf": [record(("y",), y=STRING), record(y=INTEGER)]}, ""),
        ({"allOf": [{**LIST, "items": STRING, "minItems": 1}, {**LIST, "items": INTEGER}]}, ""),
        (
            record(("y",), y=record(("z",), z={"allOf": [STRING, INTEGER]})),
            "/properties/y/properties/z",
        ),
    ]
    for schema, pointer in rows:
        with tables.case((schema, pointer)):
            with pytest.raises(ProblemError) as caught:
                flat(A=schema)
            (problem,) = caught.value.problems
            assert (problem.code, problem.place, problem.pointer) == (
                "bad-intersection",
                "x.json",
                f"/$defs/A{pointer}",
            )


def test_a_line_of_extensions_may_be_long() -> None:
    line: Json = {
        f"A{number}": {"allOf": [ref(f"A{number + 1}"), record(**{f"m{number}": STRING})]}
        for number in range(60)
    }
    found, notes = flatten_definitions({**line, "A60": BASE}, "x.json")
    assert notes == ()
    assert list(found) == [*line, "A60"]
    assert found["A0"]["properties"].keys() == {"x", *(f"m{number}" for number in range(60))}
