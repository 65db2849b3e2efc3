"""Inline objects get the names of their places."""

import pytest
from mcp_protogen.normalise.lift import lifted
from mcp_protogen.problems import ProblemError
from schemas import ANY_OBJECT, STRING, Json, record, ref

INNER = record(x=STRING)


def lift(schema: Json, *json_schemas: str) -> Json:
    return lifted({"A": schema}, json_schemas, "x.json")


NAMED = ref("AB")


@pytest.mark.parametrize(
    ("inline", "place"),
    [
        (INNER, NAMED),
        ({"type": "array", "items": INNER}, {"type": "array", "items": NAMED}),
        (
            {"type": "object", "additionalProperties": INNER},
            {"type": "object", "additionalProperties": NAMED},
        ),
        ({"anyOf": [INNER, STRING]}, {"anyOf": [NAMED, STRING]}),
    ],
)
def test_an_object_is_called_after_its_parent_and_member(inline: Json, place: Json) -> None:
    found = lift(record(b=inline))
    assert found["AB"] == INNER
    assert found["A"]["properties"]["b"] == place


def test_names_grow_with_the_depth() -> None:
    assert set(lift(record(_meta=record(fooBar=INNER)))) == {"A", "AMeta", "AMetaFooBar"}


def test_objects_without_members_are_maps() -> None:
    found = lift(record(x={"type": "object"}, y={"type": "object", "properties": {}}))
    assert set(found) == {"A"}
    assert found["A"]["properties"]["x"] == found["A"]["properties"]["y"] == ANY_OBJECT


def test_a_foreign_json_schema_is_an_object_of_anything() -> None:
    found = lift(record(schema=INNER), "A.schema")
    assert found == {"A": record(schema=ANY_OBJECT)}


def test_members_are_in_reading_order() -> None:
    members = {"_meta": ANY_OBJECT, "note": STRING, "text": STRING, "type": {"const": "a"}}
    found = lift(record(("text", "type"), **members))
    assert list(found["A"]["properties"]) == ["type", "text", "note", "_meta"]


def test_every_collision_is_shown() -> None:
    definitions = {"A": record(b=INNER, c=INNER), "AB": STRING, "AC": STRING}
    with pytest.raises(ProblemError) as caught:
        lifted(definitions, (), "x.json")
    assert [problem.pointer for problem in caught.value.problems] == ["/$defs/AB", "/$defs/AC"]
