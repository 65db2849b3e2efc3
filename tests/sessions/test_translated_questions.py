"""Questions of a server in results and by requests: how they reach a client of another era."""

from itertools import product
from typing import Any

import pytest
from mcp_revisions.v2025_11_25 import Session
from mcp_revisions.v2025_11_25.models import (
    CallToolRequestParams,
    CreateMessageRequestParams,
    ElicitRequestParams,
    RequestParams,
)
from support.json_types import JsonObject
from support.revisions import ERAS, OLD, REVISIONS, STATELESS
from support.sessions.bridging import through
from support.sessions.talking import Accepting, Hand, client, content_of, entry, models, pkg, tools
from support.sessions.wiretap import (
    ELICIT,
    FORM,
    Wire,
    agree,
    answer,
    m,
    noting,
    over,
    questions,
    result,
)
from support.tables import case


def talkative(revision: str, **members: Any) -> Any:
    """A client that answers all there is to ask."""
    mine = models(revision)

    async def on_elicit(self: object, params: ElicitRequestParams) -> object:
        return mine.ElicitResult(action="accept", content={"x": params.message})

    async def on_create_message(self: object, params: CreateMessageRequestParams) -> object:
        text = mine.TextContent(text="Ada")
        return mine.CreateMessageResult(role="assistant", model="m", content=text)

    async def on_list_roots(self: object, params: RequestParams) -> object:
        return mine.ListRootsResult(roots=[mine.Root(uri="file:///r")])

    answers: JsonObject = {
        "on_elicit": on_elicit,
        "on_create_message": on_create_message,
        "on_list_roots": on_list_roots,
    }
    return client(revision, **answers, **members)


@pytest.mark.parametrize(("own", "revision"), [(OLD, STATELESS), (STATELESS, OLD)])
async def test_all_questions_of_a_handler_reach_the_client_round_by_round(
    own: str, revision: str
) -> None:
    theirs = models(own)

    async def call(session: Session, params: CallToolRequestParams) -> str:
        form = theirs.ElicitRequestFormParams(message="one", requested_schema=FORM)
        one = content_of(await session.request(entry(session, "elicitation/create"), form))["x"]
        said = theirs.SamplingMessage(role="user", content=theirs.TextContent(text=one))
        asked = theirs.CreateMessageRequestParams(messages=[said], max_tokens=5)
        name, roots = (
            await session.request(entry(session, "sampling/createMessage"), asked),
            await session.list_roots(),
        )
        return f"{one} {content_of(name).text} {roots.roots[0].uri}"

    async with over(talkative(revision), tools(own, call)) as ours:
        said = await ours.call_tool("x")
        assert said.content[0].text == "one Ada file:///r"


TOOL = {"name": "t", "inputSchema": {"type": "object"}}
SAMPLING: JsonObject = {"messages": [], "maxTokens": 1, "tools": [TOOL]}


@pytest.mark.parametrize(
    "question",
    [
        {"method": "roots/list"},
        {"method": "elicitation/create", "params": {"message": "?", "requestedSchema": FORM}},
        {"method": "sampling/createMessage", "params": SAMPLING},
    ],
)
async def test_a_question_for_what_was_not_declared_is_not_answered(question: Any) -> None:
    asked: list[object] = []

    async def play(hand: Hand) -> None:
        await agree(hand, tools={})
        await answer(hand, "tools/call", **questions(question, requestState="s"))
        await answer(hand, "tools/call", resultType="complete", content=[])

    sampler = client(OLD, on_create_message=noting(asked, str))
    async with over(sampler, Accepting(play)) as ours:
        with pytest.raises(pkg.RemoteError, match=r"not declared|no handler"):
            await ours.call_tool("x")
        assert content_of(await ours.call_tool("x")) == []
    assert asked == []


@pytest.mark.parametrize("revision", ERAS)
async def test_a_server_cannot_ask_for_ever(revision: str) -> None:
    rounds: list[object] = []
    put: list[str] = []

    async def on_elicit(self: object, params: ElicitRequestParams) -> object:
        put.append(params.message)
        return models(revision).ElicitResult(action="cancel")

    async def play(hand: Hand) -> None:
        await agree(hand, tools={})
        while (asked := await hand.take()) is not None:
            rounds.append(asked["params"].get("requestState"))
            number = f"{len(rounds)}"
            question = {"message": number, "requestedSchema": FORM}
            asking = questions({"method": ELICIT, "params": question}, requestState=number)
            await hand.send(result(asked["id"], **asking))

    ours = client(revision, on_elicit=on_elicit)
    async with over(ours, Accepting(play), max_rounds=3):
        with pytest.raises(pkg.RemoteError, match="more input in every round"):
            await ours.call_tool("x")
    # The last question is not asked: its answer would not be sent.
    assert (rounds, put) == ([None, "1", "2"], ["1", "2"])


@pytest.mark.parametrize("revision", ERAS)
async def test_questions_of_round_are_all_checked_before_first_is_asked(revision: str) -> None:
    put: list[str] = []

    async def on_elicit(self: object, params: ElicitRequestParams) -> object:
        put.append(params.message)
        return models(revision).ElicitResult(action="cancel")

    async def play(hand: Hand) -> None:
        await agree(hand, tools={})
        asked = await hand.take()
        form = {"method": ELICIT, "params": {"message": "?", "requestedSchema": FORM}}
        asking = {"a": form, "b/c": {"method": "roots/list"}}
        asks = {"resultType": "input_required", "inputRequests": asking}
        await hand.send(result(asked["id"], **asks))

    ours = client(revision, on_elicit=on_elicit)
    async with over(ours, Accepting(play)):
        with pytest.raises(pkg.RemoteError, match="/result/inputRequests/b~1c"):
            await ours.call_tool("x")
    assert put == []


