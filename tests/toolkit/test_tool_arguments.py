"""Arguments of a tool: its schema, and the errors for wrong ones."""

from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from jsonschema import Draft202012Validator
from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field
from support.json_types import JsonObject
from support.revisions import REVISIONS
from support.tables import case
from support.toolkit.kits import (
    Refused,
    asking,
    call,
    kit,
    listed_tools,
    text_of,
    tool,
)


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Node(BaseModel):
    """A node of a tree."""

    name: str
    below: list["Node"] = []


@dataclass
class Span:
    first: date
    last: date


@tool
def everything(
    self: object,
    place: Annotated[str, Field(description="Name of a town.")],
    schema: Colour,
    tree: Node,
    _span: Span,
    style: Literal["short", "long"] = "short",
    days: Annotated[int, Field(ge=1, le=7, title="How long")] = 3,
    names: list[str] = [],  # noqa: B006 (shows that a default is copied, or left to Python)
    limit: int | None = None,
    size: int = Field(10, gt=0, description="How many."),
    origin: Annotated[str, Field(alias="from")] = "here",
    odd: Any = object(),  # noqa: B008
) -> str:
    """Take everything.

    This paragraph is for models, too.
    """
    told = (schema.name, tree.below[0].name if tree.below else "", _span.last.year)
    return f"{place} {told} {style} {days} {names} {limit} {size} {origin}"


Everything = kit(everything=everything)

FITTING: JsonObject = {
    "place": "Oslo",
    "schema": "red",
    "tree": {"name": "a", "below": [{"name": "b"}]},
    "_span": {"first": "2026-01-01", "last": "2026-02-01"},
}


def schema_of(function: Any) -> Any:
    """The input schema of a marked function, known to be a schema."""
    (tool,) = listed_tools(kit(function=function)()).values()
    Draft202012Validator.check_schema(tool["inputSchema"])
    return tool["inputSchema"]


def test_a_schema_says_what_the_function_says() -> None:
    tool = listed_tools(Everything())["everything"]
    assert tool["description"] == "Take everything.\n\nThis paragraph is for models, too."
    schema = tool["inputSchema"]
    Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False
    assert schema["required"] == ["place", "schema", "tree", "_span"]
    assert schema["properties"] == {
        "place": {"type": "string", "description": "Name of a town."},
        "schema": {"$ref": "#/$defs/Colour"},
        "tree": {"$ref": "#/$defs/Node"},
        "_span": {"$ref": "#/$defs/Span"},
        "style": {"type": "string", "enum": ["short", "long"], "default": "short"},
        "days": {"type": "integer", "minimum": 1, "maximum": 7, "default": 3, "title": "How long"},
        "names": {"type": "array", "items": {"type": "string"}, "default": []},
        "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
        "size": {
            "type": "integer",
            "exclusiveMinimum": 0,
            "default": 10,
            "description": "How many.",
        },
        "from": {"type": "string", "default": "here"},
        # Defaults that JSON cannot express are the function's own business.
        "odd": {},
    }
    assert schema["$defs"]["Colour"] == {"type": "string", "enum": ["red", "blue"]}
    assert "title" not in schema["$defs"]["Node"]
    assert schema["$defs"]["Node"]["description"] == "A node of a tree."


def test_arguments_arrive_as_the_types_of_the_parameters() -> None:
    answer = call(Everything(), "everything", **FITTING)
    assert text_of(answer) == "Oslo ('RED', 'b', 2026) short 3 [] None 10 here"
    more = {"days": 5, "names": ["x"], "limit": 2, "size": 1, "from": "there", "style": "long"}
    answer = call(Everything(), "everything", **FITTING, **more)
    assert text_of(answer) == "Oslo ('RED', 'b', 2026) long 5 ['x'] 2 1 there"


def test_numbers_and_truth_in_quotes_are_read_as_models_mean_them() -> None:
    @tool
    def take(self: object, count: int, share: float, sure: bool) -> str:
        return f"{count!r} {share!r} {sure!r}"

    answer = call(kit(take=take)(), "take", count="3", share="0.5", sure="true")
    assert text_of(answer) == "3 0.5 True"


@pytest.mark.shows("S2-16")
def test_without_parameters_a_tool_takes_nothing() -> None:
    @tool
    def idle(self: object) -> str:
        return "done"

    assert schema_of(idle) == {"type": "object", "additionalProperties": False}
    server = kit(idle=idle)()
    assert text_of(call(server, "idle")) == "done"
    assert call(server, "idle", more=1)["isError"] is True


@pytest.mark.shows("S2-40")
def test_argument_problems_are_readable_result() -> None:
    wrong = {**FITTING, "days": 9, "plaec": "Oslo", "tree": {"name": "a", "below": [{"name": 1}]}}
    del wrong["place"]
    answer = call(Everything(), "everything", **wrong)
    assert answer["isError"] is True
    assert text_of(answer).splitlines() == [
        "Invalid arguments for everything:",
        "/place: Field required",
        "/tree/below/0/name: Input should be a valid string, got 1",
        "/days: Input should be less than or equal to 7, got 9",
        '/plaec: Extra inputs are not permitted, got "Oslo"; did you mean place?',
    ]


@pytest.mark.parametrize("spoken", REVISIONS)
async def test_clients_up_to_2025_06_18_get_an_error_instead(spoken: str) -> None:
    async with asking(Everything(), spoken, bridged=True) as ask:
        asked = ask("tools/call", name="everything", arguments={**FITTING, "days": 0})
        if spoken > "2025-06-18":
            assert (await asked)["isError"] is True
            return
        with pytest.raises(Refused) as raised:
            await asked
        assert raised.value.code == -32602
        assert "/days: Input should be greater than" in raised.value.message
        (problem,) = raised.value.data["problems"]
        assert problem["pointer"] == "/params/arguments/days"


