"""A bridge between a client and a server: messages reach the other side, and nothing is left."""

import asyncio
from typing import Any

import pytest
from mcp_protogen.runtime.rules.task_kinds import TASKS_EXTENSION
from mcp_revisions.v2025_11_25 import Session
from mcp_revisions.v2025_11_25.models import CallToolRequestParams, PaginatedRequestParams
from support.json_types import JsonObject
from support.revisions import ERAS, OLD, STATELESS
from support.sessions.bridging import (
    ASKED,
    answer_questions,
    call_until_asked,
    call_x,
    serve_bridged,
    text_of,
    through,
)
from support.sessions.talking import (
    CAPABILITIES,
    INITIALIZED,
    META,
    Accepting,
    Hand,
    ask_form,
    client,
    content_of,
    discover_result,
    error,
    hello,
    models,
    modern,
    notification,
    pkg,
    request,
    server,
    tools,
    welcome,
)
from support.sessions.wiretap import (
    ELICIT,
    FORM,
    TOOLS_CHANGED,
    UPDATED,
    Wire,
    agree,
    new,
    over,
    result,
    shake,
    until,
)

# All is in memory.
pytestmark = pytest.mark.skips_time

PAIRS = [(OLD, STATELESS), (STATELESS, OLD), (OLD, OLD), (STATELESS, STATELESS)]
LOG = "notifications/message"
COMPLETE: JsonObject = {OLD: {}, STATELESS: {"resultType": "complete"}}


def listing(revision: str) -> Any:
    """A handler that lists no tools."""

    async def on_list_tools(
        self: object, session: Session, params: PaginatedRequestParams
    ) -> object:
        return models(revision).ListToolsResult(tools=[])

    return on_list_tools


async def do_nothing(session: Session, params: CallToolRequestParams) -> str:
    return "done"


class Work:
    """A tool of the handshake era that asks, with a record of its runs."""

    def __init__(self, *messages: str) -> None:
        self.messages = messages
        self.log: list[str] = []
        self.over = asyncio.Event()

    async def __call__(self, session: Session, params: CallToolRequestParams) -> str:
        self.log.append("run")
        try:
            return " ".join([await ask_form(session, message) for message in self.messages])
        except asyncio.CancelledError:
            self.log.append("stopped")
            raise
        finally:
            self.over.set()


async def test_a_handler_goes_on_where_it_asked_though_its_client_is_asked_in_rounds() -> None:
    work = Work("one", "two", "two")
    async with serve_bridged(tools(OLD, work)) as hand:
        back: JsonObject = {}
        for number, message in enumerate(work.messages):
            asked = await call_until_asked(hand, number, **back)
            (question,) = asked["inputRequests"].values()
            assert question["params"]["message"] == message
            back = answer_questions(asked, f"a{number}")
        await hand.send(call_x(9, **back))
        assert await text_of(hand) == "a0 a1 a2"
    assert work.log == ["run"]


async def test_a_client_that_does_not_come_back_is_not_waited_for_for_ever() -> None:
    work = Work("one")
    async with serve_bridged(tools(OLD, work), max_timeout=0.1) as hand:
        asked = await call_until_asked(hand, 1)
        await asyncio.wait_for(work.over.wait(), 30)
        await asyncio.sleep(0.05)
        await hand.send(call_x(2, **answer_questions(asked, "late")))
        assert (await hand.take())["error"]["code"] == -32602
    assert work.log == ["run", "stopped"]


async def test_of_two_that_bring_the_same_answers_one_is_refused() -> None:
    go = asyncio.Event()

    async def call(session: Session, params: CallToolRequestParams) -> str:
        answer = await ask_form(session)
        await go.wait()
        return answer

    async with serve_bridged(tools(OLD, call)) as hand:
        back = answer_questions(await call_until_asked(hand, 1))
        await hand.send(call_x(2, **back), call_x(3, **back))
        assert (await hand.take())["error"]["code"] == -32600
        go.set()
        assert await text_of(hand) == "y"
        # It is not repeated for a later one, either.
        await hand.send(call_x(4, **back))
        assert (await hand.take())["error"]["code"] == -32602


