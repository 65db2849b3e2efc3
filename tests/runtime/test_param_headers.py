"""The arguments of a tool that are repeated in header fields, and their comparison."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_protogen.runtime.core.json_pointers import ABSENT, value_at
from mcp_protogen.runtime.http.headers import agrees, headers_for, text_of
from mcp_protogen.runtime.rules.param_headers import BadAnnotation, HeaderParam, header_params
from support.json_types import Json, JsonObject
from support.tables import case


def header_property(header: Any = "Region", type: Any = "string", **more: Any) -> JsonObject:
    """A property that is to be repeated."""
    return {"type": type, "x-mcp-header": header, **more}


def with_properties(**properties: Any) -> JsonObject:
    return {"type": "object", "properties": properties}


def test_marked_properties_are_found_also_inside_others() -> None:
    inner = with_properties(id=header_property("Id", "integer"), plain={"type": "string"})
    schema = with_properties(
        region=header_property(), inner=inner, on=header_property("On", "boolean")
    )
    assert header_params(schema) == (
        HeaderParam(("region",), "mcp-param-region", "string"),
        HeaderParam(("inner", "id"), "mcp-param-id", "integer"),
        HeaderParam(("on",), "mcp-param-on", "boolean"),
    )


def test_most_schemas_mark_nothing() -> None:
    values: list[Json] = [True, None, {}, [], "x", {"type": "object"}]
    for schema in values:
        assert header_params(schema) == ()


def test_a_property_may_have_the_name_of_a_keyword() -> None:
    names = ["x-mcp-header", "const", "items", "properties", "$defs", "default"]
    schema = with_properties(**{name: header_property(f"N{at}") for at, name in enumerate(names)})
    assert [param.path for param in header_params(schema)] == [(name,) for name in names]
    assert header_params(with_properties(**{"x-mcp-header": {"type": "string"}})) == ()


def test_data_inside_a_schema_is_no_schema() -> None:
    for keyword in ["const", "default", "enum", "examples"]:
        with case(keyword):
            data = {"x-mcp-header": "", "properties": {"a": header_property("")}}
            assert header_params(with_properties(a={keyword: [data]})) == ()
            assert header_params({keyword: data}) == ()


def test_a_name_that_no_header_field_can_have_is_refused() -> None:
    for header in ["", "a b", "a:b", "é", "a\n", "a\r\nb", "\x00", None, 5, ["a"]]:
        with (
            case(header),
            pytest.raises(BadAnnotation, match=r"^/properties/a~1b/x-mcp-header: must be the name"),
        ):
            header_params(with_properties(**{"a/b": header_property(header)}))


def test_only_strings_integers_and_booleans_are_repeated() -> None:
    values: list[Json] = ["number", "object", "array", "null", None, ["string"], 1, {}]
    for type in values:
        with case(type), pytest.raises(BadAnnotation, match="needs a property of type"):
            header_params(with_properties(a=header_property(type=type)))


def test_names_are_unique_whatever_their_case() -> None:
    with pytest.raises(BadAnnotation, match=r"^/properties/b/x-mcp-header: another property"):
        header_params(with_properties(a=header_property("Region"), b=header_property("rEGION")))


HIDDEN: list[JsonObject] = [
    {"items": header_property()},
    {"items": with_properties(a=header_property())},
    {"prefixItems": [header_property()]},
    {"additionalProperties": header_property()},
    {"oneOf": [with_properties(a=header_property())]},
    {"anyOf": [header_property()]},
    {"allOf": [{"properties": {"a": header_property()}}]},
    {"not": {"properties": {"a": header_property()}}},
    {"if": {"properties": {"a": header_property()}}},
    {"$defs": {"a": header_property()}},
    {"$defs": {"properties": {"properties": {"a": header_property()}}}},
    {"patternProperties": {"^a": header_property()}},
    {"dependentSchemas": {"a": header_property()}},
    {"x-unknown": {"deep": [[header_property()]]}},
    {"properties": [header_property()]},
]


def test_a_mark_where_no_argument_is_reached_is_refused() -> None:
    for schema in HIDDEN:
        with case(schema):
            for whole in (schema, with_properties(a=schema)):
                with pytest.raises(BadAnnotation, match="on a property of the arguments"):
                    header_params(whole)


def test_a_mark_on_the_whole_schema_is_refused() -> None:
    with pytest.raises(BadAnnotation, match=r"^/x-mcp-header: is only allowed on a property"):
        header_params(header_property())


def test_a_schema_without_end_is_refused() -> None:
    endless: JsonObject = {"type": "object"}
    endless["properties"] = {"a": endless, "b": endless}
    with pytest.raises(BadAnnotation, match="too large"):
        header_params(endless)


def test_a_schema_deeper_than_the_stack_is_refused() -> None:
    deep: JsonObject = {}
    for _ in range(100_000):
        deep = {"items": deep}
    try:
        with pytest.raises(BadAnnotation, match="too large"):
            header_params(deep)
    finally:
        # Taken apart by hand: pytest's report would recurse through it.
        while deep:
            deep = deep.pop("items")


def test_an_argument_as_text() -> None:
    rows: list[tuple[Json, Json]] = [
        ("", ""),
        ("a b", "a b"),
        (True, "true"),
        (False, "false"),
        (0, "0"),
        (-7, "-7"),
        (42.0, "42"),
        (2**53 - 1, "9007199254740991"),
        (1 - 2**53, "-9007199254740991"),
        (2**53, None),
        (-(2**53), None),
        (1e300, None),
        (1.5, None),
        (None, None),
        ([], None),
        ({}, None),
    ]
    for value, text in rows:
        assert text_of(value) == text


def test_an_argument_is_found_at_its_exact_path() -> None:
    assert value_at({"a": {"b": 1}}, ("a", "b")) == 1
    others: list[Any] = [{"a": 1}, {"a": [{"b": 1}]}, {"a.b": 1}, {}, None, []]
    for arguments in others:
        assert value_at(arguments, ("a", "b")) is ABSENT


TEXT = HeaderParam(("a",), "mcp-param-a", "string")
NUMBER = HeaderParam(("a",), "mcp-param-a", "integer")
TRUTH = HeaderParam(("a",), "mcp-param-a", "boolean")


def test_a_field_and_an_argument_agree_or_are_both_silent() -> None:
    for param, header, arguments, agree in [
        (TEXT, None, {}, True),
        (TEXT, None, None, True),
        (TEXT, None, {"a": None}, True),
        (TEXT, "", {"a": ""}, True),
        (TEXT, "x", {"a": "x"}, True),
        (TEXT, "=?base64?eA==?=", {"a": "x"}, True),
        (TEXT, "=?base64?eA=?=", {"a": "x"}, False),
        (TEXT, "X", {"a": "x"}, False),
        (TEXT, "x", {}, False),
        (TEXT, "", {"a": None}, False),
        (TEXT, None, {"a": "x"}, False),
        (TEXT, "42.0", {"a": "42"}, False),
        (NUMBER, "42", {"a": 42}, True),
        (NUMBER, "42.0", {"a": 42}, True),
        (NUMBER, "42", {"a": 42.0}, True),
        (NUMBER, "-7.00", {"a": -7}, True),
        (NUMBER, "42.5", {"a": 42}, False),
        (NUMBER, "43", {"a": 42}, False),
        (NUMBER, "4" * 5000, {"a": 42}, False),
        (NUMBER, "4.2e1", {"a": 42}, False),
        (NUMBER, "0x2a", {"a": 42}, False),
        (NUMBER, "x", {"a": "y"}, False),
        (TRUTH, "true", {"a": True}, True),
        (TRUTH, "True", {"a": True}, False),
        (TRUTH, "1", {"a": True}, False),
        (TRUTH, "false", {"a": False}, True),
    ]:
        assert agrees(param, header, arguments) is agree


SCALARS = st.text(st.characters(exclude_categories=["Cs"])) | st.integers() | st.booleans()


@given(SCALARS | st.none() | st.floats(allow_nan=False))
def test_server_accepts_headers_written_by_client(value: object) -> None:
    for param in (TEXT, NUMBER):
        headers = headers_for([param], {"a": value})
        assert agrees(param, headers.get("mcp-param-a"), {"a": value})
