"""Prompts and completions."""

from collections.abc import Iterator, Mapping
from enum import Enum, IntEnum
from itertools import count
from typing import Annotated, Any, Literal

import pytest
from pydantic import AfterValidator, Field
from support.json_types import JsonObject
from support.revisions import OLD, REVISIONS
from support.tables import case
from support.toolkit.kits import Refused, answers, kit, mcp, prompt, resource

m: Any = mcp.models


class Colour(Enum):
    RED = "red"
    REDDISH = "reddish"
    BLUE = "blue"


def not_13(size: int) -> int:
    if size == 13:
        raise ValueError("nobody takes 13")
    return size


@prompt(title="Pack")
def pack(
    self: object,
    place: Annotated[str, Field(description="Where to.", title="Place")],
    days: int = 3,
    style: Literal["short", "long"] = "short",
    things: list[str] = [],  # noqa: B006
    sure: bool = True,
    start: Annotated[str, Field(alias="from")] = "here",
    size: Annotated[int, AfterValidator(not_13)] = Field(10, gt=0),
) -> str:
    """What to pack."""
    return f"{place} {days!r} {style} {things} {sure!r} {start} {size}"


def got(server: Any, name: str, revision: str = OLD, /, **arguments: str) -> Any:
    """Return the answer of a server to `prompts/get`."""
    params = {"name": name, "arguments": arguments}
    (answer,) = answers(server, revision, ("prompts/get", params))
    return answer


def test_arguments_are_listed_with_what_is_said_of_them() -> None:
    for revision in REVISIONS:
        with case(revision):
            (answer,) = answers(kit(revision, pack=pack)(), revision, ("prompts/list", {}))
            (prompt,) = answer["prompts"]
            titled = revision >= "2025-06-18"
            assert prompt["name"] == "pack"
            assert prompt["description"] == "What to pack."
            assert prompt.get("title") == ("Pack" if titled else None)
            assert prompt["arguments"][0] == {
                "name": "place",
                "description": "Where to.",
                "required": True,
                **({"title": "Place"} if titled else {}),
            }
            assert [argument["name"] for argument in prompt["arguments"][1:]] == [
                *("days", "style", "things", "sure", "from", "size")
            ]
            assert not any(argument["required"] for argument in prompt["arguments"][1:])


def test_a_text_is_a_message_of_the_user() -> None:
    for revision in REVISIONS:
        with case(revision):
            answer = got(kit(revision, pack=pack)(), "pack", revision, place="Oslo")
            assert answer["messages"] == [
                {
                    "role": "user",
                    "content": {"type": "text", "text": "Oslo 3 short [] True here 10"},
                }
            ]
            assert answer["description"] == "What to pack."


def test_texts_are_read_as_the_types_of_the_parameters() -> None:
    given = {"days": "07", "style": "long", "things": '["a", "b"]', "sure": "no", "size": "1"}
    answer = got(kit(pack=pack)(), "pack", OLD, place="[", **given, **{"from": "there"})
    text = answer["messages"][0]["content"]["text"]
    assert text == "[ 7 long ['a', 'b'] False there 1"


Number = Enum("Number", {"NONE": 0, "ONE": 1, "HALF": 0.5})
Level = IntEnum("Level", {"LOW": 0, "HIGH": 1})
Answer = Enum("Answer", {"YES": True, "MANY": 2})
Tenfold = Annotated[int | None, AfterValidator(lambda number: number and 10 * number)]


