"""References: where they lead, which are only other names, and which go round in circles."""

import pytest
from mcp_protogen.normalise import references
from mcp_protogen.problems import ProblemError
from schemas import ANY_OBJECT, STRING, Json, record, ref, union


@pytest.mark.parametrize(
    "definitions",
    [
        {"A": record(x=ref("A"))},
        {"A": {"type": "array", "items": ref("A")}},
        {"A": record(x=ref("B")), "B": {"anyOf": [ref("A"), STRING]}},
    ],
)
def test_circles_through_members_and_arrays_are_fine(definitions: Json) -> None:
    assert references.checked(definitions, "x") is definitions


def test_every_dangling_reference_is_shown() -> None:
    definitions = {"A": record(x=ref("X"), y={"type": "array", "items": ref("Y")})}
    with pytest.raises(ProblemError) as caught:
        references.checked(definitions, "x.json")
    assert [str(problem).split(": ")[1] for problem in caught.value.problems] == [
        "x.json#/$defs/A/properties/x",
        "x.json#/$defs/A/properties/y/items",
    ]


def test_renaming_reaches_every_reference() -> None:
    definitions = {"Annotated": STRING, "A": record(x=ref("Annotated"), y=union("Annotated"))}
    assert references.renamed(definitions, {"Annotated": "Other"}) == {
        "Other": STRING,
        "A": record(x=ref("Other"), y=union("Other")),
    }


def test_a_second_name_of_an_object_becomes_an_object() -> None:
    definitions = {"A": record(x=STRING), "B": ref("A"), "C": ref("B"), "D": ref("A"), "S": STRING}
    definitions["T"] = ref("S")
    found = references.expanded(definitions, keep={"D"})
    assert found["B"] == found["C"] == definitions["A"]
    assert found["D"] == ref("A")
    assert found["T"] == ref("S")


def test_any_json_types_lose_what_is_inside_them() -> None:
    definitions: Json = {
        "JSONValue": {"anyOf": [STRING, ref("JSONObject"), ref("JSONArray")]},
        "JSONObject": {"type": "object", "additionalProperties": ref("JSONValue")},
        "JSONArray": {"type": "array", "items": ref("JSONValue")},
        "Use": record(
            x=ref("JSONValue"), y=ref("JSONObject"), z={"type": "array", "items": ref("JSONValue")}
        ),
    }
    found = references.acyclic(definitions)
    assert found["JSONValue"] == {}
    assert found["JSONObject"] == ANY_OBJECT
    assert found["JSONArray"] == {"type": "array", "items": {}}
    assert found["Use"] == record(x={}, y=ref("JSONObject"), z={"type": "array", "items": {}})


def test_a_name_for_anything_is_written_out_where_it_is_used() -> None:
    assert references.acyclic({"Any_": {}, "A": record(x=ref("Any_"))})["A"] == record(x={})


def test_objects_may_contain_themselves() -> None:
    definitions = {"A": record(x=ref("A"))}
    assert references.acyclic(definitions) == definitions
