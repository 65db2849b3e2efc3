"""Questions inside results, over several rounds, and handlers that await the answers."""

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
from mcp_revisions.v2025_11_25 import Session
from mcp_revisions.v2025_11_25.models import (
    CallToolRequestParams,
    CreateMessageRequestParams,
    ElicitRequestParams,
    ElicitRequestURLParams,
    RequestParams,
)
from mcp_revisions.v2026_07_28 import Session as NewSession
from support.json_types import JsonObject
from support.revisions import ERAS, OLD, STATELESS
from support.sessions.talking import (
    CAPABILITIES,
    VERSION,
    Hand,
    ask_form,
    client,
    content_of,
    models,
    modern,
    pkg,
    serve_by_hand,
    tools,
)
from support.tables import case

# All is in memory.
pytestmark = pytest.mark.skips_time

OWN = OLD
ASKED: JsonObject = {
    VERSION: STATELESS,
    CAPABILITIES: {"elicitation": {}, "sampling": {}, "roots": {}},
}
KEY = b"0123456789abcdef"


def answering(revision: str, **members: Any) -> Any:
    """A client that answers a form with the message it shows, and says where its roots are."""
    m = models(revision)

    async def on_elicit(self: object, params: ElicitRequestParams) -> object:
        return m.ElicitResult(action="accept", content={"x": params.message})

    async def on_list_roots(self: object, params: RequestParams) -> object:
        return m.ListRootsResult(roots=[m.Root(uri="file:///r")])

    handlers: JsonObject = {"on_list_roots": on_list_roots}
    if revision >= "2025-06-18":
        handlers["on_elicit"] = on_elicit
    return client(revision, **{**handlers, **members})


def connect(ours: Any, call: Any, own: str = OWN) -> AbstractAsyncContextManager[Any]:
    """Connect a client with a server whose tools all run `call`."""
    return pkg.connect_in_memory(ours, tools(own, call), revisions=pkg.REVISIONS)


async def text_of(ours: Any) -> str:
    return str((await ours.call_tool("x")).content[0].text)


async def ask(session: Session, params: CallToolRequestParams) -> str:
    return await ask_form(session)


def call_x(id: int, **members: Any) -> JsonObject:
    return modern("tools/call", id, name="x", _meta=ASKED, **members)


def answer_questions(result: JsonObject, **content: str) -> JsonObject:
    """What a client sends back to all the questions of a result."""
    answer = {"action": "accept", "content": content or {"x": "y"}}
    responses = dict.fromkeys(result["inputRequests"], answer)
    return {"inputResponses": responses, "requestState": result["requestState"]}


@pytest.mark.parametrize("revision", ERAS)
async def test_questions_asked_side_by_side_are_asked_together(revision: str) -> None:
    runs: list[int] = []

    async def call(session: Session, params: CallToolRequestParams) -> str:
        runs.append(1)
        asked = ask_form(session, "one"), ask_form(session, "two"), session.list_roots()
        one, two, roots = await asyncio.gather(*asked)
        return f"{one} {two} {roots.roots[0].uri}"

    async with connect(answering(revision), call) as ours:
        assert await text_of(ours) == "one two file:///r"
    assert len(runs) == (2 if revision == STATELESS else 1)


async def test_forged_or_foreign_state_is_refused() -> None:
    ours: object = tools(OWN, ask)
    other = type("Other", (type(ours),), {})

    async def refusal(hand: Hand, **members: Any) -> int:
        await hand.send(call_x(2, **members))
        return int((await hand.take())["error"]["code"])

    options: JsonObject = {"revisions": pkg.REVISIONS, "state_keys": [KEY]}
    async with serve_by_hand(tools(OWN, ask), **options) as hand:
        await hand.send(call_x(1))
        back = answer_questions((await hand.take())["result"])
        state = back["requestState"]
        flipped = state[:-1] + ("A" if state[-1] != "A" else "B")
        assert await refusal(hand, **{**back, "requestState": flipped}) == -32602
        assert await refusal(hand, **{**back, "arguments": {"other": 1}}) == -32602
        wrong = {key: {"action": "maybe"} for key in back["inputResponses"]}
        assert await refusal(hand, **{**back, "inputResponses": wrong}) == -32602
    async with serve_by_hand(other(), **options) as hand:
        assert await refusal(hand, **back) == -32602