@pytest.mark.parametrize(
    ("annotation", "text", "expected"),
    [
        (Number, "1", "<Number.ONE: 1>"),
        (Number, "0.5", "<Number.HALF: 0.5>"),
        (Number | None, "null", "None"),
        (Number, "true", None),
        (Number, "false", None),
        (Number | None, "true", None),
        (Level, "1", "<Level.HIGH: 1>"),
        (Level, "true", None),
        (Level, "false", None),
        (Literal[1, "one"], "1", "1"),
        (Literal[1, "one"], "one", "'one'"),
        (Literal[1, "one"], "true", None),
        (Literal[0] | None, "false", None),
        (int | None, "true", None),
        (float | None, "false", None),
        (Tenfold, "1", "10"),
        (Tenfold, "true", None),
        (Answer, "true", "<Answer.YES: True>"),
        (Answer, "2", "<Answer.MANY: 2>"),
        (Literal[True], "true", "True"),
        (bool | None, "true", "True"),
        (bool | None, "false", "False"),
        (bool, "1.0", None),
        (list[int] | None, "[1, 2]", "[1, 2]"),
        (list[int] | None, '["x"]', None),
    ],
)
def test_text_is_read_as_json_where_its_type_asks_for_it(
    annotation: Any, text: str, expected: str | None
) -> None:
    def ask(self: object, given: object) -> str:
        """Ask."""
        return repr(given)

    ask.__annotations__["given"] = annotation
    answer = got(kit(ask=prompt(ask))(), "ask", OLD, given=text)
    if expected is None:
        assert isinstance(answer, Refused)
        assert answer.data["problems"][0]["pointer"].startswith("/params/arguments/given")
    else:
        assert answer["messages"][0]["content"]["text"] == expected


@pytest.mark.parametrize(
    ("arguments", "pointer", "message"),
    [
        ({}, "/place", "Field required"),
        ({"place": "a", "more": "b"}, "/more", "unknown argument"),
        ({"place": "a", "days": "many"}, "/days", "Input should be a valid integer"),
        ({"place": "a", "style": "x"}, "/style", "Input should be 'short' or 'long'"),
        ({"place": "a", "things": "[1"}, "/things", "Input should be an array"),
        ({"place": "a", "things": "[1]"}, "/things", "Input should be a valid string"),
        ({"place": "a", "size": "0"}, "/size", "Input should be greater than 0"),
        ({"place": "a", "size": "13"}, "/size", "nobody takes 13"),
    ],
)
def test_unfitting_arguments_are_refused(
    arguments: dict[str, str], pointer: str, message: str
) -> None:
    refused = got(kit(pack=pack)(), "pack", OLD, **arguments)
    assert isinstance(refused, Refused)
    assert refused.code == -32602
    (problem,) = refused.data["problems"]
    assert problem["pointer"] == f"/params/arguments{pointer}"
    assert problem["message"].startswith(message)


def test_an_unknown_prompt_is_refused() -> None:
    refused = got(kit(pack=pack)(), "Pack")
    assert (refused.code, refused.message) == (-32602, "Unknown prompt: Pack; did you mean pack?")


@pytest.mark.parametrize(
    ("value", "messages"),
    [
        (
            [
                "a",
                m.PromptMessage(role="assistant", content=m.TextContent(text="b")),
                m.ImageContent(data="AA==", mime_type="image/png"),
            ],
            [
                {"role": "user", "content": {"type": "text", "text": "a"}},
                {"role": "assistant", "content": {"type": "text", "text": "b"}},
                {
                    "role": "user",
                    "content": {"type": "image", "data": "AA==", "mimeType": "image/png"},
                },
            ],
        ),
        (m.GetPromptResult(messages=[]), []),
        ([], []),
    ],
)
def test_messages_stay_what_they_are(value: object, messages: list[Any]) -> None:
    @prompt
    async def function(self: object) -> Any:
        return value

    assert got(kit(function=function)(), "function")["messages"] == messages


def test_invalid_prompt_message_is_internal_error(caplog: pytest.LogCaptureFixture) -> None:
    @prompt
    def function(self: object) -> Any:
        return 3

    assert got(kit(function=function)(), "function").code == -32603
    assert "function returned int; a prompt must return messages" in caplog.text


# Completions.


def towns(self: Any, typed: str) -> list[str]:
    return [f"{typed}{self.ending}"]


async def streets(typed: str, others: Mapping[str, str]) -> list[str]:
    return [f"{typed} in {others.get('town', 'nowhere')}"]


def endless(typed: str) -> Iterator[str]:
    return (f"{typed}{number}" for number in count())


@prompt(
    completions={
        "town": towns,
        "street": streets,
        "number": [str(number) for number in range(250)],
        "more": endless,
    }
)
def visit(
    self: object,
    town: str,
    street: str,
    number: int,
    more: str,
    colour: Colour | None = None,
    style: Annotated[Literal["Short", "long"], Field(description="How.")] = "long",
    sure: bool = True,
    free: str = "",
) -> str:
    return ""