@pytest.mark.parametrize(
    ("own", "revision"), [(OLD, OLD), (STATELESS, STATELESS), (STATELESS, OLD)]
)
async def test_a_client_says_nothing_that_nobody_asked_for(own: str, revision: str) -> None:
    async def on_elicit(self: object, params: ElicitRequestParams) -> object:
        content = {"x": "asked", "password": "secret"}
        return models(revision).ElicitResult(action="accept", content=content)

    async def call(session: Session, params: CallToolRequestParams) -> str:
        form = models(own).ElicitRequestFormParams(message="?", requested_schema=FORM)
        return str(
            content_of(await session.request(entry(session, "elicitation/create"), form))["x"]
        )

    wire = Wire()
    async with over(client(revision, on_elicit=on_elicit), tools(own, call), wire) as ours:
        assert content_of(await ours.call_tool("x"))[0].text == "asked"
    assert "asked" in str(wire)
    assert "secret" not in str(wire)


async def test_a_question_may_be_answered_with_a_task() -> None:
    running: JsonObject = {"status": "working", "created_at": "-", "last_updated_at": "-"}
    task = m.CreateTaskResult(task=m.Task(task_id="t", ttl=5, **running))
    answers: list[object] = []

    async def on_elicit(self: object, params: ElicitRequestParams) -> object:
        return task

    async def call(session: Session, params: CallToolRequestParams) -> str:
        wanted = m.TaskMetadata(ttl=5)
        form = m.ElicitRequestFormParams(message="?", requested_schema=FORM, task=wanted)
        answers.append(await session.request_once(entry(session, "elicitation/create"), form))
        return "done"

    async with over(client(OLD, on_elicit=on_elicit), tools(OLD, call)) as ours:
        await ours.call_tool("x")
    assert answers == [task]


SEVERAL = {"type": "array", "items": {"type": "string", "enum": ["p", "q", "r, s"]}}
TITLED = {"type": "string", "oneOf": [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]}


def of_all_three_kinds(ours: Any, theirs: Any) -> Any:
    """A server that translates, a client that does, and a bridge between the two."""
    return {
        "server": pkg.connect_in_memory(ours, theirs, revisions=pkg.REVISIONS),
        "client": over(ours, theirs),
        "bridge": through(ours, theirs),
    }


async def filled_in(revision: str, own: str, kind: str, given: object, **form: Any) -> Any:
    """Return the answer that a handler sees of a form filled in by a client of another revision."""
    seen: list[object] = []

    async def on_elicit(self: object, params: ElicitRequestParams) -> object:
        return models(revision).ElicitResult(action="accept", content=given)

    async def call(session: Session, params: CallToolRequestParams) -> str:
        m = models(own)
        kind = getattr(m, "ElicitRequestFormParams", None) or m.ElicitRequestParams
        schema = {"type": "object", **form}
        answer = await session.request(
            entry(session, "elicitation/create"), kind(message="?", requested_schema=schema)
        )
        seen.append(content_of(answer))
        return "done"

    talk = of_all_three_kinds(client(revision, on_elicit=on_elicit), tools(own, call))[kind]
    async with talk as one:
        try:
            await one.call_tool("x")
        except pkg.McpError as error:
            return error.code
    return seen[-1]


FILLED_IN: list[tuple[Any, Any]] = [
    ({"x": "p, q"}, {"x": ["p", "q"]}),
    ({"x": "r, s,p"}, {"x": ["r, s", "p"]}),
    ({"x": ""}, {"x": []}),
    ({"x": "p, z"}, -32602),
    ({"y": "b"}, {"y": "b"}),
    ({"y": "B"}, -32602),
]


async def test_choices_come_back_as_they_were_asked_for_or_not_at_all() -> None:
    for own, kind in product(ERAS, ["server", "client", "bridge"]):
        with case((own, kind)):
            form = {"properties": {"x": SEVERAL, "y": TITLED}}
            for given, expected in FILLED_IN:
                assert await filled_in("2025-06-18", own, kind, given, **form) == expected
            for revision in (OLD, STATELESS):
                # Where multiple choices exist, a text is not one.
                assert await filled_in(revision, own, kind, {"x": "p, q"}, **form) == -32602
                assert await filled_in(revision, own, kind, {"x": ["p", "z"]}, **form) == -32602


async def test_a_handler_sees_nothing_in_a_form_that_nobody_asked_for() -> None:
    for own, revision in product(REVISIONS[2:], REVISIONS[2:]):
        with case((own, revision)):
            asked: Any = {"properties": {"x": {"type": "string"}}}
            given = {"x": "a", "extra": "b"}
            for kind in ("server", "client", "bridge"):
                for others, expected in ((None, {"x": "a"}), (True, given), (False, -32602)):
                    form = asked if others is None else {**asked, "additionalProperties": others}
                    assert await filled_in(revision, own, kind, given, **form) == expected, kind