async def test_a_question_that_was_not_answered_is_asked_again_but_not_for_ever() -> None:
    async with serve_by_hand(tools(OWN, ask), revisions=pkg.REVISIONS, max_rounds=3) as hand:
        await hand.send(call_x(1))
        first = (await hand.take())["result"]
        await hand.send(call_x(2, requestState=first["requestState"], inputResponses={}))
        second = (await hand.take())["result"]
        assert second["inputRequests"] == first["inputRequests"]
        await hand.send(call_x(3, requestState=second["requestState"]))
        assert (await hand.take())["error"]["code"] == -32603


@pytest.mark.parametrize("own", ERAS)
@pytest.mark.parametrize("revision", ERAS)
async def test_effect_wrapped_in_once_happens_once(own: str, revision: str) -> None:
    done: list[str] = []

    async def pay() -> JsonObject:
        await asyncio.sleep(0.02)
        done.append("paid")
        return {"receipt": (1, 2)}

    async def call(session: Session, params: CallToolRequestParams) -> str:
        # Stopped at the question, it still finishes started work.
        receipt, answer = await asyncio.gather(session.once("pay", pay), ask_form(session))
        assert receipt == await session.once("pay", pay) == {"receipt": [1, 2]}
        return answer

    async with connect(answering(revision), call, own) as ours:
        assert await text_of(ours) == "?"
    assert done == ["paid"]


async def test_work_that_fails_is_not_done_and_may_be_tried_again() -> None:
    tries: list[int] = []

    def work() -> str:
        tries.append(1)
        if len(tries) == 1:
            raise RuntimeError("not yet")
        return "at last"

    async def call(session: Session, params: CallToolRequestParams) -> str:
        with pytest.raises(RuntimeError):
            await session.once("k", work)
        return str(await session.once("k", work))

    async with connect(answering(OWN), call) as ours:
        assert await text_of(ours) == "at last"


async def test_a_state_that_is_too_long_to_come_back_is_not_sent() -> None:
    async def call(session: Session, params: CallToolRequestParams) -> str:
        await session.once("k", lambda: "x" * 5_000_000)
        return await ask_form(session)

    async with serve_by_hand(tools(OWN, call), revisions=pkg.REVISIONS) as hand:
        await hand.send(call_x(1))
        assert (await hand.take())["error"]["code"] == -32603


async def test_a_handler_that_asks_while_it_is_being_stopped_is_stopped() -> None:
    async def call(session: Session, params: CallToolRequestParams) -> str:
        try:
            await ask_form(session, "one")
        finally:
            await ask_form(session, "two")
        return "done"

    async with connect(answering(STATELESS), call) as ours:
        assert await text_of(ours) == "done"


async def test_a_cancelled_request_stays_cancelled_while_the_client_is_asked() -> None:
    async with serve_by_hand(tools(OWN, ask), revisions=pkg.REVISIONS) as hand:
        cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled"}
        await hand.send(call_x(1), {**cancelled, "params": {"requestId": 1}})
        assert await hand.is_silent()
        assert (await hand.ask("tools/list", 2, _meta=ASKED))["error"]["code"] == -32601


async def test_a_question_that_comes_after_the_answer_is_refused_and_stops_nobody_else() -> None:
    late: list[asyncio.Task[object]] = []

    async def call(session: Session, params: CallToolRequestParams) -> str:
        if params.name == "leaves":
            late.append(asyncio.create_task(session.list_roots()))
        else:
            await asyncio.sleep(0.05)
        return str(params.name)

    async with serve_by_hand(tools(OWN, call), revisions=pkg.REVISIONS) as hand:
        names = ["leaves", "waits"]
        for id, name in enumerate(names):
            await hand.send(modern("tools/call", id, name=name, _meta=ASKED))
        assert [(await hand.take())["id"] for _ in names] == [0, 1]
        with pytest.raises(pkg.LocalError, match="no open request can carry"):
            await late[0]


