"""Intersections become one object."""

import pytest
from mcp_protogen.normalise.flatten import flattened
from mcp_protogen.problems import ProblemError
from schemas import STRING, Json, record, ref, union

INTEGER: Json = {"type": "integer"}
BASE: Json = record(("x",), x=STRING)


def flat(**definitions: Json) -> Json:
    found: Json = flattened({"Base": BASE, **definitions}, "x.json")["A"]
    return found


def test_parts_are_joined_with_what_stands_beside_them() -> None:
    joined = flat(A={"allOf": [ref("Base"), record(("y",), y=STRING)], "required": ["x"]})
    assert joined == record(("x", "y"), x=STRING, y=STRING)


def test_a_later_part_narrows_a_member() -> None:
    joined = flat(A={"allOf": [ref("Base"), record(x={"const": "a"})]})
    assert joined["properties"]["x"] == {"const": "a"}
    assert joined["required"] == ["x"]


def test_intersections_nest_and_follow_references() -> None:
    joined = flat(
        A={"allOf": [ref("B"), {"allOf": [record(z=STRING)]}]},
        B={"allOf": [ref("C"), record(y=STRING)]},
        C=ref("Base"),
    )
    assert set(joined["properties"]) == {"x", "y", "z"}


def test_a_part_that_only_requires_does_not_loosen_the_member() -> None:
    assert flat(A={"allOf": [ref("Base"), {"allOf": [{"required": ["x"]}]}]}) == BASE


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


@pytest.mark.parametrize(
    "schema",
    [
        {"allOf": [ref("Base"), STRING]},
        {"allOf": [STRING, INTEGER]},
        {"allOf": [union("Base"), {"anyOf": [STRING]}]},
        {**BASE, **union("Base")},
        {**BASE, "anyOf": [{"required": ["x", "y"]}]},
    ],
)
def test_what_is_no_object_cannot_be_joined(schema: Json) -> None:
    with pytest.raises(ProblemError) as caught:
        flat(A=schema)
    (problem,) = caught.value.problems
    assert (problem.code, problem.place, problem.pointer) == (
        "bad-intersection",
        "x.json",
        "/$defs/A",
    )
