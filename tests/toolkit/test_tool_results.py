"""What becomes of what a tool returns, or raises."""

import logging
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from json import dumps
from typing import Annotated, Any, Literal

import pytest
from jsonschema import Draft202012Validator
from mcp_protogen.runtime.messages.method_table import MethodTable
from pydantic import BaseModel, Field, PlainSerializer, computed_field
from pydantic_core import from_json
from support.revisions import ERAS, HANDSHAKE, OLD, REVISIONS, STATELESS
from support.tables import case
from support.toolkit.kits import (
    ToolError,
    Toolkit,
    call,
    kit,
    listed_tools,
    mcp,
    pkg,
    text_of,
    tool,
)
from typing_extensions import TypedDict

m: Any = mcp.models


class Forecast(BaseModel):
    place: str
    celsius: Annotated[float, Field(ge=-273)] = 20.0


@dataclass
class Point:
    x: int
    y: int


class Labelled(TypedDict):
    label: str


class Node(BaseModel):
    below: list["Node"] = []


class Length(BaseModel):
    """Is written otherwise than it is read."""

    metres: Annotated[int, PlainSerializer(lambda metres: f"{metres} m", return_type=str)]


class Visit(BaseModel):
    on: date
    tags: set[str]
    at: tuple[float, int]
    price: Decimal = Decimal("1.50")


class Area(BaseModel):
    side: int

    @computed_field
    def area(self) -> int:
        return self.side**2


def validator_of(schema: Any) -> Any:
    """What checks values with a schema."""
    return Draft202012Validator(schema)


def returning(value: Any, annotation: Any, revision: str = OLD, **options: Any) -> Any:
    """A server whose tool returns this value, and is annotated so."""

    def function(self: object) -> Any:
        return value

    function.__annotations__["return"] = annotation
    if annotation is ...:
        del function.__annotations__["return"]
    return kit(revision, function=tool(**options)(function))()


def answer_with(value: object, annotation: Any, revision: str = OLD, **options: Any) -> Any:
    server = returning(value, annotation, revision, **options)
    return call(server, "function", revision)


OBJECTS: list[tuple[Any, Any, Any]] = [
    (Forecast(place="Oslo"), Forecast, {"place": "Oslo", "celsius": 20.0}),
    ({"place": "Oslo"}, Forecast, {"place": "Oslo", "celsius": 20.0}),
    (
        Visit(on=date(2026, 1, 2), tags={"a"}, at=(1, 2)),
        Visit,
        {"on": "2026-01-02", "tags": ["a"], "at": [1, 2], "price": "1.50"},
    ),
    (Point(1, 2), Point, {"x": 1, "y": 2}),
    ({"label": "a"}, Labelled, {"label": "a"}),
    ({"a": 1}, dict[str, int], {"a": 1}),
    (Node(below=[Node()]), Node, {"below": [{"below": []}]}),
    (Area(side=3), Area, {"side": 3, "area": 9}),
    (Length(metres=3), Length, {"metres": "3 m"}),
]
VALUES: list[tuple[Any, Any, Any]] = [
    ([1, 2], list[int], [1, 2]),
    ([Point(1, 2)], list[Point], [{"x": 1, "y": 2}]),
    (["a"], list[str], ["a"]),
    (3, int, 3),
    (2.5, float, 2.5),
    (True, bool, True),
    ("hello", str, "hello"),
    ('"a"', Annotated[str, "why not"], '"a"'),
    ("a", str | None, "a"),
    (None, str | None, None),
    ("1", str | int, "1"),
    ("b", Literal["a", "b"], "b"),
    (None, None, None),
    (None, Forecast | None, None),
    (Forecast(place="Oslo"), Forecast | Point, {"place": "Oslo", "celsius": 20.0}),
]


@pytest.mark.shows("S2-35", "S2-36")
@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize(("value", "annotation", "wire"), OBJECTS + VALUES)
def test_structured_result_has_schema_and_same_text(
    value: object, annotation: Any, wire: Any, revision: str
) -> None:
    server = returning(value, annotation, revision)
    tool = listed_tools(server, revision)["function"]
    answer = call(server, "function", revision)
    if revision < "2025-06-18":
        # There is nothing structured yet.
        assert "outputSchema" not in tool
        assert "structuredContent" not in answer
        said = text_of(answer)
        assert (said if isinstance(wire, str) else from_json(said)) == wire
        return
    is_object = any(row[1] is annotation for row in OBJECTS)
    expected = wire if is_object or revision not in HANDSHAKE else {"result": wire}
    assert answer["structuredContent"] == expected
    if isinstance(wire, str):
        # A model is shown the text itself, and no JSON.
        assert text_of(answer) == wire
    else:
        assert from_json(text_of(answer)) == expected
    assert (tool["outputSchema"].get("type") == "object") or revision not in HANDSHAKE
    validator_of(tool["outputSchema"]).validate(expected)


