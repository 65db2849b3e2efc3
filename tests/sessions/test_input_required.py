"""Questions inside results: asked by a handler, answered by a client, over several rounds."""

from typing import Any

import pytest
from mcp_revisions.v2026_07_28 import Session
from mcp_revisions.v2026_07_28.models import (
    CallToolRequestParams,
    CreateMessageRequestParams,
    ElicitRequestParams,
    RequestParams,
)
from support.revisions import STATELESS
from support.sessions.talking import (
    CAPABILITIES,
    VERSION,
    Hand,
    client,
    content_of,
    models,
    modern,
    pkg,
    serve_by_hand,
    tools,
)
from support.tables import case

m = models(STATELESS)
FORM = {
    "type": "object",
    "properties": {"age": {"type": "integer", "minimum": 0}},
    "required": ["age"],
}
KEY = b"0123456789abcdef"


def age_form() -> Any:
    params = m.ElicitRequestFormParams(message="How old?", requested_schema=FORM)
    return m.ElicitRequest(params=params)


async def interview(session: Session, params: CallToolRequestParams) -> object:
    """Asks for an age, then for a name made up by a model and for roots, then answers."""
    if session.inputs is None:
        return session.input_required({"age": age_form()}, state={"step": 1})
    if session.inputs.state == {"step": 1}:
        answer = session.inputs.response("age", m.ElicitResult)
        if answer is None or answer.action != "accept":
            return "declined"
        question = m.SamplingMessage(role="user", content=m.TextContent(text="?"))
        sampling = m.CreateMessageRequestParams(messages=[question], max_tokens=5)
        asked = {"name": m.CreateMessageRequest(params=sampling), "roots": m.ListRootsRequest()}
        return session.input_required(asked, state={"step": 2, "age": content_of(answer)["age"]})
    name = session.inputs.response("name", m.CreateMessageResult)
    roots = session.inputs.response("roots", m.ListRootsResult)
    assert roots is not None
    return f"{content_of(name).text} {session.inputs.state['age']} {roots.roots[0].uri}"


def talkative(**members: Any) -> Any:
    async def on_elicit(self: object, params: ElicitRequestParams) -> object:
        return m.ElicitResult(action="accept", content={"age": 36})

    async def on_create_message(self: object, params: CreateMessageRequestParams) -> object:
        text = m.TextContent(text="Ada")
        return m.CreateMessageResult(role="assistant", model="m", content=text)

    async def on_list_roots(self: object, params: RequestParams) -> object:
        return m.ListRootsResult(roots=[m.Root(uri="file:///r")])

    handlers = {
        "on_elicit": on_elicit,
        "on_create_message": on_create_message,
        "on_list_roots": on_list_roots,
    }
    return client(STATELESS, **{**handlers, **members})


async def test_several_rounds_and_questions_side_by_side() -> None:
    async with pkg.connect_in_memory(talkative(), tools(STATELESS, interview)) as ours:
        result = await ours.call_tool("x")
        assert result.content[0].text == "Ada 36 file:///r"


async def test_an_answer_that_is_not_what_was_asked_for_never_reaches_the_handler() -> None:
    async def on_elicit(self: object, params: ElicitRequestParams) -> object:
        return m.ElicitResult(action="accept", content={"age": -1})

    ours = talkative(on_elicit=on_elicit)
    async with pkg.connect_in_memory(ours, tools(STATELESS, interview)):
        with pytest.raises(pkg.McpError) as caught:
            await ours.call_tool("x")
        assert caught.value.code == -32602
        (problem,) = caught.value.data["problems"]
        assert problem["pointer"] == "/params/inputResponses/age/content/age"


async def test_a_refusal_needs_no_content() -> None:
    async def on_elicit(self: object, params: ElicitRequestParams) -> object:
        return m.ElicitResult(action="decline")

    ours = talkative(on_elicit=on_elicit)
    async with pkg.connect_in_memory(ours, tools(STATELESS, interview)):
        assert content_of(await ours.call_tool("x"))[0].text == "declined"


async def first_round(hand: Hand, **params: object) -> Any:
    """The result of a first round."""
    await hand.send(call(1, **params))
    return (await hand.take())["result"]


def call(id: int, **params: Any) -> Any:
    meta: Any = {VERSION: STATELESS, CAPABILITIES: {"elicitation": {}, "sampling": {}, "roots": {}}}
    return modern("tools/call", id, **{"name": "x", "_meta": meta, **params})


ANSWER = {"age": {"action": "accept", "content": {"age": 5}}}


async def refusal_pointer(hand: Hand, **params: object) -> str:
    """Where the server finds fault with a second round."""
    await hand.send(call(2, **params))
    error = (await hand.take())["error"]
    assert error["code"] == -32602
    pointer: str = error["data"]["problems"][0]["pointer"]
    return pointer


