"""Typed questions: the form of a type in each revision, and the answer."""

import enum
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import product
from typing import Annotated, Any, Literal, NamedTuple, Required, TypeAlias, cast

import pytest
from mcp_protogen.runtime.core.json import is_array
from mcp_revisions import (
    Accepted,
    Cancelled,
    Declined,
    InvalidParams,
    LocalError,
    MissingCapability,
    RemoteError,
    form,
)
from mcp_revisions.v2025_11_25 import Session
from mcp_revisions.v2025_11_25.models import CallToolRequestParams, ElicitRequestParams
from pydantic import AnyUrl, BaseModel, ConfigDict, Field, SecretStr, field_validator
from support.json_types import Json, JsonObject
from support.revisions import OLD, REVISIONS
from support.sessions.talking import client, entry, models, pkg, tools
from support.tables import case
from typing_extensions import TypedDict

FIRST = "2025-06-18"  # the first one with forms
WITH_FORMS = [revision for revision in REVISIONS if revision >= FIRST]
SINGLE = "value"


class Size(enum.Enum):
    SMALL = "s"
    LARGE = "l"


class Order(BaseModel):
    """What is wanted."""

    name: str = Field(min_length=1, max_length=9, title="Your name", description="As on the bill.")
    count: Annotated[int, Field(ge=1, lt=5)] = 2
    size: Size = Size.LARGE
    gift: bool = False
    note: str | None = None
    weight: float | None
    toppings: list[Size] = Field(default=[Size.SMALL], max_length=2, title="On top")


@dataclass
class Point:
    x: float
    y: float = 0.5


class Partly(TypedDict, total=False):
    here: Required[bool]
    there: str


class Strict(BaseModel):
    """A model that allows less than others, with names and defaults that a form cannot have."""

    model_config = ConfigDict(extra="forbid", strict=True)
    day: date = Field(alias="from")
    most: float = math.inf
    odd: Annotated[int, Field(validate_default=False)] = "none"  # type: ignore[assignment]


Labelled = (
    Annotated[Literal["s"], Field(title="Small")] | Annotated[Literal["l"], Field(title="Large")]
)
LABELS = [{"title": "Small", "const": "s"}, {"title": "Large", "const": "l"}]
AS_TEXT = "Any of these, separated by commas: s, l"


Answers: TypeAlias = Callable[[JsonObject], JsonObject]
Ask: TypeAlias = Callable[[Any], Awaitable[object]]


class Row(NamedTuple):
    """A type, the members of its form, what the user enters, and what that is in Python."""

    kind: Any
    fields: JsonObject
    entered: JsonObject
    value: object
    required: list[str] | None = None
    first: JsonObject | None = None

    def form(self, revision: str) -> JsonObject:
        """The form as a revision shows it."""
        fields = {**self.fields, **(self.first or {} if revision == FIRST else {})}
        required = [*self.fields] if self.required is None else self.required
        members = {"required": required} if required else {}
        return {"type": "object", "properties": fields, **members}


def single(kind: Any, field: JsonObject, entered: Json, value: object, **more: Any) -> Row:
    """Return a row of a type other than an object."""
    if "first" in more:
        more["first"] = {SINGLE: more["first"]}
    return Row(kind, {SINGLE: field}, {SINGLE: entered}, value, **more)