@resource("a:{colour}", completions={"colour": ["green"]})
def painted(self: object, colour: str) -> str:
    return colour


def complete(argument: str, value: str, revision: str = OLD, **more: Any) -> Any:
    """What a server proposes."""
    server = kit(revision, visit=visit, towns=towns, painted=painted, ending="!")()
    reference = more.pop("ref", {"type": "ref/prompt", "name": "visit"})
    params = {"ref": reference, "argument": {"name": argument, "value": value}, **more}
    (answer,) = answers(server, revision, ("completion/complete", params))
    return answer if isinstance(answer, Refused) else answer["completion"]


def completion_of(*values: str) -> JsonObject:
    return {"values": list(values), "total": len(values), "hasMore": False}


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize(
    ("argument", "value", "values"),
    [
        ("style", "", ["Short", "long"]),
        ("style", "S", ["Short"]),
        ("style", "sh", ["Short"]),
        ("colour", "red", ["red", "reddish"]),
        ("colour", "x", []),
        ("sure", "t", ["true"]),
        ("free", "x", []),
        ("town", "Os", ["Os!"]),
    ],
)
def test_types_and_functions_say_what_may_stand_there(
    argument: str, value: str, values: list[str], revision: str
) -> None:
    assert complete(argument, value, revision) == completion_of(*values)


def test_at_most_100_values_are_sent() -> None:
    many = complete("number", "")
    assert (len(many["values"]), many["total"], many["hasMore"]) == (100, 250, True)
    some = complete("number", "1")
    assert (len(some["values"]), some["total"], some["hasMore"]) == (100, 111, True)
    assert complete("number", "24") == completion_of("24", *(str(n) for n in range(240, 250)))
    # An endless iterator has no known length.
    without_end = complete("more", "x")
    assert len(without_end["values"]) == 100
    assert without_end["hasMore"] is True
    assert "total" not in without_end


def test_variables_of_templates_are_completed_too() -> None:
    reference = {"type": "ref/resource", "uri": "a:{colour}"}
    assert complete("colour", "G", ref=reference) == completion_of("green")


def test_unknown_argument_has_no_completion() -> None:
    for argument, reference in [
        ("nothing", {"type": "ref/prompt", "name": "visit"}),
        ("town", {"type": "ref/prompt", "name": "nothing"}),
        ("colour", {"type": "ref/resource", "uri": "a:{other}"}),
    ]:
        with case((argument, reference)):
            refused = complete(argument, "", ref=reference)
            assert isinstance(refused, Refused)
            assert refused.code == -32602


def test_completions_of_nothing_are_refused_when_the_server_is_made() -> None:
    rows: list[tuple[Any, str]] = [
        ({"plaec": ["Oslo"]}, "go: completions for plaec, which is not one of its parameters"),
        ({"place": lambda: ["Oslo"]}, "a completion function must take the text so far"),
        ({"place": "Oslo"}, "go: completions for place must not be a single string"),
    ]
    for completions, why in rows:

        @prompt(completions=completions)
        def go(self: object, place: str) -> str:
            return place

        with case(why), pytest.raises(TypeError, match=why):
            kit(go=go)()


class Size(Enum):
    SMALL = 1
    LARGE = 2


NUMBERS: Any = [0, 1]


@prompt(completions={"floor": NUMBERS, "flat": lambda _typed: "4b"})
def choose(
    self: object,
    size: Size = Size.SMALL,
    days: Literal[1, 7, None] = None,
    floor: int | None = 3,
    flat: str = "",
) -> str:
    return f"{size} {days} {floor}"


def test_proposed_completions_are_accepted() -> None:
    server = kit(choose=choose)()
    reference = {"type": "ref/prompt", "name": "choose"}
    expected = {"size": ["1", "2"], "days": ["1", "7"], "floor": ["0", "1"], "flat": ["4b"]}
    for name, values in expected.items():
        params = {"ref": reference, "argument": {"name": name, "value": ""}}
        (answer,) = answers(server, OLD, ("completion/complete", params))
        assert answer["completion"] == completion_of(*values)
        for value in values:
            assert "messages" in got(server, "choose", OLD, **{name: value})
    message = got(server, "choose", OLD, size="2", floor="null")["messages"][0]
    assert message["content"]["text"] == "Size.LARGE None None"
