"""One server class, clients of all revisions: everything is translated, questions too."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from itertools import product
from typing import Any

import pytest
from mcp_revisions.v2025_11_25 import Session
from mcp_revisions.v2025_11_25.models import (
    CallToolRequestParams,
    CompleteRequestParams,
    CompleteResult,
    CreateMessageRequestParams,
    ElicitRequestParams,
    PaginatedRequestParams,
    RequestParams,
    SubscribeRequestParams,
    UnsubscribeRequestParams,
)
from support.json_types import JsonObject
from support.revisions import ERAS, OLD, REVISIONS, STATELESS
from support.sessions.bridging import through
from support.sessions.talking import (
    META,
    Accepting,
    Hand,
    ask_form,
    client,
    content_of,
    entry,
    models,
    modern,
    notification,
    pkg,
    serve_by_hand,
    server,
    tools,
)
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

OWN = OLD
ALL = {"revisions": pkg.REVISIONS}


async def do_nothing(session: Session, params: CallToolRequestParams) -> str:
    return "done"


async def test_without_being_told_to_a_server_speaks_its_own_revision_alone() -> None:
    async with serve_by_hand(tools(OWN, do_nothing)) as hand:
        assert (await hand.greet("2024-11-05"))["protocolVersion"] == OWN


async def test_capabilities_are_those_of_what_is_handled_in_the_words_of_the_revision() -> None:
    async def on_complete(
        self: object, session: Session, params: CompleteRequestParams
    ) -> CompleteResult:
        raise NotImplementedError

    tasks: JsonObject = {"tasks": {"list": {}}, "experimental": {"x": {}}}
    ours = server(OWN, on_complete=on_complete, DECLARES=tasks)
    async with serve_by_hand(ours, **ALL) as hand:
        assert (await hand.greet("2024-11-05"))["capabilities"] == {"experimental": {"x": {}}}
    async with serve_by_hand(ours, **ALL) as hand:
        said = await hand.greet("2025-03-26")
        assert said["capabilities"] == {"completions": {}, "experimental": {"x": {}}}
    async with serve_by_hand(ours, **ALL) as hand:
        found = (await hand.ask("server/discover", 1, _meta=META))["result"]
        assert found["supportedVersions"] == [*reversed(REVISIONS)]
        assert found["capabilities"] == {"completions": {}, "experimental": {"x": {}}}
    old = server("2024-11-05", on_list_tools=do_nothing)
    async with serve_by_hand(old, **ALL) as hand:
        assert (await hand.greet("2025-06-18"))["capabilities"] == {"tools": {}}


async def test_a_handler_of_the_stateless_era_finds_in_each_request_what_the_handshake_said() -> (
    None
):
    seen: list[Any] = []

    async def call(session: Session, params: CallToolRequestParams) -> str:
        seen.append((session.revision, session.client_capabilities, params.meta))
        return "done"

    async with serve_by_hand(tools(STATELESS, call), **ALL) as hand:
        await hand.greet("2025-06-18", elicitation={}, roots={"listChanged": True})
        await hand.ask("tools/call", 1, name="x", _meta={"a": 1})
    ((revision, declared, meta),) = seen
    assert (revision, meta.protocol_version) == ("2025-06-18", STATELESS)
    assert meta.client_info.name == "hand"
    assert type(declared) is models(STATELESS).ClientCapabilities
    assert declared.to_wire() == {"elicitation": {}, "roots": {}}
    assert meta.client_capabilities.to_wire() == declared.to_wire()
    assert meta.model_extra == {"a": 1}


async def test_problems_refer_to_members_that_client_wrote() -> None:
    async with serve_by_hand(tools(OWN, do_nothing), **ALL) as hand:
        await hand.greet("2025-06-18")
        refused = await hand.ask("tools/call", 1, name=5)
        assert refused["error"]["code"] == -32602
        assert refused["error"]["data"]["problems"][0]["pointer"] == "/params/name"
        # In this revision the member means nothing, whatever is in it.
        assert "result" in await hand.ask("tools/call", 2, name="x", task=5)
    # In this one it does, though not to the class.
    async with serve_by_hand(tools("2024-11-05", do_nothing), **ALL) as hand:
        await hand.greet(OWN)
        refused = await hand.ask("tools/call", 1, name="x", task=5)
        assert refused["error"]["data"]["problems"][0]["pointer"] == "/params/task"


def subscribing(heard: list[str], end: Callable[[], Awaitable[None]] | None = None) -> Any:
    """A server that records subscriptions, and refuses that to `b:no`."""

    async def on_subscribe(
        self: object, session: Session, params: SubscribeRequestParams
    ) -> object:
        if params.uri == "b:no":
            raise pkg.McpError(-32602, "no such resource")
        heard.append(f"subscribe {params.uri}")
        return m.EmptyResult()

    async def on_unsubscribe(
        self: object, session: Session, params: UnsubscribeRequestParams
    ) -> object:
        heard.append(f"unsubscribe {params.uri}")
        if end is not None:
            await end()
        return m.EmptyResult()

    return server(OWN, on_subscribe=on_subscribe, on_unsubscribe=on_unsubscribe)


async def test_a_listen_stream_is_made_of_single_subscriptions() -> None:
    heard: list[str] = []

    async def listen(hand: Hand, id: int, *uris: str) -> Any:
        wanted = {"resourceSubscriptions": list(uris)}
        return await hand.ask("subscriptions/listen", id, _meta=META, notifications=wanted)

    ours = subscribing(heard)
    async with serve_by_hand(ours, **ALL) as hand:
        first = await listen(hand, 1, "a:1", "b:no")
        assert first["params"]["notifications"] == {"resourceSubscriptions": ["a:1"]}
        await listen(hand, 2, "a:1", "a:2")
        assert heard == ["subscribe a:1", "subscribe a:2"]
        await ours.resource_updated("a:2")
        told = await hand.take()
        assert told["params"]["uri"] == "a:2"
        assert told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == 2
        await hand.send(notification("notifications/cancelled", requestId=2))
        assert await hand.is_silent()
        assert heard[2:] == ["unsubscribe a:2"]


async def test_a_stream_that_begins_while_another_ends_keeps_its_subscriptions() -> None:
    heard: list[str] = []
    ending, ends = asyncio.Event(), asyncio.Event()

    async def end() -> None:
        ending.set()
        await ends.wait()

    ours = subscribing(heard, end)
    async with serve_by_hand(ours, **ALL) as hand:
        for id, uris in ((1, ["a:1", "a:2"]), (2, ["a:2"])):
            wanted = {"resourceSubscriptions": uris}
            await hand.ask("subscriptions/listen", id, _meta=META, notifications=wanted)
            if id == 1:
                await hand.send(notification("notifications/cancelled", requestId=1))
                await ending.wait()
        ends.set()
        assert await hand.is_silent()
        assert heard == ["subscribe a:1", "subscribe a:2", "unsubscribe a:1"]


async def test_a_stream_of_too_many_resources_is_refused_before_anybody_is_told() -> None:
    heard: list[str] = []

    async with serve_by_hand(subscribing(heard), max_subscriptions=2, **ALL) as hand:
        wanted = {"resourceSubscriptions": ["a:1", "a:2", "a:3"]}
        answer = await hand.ask("subscriptions/listen", 1, _meta=META, notifications=wanted)
        assert answer["error"]["code"] == -32603
        assert heard == []


async def test_a_subscription_reaches_a_server_that_knows_streams_only() -> None:
    ours = tools(STATELESS, do_nothing, SENDS=frozenset({"notifications/resources/updated"}))
    async with serve_by_hand(ours, **ALL) as hand:
        said = await hand.greet("2025-03-26")
        assert said["capabilities"]["resources"] == {"subscribe": True}
        assert (await hand.ask("resources/subscribe", 1, uri="a:1"))["result"] == {}
        await ours.resource_updated("a:2")
        await ours.resource_updated("a:1")
        assert (await hand.take())["params"] == {"uri": "a:1"}


async def test_log_entries_go_by_the_level_that_the_client_asked_for_in_its_way() -> None:
    async def call(session: Session, params: CallToolRequestParams) -> str:
        await session.log("info", "entry")
        return "done"

    for own in [OWN, STATELESS]:
        with case(own):
            ours = tools(own, call, SENDS=frozenset({"notifications/message"}))
            async with serve_by_hand(ours, **ALL) as hand:
                await hand.greet("2025-03-26")
                await hand.ask("logging/setLevel", 1, level="error")
                assert "result" in await hand.ask("tools/call", 2, name="x")
                await hand.ask("logging/setLevel", 3, level="info")
                assert (await hand.ask("tools/call", 4, name="x"))["params"]["data"] == "entry"
            async with serve_by_hand(ours, **ALL) as hand:
                assert "result" in await hand.ask("tools/call", 1, name="x", _meta=META)
                wanted = {**META, "io.modelcontextprotocol/logLevel": "info"}
                answer = await hand.ask("tools/call", 2, name="x", _meta=wanted)
                assert answer["params"]["data"] == "entry"


async def test_each_kind_of_loss_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    told: list[Any] = []

    async def call(session: Session, params: CallToolRequestParams) -> object:
        blocks = [m.ResourceLink(uri="a:1", name="a"), m.ResourceLink(uri="a:2", name="b")]
        return m.CallToolResult(content=blocks, structured_content={"a": 1})

    with caplog.at_level(logging.WARNING):
        async with serve_by_hand(tools(OWN, call), on_loss=told.append, **ALL) as hand:
            await hand.greet("2025-03-26")
            for id in (1, 2):
                content = (await hand.ask("tools/call", id, name="x"))["result"]["content"]
                assert [block["text"] for block in content] == ["a <a:1>", "b <a:2>", '{"a":1}']
    kinds = [(loss.own, loss.wire, loss.method, loss.pointer, loss.what) for loss in told]
    assert kinds == [
        (OWN, "2025-03-26", "tools/call", "/result/structuredContent", "replaced"),
        (OWN, "2025-03-26", "tools/call", "/result/content/0", "replaced"),
    ]
    assert len([record for record in caplog.records if "tools/call" in record.getMessage()]) == 2


async def test_a_loss_is_what_somebody_has_said_and_not_what_is_written_for_everybody(
    caplog: pytest.LogCaptureFixture,
) -> None:
    new, told = models(STATELESS), list[Any]()
    kept: Iterator[JsonObject] = iter([{}, {"ttl_ms": 0, "cache_scope": "private"}, {"ttl_ms": 5}])

    async def on_list_tools(
        self: object, session: Session, params: PaginatedRequestParams
    ) -> object:
        return new.ListToolsResult(tools=[], **next(kept))

    with caplog.at_level(logging.WARNING):
        ours = server(STATELESS, on_list_tools=on_list_tools)
        async with serve_by_hand(ours, on_loss=told.append, **ALL) as hand:
            await hand.greet(OWN)
            for seen in (0, 0, 1):
                assert (await hand.ask("tools/list", 1))["result"] == {"tools": []}
                assert len(told) == len(caplog.records) == seen
    assert told[0].pointer == "/result/ttlMs"


async def test_a_peer_cannot_fill_the_memory_with_losses() -> None:
    told: list[object] = []

    async def call(session: Session, params: CallToolRequestParams) -> str:
        form = models("2025-06-18").ElicitRequestParams(message="?", requested_schema=EMPTY)
        await session.request(entry(session, "elicitation/create"), form)
        return "done"

    async with serve_by_hand(tools("2025-06-18", call), on_loss=told.append, **ALL) as hand:
        await hand.greet(OWN, elicitation={})
        for round_ in range(12):
            asked = await hand.ask("tools/call", round_ + 1, name="x")
            content = {f"{round_}-{number}": ["a"] for number in range(100)}
            result = {"action": "accept", "content": content}
            await hand.send({"jsonrpc": "2.0", "id": asked["id"], "result": result})
            assert "result" in await hand.take()
    assert len(told) == 1000


EMPTY: JsonObject = {"type": "object", "properties": {}}
SEVERAL = {"type": "array", "items": {"type": "string", "enum": ["a", "b", "c"]}}


@pytest.mark.parametrize("own", [OWN, STATELESS])
async def test_a_choice_of_several_comes_back_as_one_though_it_was_asked_for_as_text(
    own: str,
) -> None:
    async def call(session: Session, params: CallToolRequestParams) -> str:
        kind = models(own).ElicitRequestFormParams
        schema = {"type": "object", "properties": {"x": SEVERAL}}
        answer = await session.request(
            entry(session, "elicitation/create"), kind(message="?", requested_schema=schema)
        )
        return repr(content_of(answer))

    async with serve_by_hand(tools(own, call), **ALL) as hand:
        await hand.greet("2025-06-18", elicitation={})
        asked = await hand.ask("tools/call", 1, name="x")
        field = asked["params"]["requestedSchema"]["properties"]["x"]
        assert field["type"] == "string"
        assert "a, b, c" in field["description"]
        result = {"action": "accept", "content": {"x": "a, c"}}
        await hand.send({"jsonrpc": "2.0", "id": asked["id"], "result": result})
        text = (await hand.take())["result"]["content"][0]["text"]
        assert text == "{'x': ['a', 'c']}"


async def test_RJ14_a_capability_that_the_client_lacks_is_named_in_the_answer() -> None:
    async def call(session: Session, params: CallToolRequestParams) -> str:
        await session.create_message([], 1, tools=[])
        return "done"

    async with serve_by_hand(tools(OWN, call), **ALL) as hand:
        await hand.greet("2025-06-18", sampling={})
        error = (await hand.ask("tools/call", 1, name="x"))["error"]
        assert error["code"] == -32603
        assert error["data"] == {"requiredCapabilities": {"sampling": {"tools": {}}}}
    async with serve_by_hand(tools(OWN, call), **ALL) as hand:
        error = (await hand.ask("tools/call", 1, name="x", _meta=META))["error"]
        assert error["code"] == -32021
        assert "sampling" in error["data"]["requiredCapabilities"]


async def test_notification_that_the_wire_lacks_is_reported_and_not_sent() -> None:
    told: list[Any] = []

    async def call(session: Session, params: CallToolRequestParams) -> str:
        done = m.ElicitationCompleteNotificationParams(elicitation_id="1")
        await session.notify(
            session.TABLE.notifications["notifications/elicitation/complete"], done
        )
        return "done"

    async with serve_by_hand(tools(OWN, call), on_loss=told.append, **ALL) as hand:
        assert "result" in await hand.ask("tools/call", 1, name="x", _meta=META)
    assert [(loss.method, loss.what) for loss in told] == [
        ("notifications/elicitation/complete", "refused")
    ]


async def test_a_request_in_the_wrong_era_is_still_refused() -> None:
    async with serve_by_hand(tools(OWN, do_nothing), **ALL) as hand:
        assert (await hand.ask("tools/call", 1, name="x"))["error"]["code"] == -32600
        assert (await hand.ask("ping", 2)) == {"jsonrpc": "2.0", "id": 2, "result": {}}
        await hand.send(modern("ping", 3))
        assert (await hand.take())["error"]["code"] == -32601


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
        one = await ask_form(session, "one")
        said = theirs.SamplingMessage(role="user", content=theirs.TextContent(text=one))
        asked = theirs.CreateMessageRequestParams(messages=[said], max_tokens=5)
        name = await session.request(entry(session, "sampling/createMessage"), asked)
        return f"{one} {content_of(name).text} {(await session.list_roots()).roots[0].uri}"

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
        return await ask_form(session)

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


CHOICES = {"type": "array", "items": {"type": "string", "enum": ["p", "q", "r, s"]}}
TITLED = {"type": "string", "oneOf": [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]}


async def filled_in(revision: str, own: str, by: str, given: object, **form: Any) -> Any:
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

    ours, theirs = client(revision, on_elicit=on_elicit), tools(own, call)
    translating = {
        "server": pkg.connect_in_memory(ours, theirs, revisions=pkg.REVISIONS),
        "client": over(ours, theirs),
        "bridge": through(ours, theirs),
    }
    async with translating[by] as one:
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
            form = {"properties": {"x": CHOICES, "y": TITLED}}
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