def noting(told: list[Any], member: str) -> Any:
    """Return a handler that records a member of its params."""

    async def note(self: object, params: object) -> None:
        told.append(getattr(params, member, "changed"))

    return note


@pytest.mark.parametrize(("own", "revision"), PAIRS)
async def test_changes_get_through_to_whoever_wants_to_know(own: str, revision: str) -> None:
    told: list[object] = []
    handled = {"on_resource_updated": "uri", "on_tool_list_changed": ""}
    if revision == STATELESS:
        handled["on_subscriptions_acknowledged"] = "notifications"

    async def begin(ours: Any) -> asyncio.Task[Any]:
        if revision == OLD:
            task = asyncio.create_task(ours.subscribe("a"))
        else:
            wanted = new.SubscriptionFilter(tools_list_changed=True, resource_subscriptions=["a"])
            task = asyncio.create_task(ours.subscriptions_listen(wanted))
        await until(lambda: bool(told) or task.done())
        told.clear()
        return task

    theirs = server(own, SENDS=frozenset({UPDATED, TOOLS_CHANGED}))
    ours = client(revision, **{name: noting(told, of) for name, of in handled.items()})
    async with through(ours, theirs):
        listening = await begin(ours)
        await theirs.resource_updated("b")
        await theirs.resource_updated("a")
        await theirs.tools_list_changed()
        await until(lambda: len(told) == 2)
        listening.cancel()
    assert told == ["a", "changed"]


async def test_bridge_refuses_client_that_cannot_be_translated_and_serves_the_next() -> None:
    async def play(hand: Hand) -> None:
        await agree(hand)
        await hand.take()

    theirs = Accepting(play)
    async with serve_bridged(
        theirs, [revision for revision in pkg.REVISIONS if revision.id == STATELESS]
    ) as hand:
        assert (await hand.ask("ping", 7))["result"] == {}
        for member in ("elicitation", "roots"):
            await hand.send(hello(OLD, 1, **{member: 5}))
            refused = (await hand.take())["error"]
            (problem,) = refused["data"]["problems"]
            assert refused["code"] == -32602
            assert problem["pointer"] == f"/params/capabilities/{member}"
        assert theirs.opened == 0
        await hand.greet()
        assert theirs.opened == 1


async def test_the_revision_of_the_client_goes_before_newer_ones_of_the_server() -> None:
    wire = Wire()
    opener = pkg.in_memory(tools(STATELESS, do_nothing), tap=wire, revisions=pkg.REVISIONS)
    async with serve_bridged(opener) as hand:
        await hand.greet()
        assert (await hand.ask("tools/call", 2, name="x"))["result"].keys() == {"content"}
    assert [opening["protocolVersion"] for opening in wire.calls("initialize")] == [OLD]
    assert not wire.calls("server/discover")


async def test_no_empty_metadata_is_left_of_what_only_the_other_era_has() -> None:
    sends = {"on_list_tools": listing(STATELESS), "SENDS": frozenset({TOOLS_CHANGED})}
    theirs = tools(STATELESS, do_nothing, **sends)
    async with serve_bridged(theirs) as hand:
        await hand.greet()
        assert (await hand.ask("tools/list", 1))["result"] == {"tools": []}
        assert (await hand.ask("tools/call", 2, name="x"))["result"].keys() == {"content"}
    told: list[Any] = []
    ours = client(OLD, on_tool_list_changed=noting(told, "meta"))
    async with over(ours, theirs):
        await theirs.tools_list_changed()
        await until(lambda: told == [None])