async def test_urls_to_visit_first_are_asked_for_or_put_into_words() -> None:
    visited: list[str] = []
    actions = ["accept", "decline"]
    urls = [{"mode": "url", "message": "Sign in", "url": "https://a", "elicitationId": "1"}]

    async def call(session: Session, params: CallToolRequestParams) -> str:
        if not visited:
            raise pkg.McpError(-32042, "first", {"elicitations": urls})
        return "in"

    async def on_elicit(self: object, params: ElicitRequestURLParams) -> object:
        action = actions.pop()
        if action == "accept":
            visited.append(params.url)
        return models(STATELESS).ElicitResult(action=action)

    declares: JsonObject = {"elicitation": {"url": {}}}
    visitor = answering(STATELESS, on_elicit=on_elicit, DECLARES=declares)
    async with connect(visitor, call) as ours:
        assert await text_of(ours) == "Sign in https://a"
        assert await text_of(ours) == "in"
    assert visited == ["https://a"]
    visited.clear()
    async with connect(answering("2025-03-26"), call) as ours:
        result = await ours.call_tool("x")
        assert result.is_error
        assert result.content[0].text == "Sign in https://a"


m = models(STATELESS)
FORM = {
    "type": "object",
    "properties": {"age": {"type": "integer", "minimum": 0}},
    "required": ["age"],
}


def age_form() -> Any:
    params = m.ElicitRequestFormParams(message="How old?", requested_schema=FORM)
    return m.ElicitRequest(params=params)


async def interview(session: NewSession, params: Any) -> object:
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

    async def ask(session: NewSession, params: Any) -> object:
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
    async def ask(session: NewSession, params: Any) -> object:
        if session.inputs is None:
            return m.InputRequiredResult(input_requests={"age": age_form()})
        return str(content_of(session.inputs.response("age", m.ElicitResult)))

    async with serve_by_hand(tools(STATELESS, ask)) as hand:
        assert "requestState" not in await first_round(hand)
    assert (await answered_at_once(ask, ANSWER))["result"]["content"][0]["text"] == "{'age': 5}"
    answers = {"age": {"action": "accept", "content": {"age": -1}}}
    assert (await answered_at_once(ask, answers))["error"]["code"] == -32602


async def test_a_question_that_is_asked_again_is_not_answered_by_the_earlier_answer() -> None:
    async def ask(session: NewSession, params: Any) -> object:
        state = session.inputs.state if session.inputs else 0
        assert isinstance(state, int)
        return session.input_required({"age": age_form()}, state=state + 1) if state < 2 else "done"

    async with serve_by_hand(tools(STATELESS, ask)) as hand:
        state = (await first_round(hand))["requestState"]
        await hand.send(call(2, inputResponses=ANSWER, requestState=state))
        assert (await hand.take())["result"]["inputRequests"].keys() == {"age"}


async def test_missing_answer_is_asked_again_and_extra_is_ignored() -> None:
    async def ask(session: NewSession, params: Any) -> object:
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
    async def ask(session: NewSession, params: Any) -> object:
        return session.input_required({})

    async with serve_by_hand(tools(STATELESS, ask)) as hand:
        await hand.send(call(1))
        assert (await hand.take())["error"]["code"] == -32603
    assert "needs questions or a state" in caplog.text


async def test_a_state_alone_asks_the_client_to_come_again() -> None:
    async def ask(session: NewSession, params: Any) -> object:
        return (
            session.input_required({}, state=1)
            if session.inputs is None
            else f"{session.inputs.state}"
        )

    async with pkg.connect_in_memory(client(STATELESS), tools(STATELESS, ask)) as ours:
        assert content_of(await ours.call_tool("x"))[0].text == "1"
