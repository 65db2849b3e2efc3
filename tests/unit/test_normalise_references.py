"""References: definitions, aliases, and cycles."""

from mcp_protogen.base.problems import Problem
from mcp_protogen.pipeline.normalise import references
from support import tables
from support.unit.schemas import STRING, Json, record, ref


def test_circles_through_members_and_arrays_are_fine() -> None:
    rows: list[Json] = [
        {"A": record(x=ref("A"))},
        {"A": {"type": "array", "items": ref("A")}},
        {"A": record(x=ref("B")), "B": {"anyOf": [ref("A"), STRING]}},
    ]
    for definitions in rows:
        with tables.case(definitions):
            assert not [*references.circles(definitions, "x")]


def test_a_second_name_of_an_object_becomes_an_object() -> None:
    definitions = {"A": record(x=STRING), "B": ref("A"), "C": ref("B"), "D": ref("A"), "S": STRING}
    definitions["T"] = ref("S")
    found = references.expand_aliases(definitions, keep={"D"})
    assert found["B"] == found["C"] == definitions["A"]
    assert found["D"] == ref("A")
    assert found["T"] == ref("S")


def any_json(*scalars: str) -> Json:
    return {
        "JSONValue": {"anyOf": [{"type": list(scalars)}, ref("JSONObject"), ref("JSONArray")]},
        "JSONObject": {"type": "object", "additionalProperties": ref("JSONValue")},
        "JSONArray": {"type": "array", "items": ref("JSONValue")},
        "Use": record(
            x=ref("JSONValue"), y=ref("JSONObject"), z={"type": "array", "items": ref("JSONValue")}
        ),
    }


def test_a_type_that_contains_itself_and_not_every_value_stays_what_it_is() -> None:
    for scalars in (("boolean", "null", "integer", "string"), ("boolean", "number", "string")):
        definitions = any_json(*scalars)
        assert references.simplify_any_values(definitions) == definitions
    definitions = {
        "A": {"type": "array", "items": ref("B")},
        "B": {"type": "array", "items": ref("A")},
    }
    assert references.simplify_any_values(definitions) == definitions


def test_schema_inside_a_definition_becomes_a_definition() -> None:
    inner = record(y={"type": "array", "items": STRING})
    document = {
        "$defs": {
            "A": record(x=inner),
            "B": {"$ref": "#/$defs/A/properties/x/properties/y"},
            "C": {"$ref": "#/$defs/A/properties/x"},
            "D": {"$ref": "#/$defs/E%3CF%3E"},
            "E<F>": {"$ref": "#/$defs/A/properties/nothing"},
        }
    }
    whole, origins = references.hoist(document)
    assert origins == {"AXY": "/$defs/A/properties/x/properties/y", "AX": "/$defs/A/properties/x"}
    found = whole["$defs"]
    assert found["A"] == record(x=ref("AX"))
    assert found["AX"] == record(y=ref("AXY"))
    assert found["AXY"] == {"type": "array", "items": STRING}
    assert [found[name] for name in "BCD"] == [ref("AXY"), ref("AX"), ref("E<F>")]
    assert found["E<F>"] == document["$defs"]["E<F>"]


def test_pointer_does_not_follow_references() -> None:
    definitions = {"A": ref("B"), "B": record(x=STRING), "C": ref("A/properties/x")}
    whole, origins = references.hoist({"$defs": definitions})
    assert (whole["$defs"], origins) == (definitions, {})


def test_place_that_is_only_a_reference_stands_for_its_definition() -> None:
    definitions = {"A": record(x=ref("B")), "B": record(y=STRING), "C": ref("A/properties/x")}
    whole, _ = references.hoist({"$defs": definitions})
    assert whole["$defs"]["C"] == ref("B")


def test_place_that_refers_to_itself_is_a_circle() -> None:
    place = "A/properties/x"
    whole, _ = references.hoist({"$defs": {"A": record(x=ref(place)), "B": ref(place)}})
    (problem,) = references.circles(whole["$defs"], "x.json")
    assert (problem.code, problem.pointer) == ("ref-cycle", "/$defs/AX")


def test_reference_outside_of_schemas_stays_where_it_is() -> None:
    owner = {**record(x=STRING), "default": record(y=STRING)}
    places = {"B": ref("A/default"), "C": ref("A/properties"), "D": ref("A/required")}
    whole, _ = references.hoist({"$defs": {"A": owner, **places}})
    found = whole["$defs"]
    assert found["A"] == owner
    assert found["ADefault"] == record(y=STRING)
    assert found["AObject"] == {"x": STRING}
    assert found["D"] == ref("A/required")


def test_whole_schema_is_a_definition_without_its_definitions() -> None:
    above: Json = {"type": "object", "properties": {"x": {"$ref": "#"}}}
    whole, origins = references.hoist({**above, "$defs": {"A": {"$ref": "#"}}})
    root = {"type": "object", "properties": {"x": ref("Root")}}
    assert whole["$defs"] == {"A": ref("Root"), "Root": root}
    assert origins == {"Root": ""}


def test_problem_of_an_inner_schema_is_placed_where_it_stands() -> None:
    problem = Problem("x", "y", "x.json", "/$defs/AX/items")
    (placed,) = references.restore_places([problem], {"AX": "/$defs/A/properties/x"})
    assert placed.pointer == "/$defs/A/properties/x/items"


def test_objects_may_contain_themselves() -> None:
    definitions = {"A": record(x=ref("A"))}
    assert references.simplify_any_values(definitions) == definitions


def test_a_line_of_definitions_may_be_long() -> None:
    arms = {f"A{number}": {"anyOf": [ref(f"A{number + 1}"), STRING]} for number in range(2_000)}
    definitions: Json = {**arms, "A2000": {"type": "null"}}
    assert not [*references.circles(definitions, "x")]
    assert references.simplify_any_values(definitions) == definitions
    called: Json = {f"A{number}": ref(f"A{number + 1}") for number in range(2_000)}
    found = references.expand_aliases({**called, "A2000": record(x=STRING)}, keep=())
    assert found["A0"] == record(x=STRING)
