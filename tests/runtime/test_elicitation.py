"""A user's input against the request of a form, beside a full JSON Schema validator."""

from typing import Any

import jsonschema
from hypothesis import given
from hypothesis import strategies as st
from mcp_protogen.runtime.core.forms import fit_answer, problems_of
from support.json_types import Json, JsonObject
from support.tables import case

TITLED = [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]
MEMBERS: list[JsonObject] = [
    {"type": "string"},
    {"type": "string", "minLength": 1, "maxLength": 2},
    {"type": "string", "enum": ["a", "b"]},
    {"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"]},
    {"type": "string", "oneOf": TITLED},
    {"type": "number", "minimum": 0, "maximum": 2.5},
    {"type": "integer", "minimum": -1},
    {"type": "boolean", "default": True},
    {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "maxItems": 1},
    {"type": "array", "items": {"anyOf": TITLED}, "minItems": 1},
]
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.floats(-3, 3),
    st.text("abc", max_size=3),
    st.lists(st.sampled_from(["a", "b", "c", 1]), max_size=2),
    st.just({}),
)


def form(properties: JsonObject, required: set[str], others: Any) -> JsonObject:
    schema = {"type": "object", "properties": properties, "required": sorted(required)}
    return schema if others is None else {**schema, "additionalProperties": others}


SCHEMAS = st.builds(
    form,
    st.dictionaries(st.sampled_from("pqr"), st.sampled_from(MEMBERS), max_size=3),
    st.sets(st.sampled_from("pqrs")),
    st.sampled_from([None, True, False]),
)


@given(SCHEMAS, st.dictionaries(st.sampled_from("pqrst"), VALUES, max_size=4))
def test_form_check_agrees_with_full_validator(schema: Any, content: Any) -> None:
    validator: Any = jsonschema.Draft202012Validator(schema)
    valid = validator.is_valid(content)
    assert (problems_of(content, schema, "") == []) == valid


def test_problems_name_place_and_reason() -> None:
    rows: list[tuple[Json, Json]] = [
        ([], [("/at", "Input should be an object")]),
        ({}, [("/at/age~1x", "Field required")]),
        ({"age/x": "1"}, [("/at/age~1x", "Input should be an integer")]),
        ({"age/x": 1.0}, []),
        ({"age/x": float("inf")}, [("/at/age~1x", "Input should be an integer")]),
        ({"age/x": 7}, [("/at/age~1x", "Should be at most 5")]),
    ]
    for content, expected in rows:
        with case((content, expected)):
            member = {"type": "integer", "maximum": 5}
            schema = {"type": "object", "properties": {"age/x": member}, "required": ["age/x"]}
            assert [tuple(problem) for problem in problems_of(content, schema, "/at")] == expected


def test_a_boolean_has_no_bounds() -> None:
    for keyword in ("", "minimum", "maxLength"):
        with case(keyword):
            schema = form({"p": {"type": "boolean", keyword: "x"}}, set(), None)
            assert problems_of({"p": True}, schema, "") == []


def test_url_answer_carries_no_content() -> None:
    answer = {"action": "accept", "content": {"password": "x"}, "_meta": {}}
    asked = {"mode": "url", "message": "?", "url": "https://a"}
    assert fit_answer(answer, asked, asked) == {"action": "accept", "_meta": {}}


def test_a_text_that_names_more_than_there_is_to_choose_stays_a_text() -> None:
    choices = {"type": "array", "items": {"type": "string", "enum": ["a", "b, c", "d"]}}

    def keep_choice(text: str) -> Any:
        asked, shown = (
            {"requestedSchema": form({"x": member}, set(), None)}
            for member in (choices, {"type": "string"})
        )
        return fit_answer({"action": "accept", "content": {"x": text}}, asked, shown)["content"][
            "x"
        ]

    assert keep_choice("d, b, c, a") == ["d", "b, c", "a"]
    assert keep_choice("a, b, c, d,") == ["a", "b, c", "d"]
    for many in ("," * 5, "a, b, c, d, a, d", "a," * 1000):
        assert keep_choice(many) == many
