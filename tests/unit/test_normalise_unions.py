"""Unions: facts give their order and names, the schema their content."""

from typing import Any

from mcp_protogen.pipeline.inputs.facts import Facts
from mcp_protogen.pipeline.normalise import unions
from support import tables
from support.unit.schemas import STRING, Json, record, ref, union

A = record(("type",), type={"const": "a"})
B = record(("type",), type={"const": "b"})
C = record(("type",), type={"const": "c"})
OPTIONAL = record((), type={"const": "d"})
TYPES: Json = {"A": A, "B": B, "C": C}


def facts(**document: Any) -> Facts:
    return Facts("x", document, "x")


def state_unions(**arms: list[str]) -> Facts:
    return facts(unions={name: {"arms": listed} for name, listed in arms.items()})


def test_arms_are_in_the_order_of_the_facts() -> None:
    found = unions.order_arms({**TYPES, "U": union("A", "B", "C")}, state_unions(U=["C", "A", "B"]))
    assert found["U"] == union("C", "A", "B")


def test_an_arm_that_the_facts_do_not_know_goes_last() -> None:
    found = unions.order_arms({**TYPES, "U": union("C", "A", "B")}, state_unions(U=["B", "A"]))
    assert found["U"] == union("B", "A", "C")


def test_an_arm_that_the_schema_no_longer_has_is_dropped() -> None:
    found = unions.order_arms(
        {**TYPES, "U": union("A", "B")}, state_unions(U=["B", "C", "A", "Gone"])
    )
    assert found["U"] == union("B", "A")


def test_unions_nest_as_the_facts_say() -> None:
    definitions = {**TYPES, "U": union("A", "B", "C")}
    found = unions.order_arms(definitions, state_unions(U=["C", "AB"], AB=["B", "A"]))
    assert found["U"] == union("C", "AB")
    assert found["AB"] == union("B", "A")


def test_a_union_written_out_at_its_uses_becomes_a_definition() -> None:
    definitions = {**TYPES, "Use": record(x={"type": "array", "items": union("B", "A")})}
    found = unions.order_arms(definitions, state_unions(AB=["A", "B"]))
    assert found["AB"] == union("A", "B")
    assert found["Use"]["properties"]["x"]["items"] == ref("AB")


def test_a_union_of_what_is_not_there_is_not_made() -> None:
    found = unions.order_arms(TYPES, state_unions(U=["A", "Gone"], V=["U"], W=["Gone"]))
    assert found == TYPES


def test_a_type_that_became_an_object_stays_one() -> None:
    other = record(x=STRING)
    assert unions.order_arms({**TYPES, "U": other}, state_unions(U=["A", "B"]))["U"] == other


def test_a_union_of_one_arm_that_is_written_out_is_a_union() -> None:
    assert unions.order_arms({**TYPES, "U": C}, state_unions(U=["A", "C"]))["U"] == union("C")
    assert unions.order_arms({**TYPES, "U": C}, state_unions(U=["A"]))["U"] == union("C")


def test_an_alias_that_the_schema_wrote_out_keeps_its_name() -> None:
    definitions = {"Result": record(x=STRING), "EmptyResult": record(x=STRING), **TYPES}
    definitions["U"] = union("A", "Result")
    found = unions.order_arms(definitions, state_unions(U=["EmptyResult", "A"]))
    assert found["U"] == union("EmptyResult", "A")


def test_two_arms_that_look_alike_are_two() -> None:
    definitions = {"X": record(x=STRING), "Y": record(x=STRING), "U": union("X", "Y")}
    assert unions.order_arms(definitions, state_unions(U=["Y", "X"]))["U"] == union("Y", "X")
    assert unions.order_arms(definitions, state_unions(U=["Y"]))["U"] == union("Y", "X")


def test_enumerations_are_in_the_order_of_the_facts() -> None:
    definitions = {"E": {"enum": ["a", "b", "new", "c"]}, "T": record(x={"enum": ["a", "b"]})}
    orders = {"E": {"values": ["c", "b", "a"]}, "T.x": {"values": ["b", "a"]}}
    found = unions.order_arms(definitions, facts(enums=orders))
    assert found["E"]["enum"] == ["c", "b", "a", "new"]
    assert found["T"]["properties"]["x"]["enum"] == ["b", "a"]


def test_a_tag_is_a_constant_that_every_arm_requires() -> None:
    found = unions.tag_unions({**TYPES, "U": union("A", "B")}, ())
    assert found["U"]["discriminator"] == {"propertyName": "type"}
    assert "x-open" not in found["U"]


def test_no_tag_where_an_arm_may_leave_it_out_or_shares_it() -> None:
    same = record(("type",), type={"const": "a"})
    definitions = {**TYPES, "D": OPTIONAL, "S": same, "N": STRING}
    for arms in (["A", "D"], ["A", "S"], ["A", "N"], ["A"]):
        assert "discriminator" not in unions.tag_unions({**definitions, "U": union(*arms)}, ())["U"]


def test_a_union_of_content_welcomes_other_kinds() -> None:
    found = unions.tag_unions({**TYPES, "U": union("A", "B"), "V": union("A", "C")}, {"A", "B"})
    assert found["U"]["x-open"] is True
    assert "x-open" not in found["V"]


def test_unions_within_unions_lead_to_each_type_once() -> None:
    null: Json = {"type": "null"}
    definitions: Json = {"A4": STRING, "B4": record(x=STRING)}
    for level in range(4):
        inner = union(f"A{level + 1}", f"B{level + 1}")
        definitions |= {f"A{level}": inner, f"B{level}": {"anyOf": [*inner["anyOf"], null]}}
    found = unions.deduplicate_arms(definitions)
    assert found["A3"] == union("A4", "B4")
    for name in ("A2", "A1", "A0"):
        with tables.case(name):
            arms = found[name]["anyOf"]
            assert len(arms) == 3 and all(arm in arms for arm in (ref("A4"), ref("B4"), null))


def test_unions_without_common_types_stay_within_unions() -> None:
    definitions: Json = {
        **TYPES,
        "D": OPTIONAL,
        "Both": union("Left", "Right"),
        "Left": union("A", "B"),
        "Right": union("C", "D"),
        "Name": ref("Both"),
    }
    assert unions.deduplicate_arms(definitions) == definitions
