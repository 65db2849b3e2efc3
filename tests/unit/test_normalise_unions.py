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


ALIKE: Json = {"X": record(x=STRING), "Y": record(x=STRING)}
RESULTS: Json = {"Result": record(x=STRING), "EmptyResult": record(x=STRING)}
USE: Json = record(x={"type": "array", "items": union("B", "A")})
# Definitions, the unions of the facts, and the definitions that are other ones then.
ORDERED: dict[str, tuple[Json, dict[str, list[str]], Json]] = {
    "as in the facts": (
        {"U": union("A", "B", "C")},
        {"U": ["C", "A", "B"]},
        {"U": union("C", "A", "B")},
    ),
    "an unknown arm is the last": (
        {"U": union("C", "A", "B")},
        {"U": ["B", "A"]},
        {"U": union("B", "A", "C")},
    ),
    "an arm that the schema lacks": (
        {"U": union("A", "B")},
        {"U": ["B", "C", "A", "Gone"]},
        {"U": union("B", "A")},
    ),
    "nested as in the facts": (
        {"U": union("A", "B", "C")},
        {"U": ["C", "AB"], "AB": ["B", "A"]},
        {"U": union("C", "AB"), "AB": union("B", "A")},
    ),
    "written out where it is used": (
        {"Use": USE},
        {"AB": ["A", "B"]},
        {"Use": record(x={"type": "array", "items": ref("AB")}), "AB": union("A", "B")},
    ),
    "of types that are not there": ({}, {"U": ["A", "Gone"], "V": ["U"], "W": ["Gone"]}, {}),
    "became an object": ({"U": record(x=STRING)}, {"U": ["A", "B"]}, {}),
    "of one arm, written out": ({"U": C}, {"U": ["A", "C"]}, {"U": union("C")}),
    "of one unknown arm, written out": ({"U": C}, {"U": ["A"]}, {"U": union("C")}),
    "with an alias that the schema wrote out": (
        {**RESULTS, "U": union("A", "Result")},
        {"U": ["EmptyResult", "A"]},
        {"U": union("EmptyResult", "A")},
    ),
    "two arms alike": ({**ALIKE, "U": union("X", "Y")}, {"U": ["Y", "X"]}, {"U": union("Y", "X")}),
    "two arms alike, one unknown": (
        {**ALIKE, "U": union("X", "Y")},
        {"U": ["Y"]},
        {"U": union("Y", "X")},
    ),
}


def test_unions_are_as_the_facts_say_with_the_arms_of_the_schema() -> None:
    for name, (definitions, arms, changed) in ORDERED.items():
        with tables.case(name):
            before = {**TYPES, **definitions}
            stated = facts(unions={key: {"arms": listed} for key, listed in arms.items()})
            assert unions.order_arms(before, stated) == {**before, **changed}


def test_enumerations_are_in_the_order_of_the_facts() -> None:
    definitions = {"E": {"enum": ["a", "b", "new", "c"]}, "T": record(x={"enum": ["a", "b"]})}
    orders = {"E": {"values": ["c", "b", "a"]}, "T.x": {"values": ["b", "a"]}}
    found = unions.order_arms(definitions, facts(enums=orders))
    assert found["E"]["enum"] == ["c", "b", "a", "new"]
    assert found["T"]["properties"]["x"]["enum"] == ["b", "a"]


def test_no_tag_where_an_arm_may_leave_it_out_or_shares_it() -> None:
    same = record(("type",), type={"const": "a"})
    definitions = {**TYPES, "D": OPTIONAL, "S": same, "N": STRING}
    for arms in (["A", "D"], ["A", "S"], ["A", "N"], ["A"]):
        assert "discriminator" not in unions.tag_unions({**definitions, "U": union(*arms)}, ())["U"]


def test_only_a_union_of_content_alone_welcomes_other_kinds() -> None:
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