def test_content_stays_content() -> None:
    for value, annotation, blocks in [
        (m.TextContent(text="a"), m.TextContent, [m.TextContent(text="a")]),
        (
            [m.ImageContent(data="AA==", mime_type="image/png"), "and so on"],
            list[m.ImageContent | str],
            [m.ImageContent(data="AA==", mime_type="image/png"), m.TextContent(text="and so on")],
        ),
        ([m.TextContent(text="a")], list[m.ContentBlock], [m.TextContent(text="a")]),
        ((m.TextContent(text="a"),), ..., [m.TextContent(text="a")]),
        (
            ["a", "b"],
            list[m.ImageContent | str],
            [m.TextContent(text="a"), m.TextContent(text="b")],
        ),
        (None, ..., []),
        ("a", ..., [m.TextContent(text="a")]),
        ([], list[m.ContentBlock], []),
    ]:
        with case((value, annotation, blocks)):
            server = returning(value, annotation)
            assert "outputSchema" not in listed_tools(server)["function"]
            answer = call(server, "function")
            assert answer == {"content": [block.to_wire() for block in blocks]}


BARE: Any = list
OPEN = [..., Any, object, BARE, list[Any], tuple, tuple[Any, ...], Sequence[Any], BARE | None]


def test_without_an_annotation_objects_are_structured_and_the_rest_is_text() -> None:
    for annotation in OPEN:
        assert answer_with({"a": 1}, annotation)["structuredContent"] == {"a": 1}
        assert answer_with([1], annotation) == {"content": [{"type": "text", "text": "[1]"}]}
        # A list of texts is a list, which a block of content in it would make content.
        assert text_of(answer_with(["a", "b"], annotation)) == '["a","b"]'
        assert answer_with([1], annotation, STATELESS)["structuredContent"] == [1]
        assert "structuredContent" not in answer_with({"a": 1}, annotation, "2025-03-26")
        # JSON has no word for it.
        nan = text_of(answer_with([float("nan")], annotation))
        assert nan == "function returned a value that is not JSON: /0: nan is not valid in JSON."


def test_a_whole_result_goes_out_as_it_is() -> None:
    result = m.CallToolResult(content=[], meta={"a": 1}, structured_content={"b": 2})
    assert answer_with(result, m.CallToolResult) == result.to_wire()
    assert answer_with(result, ...) == result.to_wire()


def test_tool_of_a_plain_type_may_return_a_result_of_its_own() -> None:
    failed = m.CallToolResult(content=[], is_error=True)
    for annotation in (str, int, bool):
        with case(annotation):
            assert answer_with(failed, annotation) == failed.to_wire()


def test_a_whole_result_beside_a_type_is_held_to_its_schema() -> None:
    annotation = Forecast | m.CallToolResult
    schema = listed_tools(returning(None, annotation))["function"]["outputSchema"]
    assert schema["required"] == ["place"]
    fits = m.CallToolResult(content=[], structured_content={"place": "Oslo"})
    failed = m.CallToolResult(content=[], is_error=True)
    assert answer_with(fits, annotation) == fits.to_wire()
    assert answer_with(failed, annotation) == failed.to_wire()
    for wrong in (
        m.CallToolResult(content=[]),
        m.CallToolResult(content=[], structured_content=None),
        m.CallToolResult(content=[], structured_content={"place": 1}),
        # Read with allowance it would be a number, but the schema makes none.
        m.CallToolResult(content=[], structured_content={"place": "Oslo", "celsius": "1"}),
    ):
        assert text_of(answer_with(wrong, annotation)) == UNFIT


def test_absent_value_is_not_null() -> None:
    for revision in ERAS:
        with case(revision):
            models = pkg.load(revision).models
            annotation = Forecast | None | models.CallToolResult
            absent = models.CallToolResult(content=[])
            assert text_of(answer_with(absent, annotation, revision)) == UNFIT
            null = None if revision not in HANDSHAKE else {"result": None}
            result = models.CallToolResult(content=[], structured_content=null)
            assert answer_with(result, annotation, revision)["structuredContent"] == null
            if revision == OLD:
                empty = models.CallToolResult(content=[], structured_content={})
                assert text_of(answer_with(empty, annotation)) == UNFIT


UNFIT = "function returned a value that its output schema does not allow."


def invalid_forecast() -> Forecast:
    """Return an invalid forecast."""
    forecast = Forecast(place="Oslo")
    forecast.celsius = -300
    return forecast


