"""Validation errors as pointers into the JSON that was refused."""

from typing import Annotated, Any

import pytest
from mcp_protogen.runtime.core.models import WireModel, validator_of
from mcp_protogen.runtime.core.models.validation_errors import problems
from mcp_revisions.v2025_11_25 import models as m
from mcp_revisions.v2026_07_28.models import InputRequiredResult
from pydantic import AfterValidator, ValidationError
from support.json_types import JsonObject

KINDS = "'text', 'image', 'audio', 'resource_link', 'resource'"


def find_problems(expression: Any, value: object, prefix: str = "") -> list[tuple[str, str]]:
    with pytest.raises(ValidationError) as caught:
        validator_of(expression)(value)
    return [(problem.pointer, problem.message) for problem in problems(caught.value, value, prefix)]


def test_members_and_indexes_lead_to_the_value() -> None:
    tools: list[Any] = [{"name": "a", "inputSchema": {}}, {"name": 1, "inputSchema": {}}]
    assert find_problems(m.ListToolsResult, {"tools": tools}) == [
        ("/tools/1/name", "Input should be a valid string")
    ]


def test_wire_names_are_used_and_missing_members_named() -> None:
    assert find_problems(m.ListToolsResult, {"tools": [{"name": "a"}]}) == [
        ("/tools/0/inputSchema", "Field required")
    ]


def test_the_whole_value_is_the_empty_pointer() -> None:
    assert find_problems(m.ListToolsResult, [], "/result") == [
        ("/result", "Input should be an object")
    ]
    assert find_problems(m.ListToolsResult, []) == [("", "Input should be an object")]


def test_tags_of_an_open_union_are_no_part_of_the_pointer() -> None:
    for block, expected in [
        ({"type": "text", "text": 5}, ("/text", "Input should be a valid string")),
        ({"type": "text"}, ("/text", "Field required")),
        ({"text": "text"}, ("/type", "Field required")),
        ({"type": 5}, ("/type", f"Input should be one of {KINDS}")),
        (5, ("", "Input should be an object")),
        (
            {"type": "text", "text": "text", "annotations": {"priority": 2}},
            ("/annotations/priority", "Input should be less than or equal to 1"),
        ),
    ]:
        assert find_problems(m.CallToolResult, {"content": [block]}) == [
            ("/content/0" + expected[0], expected[1])
        ]


def test_tags_of_a_closed_union_are_no_part_of_the_pointer() -> None:
    for ref, expected in [
        ({"type": "ref/prompt"}, ("/ref/name", "Field required")),
        ({"type": "ref/resource", "uri": 1}, ("/ref/uri", "Input should be a valid string")),
        ({"type": "x"}, ("/ref/type", "Input should be one of 'ref/prompt', 'ref/resource'")),
        ({}, ("/ref/type", "Field required")),
    ]:
        params = {"ref": ref, "argument": {"name": "a", "value": "b"}}
        assert find_problems(m.CompleteRequestParams, params) == [expected]


def test_arms_of_another_json_type_are_not_heard() -> None:
    assert find_problems(m.SamplingMessage, {"role": "user", "content": [{"type": "text"}]}) == [
        ("/content/0/text", "Field required")
    ]
    assert find_problems(m.SamplingMessage, {"role": "user", "content": {"type": "text"}}) == [
        ("/content/text", "Field required")
    ]


def test_problem_of_all_alternatives_is_reported_once() -> None:
    schema: JsonObject = {"type": "object", "properties": {}}
    assert find_problems(m.ElicitRequestParams, {"mode": "form", "requestedSchema": schema}) == [
        ("/message", "Field required"),
        ("/mode", "Input should be 'url'"),
        ("/elicitationId", "Field required"),
        ("/url", "Field required"),
    ]


def test_a_tag_that_is_also_a_member_is_told_apart_by_the_value() -> None:
    class Inner(WireModel):
        resource: int | None = None
        uri: str

    class Outer(WireModel):
        resource: Inner | dict[str, int]

    assert ("/resource/uri", "Input should be a valid string") in find_problems(
        Outer, {"resource": {"resource": 1, "uri": 5.5}}
    )


def test_an_arm_that_is_called_as_a_member_without_items_is_no_part_of_the_pointer() -> None:
    class Listing(WireModel):
        items: list[str]

    class Outer(WireModel):
        listing: Listing | int

    listing = {"Listing": 5, "items": ["a", 5.5]}
    assert find_problems(Outer, {"listing": listing})[0] == (
        "/listing/items/1",
        "Input should be a valid string",
    )


def test_names_are_escaped() -> None:
    class Map(WireModel):
        values: dict[str, int]

    assert find_problems(Map, {"values": {"a/b~c": "x"}}) == [
        ("/values/a~1b~0c", "Input should be a valid integer")
    ]


def test_a_rule_about_the_whole_object_points_at_the_object() -> None:
    assert find_problems(InputRequiredResult, {"resultType": "input_required"}, "/result") == [
        ("/result", "At least one of inputRequests, requestState is required")
    ]


def test_validator_messages_are_quoted_verbatim() -> None:
    def refuse(value: int) -> int:
        assert value > 1, "too small"
        raise ValueError("not on Sundays")

    def say_nothing(value: int) -> int:
        raise ValueError

    type_: Any = Annotated[int, AfterValidator(refuse)]
    assert find_problems(type_, 5) == [("", "not on Sundays")]
    assert find_problems(type_, 0)[0][1].startswith("too small")
    silent: Any = Annotated[int, AfterValidator(say_nothing)]
    assert find_problems(silent, 5) == [("", "Input is not valid")]


def test_neither_values_nor_links_are_repeated() -> None:
    secret = "hunter2"
    value: JsonObject = {"content": [{"type": "text", "text": [secret]}], "isError": secret}
    assert secret not in str(find_problems(m.CallToolResult, value))
    assert "http" not in str(find_problems(m.CallToolResult, value))
    assert secret not in str(find_problems(m.CompleteRequestParams, {"ref": {"type": secret}}))


def test_a_search_that_finds_nothing_ends_soon() -> None:
    class Leaf(WireModel):
        leaf: int

    class Branch(WireModel):
        branch: "Branch | Leaf | None" = None

    def nest(innermost: int, *names: str) -> JsonObject:
        value: JsonObject = {"branch": innermost}
        for _ in range(60):
            value = dict.fromkeys(names, value)
        return value

    with pytest.raises(ValidationError) as caught:
        Branch.from_wire(nest(5, "branch"))
    assert problems(caught.value, nest(6, "branch", "Branch", "Leaf"))


def test_many_faults_below_a_long_name_take_no_more_than_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Many(WireModel):
        lists: dict[str, list[int]]
        objects: dict[str, dict[str, list[int] | bool]]

    name = "n" * 1000
    value: Any = {"lists": {name: ["x"] * 1000}, "objects": {name: {str(i): 1 for i in range(99)}}}
    with pytest.raises(ValidationError) as caught:
        validator_of(Many)(value)
    assert caught.value.error_count() == 3
    listed = [problem.pointer for problem in problems(caught.value, value)]
    assert set(listed) == {f"/lists/{name}/0", f"/objects/{name}/0"}
    monkeypatch.setattr("mcp_protogen.runtime.core.models.validation_errors._LONGEST", 1500)
    assert [found_problem.pointer for found_problem in problems(caught.value, value)] == listed[:1]
