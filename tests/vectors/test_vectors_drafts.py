"""A draft may say things that no revision says yet: its vectors show those too, or say why not."""

from typing import Any

import pytest
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.instep.vectors.vector import Vector
from support import tables
from support.vectors.vector_sets import draft, of_type

TEXT = {"type": "string"}


def make_vectors(schema: Any) -> dict[str, Vector]:
    return of_type(draft(Novelty=schema), "Novelty")


def verdicts(schema: Any) -> dict[str, Any]:
    """What is at the member `it` of each vector that varies it, by verdict and label."""
    wrapper = {"type": "object", "properties": {"it": schema, "other": TEXT}}
    prefixes = {"valid/it/": "valid ", "invalid/it/": "invalid "}
    return {
        prefixes[prefix] + id.removeprefix(prefix): vector.value["it"]
        for id, vector in make_vectors(wrapper).items()
        for prefix in prefixes
        if id.startswith(prefix)
    }


def test_lengths_of_texts_are_met_and_exceeded() -> None:
    found = verdicts({"type": "string", "minLength": 6, "maxLength": 8})
    assert found["valid present"] == "textxx"
    assert len(found["valid maxLength"]) == 8
    assert len(found["invalid minLength"]) == 5
    assert len(found["invalid maxLength"]) == 9


def test_a_pattern_is_matched_and_missed() -> None:
    found = verdicts({"type": "string", "pattern": "^[a-z]+/[a-z]+$"})
    assert found["valid present"] == "text/plain"
    assert "" in [value for label, value in found.items() if label.startswith("invalid pattern")]


def test_a_pattern_that_no_known_text_matches_is_one_problem() -> None:
    with pytest.raises(ProblemError) as caught:
        verdicts({"type": "string", "pattern": "^qq[0-9]{7}zz$"})
    (problem,) = caught.value.problems
    assert (problem.code, problem.place) == ("no-sample", "draft.json")
    assert problem.pointer == "/$defs/Novelty/properties/it/pattern"


def test_inexpressible_schema_is_single_problem() -> None:
    rows: list[tuple[Any, str, str]] = [
        ({"type": "string", "pattern": r"^\p{L}+$"}, "/pattern", "cannot be read by Python"),
        ({"type": "string", "minLength": 10**12}, "/minLength", "1000000000000 characters"),
        ({"type": "array", "items": TEXT, "minItems": 10**12}, "/minItems", "1000000000000 items"),
    ]
    for schema, keyword, message in rows:
        with tables.case(schema):
            with pytest.raises(ProblemError) as caught:
                verdicts(schema)
            (problem,) = caught.value.problems
            assert (problem.code, problem.place) == ("no-sample", "draft.json")
            assert problem.pointer == f"/$defs/Novelty/properties/it{keyword}"
            assert message in problem.message


def test_a_type_that_always_needs_itself_is_one_problem() -> None:
    endless: Any = {
        "type": "object",
        "properties": {"it": {"$ref": "#/$defs/Novelty"}},
        "required": ["it"],
    }
    with pytest.raises(ProblemError) as caught:
        make_vectors(endless)
    (problem,) = caught.value.problems
    assert (problem.code, problem.pointer) == ("no-sample", "/$defs/Novelty")
    assert "no value is finite" in problem.message


def test_constants_that_look_alike_are_told_apart() -> None:
    found = verdicts({"enum": [1, "1", True, "True"]})
    shown = {label: value for label, value in found.items() if label.startswith("valid enum-")}
    assert found["valid present"] == 1
    assert shown == {"valid enum-1-1": "1", "valid enum-True-2": True, "valid enum-True-3": "True"}


def test_constants_are_called_what_they_are_in_json() -> None:
    reasons = {vector.reason for vector in make_vectors({"const": None}).values()}
    assert "the value must be null" in reasons


def test_a_map_may_declare_the_member_that_stands_for_all_others() -> None:
    schema = {"properties": {"key": TEXT}, "additionalProperties": {"type": "integer"}}
    found = make_vectors({"type": "object", **schema})
    assert found["valid/full"].value == {"key": "text"}
    assert found["valid/key-/present"].value == {"key-": 1}
    assert found["invalid/key-/null"].pointer == "/key-"


