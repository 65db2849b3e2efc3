"""Patches: each entry asserts the old value, and all outdated entries are reported."""

import copy
from typing import Any

import pytest
from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.pipeline.inputs.patches import apply
from support import tables

SCHEMA: dict[str, Any] = {"$defs": {"A": {"type": "string"}, "B": {"required": ["x", "y"]}}}


def entry(pointer: str, **rest: Any) -> dict[str, Any]:
    return {"pointer": pointer, "reason": "Why.", "source": "schema.ts", **rest}


def refusal_problems(*entries: dict[str, Any]) -> tuple[Problem, ...]:
    with pytest.raises(ProblemError) as caught:
        apply(SCHEMA, entries, "patches.json")
    return caught.value.problems


def test_a_value_is_replaced_added_and_removed() -> None:
    before = copy.deepcopy(SCHEMA)
    patched = apply(
        SCHEMA,
        (
            entry("/$defs/A/type", was="string", now="integer"),
            entry("/$defs/C", now={"type": "null"}),
            entry("/$defs/B/required", was=["x", "y"]),
            entry("/$defs/C/type", was="null", now="boolean"),
        ),
        "patches.json",
    )
    assert patched == {"$defs": {"A": {"type": "integer"}, "B": {}, "C": {"type": "boolean"}}}
    assert before == SCHEMA


def test_items_of_arrays_are_patched_by_index() -> None:
    patched = apply(SCHEMA, (entry("/$defs/B/required/1", was="y", now="z"),), "")
    assert patched["$defs"]["B"]["required"] == ["x", "z"]


def test_patches_stay_unchanged_when_later_ones_change_their_values() -> None:
    entries = (entry("/$defs/C", now={"a": 1}), entry("/$defs/C/a", was=1, now=2))
    apply(SCHEMA, entries, "")
    assert entries[0]["now"] == {"a": 1}


# The place, the old and the new value, and what the refusal says.
REFUSED: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("/$defs/A/type", {"was": "number", "now": "string"}, "drop this entry"),
    ("/$defs/A/format", {"was": "uri"}, "the pointer is wrong"),
    ("/$defs/A/format", {"was": "uri"}, "drop this entry"),
    ("/$defs/A/type", {"now": "integer"}, ""),
    ("/$defs/Z/type", {"now": "integer"}, "nothing is there"),
    ("/$defs/B/required/9", {"now": "z"}, ""),
    ("/$defs/B/required/x", {"now": "z"}, ""),
    ("/$defs/A/type/x", {"now": "z"}, ""),
)


def test_patch_that_does_not_fit_is_refused() -> None:
    for pointer, values, said in REFUSED:
        with tables.case((pointer, said)):
            (problem,) = refusal_problems(entry(pointer, **values))
            assert problem.code == "stale-patch" and said in f"{problem.message} {problem.hint}"


@pytest.mark.parametrize(("there", "was"), [(True, 1), (1, True)])
def test_true_is_not_one(there: Any, was: Any) -> None:
    schema: dict[str, Any] = {"$defs": {"A": {"const": there}}}
    with pytest.raises(ProblemError):
        apply(schema, (entry("/$defs/A/const", was=was, now="x"),), "")


MARKED: dict[str, Any] = {
    "$defs": {
        "A": {"properties": {"mark": {"$ref": "#/x"}, "b": {"type": "string"}}},
        "B": {"properties": {"mark": {"$ref": "#/x", "minLength": 1}}},
        "C": {"properties": {"mark": {"type": "string"}}},
        "D": {"enum": ["mark"]},
    }
}


def test_a_star_stands_for_all_that_are_there() -> None:
    where = "/$defs/*/properties/mark"
    members = apply(MARKED, (entry(f"{where}/$ref", was="#/x"),), "")["$defs"]
    marks = [member["properties"]["mark"] for member in members.values() if "properties" in member]
    assert marks == [{}, {"minLength": 1}, {"type": "string"}]
    added = apply(MARKED, (entry(f"{where}/title", now="x"),), "")["$defs"]
    assert [type_["properties"]["mark"]["title"] for type_ in list(added.values())[:3]] == ["x"] * 3
    items = apply({"a": [{"b": 1}, {"c": 1}]}, (entry("/a/*/b", was=1, now=2),), "")
    assert items == {"a": [{"b": 2}, {"c": 1}]}


def test_star_patch_needs_same_value_everywhere_and_one_match() -> None:
    for pointer, was, said in (
        ("/$defs/*/properties/mark/$ref", "#/y", {"/$defs/A/", "/$defs/B/"}),
        ("/$defs/*/properties/none/$ref", "#/x", {"/$defs/*/"}),
        ("/none/*", "x", {"/none/*"}),
    ):
        with tables.case(pointer), pytest.raises(ProblemError) as caught:
            apply(MARKED, (entry(pointer, was=was, now="z"),), "")
        found = {message.partition("properties")[0].split(" ")[0] for message in _messages(caught)}
        assert found == said


def _messages(caught: pytest.ExceptionInfo[ProblemError]) -> list[str]:
    return [problem.message for problem in caught.value.problems]