def test_long_values_and_many_mistakes_are_told_in_brief() -> None:
    @tool
    def take(self: object, numbers: list[int]) -> str:
        return ""

    text = text_of(call(kit(take=take)(), "take", numbers=["x" * 10_000] * 50))
    assert text.endswith("\nand more")
    assert text.count("\n") == 21
    assert max(map(len, text.splitlines())) < 250


def test_names_inside_are_not_those_that_clients_use() -> None:
    # Arguments are read as fields a0, a1, …: none of these is an argument.
    answer = call(Everything(), "everything", **FITTING, a0="x")
    assert "/a0: Extra inputs are not permitted" in text_of(answer)


def test_unfillable_parameter_is_refused_when_class_is_made() -> None:
    for parameters, reason in [
        ("self, place", "the parameter place has no annotation"),
        ("self, *places", "the parameter places takes any number of arguments"),
        ("self, **places", "the parameter places takes arguments of any name"),
        ("self, place: str, /", "the parameter place is positional-only"),
        ("", "a method takes self first, and this one takes nothing: write self before the rest"),
        ("place: str", "a method takes self first, and this one takes place: .* a @staticmethod"),
        ("*, place: str", "a method takes self first, and this one takes place: "),
        ("**places: str", "a method takes self first, and this one takes places: "),
    ]:
        with case((parameters, reason)):
            names: JsonObject = {}
            exec(f"def forecast({parameters}): ...", names)
            with pytest.raises(TypeError, match=f"^forecast: {reason}"):
                kit(forecast=tool(names["forecast"]))

    def several(self: object) -> Any:
        yield 1

    async def items_one_by_one(self: object) -> Any:
        yield 1

    for function in (several, items_one_by_one):
        with pytest.raises(TypeError, match="is a generator, but a client gets one result"):
            kit(function=tool(function))


class Opaque:
    pass


class Unfinished(BaseModel):
    more: "Nowhere"  # type: ignore  # pyright: ignore  # noqa


def test_function_that_cannot_be_a_tool_is_refused_when_the_server_is_made() -> None:
    def opaque(self: object, good: int, thing: Opaque) -> None: ...

    def late(self: object, thing: "Nowhere") -> None: ...  # type: ignore  # pyright: ignore  # noqa

    def unfinished(self: object, thing: Unfinished) -> None: ...

    def limited(self: object, thing: Annotated[str, Field(pattern="(")]) -> None: ...

    def gives(self: object) -> list[Opaque]:
        return []

    def two(self: object, a: Annotated[str, Field(alias="b")], b: str) -> None: ...

    aliases = AliasChoices("a", "b")

    def names(self: object, x: Annotated[str, Field(validation_alias=aliases)]) -> None: ...

    def default(self: object, x: Annotated[int, Field(default=3)]) -> None: ...

    rows: list[tuple[Any, str]] = [
        (opaque, "opaque: the parameter thing cannot be JSON: .*Opaque"),
        (late, "late: .*Nowhere"),  # pyright: ignore
        (unfinished, "unfinished: the parameter thing"),
        (limited, "limited: the parameter thing"),
        (gives, "gives: the return value cannot be JSON"),
        (two, "two: two parameters have the name b"),
        (names, "names: the parameter x has several aliases"),
        (default, "default: the parameter x has its default in the annotation"),
    ]
    for function, why in rows:
        with case(why), pytest.raises(TypeError, match=why):
            kit(function=tool(function))()


def test_a_parameter_in_a_header_field_has_to_have_a_type_for_it() -> None:
    in_header = Field(json_schema_extra={"x-mcp-header": "Region"})

    @tool
    def good(self: object, region: Annotated[str, in_header]) -> str:
        return region

    @tool
    def bad(self: object, region: Annotated[float, in_header]) -> str:
        return ""

    schema = listed_tools(kit(good=good)())["good"]["inputSchema"]
    assert schema["properties"]["region"]["x-mcp-header"] == "Region"
    with pytest.raises(ValueError, match="bad: the input schema at /properties/region"):
        kit(bad=bad)()


class Strict(BaseModel):
    model_config = ConfigDict(strict=True)

    on: date
    tags: set[str]
    count: int


@tool
def strictly(self: object, when: Strict, pair: tuple[int, str] = (1, "a")) -> str:
    return f"{when.on} {sorted(when.tags)} {when.count} {pair[1]}"


def test_strict_types_take_from_json_what_json_can_say() -> None:
    when = {"on": "2026-01-02", "tags": ["a"], "count": 3}
    server = kit(strictly=strictly)()
    assert text_of(call(server, "strictly", when=when)) == "2026-01-02 ['a'] 3 a"
    answer = call(server, "strictly", when={**when, "count": "3"})
    assert text_of(answer).splitlines()[1:] == [
        '/when/count: Input should be a valid integer, got "3"'
    ]


def test_missing_array_item_is_named_by_place() -> None:
    when: JsonObject = {"on": "2026-01-02", "tags": [], "count": 3}
    answer = call(kit(strictly=strictly)(), "strictly", when=when, pair=[1])
    assert text_of(answer).splitlines()[1:] == ["/pair/1: Field required"]


def test_a_validator_that_breaks_is_a_tool_that_fails(caplog: pytest.LogCaptureFixture) -> None:
    def broken(value: object) -> Any:
        raise KeyError("the password is 1234")

    @tool
    def take(self: object, x: Annotated[int, BeforeValidator(broken)]) -> str:
        return str(x)

    answer = call(kit(take=take)(), "take", x=1)
    assert (answer["isError"], text_of(answer)) == (True, "take failed.")
    assert "the password is 1234" in caplog.text
