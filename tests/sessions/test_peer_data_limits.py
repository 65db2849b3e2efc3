"""What is kept of a peer for as long as a connection lasts: so much, and no more, and as text."""

import asyncio
from typing import Any

import pytest
from mcp_protogen.runtime.core import recent_names
from mcp_protogen.runtime.transports.memory import memory_pair
from mcp_revisions.v2025_11_25 import Session
from mcp_revisions.v2025_11_25.models import CallToolRequestParams, SubscribeRequestParams
from support.json_types import JsonObject
from support.revisions import ERAS, HANDSHAKE, OLD, STATELESS
from support.sessions.talking import (
    CAPABILITIES,
    META,
    Accepting,
    Hand,
    client,
    discover_result,
    hello,
    modern,
    notification,
    pkg,
    request,
    serve_by_hand,
    server,
    shaken,
    tools,
    welcome,
)
from support.sessions.wiretap import result, shake
from support.tables import case

UPDATED = "notifications/resources/updated"
LONG: JsonObject = {"x": {"text": "z" * 2000}}
MANY: JsonObject = {"x": {"lists": [[]] * 100}}
FEWER: JsonObject = {"x": {"lists": [[]] * 50}}


async def describe_client(session: Session, params: CallToolRequestParams) -> str:
    """What a tool knows of the client."""
    assert session.client_info is not None
    said = session.client_capabilities.to_json(), session.client_info.to_json()
    return b" ".join(said).decode()


def refusal(answer: Any) -> tuple[int, str]:
    """The code of an error, and where the first problem is."""
    (problem,) = answer["error"]["data"]["problems"]
    return answer["error"]["code"], problem["pointer"]


async def test_client_description_is_bounded() -> None:
    for own in ERAS:
        with case(own):
            limits = {"max_client": 1000, "max_values": 90}
            ours = tools(own, describe_client)
            for revision in HANDSHAKE:
                async with serve_by_hand(ours, revisions=pkg.REVISIONS, **limits) as hand:
                    named = hello(revision)
                    named["params"]["clientInfo"]["title"] = "z" * 1000
                    for greeting, where in (
                        (hello(revision, experimental=LONG), "capabilities"),
                        (hello(revision, experimental=MANY), "capabilities"),
                        (named, "clientInfo"),
                    ):
                        await hand.send(greeting)
                        assert refusal(await hand.take()) == (-32602, f"/params/{where}")
                        assert not ours.sessions
                    await hand.send(hello(revision, experimental=FEWER))
                    assert (await hand.take())["result"]["protocolVersion"] == revision


async def test_client_description_is_stored_as_text_and_readable() -> None:
    for own in ERAS:
        with case(own):
            ours, said = tools(own, describe_client), {"experimental": MANY, "sampling": {}}
            async with serve_by_hand(ours, revisions=pkg.REVISIONS) as hand:
                await hand.greet(OLD, **said)
                answer = await hand.ask("tools/call", name="x")
                text: str = answer["result"]["content"][0]["text"]
                assert text.count("[]") == 100
                assert '"sampling":{}' in text
                assert '"name":"hand"' in text
                (side,) = ours.__mcp_runtime__.connections
                connection = side.endpoint.connection
                for kept in (connection.declared, connection.identity):
                    # It is decoded each time, however it is looked up.
                    assert kept["client"] is not kept.get("client")
                assert (
                    connection.declared.get("client") == {**connection.declared}["client"] == said
                )
                assert connection.identity.get("server") is None


async def test_a_bridge_keeps_no_more_of_a_client_than_a_server_does() -> None:
    ours, theirs = memory_pair()
    opened = Accepting(lambda hand: hand.take())
    bridge = pkg.Bridge(theirs, opened, options=pkg.Options(max_client=1000))
    carrying = asyncio.create_task(bridge.run())
    hand = Hand(ours)
    await hand.send(hello(OLD, experimental=LONG))
    assert refusal(await hand.take()) == (-32602, "/params/capabilities")
    meta = {**META, CAPABILITIES: {"experimental": LONG}}
    await hand.send(modern("tools/list", _meta=meta))
    at = "/params/_meta/io.modelcontextprotocol~1clientCapabilities"
    assert refusal(await hand.take()) == (-32602, at)
    assert not opened.opened
    await ours.close()
    await carrying


def server_with_updates(revision: str, **members: Any) -> Any:
    """A server that tells of changes of resources."""

    async def on_subscribe(self: Any, session: Session, params: SubscribeRequestParams) -> object:
        self.asked.append(params.uri)
        return pkg.load(OLD).models.EmptyResult()

    declares = {"resources": {"subscribe": True}}
    handlers = {"on_subscribe": on_subscribe} if revision == OLD else {}
    return server(revision, SENDS=(UPDATED,), DECLARES=declares, asked=[], **handlers, **members)


async def test_the_uris_of_a_session_are_bounded_each_and_together() -> None:
    ours = server_with_updates(OLD)
    async with shaken(ours, max_uri=100, max_uris=250) as hand:

        async def outcome(method: str, uri: str) -> Any:
            answer = await hand.ask(f"resources/{method}", uri=uri)
            return answer.get("error", {}).get("code")

        answer = await hand.ask("resources/subscribe", uri="x" * 101)
        assert refusal(answer) == (-32602, "/params/uri")
        assert await outcome("subscribe", "ä" * 51) == -32602
        first, second, third = "a" * 100, "b" * 100, "c" * 100
        assert [await outcome("subscribe", address) for address in (first, second, first)] == [
            None
        ] * 3
        assert await outcome("subscribe", third) == -32603
        # A refused client is not recorded for handlers.
        assert ours.asked == [first, second, first]
        assert await outcome("unsubscribe", first) is None
        assert await outcome("subscribe", third) is None