def test_a_keyword_nobody_knows_values_for_is_one_problem() -> None:
    with pytest.raises(ProblemError) as caught:
        verdicts({"type": "integer", "multipleOf": 7})
    (problem,) = caught.value.problems
    assert (problem.code, problem.place) == ("no-sample", "draft.json")


def test_excluded_bounds_are_not_reached() -> None:
    found = verdicts({"type": "integer", "exclusiveMinimum": 5, "exclusiveMaximum": 9})
    assert 5 < found["valid present"] < 9
    assert found["invalid exclusiveMinimum"] == 5
    assert found["invalid exclusiveMaximum"] == 9


def test_bounds_that_leave_one_value_give_that_value() -> None:
    assert verdicts({"type": "number", "minimum": 3, "maximum": 3})["valid present"] == 3


def test_lengths_of_lists_are_met_and_exceeded() -> None:
    found = verdicts({"type": "array", "items": TEXT, "minItems": 2, "maxItems": 3})
    assert len(found["valid present"]) == 2
    assert len(found["valid maxItems"]) == 3
    assert len(found["invalid minItems"]) == 1
    assert len(found["invalid maxItems"]) == 4
    assert found["invalid 0/null"] == [None, "text"]


def test_array_is_smallest_with_the_fewest_items_and_full_with_one_at_least() -> None:
    for fewest, smallest, full in (
        (0, [], ["text"]),
        (1, ["text"], ["text"]),
        (2, ["text", "text"], ["text", "text"]),
    ):
        array = {"type": "array", "items": TEXT, "minItems": fewest}
        members = {"it": array, "other": TEXT}
        found = make_vectors({"type": "object", "properties": members, "required": ["it"]})
        with tables.case(fewest):
            assert found["valid/minimal"].value == {"it": smallest}
            assert found["valid/full"].value == {"it": full, "other": "text"}


def test_items_that_have_to_differ_do() -> None:
    found = verdicts({"type": "array", "items": TEXT, "uniqueItems": True})
    assert found["valid items-2"] == ["text", "text1"]
    assert found["invalid uniqueItems"] == ["text", "text"]


def test_items_mean_nothing_where_no_list_is_allowed() -> None:
    assert verdicts({**TEXT, "items": {"type": "integer"}}) == verdicts(TEXT)


def test_a_closed_object_refuses_what_it_does_not_declare() -> None:
    found = verdicts({"type": "object", "properties": {"a": TEXT}, "additionalProperties": False})
    assert "valid undeclared" not in found
    assert found["invalid additional"] == {"x-undeclared": "text"}


def test_schema_with_one_of_is_union() -> None:
    found = verdicts({"oneOf": [{"type": "string"}, {"type": "integer"}]})
    assert (found["valid present"], found["valid arm-integer"]) == ("text", 1)
    assert found["invalid no-arm-null"] is None


def test_a_type_that_needs_itself_only_where_it_may_end() -> None:
    leaf = {"type": "object", "properties": {"kind": {"const": "leaf"}}, "required": ["kind"]}
    node: Any = {
        "type": "object",
        "properties": {"left": {"$ref": "#/$defs/Tree"}, "right": {"$ref": "#/$defs/Tree"}},
        "required": ["left", "right"],
    }
    tree: Any = {"anyOf": [{"$ref": "#/$defs/Fork"}, {"$ref": "#/$defs/Leaf"}]}
    found = draft(Tree=tree, Fork=node, Leaf=leaf)
    smallest = of_type(found, "Fork")["valid/minimal"].value
    assert smallest == {"left": {"kind": "leaf"}, "right": {"kind": "leaf"}}
    assert of_type(found, "Tree")["valid/minimal"].value == {"kind": "leaf"}


def test_an_enumeration_of_numbers_has_no_text_among_its_faults_of_case() -> None:
    found = verdicts({"type": "integer", "enum": [1, 2]})
    assert "invalid enum-case" not in found
    assert found["invalid enum"] not in (1, 2)


def test_a_draft_of_vectors_without_any_change_is_that_of_its_revision() -> None:
    found = draft()
    assert found.revision == "draft"
    assert len(found.vectors) > 4000
