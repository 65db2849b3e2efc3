"""Inline objects get the names of their places."""

from mcp_protogen.pipeline.normalise.lift import lift_objects, merge_meta_types
from support.unit.schemas import STRING, Json, record, ref

INNER = record(x=STRING)


def lift(schema: Json) -> Json:
    return lift_objects({"A": schema})


def test_an_object_whose_name_is_taken_has_its_kind_after_it() -> None:
    definitions = {"A": record(b=INNER, c=record(y=STRING)), "AB": STRING, "ABObject": STRING}
    found = lift_objects(definitions)
    assert found["A"]["properties"] == {"b": ref("ABObject2"), "c": ref("AC")}
    for inline, kind in (
        ({"type": "array", "items": INNER}, "Item"),
        ({"type": "object", "additionalProperties": INNER}, "Value"),
        ({"anyOf": [INNER, STRING]}, "Object"),
    ):
        assert lift(inline)[f"A{kind}"] == INNER


def test_objects_that_are_the_same_in_one_place_are_one() -> None:
    found = lift(record(foo_bar=INNER, fooBar=INNER))
    assert set(found) == {"A", "AFooBar"}


def test_metadata_that_a_type_has_as_its_base_is_that_of_the_base() -> None:
    common, other = record(a=STRING), record(b=STRING)
    definitions = {
        "ParamsMeta": common,
        "AskParamsMeta": {**common, "x-open": True},
        "SayParamsMeta": other,
        "A": record(x=ref("AskParamsMeta"), y=ref("SayParamsMeta")),
    }
    found = merge_meta_types(definitions, ())
    assert found == {
        "ParamsMeta": {**common, "x-open": True},
        "SayParamsMeta": other,
        "A": record(x=ref("ParamsMeta"), y=ref("SayParamsMeta")),
    }
    named = merge_meta_types(definitions, {"AskParamsMeta"})
    assert named == definitions


def test_the_objects_of_a_choice_are_told_apart_by_constants_or_numbers() -> None:
    kinds = [record(("t",), t={"const": value}) for value in ("a", "b")]
    assert set(lift(record(x={"anyOf": kinds}))) == {"A", "AXA", "AXB"}
    truths = [record(("t",), t={"const": value}) for value in (True, False)]
    assert set(lift({"anyOf": truths})) == {"A", "ATTrue", "ATFalse"}
    assert set(lift({"anyOf": [INNER, record(y=STRING)]})) == {"A", "A1", "A2"}
