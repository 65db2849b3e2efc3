"""One handler for both eras: it awaits its questions, and runs again where they end a round."""

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
from mcp_revisions.v2025_11_25 import Session
from mcp_revisions.v2025_11_25.models import (
    CallToolRequestParams,
    ElicitRequestParams,
    ElicitRequestURLParams,
    RequestParams,
)
from support.json_types import JsonObject
from support.revisions import ERAS, OLD, STATELESS
from support.sessions.talking import (
    CAPABILITIES,
    VERSION,
    Hand,
    ask_form,
    client,
    models,
    modern,
    pkg,
    serve_by_hand,
    tools,
)

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
        asked = (ask_form(session, message) for message in ("one", "two"))
        *said, roots = await asyncio.gather(*asked, session.list_roots())
        return f"{said} {roots.roots[0].uri}"

    async with connect(answering(revision), call) as ours:
        assert await text_of(ours) == "['one', 'two'] file:///r"
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