TEXT: JsonObject = {"type": "string"}
ROWS = [
    single(str, TEXT, "a", "a"),
    single(int, {"type": "integer"}, 3.0, 3),
    single(float, {"type": "number"}, 2.5, 2.5),
    single(bool, {"type": "boolean"}, True, True),
    single(date, {**TEXT, "format": "date"}, "2026-01-02", date(2026, 1, 2)),
    single(
        datetime,
        {**TEXT, "format": "date-time"},
        "2026-01-02T03:04:05Z",
        datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
    ),
    single(AnyUrl, {**TEXT, "format": "uri", "minLength": 1}, "a://b/c", AnyUrl("a://b/c")),
    single(
        Annotated[str, Field(json_schema_extra={"format": "email"})],
        {**TEXT, "format": "email"},
        "a@b.c",
        "a@b.c",
    ),
    single(Annotated[str, Field(pattern="^a")], TEXT, "ab", "ab"),
    single(
        Annotated[int, Field(gt=1, lt=5, description="How many")],
        {"type": "integer", "minimum": 2, "maximum": 4, "description": "How many"},
        4,
        4,
    ),
    single(Annotated[float, Field(gt=1)], {"type": "number", "minimum": 1}, 1.5, 1.5),
    single(
        Annotated[int, Field(default=3)],
        {"type": "integer", "default": 3},
        4,
        4,
        required=[],
        first={"type": "integer"},
    ),
    single(int | None, {"type": "integer"}, 4, 4, required=[]),
    Row(int | None, {SINGLE: {"type": "integer"}}, {}, None, required=[]),
    single(Literal["l", "s"], {**TEXT, "enum": ["l", "s"]}, "s", "s"),
    single(Literal["s", "l"], {**TEXT, "enum": ["s", "l"]}, "s", "s"),
    single(Size, {**TEXT, "enum": ["s", "l"]}, "l", Size.LARGE),
    single(
        Labelled,
        {**TEXT, "oneOf": LABELS},
        "l",
        "l",
        first={**TEXT, "enum": ["s", "l"], "enumNames": ["Small", "Large"]},
    ),
    single(
        list[Size],
        {"type": "array", "items": {**TEXT, "enum": ["s", "l"]}},
        ["l", "s"],
        [Size.LARGE, Size.SMALL],
        first={**TEXT, "description": AS_TEXT},
    ),
    single(
        Annotated[set[Labelled], Field(min_length=1, title="Sizes")],
        {"type": "array", "items": {"anyOf": LABELS}, "minItems": 1, "title": "Sizes"},
        ["l"],
        {"l"},
        first={**TEXT, "description": AS_TEXT, "title": "Sizes"},
    ),
    Row(Point, {"x": {"type": "number"}, "y": {"type": "number", "default": 0.5}}, {"x": 1},
        Point(1), required=["x"], first={"y": {"type": "number"}}),
    Row(Partly, {"here": {"type": "boolean"}, "there": TEXT}, {"here": False},
        {"here": False}, required=["here"]),
    Row(
        Strict,
        {
            "from": {**TEXT, "format": "date"},
            "most": {"type": "number"},
            "odd": {"type": "integer"},
        },
        {"from": "2026-01-02", "odd": 1},
        Strict.model_validate({"from": date(2026, 1, 2), "odd": 1}),
        required=["from"],
    ),
    Row(
        Order,
        {
            "name": {
                **TEXT,
                "title": "Your name",
                "description": "As on the bill.",
                "minLength": 1,
                "maxLength": 9,
            },
            "count": {"type": "integer", "minimum": 1, "maximum": 4, "default": 2},
            "size": {**TEXT, "enum": ["s", "l"], "default": "l"},
            "gift": {"type": "boolean", "default": False},
            "note": TEXT,
            "weight": {"type": "number"},
            "toppings": {
                "type": "array",
                "items": {**TEXT, "enum": ["s", "l"]},
                "title": "On top",
                "maxItems": 2,
                "default": ["s"],
            },
        },
        {"name": "Ada", "gift": True},
        Order(name="Ada", gift=True, weight=None),
        required=["name"],
        first={
            "count": {"type": "integer", "minimum": 1, "maximum": 4},
            "size": {**TEXT, "enum": ["s", "l"]},
            "toppings": {**TEXT, "title": "On top", "description": AS_TEXT},
        },
    ),
]  # fmt: skip


def client_with_answers(revision: str, answers: Answers) -> Any:
    """A client whose user answers a question, which is given as JSON."""
    mine = models(revision)

    async def on_elicit(self: object, params: ElicitRequestParams) -> object:
        answer = answers(params.to_wire())
        return (mine.CreateTaskResult if "task" in answer else mine.ElicitResult).from_wire(answer)

    return client(revision, on_elicit=on_elicit)


def accepting(content: object) -> JsonObject:
    return {"action": "accept", "content": content}


async def outcome(own: str, spoken: str, ask: Ask, answers: Answers) -> list[Any]:
    """Return the result or error of a handler of one revision at a client of another."""
    return await outcome_at(client_with_answers(spoken, answers), own, spoken, ask)


