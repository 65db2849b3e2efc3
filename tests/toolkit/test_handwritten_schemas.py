"""Schemas written by hand: valid in their dialect, and checked before and after the call."""

import socket
import sys
from itertools import product
from typing import Any

import pytest
from support.json_types import JsonObject
from support.revisions import OLD, STATELESS
from support.tables import case
from support.toolkit.kits import call, kit, listed_tools, text_of, tool

TOWN: JsonObject = {
    "type": "object",
    "properties": {"place": {"type": "string"}, "days": {"$ref": "#/$defs/days"}},
    "required": ["place"],
    "$defs": {"days": {"type": "integer", "maximum": 7}},
}


def taking(schema: Any, revision: str = OLD, **options: Any) -> Any:
    """A server whose tool takes whatever fits, and gives it back."""

    @tool(input_schema=schema, **options)
    async def echo(self: object, arguments: JsonObject) -> Any:
        return {"echo": arguments}

    return kit(revision, echo=echo)


def giving(schema: Any, value: Any, revision: str = OLD) -> Any:
    """A server whose tool gives a value."""

    @tool(output_schema=schema)
    def give(self: object) -> Any:
        return value

    return kit(revision, give=give)


def test_arguments_come_as_they_are_and_are_checked_before() -> None:
    server = taking(TOWN)()
    assert listed_tools(server)["echo"]["inputSchema"] == TOWN
    fits = {"place": "Oslo", "more": [1.5, None]}
    assert call(server, "echo", **fits)["structuredContent"] == {"echo": fits}
    answer = call(server, "echo", days=9)
    assert answer["isError"] is True
    assert text_of(answer).splitlines() == [
        "Invalid arguments for echo:",
        "/: 'place' is a required property",
        "/days: 9 is greater than the maximum of 7, got 9",
    ] or text_of(answer).splitlines()[1:] == [
        "/days: 9 is greater than the maximum of 7, got 9",
        "/: 'place' is a required property",
    ]


# Draft 7 has arrays of schemas in `items`, and knows no `prefixItems`; 2020-12 the other way round.
PAIR = {"items": [{"type": "integer"}, {"type": "string"}]}
DRAFT_7 = "http://json-schema.org/draft-07/schema#"


@pytest.mark.shows("S2-14")
def test_without_a_dialect_a_schema_is_of_2020_12() -> None:
    pair = {"type": "array", "prefixItems": [{"type": "integer"}], "items": {"type": "string"}}
    server = taking({"type": "object", "properties": {"pair": pair}})()
    assert "isError" not in call(server, "echo", pair=[1, "a"])
    assert call(server, "echo", pair=["a", "a"])["isError"] is True
    assert call(server, "echo", pair=[1, 2])["isError"] is True
    with pytest.raises(
        ValueError, match="the input schema is not a valid schema: /properties/pair/items"
    ):
        taking({"type": "object", "properties": {"pair": {"type": "array", **PAIR}}})()


@pytest.mark.shows("S2-15")
def test_named_dialect_applies() -> None:
    for fragment in ["", "#"]:
        with case(fragment):
            schema = {
                "$schema": DRAFT_7.removesuffix("#") + fragment,
                "type": "object",
                "properties": {"pair": {"type": "array", **PAIR}},
            }
            server = taking(schema)()
            assert "isError" not in call(server, "echo", pair=[1, "a"])
            assert call(server, "echo", pair=[1, 2])["isError"] is True


@pytest.mark.shows("S2-17")
def test_output_schemas_follow_the_same_rules() -> None:
    schema = {"$schema": DRAFT_7, "type": "object", "properties": {"pair": PAIR}}
    assert call(giving(schema, {"pair": [1, "a"]})(), "give")["structuredContent"]
    assert call(giving(schema, {"pair": [1, 2]})(), "give")["isError"] is True
    with pytest.raises(
        ValueError, match="give: the output schema uses the unsupported dialect https://x"
    ):
        giving({"$schema": "https://x", "type": "object"}, {})()


def test_any_root_is_allowed_where_any_value_is_structured() -> None:
    schema = {"type": "array", "items": {"type": "integer"}}
    answer = call(giving(schema, [1, 2], STATELESS)(), "give", STATELESS)
    assert answer["structuredContent"] == [1, 2]
    with pytest.raises(ValueError, match='output schema must have "type": "object" at its root'):
        giving(schema, [1])()


def test_arguments_are_an_object_everywhere() -> None:
    for revision in (OLD, STATELESS):
        with pytest.raises(ValueError, match='input schema must have "type": "object"'):
            taking({"properties": {}}, revision)()