@pytest.mark.parametrize(
    ("value", "annotation"),
    [
        ({"place": 1}, Forecast),
        (Forecast.model_construct(place=1), Forecast),
        (Forecast.model_construct(), Forecast),
        (invalid_forecast(), Forecast),
        ([invalid_forecast()], list[Forecast]),
        ("many", int),
        ([1, "x"], list[int]),
        (float("nan"), float),
        (None, Forecast),
        (Point("a", "b"), Point),  # type: ignore[arg-type]
        (object(), ...),
        (Visit.model_construct(on="x", tags=set(), at=(1, 2)), Visit),
    ],
)
@pytest.mark.parametrize("revision", ["2025-03-26", OLD])
def test_unfitting_result_is_not_sent(
    value: object, annotation: Any, revision: str, caplog: pytest.LogCaptureFixture
) -> None:
    answer = answer_with(value, annotation, revision)
    assert answer["isError"] is True
    assert text_of(answer) == UNFIT
    assert "structuredContent" not in answer
    (record,) = (entry for entry in caplog.records if "toolkit" in entry.name)
    assert record.levelno == logging.ERROR
    assert (
        "the tool function returned a value that its schema does not allow" in record.getMessage()
    )


def raising(error: BaseException, revision: str = OLD) -> Any:
    @tool
    async def function(self: object) -> str:
        raise error

    return kit(revision, function=function)()


def test_a_tool_error_is_told_to_the_model() -> None:
    answer = call(raising(ToolError("Nobody knows.")), "function")
    assert answer == {"content": [{"type": "text", "text": "Nobody knows."}], "isError": True}


def test_any_other_exception_stays_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    answer = call(raising(ValueError("the password is 1234")), "function")
    assert answer == {"content": [{"type": "text", "text": "function failed."}], "isError": True}
    assert "the password is 1234" in caplog.text


def test_a_function_may_be_marked_and_still_be_called() -> None:
    class Adder(Toolkit, mcp.Server):
        @tool
        def add(self, a: int, b: int) -> int:
            return a + b

        def multiply(self, a: int, b: int) -> int:
            return a * b

        @tool
        @staticmethod
        def twice(a: int) -> int:
            return 2 * a

        @staticmethod
        @tool
        def thrice(a: int) -> int:
            return 3 * a

        @classmethod
        @tool
        def name(cls) -> str:
            return cls.__name__

    adder: Any = Adder()
    assert (adder.add(1, 2), adder.twice(2), adder.thrice(2), adder.name()) == (3, 4, 6, "Adder")
    assert text_of(call(adder, "twice", a=4)) == '{"result":8}'
    assert text_of(call(adder, "thrice", a=4)) == '{"result":12}'
    assert text_of(call(adder, "name")) == "Adder"
    adder.add = adder.multiply
    assert text_of(call(adder, "add", a=4, b=5)) == '{"result":20}'


SIMPLE: list[tuple[Any, Any]] = [
    *((text, str) for text in ("", "a", '"', "\\n\n\x00", "é 🌍 \u2028", "{}", "%b", '"{}"')),
    *((number, int) for number in (0, -1, 10**30, "3", True)),
    *((flag, bool) for flag in (True, False, "yes")),
    *((wrong, kind) for wrong, kind in (("x", int), (3, str), ("\ud800", str), (None, bool))),
]


def test_a_simple_value_is_written_as_whoever_stands_between_would_see_it() -> None:
    seen: list[Any] = []

    async def around(server: Any, call: Any, next: Any) -> Any:
        result = await next(call)
        if call.method == "tools/call":
            seen.append(result)
        return result

    async def on_call_tool(server: Any, session: Any, params: Any) -> Any:
        seen.append(await Toolkit.on_call_tool(server, session, params))
        return seen[-1]

    for revision in REVISIONS:
        for value, annotation in SIMPLE:
            with case((revision, value, annotation)):
                plain: Any = returning(value, annotation, revision).__class__
                servers: list[Any] = [
                    type("Between", (plain,), members)()
                    for members in ({}, {"around": around}, {"on_call_tool": on_call_tool}, {})
                ]
                servers[-1].on_call_tool = on_call_tool.__get__(servers[-1])
                found = [call(kit_server, "function", revision) for kit_server in servers]
                # The order of members is the same, too.
                assert len({dumps(answer) for answer in found}) == 1
    assert len(seen) == 3 * len(REVISIONS) * len(SIMPLE)
    assert all(text_of(answer.to_wire()) == answer.text for answer in seen)


def test_tools_are_refused_where_nothing_says_what_their_results_are_like() -> None:
    # The generator warns of such a revision: it has no facts, and its results show nothing.
    table = pkg.load(OLD).Server.TABLE
    call_tool = table.requests["tools/call"]
    unlike = copy(call_tool)
    object.__setattr__(unlike, "results", (m.EmptyResult,))
    strange = MethodTable(
        "2030-01-01",
        requests={**table.requests, "tools/call": unlike},
        notifications=table.notifications,
        errors=table.errors,
        input_requests=table.input_requests,
        rules=table.rules,
    )

    class Strange(Toolkit, mcp.Server):
        TABLE = strange

        @tool
        def add(self) -> int:
            return 1

    wrong = "MCP 2030-01-01 cannot have tools: nothing says where its EmptyResult has what a tool"
    with pytest.raises(TypeError, match=wrong):
        Strange()