async def outcome_at(ours: Any, own: str, spoken: str, ask: Ask) -> list[Any]:
    found: list[Any] = []

    async def call(session: Session, params: CallToolRequestParams) -> str:
        try:
            found.append(await ask(session))
        except (LocalError, InvalidParams, RemoteError) as error:
            found.append(error)
        return ""

    theirs = tools(own, call)
    async with pkg.connect_in_memory(ours, theirs, revisions=pkg.REVISIONS) as connected:
        await connected.call_tool("x")
    return found


def asks(kind: Any, message: str = "?", **options: Any) -> Ask:
    """Asks for a type."""
    return lambda session: session.ask(message, kind, **options)


def says(**answer: Any) -> Answers:
    """Answers every question in the same way."""
    return lambda params: answer


def accepts(**content: Any) -> Answers:
    """Fills in every form in the same way."""
    return says(action="accept", content=content)


def comma_separated(content: JsonObject, revision: str) -> JsonObject:
    """Return the input of a user without multiple choices."""
    if revision > FIRST:
        return content
    return {
        name: ", ".join(map(str, value)) if is_array(value) else value
        for name, value in content.items()
    }


@pytest.mark.long
@pytest.mark.parametrize("own", WITH_FORMS)
async def test_each_type_has_a_form_in_each_revision_and_comes_back_as_the_type(own: str) -> None:
    for spoken in WITH_FORMS:
        least = min(own, spoken)
        seen: list[JsonObject] = []
        found: list[object] = []

        def answers(params: JsonObject) -> JsonObject:
            seen.append(params["requestedSchema"])  # noqa: B023
            row = ROWS[int(params["message"])]
            return accepting(comma_separated(row.entered, least))  # noqa: B023

        async def call(session: Session, params: CallToolRequestParams) -> str:
            for row in ROWS[int(params.name) :][:1]:
                asking = cast(Any, session).ask(params.name, row.kind)
                found.append(await asking)  # noqa: B023
            return ""

        ours = client_with_answers(spoken, answers)
        connecting = pkg.connect_in_memory(ours, tools(own, call), revisions=pkg.REVISIONS)
        async with connecting as connected:
            for number, row in enumerate(ROWS):
                with case((own, spoken, row.kind)):
                    await connected.call_tool(str(number))
                    assert found.pop() == Accepted(row.value)
                    assert seen.pop() == row.form(least)
                    assert (seen, found) == ([], [])


class Nested(BaseModel):
    point: Point


REFUSED: list[tuple[Any, str]] = [
    (Nested, r"Nested.point .*: it is an object; a form is flat"),
    (dict[str, int], r"dict\[str, int\] .*: it is an object; a form is flat"),
    (Any, "Any .*: it may be anything; give it a type"),
    (object, "object .*: it may be anything"),
    (None, "None .*: it is always null; leave it out"),
    (int | str, r"int \| str .*: it has several types; choose one"),
    (Decimal, "Decimal .*: it has several types"),
    (list[int], r"list\[int\] .* a list, but not of choices; make it a list of an Enum or a Lit"),
    (list[Point], "a list, but not of choices"),
    (list[Size | None], "a list, but not of choices"),
    (tuple[Size, int], "a list, but not of choices"),
    (Literal[1, "a"], "has choices that are not strings; make each of them a string"),
    (Literal[True], "has choices that are not strings"),
    (list[Literal[1, 2]], "has choices that are not strings"),
    (SecretStr, "SecretStr .*: it is a secret; send the user to a URL"),
    (type("Odd", (), {}), "Odd cannot be asked for in a form: .*schema"),
    (Callable[[], int], "cannot be asked for in a form: "),
    ("Nowhere", "'Nowhere' .* is not defined"),
]


def test_type_without_form_is_refused_with_name_and_hint() -> None:
    for kind, why in REFUSED:
        with case(kind), pytest.raises(TypeError, match=why):
            form(kind)


async def test_a_user_may_say_no() -> None:
    said: dict[str, object] = {"decline": Declined(), "cancel": Cancelled()}
    for own, spoken, action in product(WITH_FORMS, WITH_FORMS, said):
        with case((own, spoken, action)):
            found = await outcome(own, spoken, asks(Order), says(action=action))
            assert found == [said[action]]


class Even(BaseModel):
    number: int
    name: str = Field(pattern="^a", default="a")

    @field_validator("number")
    @classmethod
    def _even(cls, number: int) -> int:
        if number % 2:
            raise ValueError("not even")
        return number