@pytest.mark.parametrize("own", ERAS)
@pytest.mark.parametrize("bridge", [True, False])
async def test_the_last_progress_is_told_before_the_answer(own: str, bridge: bool) -> None:
    """However soon after the one before, and even together with the answer."""

    async def play(hand: Hand) -> None:
        await (agree if own == STATELESS else shake)(hand, tools={})
        asked = await hand.take()
        token = asked["params"]["_meta"]["progressToken"]
        name = "notifications/progress"
        told = [notification(name, progressToken=token, progress=done) for done in (1, 2, 3)]
        await hand.send(*told, result(asked["id"], **COMPLETE[own], content=[]))
        await hand.take()

    async def call(session: Session, params: CallToolRequestParams) -> object:
        for done in (1, 2, 3):
            await session.progress(done)
        return models(own).CallToolResult(content=[])

    theirs = Accepting(play) if bridge else tools(own, call)
    # Only a server decides how often it reports.
    steps = [1, 2, 3] if bridge else [1, 3]
    async with serve_bridged(theirs, progress_interval=10) as hand:
        await hand.greet()
        await hand.send(request("tools/call", 1, name="x", _meta={"progressToken": "t"}))
        told = [await hand.take() for _ in [*steps, "result"]]
        assert [message["params"]["progress"] for message in told[:-1]] == steps
        assert told[-1]["result"]["content"] == []


async def test_progress_made_while_the_client_is_away_is_told_when_it_is_back() -> None:
    asked, away, told = {**ASKED, "progressToken": "t"}, asyncio.Event(), asyncio.Event()

    async def play(hand: Hand) -> None:
        await shake(hand, tools={})
        call = await hand.take()
        token = call["params"]["_meta"]["progressToken"]
        await hand.send(request(ELICIT, 7, message="?", requestedSchema=FORM))
        await away.wait()
        await hand.send(notification("notifications/progress", progressToken=token, progress=1))
        told.set()
        assert (await hand.take())["id"] == 7
        await hand.send(result(call["id"], content=[]))
        await hand.take()

    async with serve_bridged(Accepting(play)) as hand:
        await hand.send(modern("tools/call", 1, name="x", _meta=asked))
        question = (await hand.take())["result"]
        away.set()
        await told.wait()
        await hand.send(
            modern("tools/call", 2, name="x", _meta=asked, **answer_questions(question))
        )
        assert (await hand.take())["params"]["progress"] == 1
        assert (await hand.take())["result"]["content"] == []


@pytest.mark.parametrize(("own", "revision"), PAIRS)
async def test_bridge_passes_on_what_was_not_declared_within_one_revision(
    own: str, revision: str
) -> None:
    lost: list[Any] = []

    async def play(hand: Hand) -> None:
        await (agree if own == STATELESS else shake)(hand, tools={})
        asked = await hand.take()
        for _ in range(2):
            await hand.send(notification(LOG, level="error", data="x"))
            await hand.send(notification(TOOLS_CHANGED), notification(UPDATED, uri="a:1"))
        await hand.send(result(asked["id"], **COMPLETE[own], content=[]))
        await hand.take()

    told: list[Any] = []
    ours = client(
        revision,
        on_logging_message=noting(told, "data"),
        on_tool_list_changed=noting(told, "meta"),
        on_resource_updated=noting(told, "uri"),
    )
    async with through(ours, Accepting(play), on_loss=lost.append):
        assert content_of(await ours.call_tool("x")) == []
    if own == revision:
        # The client decides about that.
        assert (told, lost) == (["x", None, "a:1"] * 2, [])
        return
    assert [(loss.method, loss.what) for loss in lost] == [
        (method, "dropped") for method in (LOG, TOOLS_CHANGED, UPDATED)
    ]


