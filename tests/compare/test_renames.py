"""Renamed types, found by their structure."""

from typing import Any

from mcp_protogen.instep.compare.renames import renames
from support.unit.schemas import STRING, record

Json = dict[str, Any]

POINT = record(("x", "y"), kind={"const": "point"}, x=STRING, y=STRING, z=STRING)
SPOT = {**POINT, "properties": {**POINT["properties"], "kind": {"const": "spot"}}}


def test_a_type_that_went_is_the_new_one_with_the_same_members() -> None:
    assert renames({"Point": POINT}, {"Place": POINT, "Other": record(a=STRING)}) == {
        "Point": "Place"
    }


def test_most_members_are_enough() -> None:
    grown = {**POINT, "properties": {**POINT["properties"], "w": STRING}}
    assert renames({"Point": POINT}, {"Place": grown}) == {"Point": "Place"}


def test_another_constant_makes_another_type() -> None:
    assert renames({"Point": POINT}, {"Spot": SPOT}) == {}


def test_half_of_the_members_are_not_enough() -> None:
    assert renames({"P": record(a=STRING, b=STRING)}, {"Q": record(a=STRING, c=STRING)}) == {}


def test_a_type_that_is_still_there_has_no_other_name() -> None:
    assert renames({"Point": POINT}, {"Point": POINT, "Copy": POINT}) == {}


def test_none_is_taken_where_two_would_do() -> None:
    assert renames({"Point": POINT}, {"Place": POINT, "Spot": POINT}) == {}


def test_two_types_cannot_become_one() -> None:
    assert renames({"Point": POINT, "Dot": POINT}, {"Place": POINT}) == {}


def test_a_name_that_something_of_another_kind_has_taken_is_free() -> None:
    assert renames({"Point": POINT}, {"Point": STRING, "Place": POINT}) == {"Point": "Place"}
