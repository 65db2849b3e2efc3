"""JSON Schema or not, by the metaschema of its own dialect."""

from typing import Any

import pytest
from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.pipeline.inputs.metacheck import check

DRAFT_07 = "http://json-schema.org/draft-07/schema#"
DRAFT_2020 = "https://json-schema.org/draft/2020-12/schema"


def refusal_problems(schema: dict[str, Any]) -> tuple[Problem, ...]:
    with pytest.raises(ProblemError) as caught:
        check(schema, "x.json")
    assert {(p.code, p.place) for p in caught.value.problems} == {("not-a-schema", "x.json")}
    return caught.value.problems


@pytest.mark.parametrize("dialect", [DRAFT_07, DRAFT_2020])
def test_a_schema_passes(dialect: str) -> None:
    check({"$schema": dialect, "$defs": {"A": {"type": "string"}}}, "x.json")


def test_a_violation_is_shown_with_place_and_dialect() -> None:
    (problem,) = refusal_problems({"$schema": DRAFT_2020, "$defs": {"A/B": {"type": "text"}}})
    assert problem.pointer == "/$defs/A~1B/type"
    assert DRAFT_2020 in problem.hint


def test_the_dialect_decides() -> None:
    tuples: dict[str, Any] = {"$defs": {"A": {"items": [{}]}}}
    check({"$schema": DRAFT_07, **tuples}, "x.json")
    assert refusal_problems({"$schema": DRAFT_2020, **tuples})


def test_schema_without_dialect_has_the_newest() -> None:
    assert "its dialect is 2020-12" in refusal_problems({"$defs": {"A": {"items": [{}]}}})[0].hint


@pytest.mark.parametrize("dialect", [1, None, [], {"a": 1}])
def test_a_dialect_that_is_no_text_is_refused(dialect: Any) -> None:
    (problem,) = refusal_problems({"$schema": dialect, "$defs": {}})
    assert problem.pointer == "/$schema"


def test_many_violations_are_cut_short() -> None:
    assert (
        len(refusal_problems({"$defs": {str(number): {"type": 1} for number in range(99)}})) == 10
    )


def test_long_messages_are_cut_short() -> None:
    (problem,) = refusal_problems({"$defs": {"A": {"required": "x" * 5000}}})
    assert len(problem.message) < 300


def test_schemas_may_be_nested_sixty_levels_deep() -> None:
    deep: Any = {}
    for _ in range(57):  # within the schema, its definitions, and one of them
        deep = {"items": deep}
    check({"$defs": {"A": deep}}, "x.json")
    (problem,) = refusal_problems({"$defs": {"A": {"items": deep}}})
    assert "nested" in problem.message