@pytest.mark.parametrize("revision", ERAS)
async def test_between_two_of_one_revision_what_neither_knows_is_carried_as_it_came(
    revision: str,
) -> None:
    done: JsonObject = {OLD: {"content": []}, STATELESS: {"resultType": "b/made", "made": 1}}

    def request_in(method: str, id: int = 0, **params: Any) -> Any:
        make = modern if revision == STATELESS else request
        return make(method, id, **params)

    def bare(params: Any) -> Any:
        return {name: value for name, value in params.items() if name != "_meta"}

    # Tasks are the only extension that a bridge translates.
    extensions: JsonObject = {"a/b": {}, **({TASKS_EXTENSION: {}} if revision == STATELESS else {})}

    async def play(hand: Hand) -> None:
        await (agree if revision == STATELESS else shake)(hand, tools={}, extensions=extensions)
        asked = await hand.take()
        assert (asked["method"], bare(asked["params"])) == ("b/do", {"x": [1]})
        if revision == OLD:
            await hand.send(request("b/ask", 7, y=1))
            assert (await hand.take())["result"] == {"z": 2}
        await hand.send(notification("notifications/b", n=3), result(asked["id"], r={"s": 4}))
        told = await hand.take()
        assert (told["method"], bare(told["params"])) == ("notifications/c", {"m": 5})
        await hand.send(result((await hand.take())["id"], **done[revision]))
        await hand.send(error((await hand.take())["id"], -7))
        await hand.take()

    async with serve_bridged(Accepting(play)) as hand:
        if revision == OLD:
            declared = (await hand.greet(OLD, extensions={"a/b": {}}))["capabilities"]
        else:
            declared = (await hand.ask("server/discover", 9, _meta=META))["result"]
            declared = declared["capabilities"]
        assert declared == {"tools": {}, "extensions": extensions}
        await hand.send(request_in("b/do", 1, x=[1]))
        if revision == OLD:
            question = await hand.take()
            assert (question["method"], question["params"]) == ("b/ask", {"y": 1})
            await hand.send(result(question["id"], z=2))
        told = await hand.take()
        assert (told["method"], told["params"]) == ("notifications/b", {"n": 3})
        assert bare((await hand.take())["result"]) == {"r": {"s": 4}}
        meta = {"_meta": META} if revision == STATELESS else {}
        await hand.send(
            notification("notifications/c", m=5, **meta), request_in("tools/call", 2, name="x")
        )
        assert bare((await hand.take())["result"]) == done[revision]
        await hand.send(request_in("b/fail", 3))
        assert (await hand.take())["error"]["code"] == -7


@pytest.mark.parametrize("own", ["2025-06-18", OLD, STATELESS])
async def test_between_two_revisions_extensions_are_not_declared_and_that_is_reported(
    own: str,
) -> None:
    lost: list[Any] = []
    extensions: JsonObject = {"a/b": {}}

    async def play(hand: Hand) -> None:
        asked = await hand.take()
        if own == STATELESS:
            await hand.send(discover_result(asked["id"], tools={}, extensions=extensions))
            # Tasks are what the bridge carries by itself, to a revision that has them.
            told: JsonObject = {"sampling": {}}
            if pkg.load(own).__mcp_part__("tasks") is not None:
                told["extensions"] = {TASKS_EXTENSION: {}}
            assert asked["params"]["_meta"][CAPABILITIES] == told
        else:
            await hand.send(welcome(asked["id"], own, tools={}, extensions=extensions))
            assert asked["params"]["capabilities"] == {"sampling": {}}
            await hand.take()
        assert await hand.take() is None

    said: JsonObject = {"sampling": {}, "extensions": extensions}
    spoken = [revision for revision in pkg.REVISIONS if revision.id == own]
    async with serve_bridged(Accepting(play), spoken, on_loss=lost.append) as hand:
        if own != OLD:
            await hand.send(hello(OLD, **said))
            answer = await hand.take()
            await hand.send(INITIALIZED, request("b/do"))
        else:
            meta = {**META, CAPABILITIES: said}
            answer = await hand.ask("server/discover", 1, _meta=meta)
            await hand.send(modern("b/do", 2))
        assert answer["result"]["capabilities"] == {"tools": {}}
        assert (await hand.take())["error"]["code"] == -32601
    assert {loss.pointer for loss in lost} == {
        "/ClientCapabilities/extensions",
        "/ServerCapabilities/extensions",
    }