WRONG: list[tuple[Any, JsonObject, list[tuple[str, str]]]] = [
    (Even, {"number": 3}, [("/number", "not even")]),
    (Even, {"number": 2, "name": "b"}, [("/name", "String should match pattern '^a'")]),
    (date, {"value": "soon"}, [("/value", "Input should be a valid date")]),
    (Annotated[float, Field(gt=1)], {"value": 1}, [("/value", "Input should be greater than 1")]),
]


async def test_answer_is_checked_beyond_form() -> None:
    for (kind, entered, expected), own, spoken in product(WRONG, WITH_FORMS, WITH_FORMS):
        with case((kind, entered, own, spoken)):
            (error,) = await outcome(own, spoken, asks(kind), accepts(**entered))
            assert type(error) is InvalidParams, error
            found = [(at.removeprefix("/result/content"), text) for at, text in error.problems]
            assert [at for at, _ in found] == [at for at, _ in expected]
            assert all(
                line[1].startswith(end[1]) for line, end in zip(found, expected, strict=True)
            )


async def test_too_few_choices_in_a_text_are_refused() -> None:
    several = Annotated[list[Size], Field(min_length=2)]
    for own in WITH_FORMS:
        with case(own):
            (error,) = await outcome(own, FIRST, asks(several), accepts(value="l"))
            assert "Should have at least 2 items" in str(error)


async def test_a_client_of_a_revision_without_forms_is_not_asked() -> None:
    before = [revision for revision in REVISIONS if revision < FIRST]
    for own, spoken in product(WITH_FORMS, before):
        with case((own, spoken)):
            (error,) = await outcome_at(client(spoken), own, spoken, asks(bool))
            assert type(error) is MissingCapability
            assert "elicitation/create needs the capability client.elicitation" in str(error)


async def test_a_form_is_made_once_and_asked_for_any_number_of_times() -> None:
    made = form(Order)
    assert form(Order) is made and form(made) is made
    choice: Any = Literal["s", "l"]
    assert form(choice) is not form(choice)
    pair = form(Point)
    for revision in WITH_FORMS:
        (found,) = await outcome(revision, revision, asks(pair, timeout=5), accepts(x=5))
        assert found == Accepted(Point(5))


async def test_a_question_may_be_answered_with_a_task_if_it_asks_for_one() -> None:
    m: Any = models(OLD)
    started = m.Task(task_id="t", ttl=5, status="working", created_at="-", last_updated_at="-")
    task = m.CreateTaskResult(task=started)
    order = form(Order)

    async def later(session: Any) -> Any:
        spec = entry(session, "elicitation/create")
        params = m.ElicitRequestFormParams(
            message="?", requested_schema=order.schema_for(spec, OLD), task=m.TaskMetadata(ttl=5)
        )
        return await session.request_once(spec, params)

    ours = client_with_answers(OLD, says(**task.to_wire()))
    assert await outcome_at(ours, OLD, OLD, later) == [task]
    (error,) = await outcome_at(ours, OLD, OLD, asks(Order))
    assert "elicitation/create returned CreateTaskResult" in str(error)
    # The task's result is the answer.
    payload = m.GetTaskPayloadResult.from_wire(accepting({"name": "Ada", "weight": 1}))
    assert order.read(payload) == Accepted(Order(name="Ada", weight=1))
    with pytest.raises(InvalidParams, match="/result/content/name: Field required"):
        order.read(m.GetTaskPayloadResult.from_wire(accepting({})))


async def test_elicit_asks_for_a_type_with_a_warning_as_long_as_it_does() -> None:
    async def old(session: Any) -> Any:
        with pytest.warns(DeprecationWarning, match=r"write ask\(message, Type\)"):
            return await session.elicit("?", Point)

    for revision in WITH_FORMS:
        (found,) = await outcome(revision, revision, old, accepts(x=5))
        assert found == Accepted(Point(5))


def test_a_member_that_a_revision_has_no_field_for_is_named() -> None:
    complete = pkg.load(OLD).methods.COMPLETE
    with pytest.raises(LocalError, match="complete: 2030 has no form field for the member va"):
        form(str).schema_for(complete, "2030")
