"""Values with very many mistakes: the first are named, and few errors are built."""

from typing import Annotated, Any

import pytest
from annotated_types import MinLen
from mcp_protogen.runtime.client.tool_results import reader
from mcp_protogen.runtime.core import many_errors, options
from mcp_protogen.runtime.core.errors import InvalidAnswer
from mcp_protogen.runtime.core.forms import problems_of
from mcp_protogen.runtime.core.models.validation_errors import problems
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from support.json_types import Json, JsonObject
from support.revisions import OLD, STATELESS
from support.sessions.talking import pkg
from support.tables import case
from support.toolkit.kits import answers, call, kit, prompt, text_of, tool

MANY = 30_000


class Point(BaseModel):
    model_config = ConfigDict(extra="forbid")
    x: int
    y: int = 0


class Shape(BaseModel):
    points: Annotated[list[Point], MinLen(1)]
    name: str


@tool
def take(
    self: object,
    point: Point = Point(x=1),  # noqa: B008
    numbers: Annotated[list[int], MinLen(1)] = [],  # noqa: B006
    named: dict[str, int | float | list[int]] = {},  # noqa: B006
    either: list[Point] | dict[str, int] = [],  # noqa: B006
    shapes: list[Shape] = [],  # noqa: B006
    rows: dict[str, list[int]] = {},  # noqa: B006
) -> str:
    return f"{len(numbers)} {len(named)} {len(either)}"


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of errors of each validation whose errors were built and listed."""
    numbers: list[int] = []

    def note(error: ValidationError, *rest: Any) -> Any:
        numbers.append(error.error_count())
        return problems(error, *rest)

    monkeypatch.setattr(many_errors, "problems", note)
    return numbers


def unknown(number: int = MANY) -> JsonObject:
    return {f"m{index}": index for index in range(number)}


ROWS: list[tuple[JsonObject, str]] = [
    (unknown(), "/m0: Extra inputs are not permitted"),
    ({**unknown(), "numbers": ["x"]}, "/m0: Extra inputs are not permitted"),
    ({"point": {"x": 1, **unknown()}}, "/point/m0: Extra inputs are not permitted"),
    ({"point": {**unknown(), "x": 1}}, "/point/m0: Extra inputs are not permitted"),
    ({"numbers": ["x"] * MANY}, "/numbers/0: Input should be a valid integer"),
    ({"numbers": [1] * 3_000 + ["x"] * MANY}, "/numbers/3000: Input should be a valid integer"),
    ({"named": dict.fromkeys(unknown(), "x")}, "/named/m0: Input should be a valid integer"),
    ({"shapes": [{}] * MANY}, "/shapes/0/points: Field required"),
    (
        {"shapes": [{"points": [{"x": 1, "y": 2, **unknown()}], "name": "a"}]},
        "/shapes/0/points/0/m0: Extra inputs are not permitted",
    ),
]


def test_first_of_very_many_mistakes_are_named(built: list[int]) -> None:
    for arguments, first in ROWS:
        with case((list(arguments)[:2], first)):
            built.clear()
            answer = text_of(call(kit(take=take)(), "take", **arguments))
            lines = answer.splitlines()
            assert lines[1].startswith(first)
            assert "and more" in lines[-1]
            assert len(lines) == 22
            assert built and max(built) <= options.MANY


def test_mistakes_after_very_many_right_values_are_counted_and_not_named(built: list[int]) -> None:
    numbers = [1] * MANY + ["x"] * MANY
    answer = text_of(call(kit(take=take)(), "take", numbers=numbers))
    assert answer.endswith("/: There are too many errors to list")
    assert not built


def test_right_values_are_taken_however_many_they_are() -> None:
    rows: list[tuple[JsonObject, str]] = [
        ({"numbers": [1] * MANY}, f"{MANY} 0 0"),
        ({"numbers": ["1"] * MANY, "named": unknown()}, f"{MANY} {MANY} 0"),
        # The first of these would be wrong in the other arm.
        ({"either": unknown()}, f"0 0 {MANY}"),
        ({"either": [{"x": number} for number in range(MANY)]}, f"0 0 {MANY}"),
    ]
    for arguments, taken in rows:
        with case(taken):
            assert text_of(call(kit(take=take)(), "take", **arguments)) == taken


def test_names_that_would_fill_the_errors_are_refused() -> None:
    # Each error about a number has the name of its row.
    answer = text_of(call(kit(take=take)(), "take", rows={"n" * 100_000: ["x"] * 1_000}))
    assert answer.endswith("/: The names of nested members are too long")
    for rows in ({"n" * 100_000: ["x"] * 10}, {"n": {"m" * 100_000: [1]}}, {"n": ["x"] * 1_000}):
        with case(next(iter(rows))[:3]):
            answer = text_of(call(kit(take=take)(), "take", rows=rows))
            assert "too long" not in answer


def test_paths_count_for_all_values_below_them() -> None:
    name = "n" * 1024
    most = 64 * 1024
    rows: list[tuple[Json, bool]] = [
        ({name: [1] * most}, False),
        ({name: [1] * (most + 1)}, True),
        ({name: {str(index): 1 for index in range(most + 1)}}, True),
        ([{name: [1] * most}, {name: [1]}], True),
        ({name[:512]: {name[512:]: [[1] * most]}}, True),
        ([1] * (most + 1), False),
        ({name: 1}, False),
    ]
    for value, expected in rows:
        assert options.has_long_paths(value) is expected


def test_missing_rest_of_a_part_is_not_a_mistake() -> None:
    """The value is right up to the end of the part, and the rest is missing."""
    adapter = TypeAdapter[Any](list[Shape])
    right = {"points": [{"x": 1}], "name": "a"}
    cut = {"points": [{"x": 1}] * 3_000, "name": 5}
    rows: list[tuple[list[Any], str]] = [
        ([right] * 600 + [{"points": []}] * MANY, "/600/points"),
        ([cut, *[{}] * MANY], "/0/name"),
    ]
    for value, first in rows:
        with case(first):
            with pytest.raises(ValidationError) as caught:
                adapter.validate_python(value)
            found = many_errors.problems_within(caught.value, value, "", adapter.validate_python)
            assert found[0].pointer == first


@prompt
def ask(self: object, numbers: list[int]) -> str:
    return str(numbers)


def test_unknown_arguments_of_a_prompt_are_named_up_to_a_bound() -> None:
    for arguments, lines in (
        (dict.fromkeys(unknown(), "x"), 22),
        ({"numbers": f"[{', '.join(['null'] * MANY)}]"}, 2),
    ):
        with case(lines):
            asked = ("prompts/get", {"name": "ask", "arguments": arguments})
            (error,) = answers(kit(ask=ask)(), OLD, asked)
            assert len(str(error).splitlines()) == lines


def test_answer_with_very_many_unknown_members_is_refused_with_the_first() -> None:
    form: JsonObject = {"properties": {}, "additionalProperties": False}
    found = problems_of(unknown(), form, "/result")
    assert len(found) == 1000
    assert found[0] == ("/result/m0", "The form has no such field")


def test_client_names_the_first_of_very_many_mistakes(built: list[int]) -> None:
    result = pkg.load(STATELESS).models.CallToolResult(content=[], structured_content=["x"] * MANY)
    with pytest.raises(InvalidAnswer, match="does not fit"):
        reader(pkg.load(OLD).methods.CALL_TOOL, list[int], None)(result)
    assert built and max(built) <= options.MANY
