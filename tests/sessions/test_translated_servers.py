"""One server class, clients of all revisions: everything bridged except questions."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from mcp_revisions.v2025_11_25 import Session
from mcp_revisions.v2025_11_25.models import (
    CallToolRequestParams,
    CompleteRequestParams,
    CompleteResult,
    PaginatedRequestParams,
    SubscribeRequestParams,
    UnsubscribeRequestParams,
)
from support.json_types import JsonObject
from support.revisions import OLD, REVISIONS, STATELESS
from support.sessions.talking import (
    META,
    Hand,
    content_of,
    entry,
    models,
    modern,
    notification,
    pkg,
    run,
    serve_by_hand,
    server,
    tools,
)
from support.tables import case

OWN = OLD
m = models(OWN)
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


def test_each_kind_of_loss_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    told: list[Any] = []

    async def call(session: Session, params: CallToolRequestParams) -> object:
        blocks = [m.ResourceLink(uri="a:1", name="a"), m.ResourceLink(uri="a:2", name="b")]
        return m.CallToolResult(content=blocks, structured_content={"a": 1})

    async def script() -> None:
        async with serve_by_hand(tools(OWN, call), on_loss=told.append, **ALL) as hand:
            await hand.greet("2025-03-26")
            for id in (1, 2):
                content = (await hand.ask("tools/call", id, name="x"))["result"]["content"]
                assert [block["text"] for block in content] == ["a <a:1>", "b <a:2>", '{"a":1}']

    with caplog.at_level(logging.WARNING):
        run(script())
    kinds = [(loss.own, loss.wire, loss.method, loss.pointer, loss.what) for loss in told]
    assert kinds == [
        (OWN, "2025-03-26", "tools/call", "/result/structuredContent", "replaced"),
        (OWN, "2025-03-26", "tools/call", "/result/content/0", "replaced"),
    ]
    assert len([record for record in caplog.records if "tools/call" in record.getMessage()]) == 2


def test_a_loss_is_what_somebody_has_said_and_not_what_is_written_for_everybody(
    caplog: pytest.LogCaptureFixture,
) -> None:
    new, told = models(STATELESS), list[Any]()
    kept: Iterator[JsonObject] = iter([{}, {"ttl_ms": 0, "cache_scope": "private"}, {"ttl_ms": 5}])

    async def on_list_tools(
        self: object, session: Session, params: PaginatedRequestParams
    ) -> object:
        return new.ListToolsResult(tools=[], **next(kept))

    async def script() -> None:
        ours = server(STATELESS, on_list_tools=on_list_tools)
        async with serve_by_hand(ours, on_loss=told.append, **ALL) as hand:
            await hand.greet(OWN)
            for seen in (0, 0, 1):
                assert (await hand.ask("tools/list", 1))["result"] == {"tools": []}
                assert len(told) == len(caplog.records) == seen

    with caplog.at_level(logging.WARNING):
        run(script())
    assert told[0].pointer == "/result/ttlMs"


async def test_a_peer_cannot_fill_the_memory_with_losses() -> None:
    told: list[object] = []

    async def call(session: Session, params: CallToolRequestParams) -> str:
        form = models("2025-06-18").ElicitRequestParams(message="?", requested_schema=FORM)
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


FORM: JsonObject = {"type": "object", "properties": {}}
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