async def test_listen_requests_are_bounded_and_released_with_stream() -> None:
    def listen(id: int, *uris: str, **meta: Any) -> Any:
        wanted = {"resourceSubscriptions": list(uris)}
        return modern("subscriptions/listen", id, notifications=wanted, _meta={**META, **meta})

    for own in ERAS:
        with case(own):
            limits = {"max_uri": 100, "max_uris": 250, "max_client": 1000, "max_values": 50}
            async with serve_by_hand(
                server_with_updates(own), revisions=pkg.REVISIONS, **limits
            ) as hand:
                await hand.send(listen(1, "x" * 101))
                where = "/params/notifications/resourceSubscriptions"
                assert refusal(await hand.take()) == (-32602, where)
                many: JsonObject = {"lists": [[]] * 200}
                for large in (LONG, many):
                    await hand.send(listen(1, "a", **{"com.example/x": large}))
                    assert refusal(await hand.take()) == (-32602, "/params")
                # Streams that want the same have it each by itself.
                for id in (1, 2):
                    await hand.send(listen(id, "a" * 100))
                    assert (await hand.take())["method"].endswith("/acknowledged")
                await hand.send(listen(3, "a" * 100))
                assert (await hand.take())["error"]["code"] == -32603
                await hand.send(notification("notifications/cancelled", requestId=1))
                await hand.send(listen(4, "a" * 100))
                assert (await hand.take())["method"].endswith("/acknowledged")


async def test_ids_and_tokens_that_come_back_with_each_message_are_short() -> None:
    async def talk(session: Session, params: CallToolRequestParams) -> str:
        await session.progress(1)
        return "done"

    async with shaken(tools(OLD, talk)) as hand:
        refused = await hand.ask("tools/call", "i" * 1001, name="x")
        assert (refused["error"]["code"], refused.get("id")) == (-32600, None)
        for length, methods in ((1000, ["notifications/progress", None]), (1001, [None])):
            meta = {"progressToken": "t" * length}
            await hand.send(request("tools/call", "i" * 1000, name="x", _meta=meta))
            assert [(await hand.take()).get("method") for _ in methods] == methods


@pytest.mark.parametrize("revision", ERAS)
async def test_a_server_that_says_too_much_of_itself_is_no_server(revision: str) -> None:
    made = discover_result if revision == STATELESS else welcome
    little: JsonObject = {"x": {}}
    for large, fits in ((LONG, False), (MANY, False), (little, True)):

        async def play(hand: Hand, large: Any = large) -> None:
            asked = await hand.take()
            await hand.send(made(asked["id"], revision, experimental=large))
            while await hand.take() is not None:
                pass

        options = pkg.Options(max_server=1000, max_values=90)
        connecting = pkg.connect(Accepting(play), client(revision), options=options)
        if fits:
            async with connecting as connected:
                assert connected.revision == revision
            continue
        with pytest.raises(pkg.RemoteError, match="/result: result may have"):
            async with connecting:
                pass


def test_latest_listed_names_are_remembered_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent_names, "_MOST", 40_000)
    newest = recent_names.RecentNames[str | None]()
    large = "x" * 10_000
    for name in "abcd":
        newest.learn(name, name.upper(), large)
    assert [newest.get(name) for name in "abcd"] == [None, "B", "C", "D"]
    # A client that is listed again is the newest, and counts once.
    for _ in range(9):
        newest.learn("b", "new", large)
    newest.learn("e", "E", large)
    assert [newest.get(name) for name in "bcde"] == ["new", None, "D", "E"]
    for name in "bde":
        newest.forget(name)
    # Those that say nothing have a bound, too.
    for number in range(200):
        newest.learn(str(number), None, None)
    assert ("0" in newest, "199" in newest) == (False, True)
    newest.learn("huge", "all", large * 5)
    assert [name in newest for name in ("huge", "199")] == [False, False]


@pytest.mark.skips_time
async def test_flood_before_an_answer_is_read_in_bounded_room() -> None:
    heard, sent, go_on = list[Any](), list[int](), asyncio.Event()

    async def on_logging_message(_: object, params: Any) -> None:
        await go_on.wait()
        heard.append(params.data)

    async def play(hand: Hand) -> None:
        await shake(hand, tools={}, logging={})
        asked = await hand.take()
        for number in range(5000):
            await hand.send(notification("notifications/message", level="error", data=number))
            sent.append(number)
        await hand.send(result(asked["id"], content=[]))
        await hand.take()

    ours = client(OLD, on_logging_message=on_logging_message)
    async with pkg.connect(Accepting(play), ours, options=pkg.Options(max_waiting=10)) as one:
        calling = asyncio.create_task(one.call_tool("x", {}))
        await asyncio.sleep(5)
        # Besides those that wait for their handlers, the transport has up to 2000.
        assert len(sent) < 2500
        go_on.set()
        await calling
        assert heard == sent == [*range(5000)]