@pytest.mark.parametrize(
    "reference", ["https://example.com/town.json", "#/$defs/nowhere", "town.json", "#nowhere"]
)
def test_references_lead_nowhere_else_and_nothing_is_fetched(
    reference: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no(*_: object, **__: Any) -> Any:
        raise AssertionError("somebody wants to go out")

    monkeypatch.setattr(socket.socket, "connect", no)
    monkeypatch.setattr(socket, "getaddrinfo", no)
    schema = {"type": "object", "properties": {"a": {"anyOf": [{"$ref": reference}]}}}
    with pytest.raises(
        ValueError, match="is not in the schema; references are never fetched"
    ) as raised:
        taking(schema)()
    assert repr(reference) in str(raised.value)


def test_references_within_a_schema_are_followed() -> None:
    schema = {
        "$id": "https://example.com/root.json",
        "type": "object",
        "properties": {
            "town": {"$ref": "town.json"},
            "self": {"$ref": "#"},
            "schema": {"$ref": "https://json-schema.org/draft/2020-12/schema"},
        },
        "$defs": {"town": {"$id": "town.json", "type": "string"}},
    }
    server = taking(schema)()
    assert "isError" not in call(server, "echo", town="Oslo", self={"town": "Oslo"})
    assert call(server, "echo", self={"town": 1})["isError"] is True
    assert call(server, "echo", schema={"type": 1})["isError"] is True


def test_a_schema_that_refers_to_itself_without_end_ends() -> None:
    server = taking({"type": "object", "$ref": "#"})()
    answer = call(server, "echo")
    assert "nested too deeply" in text_of(answer)


def test_missing_jsonschema_is_reported_for_handwritten_schema(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "jsonschema", None)
    needs = "needs the package jsonschema: pip install jsonschema"
    with pytest.raises(ImportError, match=f"echo: the input schema .*{needs}"):
        taking(TOWN)()
    with pytest.raises(ImportError, match=f"give: the output schema .*{needs}"):
        giving(TOWN, {})()

    @tool
    def typed(self: object, place: str) -> dict[str, int]:
        return {place: 1}

    # Types need only Pydantic.
    assert call(kit(typed=typed)(), "typed", place="a")["structuredContent"] == {"a": 1}


def test_the_function_takes_all_arguments_as_one() -> None:
    @tool(input_schema={"type": "object"})
    def two(self: object, place: str, days: int) -> str:
        return ""

    with pytest.raises(TypeError, match="two: with a handwritten schema it must take one param"):
        kit(two=two)()


def test_a_pattern_that_nobody_here_can_read_is_refused() -> None:
    for place, pattern in product(["properties", "aside"], ["(", r"\p{Nothing}"]):
        with case((place, pattern)):
            text = {"type": "string", "pattern": pattern}
            schema = {"type": "object", "properties": {"x": text}}
            if place == "aside":
                schema = {
                    "type": "object",
                    "properties": {"x": {"$ref": "#/texts/x"}},
                    "texts": {"x": text},
                }
            with pytest.raises(
                ValueError, match=r"is not a valid schema: .*pattern: .* is not a 'regex'"
            ):
                taking(schema)()


def test_parts_in_places_of_their_own_are_read_as_schemas_too() -> None:
    parts: JsonObject = {"x": {"type": "integer"}, "y": {"$ref": "https://example.com/y"}}

    def with_reference(name: str) -> Any:
        reference = {"$ref": f"#/components/{name}"}
        return {"type": "object", "properties": {"x": reference}, "components": parts}

    assert call(taking(with_reference("x"))(), "echo", x="a")["isError"] is True
    with pytest.raises(ValueError, match=r"'https://example.com/y', which is not in the schema"):
        taking(with_reference("y"))()
    parts["z"] = 3
    with pytest.raises(ValueError, match="'#/components/z', which is not a schema"):
        taking(with_reference("z"))()


def test_a_dialect_is_named_at_the_root_alone() -> None:
    inner = {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "string"}
    with pytest.raises(ValueError, match=r"has .schema below its root"):
        taking({"type": "object", "properties": {"x": inner}})()


@pytest.mark.parametrize("dialect", [DRAFT_7, "https://json-schema.org/draft/2020-12/schema"])
def test_checking_ends_though_a_schema_doubles_its_work_at_every_step(
    dialect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_protogen.runtime.core.schema_validation._FOLLOWED", 1_000)
    steps: JsonObject = {"s0": {"type": "string"}}
    for number in range(1, 40):
        steps[f"s{number}"] = {"allOf": [{"$ref": f"#/$defs/s{number - 1}"}] * 2}
    last = {"x": {"$ref": "#/$defs/s39"}, "y": {"$ref": "#/$defs/s3"}}
    schema = {"$schema": dialect, "type": "object", "properties": last, "$defs": steps}
    server = taking(schema)()
    assert "refers to itself more than 1,000 times" in text_of(call(server, "echo", x="a"))
    # The work for one value does not count for the next.
    for _ in range(100):
        assert "isError" not in call(server, "echo", y="a")