async def test_a_state_lapses() -> None:
    async with serve_by_hand(tools(STATELESS, interview), state_lifetime=-2.0) as hand:
        state = (await first_round(hand))["requestState"]
        assert await refusal_pointer(hand, requestState=state) == "/params/requestState"


async def answered_at_once(handler: Any, answers: object) -> Any:
    """The response to a first request that brings answers, but no state."""
    async with serve_by_hand(tools(STATELESS, handler)) as hand:
        await hand.send(call(1, inputResponses=answers))
        return await hand.take()


async def test_answers_without_a_state_are_those_to_the_questions_of_the_handler() -> None:
    calls: list[object] = []

    async def ask(session: Session, params: CallToolRequestParams) -> object:
        calls.append(session.inputs)
        await session.once("work", lambda: calls.append("work"))
        answer = session.inputs.response("age", m.ElicitResult) if session.inputs else None
        if answer is None:
            return session.input_required({"age": age_form(), "more": age_form()}, state=1)
        assert session.inputs is not None
        return f"{content_of(answer)} {session.inputs.state} {[*session.inputs.missing]}"

    unexpected = {"zzz": {"action": "cancel"}}
    result = (await answered_at_once(ask, {**ANSWER, **unexpected}))["result"]
    assert result["content"][0]["text"] == "{'age': 5} 1 ['more']"
    assert [calls[0], calls[1], len(calls)] == [None, "work", 3]
    for unfit in (unexpected, {}):
        with case(unfit):
            asked = (await answered_at_once(ask, unfit))["result"]
            assert asked["inputRequests"].keys() == {"age", "more"}
    for content in ({"age": "x"}, {"age": -1}, {}):
        with case(content):
            answers = {"age": {"action": "accept", "content": content}}
            assert (await answered_at_once(ask, answers))["error"]["code"] == -32602


async def test_result_made_by_hand_without_a_state_gets_answers_too() -> None:
    async def ask(session: Session, params: CallToolRequestParams) -> object:
        if session.inputs is None:
            return m.InputRequiredResult(input_requests={"age": age_form()})
        return str(content_of(session.inputs.response("age", m.ElicitResult)))

    async with serve_by_hand(tools(STATELESS, ask)) as hand:
        assert "requestState" not in await first_round(hand)
    assert (await answered_at_once(ask, ANSWER))["result"]["content"][0]["text"] == "{'age': 5}"
    answers = {"age": {"action": "accept", "content": {"age": -1}}}
    assert (await answered_at_once(ask, answers))["error"]["code"] == -32602


async def test_a_question_that_is_asked_again_is_not_answered_by_the_earlier_answer() -> None:
    async def ask(session: Session, params: CallToolRequestParams) -> object:
        state = session.inputs.state if session.inputs else 0
        assert isinstance(state, int)
        return session.input_required({"age": age_form()}, state=state + 1) if state < 2 else "done"

    async with serve_by_hand(tools(STATELESS, ask)) as hand:
        state = (await first_round(hand))["requestState"]
        await hand.send(call(2, inputResponses=ANSWER, requestState=state))
        assert (await hand.take())["result"]["inputRequests"].keys() == {"age"}


async def test_missing_answer_is_asked_again_and_extra_is_ignored() -> None:
    async def ask(session: Session, params: CallToolRequestParams) -> object:
        if session.inputs is None:
            return session.input_required({"a": age_form(), "b": age_form()})
        assert session.inputs.response("b", m.ElicitResult) is None
        assert session.inputs.state is None
        with pytest.raises(pkg.LocalError, match="'c'"):
            session.inputs.response("c", m.ElicitResult)
        with pytest.raises(pkg.LocalError, match="ElicitResult"):
            session.inputs.response("a", m.ListRootsResult)
        return str(sorted(session.inputs.missing))

    async with serve_by_hand(tools(STATELESS, ask)) as hand:
        state = (await first_round(hand))["requestState"]
        answers = {"a": ANSWER["age"], "zzz": {"action": "cancel"}}
        await hand.send(call(2, inputResponses=answers, requestState=state))
        assert (await hand.take())["result"]["content"][0]["text"] == "['b']"


async def test_asking_for_nothing_is_a_mistake(caplog: pytest.LogCaptureFixture) -> None:
    async def ask(session: Session, params: CallToolRequestParams) -> object:
        return session.input_required({})

    async with serve_by_hand(tools(STATELESS, ask)) as hand:
        await hand.send(call(1))
        assert (await hand.take())["error"]["code"] == -32603
    assert "needs questions or a state" in caplog.text


async def test_a_state_alone_asks_the_client_to_come_again() -> None:
    async def ask(session: Session, params: CallToolRequestParams) -> object:
        return (
            session.input_required({}, state=1)
            if session.inputs is None
            else f"{session.inputs.state}"
        )

    async with pkg.connect_in_memory(client(STATELESS), tools(STATELESS, ask)) as ours:
        assert content_of(await ours.call_tool("x"))[0].text == "1"
