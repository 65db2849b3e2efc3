"""A client on the wire. Tests carry the ids of the rows of the decision tables they show."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

import pytest
from mcp_revisions.v2025_11_25.models import ElicitRequestParams, ListRootsResult, RequestParams
from support.json_types import JsonObject
from support.revisions import ERAS, OLD, STATELESS
from support.sessions.talking import (
    CAPABILITIES,
    META,
    Accepting,
    Hand,
    client,
    content_of,
    discover_result,
    error,
    models,
    notification,
    pkg,
    request,
    serve_by_hand,
    server,
    welcome,
)
from support.tables import case

# All is in memory.
pytestmark = pytest.mark.skips_time

QUICK: JsonObject = {"probe_timeout": 0.3, "initialize_timeout": 0.5, "timeout": 5.0, "drain": 0.2}


def connect(accepting: Accepting, *revisions: str, **options: Any) -> Any:
    clients = [client(revision) for revision in revisions]
    return pkg.connect(accepting, *clients, options=pkg.Options(**{**QUICK, **options}))


async def to_the_end(hand: Hand) -> list[Any]:
    """Take the remaining messages."""
    messages: list[object] = []
    while (message := await hand.take()) is not None:
        messages.append(message)
    return messages


class TestHandshake:
    @pytest.mark.shows("S0-14", "S0-15", "S0-24", "S0-36", "S1-02", "S1-06", "S3-08")
    async def test_HC01_HC08_S0_15_S0_24_a_handshake_is_offered_answered_and_confirmed(
        self,
    ) -> None:
        heard: list[Any] = []

        async def play(hand: Hand) -> None:
            first = await hand.take()
            heard.append(first)
            await hand.send(welcome(first["id"]))
            heard.extend(await to_the_end(hand))

        async with connect(Accepting(play), OLD) as ours:
            assert ours.revision == OLD
            await asyncio.sleep(0.02)
        assert heard == [
            request(
                "initialize",
                1,
                protocolVersion=OLD,
                capabilities={},
                clientInfo={"name": "Ours", "version": "0"},
            ),
            notification("notifications/initialized"),
        ]

    @pytest.mark.shows("S0-19", "S1-12")
    async def test_HC04_S0_19_S1_12_an_unknown_answer_ends_it_without_confirmation(self) -> None:
        for version in ("1999-01-01", STATELESS):

            async def play(hand: Hand, version: str = version) -> None:
                await hand.send(welcome((await hand.take())["id"], version))
                assert await hand.take() is None

            with case(version), pytest.raises(pkg.NegotiationError, match=version):
                async with connect(Accepting(play), OLD):
                    pass

    @pytest.mark.shows("S1-15")
    async def test_HC05_S1_15_a_refusal_that_names_revisions_is_tried_once_more_afresh(
        self,
    ) -> None:
        async def play(hand: Hand) -> None:
            first = await hand.take()
            if accepting.opened == 1:
                await hand.send(error(first["id"], -32602, "no", {"supported": ["2024-11-05"]}))
            else:
                assert first["params"]["protocolVersion"] == "2024-11-05"
                await hand.send(welcome(first["id"], "2024-11-05"))
            await to_the_end(hand)

        accepting = Accepting(play)
        async with connect(accepting, "2024-11-05", OLD) as ours:
            assert ours.revision == "2024-11-05"
        assert accepting.opened == 2

    @pytest.mark.shows("S0-20", "S1-19", "S1-21", "S1-42")
    async def test_HC13_S1_21_what_the_server_did_not_declare_is_not_called(self) -> None:
        heard: list[Any] = []

        async def play(hand: Hand) -> None:
            await hand.send(welcome((await hand.take())["id"], resources={}))
            heard.extend(await to_the_end(hand))

        async with connect(Accepting(play), OLD) as ours:
            with pytest.raises(pkg.MissingCapability, match=r"server\.tools"):
                await ours.list_tools()
            with pytest.raises(pkg.MissingCapability, match=r"resources\.subscribe"):
                await ours.subscribe("u")
            await asyncio.sleep(0.02)
        assert [message["method"] for message in heard] == ["notifications/initialized"]

    async def test_a_server_may_ping_and_log_before_it_answers(self) -> None:
        heard: list[Any] = []

        async def play(hand: Hand) -> None:
            first = await hand.take()
            await hand.send(
                request("ping", 5),
                request("roots/list", 6),
                notification("notifications/message", level="info", data=1),
            )
            assert (await hand.take()) == {"jsonrpc": "2.0", "id": 5, "result": {}}
            assert (await hand.take())["error"]["code"] == -32600
            await hand.send(welcome(first["id"]))
            heard.extend(await to_the_end(hand))

        async with connect(Accepting(play), OLD):
            pass
        # The notification gets no answer.
        assert [message.get("method") for message in heard] == ["notifications/initialized"]


def modern(*answers: Any) -> tuple[Accepting, list[Any]]:
    """A stateless server that answers requests, one after the other, with these results."""
    heard: list[object] = []

    async def play(hand: Hand) -> None:
        first = await hand.take()
        await hand.send(discover_result(first["id"], tools={}, resources={}))
        for answer in answers:
            asked = await hand.take()
            if asked is None:
                return
            heard.append(asked)
            await hand.send({"jsonrpc": "2.0", "id": asked["id"], **answer})
        await to_the_end(hand)

    return Accepting(play), heard


@pytest.mark.parametrize("revision", ["2025-06-18", STATELESS])
async def test_an_array_fails_what_it_should_answer_where_there_are_no_batches(
    revision: str,
) -> None:
    async def play(hand: Hand) -> None:
        id = (await hand.take())["id"]
        modern = revision == STATELESS
        await hand.send(
            discover_result(id, tools={}) if modern else welcome(id, revision, tools={})
        )
        if not modern:
            await hand.take()
        first, second = await hand.take(), await hand.take()
        answer = {"jsonrpc": "2.0", "id": second["id"], **DONE}
        await hand.send([7, {**answer, "id": first["id"]}], answer)
        await to_the_end(hand)

    async with connect(Accepting(play), revision) as ours:
        calls = [ours.call_tool("x") for _ in range(2)]
        outcomes: list[Any] = await asyncio.gather(*calls, return_exceptions=True)
        failed, answered = outcomes
        assert isinstance(failed, pkg.RemoteError)
        assert f"{revision} has no batches" in str(failed)
        assert answered.content[0].text == "done"


@pytest.mark.parametrize("how", ["array", "unmarked"])
async def test_malformed_opening_answer_ends_connecting(how: str) -> None:
    async def play(hand: Hand) -> None:
        asked = await hand.take()
        while asked is not None:
            answer = welcome(asked["id"])
            await hand.send([answer] if how == "array" else {**answer, "jsonrpc": "1.0"})
            asked = await hand.take()

    for revisions in ([OLD], [STATELESS], ERAS):
        with pytest.raises(pkg.ProtocolError) as raised:
            async with connect(Accepting(play), *revisions):
                pass
        assert not isinstance(raised.value, pkg.RequestTimeout)


@pytest.mark.parametrize("revision", ERAS)
async def test_a_flood_of_rubbish_is_no_flood_of_log_entries(
    revision: str, caplog: pytest.LogCaptureFixture
) -> None:
    rubbish: list[Any] = [b"{", b"7", b"[7]", {"jsonrpc": "2.0", "id": "none", "result": {}}] * 500

    async def play(hand: Hand) -> None:
        asked = await hand.take()
        # Some comes before a revision is agreed on, some after.
        await hand.send(*rubbish)
        modern = revision == STATELESS
        await hand.send(discover_result(asked["id"]) if modern else welcome(asked["id"]), *rubbish)
        await to_the_end(hand)

    with caplog.at_level(logging.INFO):
        async with connect(Accepting(play), revision):
            await asyncio.sleep(0.05)
        async with serve_by_hand(server(revision)) as hand:
            await hand.send(*rubbish, request("server/discover", "last", _meta=META))
            while (await hand.take()).get("id") != "last":
                pass
    assert "(1000 of these within a minute" in caplog.text
    assert len(caplog.records) < 100


async def test_PS08_a_stateless_server_may_take_its_time_to_start() -> None:
    async def play(hand: Hand) -> None:
        first = await hand.take()
        await asyncio.sleep(0.05)
        await hand.send(discover_result(first["id"]))
        assert await to_the_end(hand) == []

    async def silent(hand: Hand) -> None:
        assert len(await to_the_end(hand)) == 1

    async with connect(Accepting(play), STATELESS, probe_timeout=0.01) as ours:
        assert ours.revision == STATELESS
    with pytest.raises(pkg.RequestTimeout, match=r"server/discover .* 0.02 s"):
        async with connect(Accepting(silent), STATELESS, timeout=0.02):
            pass


TEXT = {"content": [{"type": "text", "text": "done"}]}
DONE = {"result": {**TEXT, "resultType": "complete"}}


class TestStateless:
    async def test_SC01_every_request_says_who_asks_and_what_it_can_do(self) -> None:
        accepting, heard = modern(DONE)
        meta = models(STATELESS).RequestMetaObject(**{"com.example/trace": "t"})
        async with connect(accepting, STATELESS) as ours:
            await ours.call_tool("x", meta=meta)
        assert heard[0]["params"]["_meta"] == {
            **META,
            "io.modelcontextprotocol/clientInfo": {"name": "Ours", "version": "0"},
            "com.example/trace": "t",
        }

    async def test_SC06_a_missing_capability_is_reported(self) -> None:
        refused: Any = {
            "error": {"code": -32021, "message": "roots", "data": {"requiredCapabilities": {}}}
        }
        accepting, _ = modern(refused)
        async with connect(accepting, STATELESS) as ours:
            with pytest.raises(pkg.McpError) as caught:
                await ours.call_tool("x")
            assert caught.value.code == -32021

    async def test_SC10_a_result_without_a_type_is_complete(self) -> None:
        accepting, _ = modern({"result": TEXT}, {"result": {"tools": []}})
        async with connect(accepting, STATELESS) as ours:
            assert (await ours.call_tool("x")).content[0].text == "done"
            listed = await ours.list_tools()
            assert (listed.ttl_ms, listed.cache_scope) == (0, "private")

    async def test_a_negative_time_to_live_is_none(self) -> None:
        listed: Any = {"tools": [], "ttlMs": -5, "cacheScope": "public", "resultType": "complete"}
        accepting, _ = modern({"result": listed})
        async with connect(accepting, STATELESS) as ours:
            result = await ours.list_tools()
            assert (result.ttl_ms, result.cache_scope) == (0, "public")

    async def test_SC12_a_type_that_is_not_known_is_invalid(self) -> None:
        for kind in ["partial", "input_required"]:
            with case(kind):
                accepting, _ = modern({"result": {"tools": [], "resultType": kind}})
                async with connect(accepting, STATELESS) as ours:
                    with pytest.raises(pkg.RemoteError, match="/result/resultType"):
                        await ours.list_tools()

    async def test_SC11_questions_are_answered_with_a_new_id_each_round(self) -> None:
        form = {"type": "object", "properties": {"name": {"type": "string"}}}
        asked = {
            "who": {
                "method": "elicitation/create",
                "params": {"mode": "form", "message": "?", "requestedSchema": form},
            },
            "where": {"method": "roots/list"},
        }
        first = {"resultType": "input_required", "inputRequests": asked, "requestState": "s1"}
        second = {"resultType": "input_required", "requestState": "s2"}
        third = {"resultType": "input_required", "inputRequests": {"where": asked["where"]}}
        accepting, heard = modern({"result": first}, {"result": second}, {"result": third}, DONE)
        m = models(STATELESS)

        async def on_elicit(self: object, params: ElicitRequestParams) -> object:
            return m.ElicitResult(action="accept", content={"name": "ada"})

        async def on_list_roots(self: object, params: RequestParams) -> object:
            return m.ListRootsResult(roots=[])

        ours = client(STATELESS, on_elicit=on_elicit, on_list_roots=on_list_roots)
        async with pkg.connect(accepting, ours):
            result = await ours.call_tool("x", {"a": 1})
            assert content_of(result)[0].text == "done"
        assert len({message["id"] for message in heard}) == 4
        sent = [
            {k: v for k, v in heard_message["params"].items() if k != "_meta"}
            for heard_message in heard
        ]
        same = {"name": "x", "arguments": {"a": 1}}
        who = {"action": "accept", "content": {"name": "ada"}}
        responses: Any = {"who": who, "where": {"roots": []}}
        assert sent == [
            same,
            {**same, "inputResponses": responses, "requestState": "s1"},
            {**same, "requestState": "s2"},
            {**same, "inputResponses": {"where": {"roots": []}}},
        ]
        assert heard[0]["params"]["_meta"][CAPABILITIES] == {"elicitation": {}, "roots": {}}

    async def test_questions_do_not_go_on_for_ever(self) -> None:
        again = {"result": {"resultType": "input_required", "requestState": "s"}}
        accepting, heard = modern(*[again] * 9)

        async with connect(accepting, STATELESS, max_rounds=3) as ours:
            with pytest.raises(pkg.RemoteError, match="more input in every round"):
                await ours.call_tool("x")
        assert len(heard) == 3

    async def test_CN04_a_question_that_was_not_declared_is_the_servers_fault(self) -> None:
        asked = {"where": {"method": "roots/list"}}
        accepting, _ = modern({"result": {"resultType": "input_required", "inputRequests": asked}})
        async with connect(accepting, STATELESS) as ours:
            with pytest.raises(pkg.RemoteError, match="/result/inputRequests/where"):
                await ours.call_tool("x")

    async def test_a_handler_of_a_question_that_fails_ends_the_call(self) -> None:
        asked = {"where": {"method": "roots/list"}}
        accepting, _ = modern({"result": {"resultType": "input_required", "inputRequests": asked}})

        async def on_list_roots(self: object, params: RequestParams) -> ListRootsResult:
            raise KeyError("mine")

        async with pkg.connect(accepting, client(STATELESS, on_list_roots=on_list_roots)) as ours:
            with pytest.raises(KeyError, match="mine"):
                await ours.call_tool("x")


async def test_in_the_stateless_era_a_client_answers_nothing() -> None:
    heard: list[object] = []

    async def play(hand: Hand) -> None:
        await hand.send(discover_result((await hand.take())["id"], tools={}))
        await hand.send(request("ping", 7), request("roots/list", 8), b"{", b"[]", b'{"id": 9}')
        heard.extend(await to_the_end(hand))

    async with connect(Accepting(play), STATELESS):
        await asyncio.sleep(0.05)
    assert heard == []


class TestProbe:
    async def test_SC14_a_new_connection_needs_no_probe_with_a_known_revision(self) -> None:
        heard: list[str] = []

        async def play(hand: Hand) -> None:
            first = await hand.take()
            heard.append(first["method"])
            await hand.send(welcome(first["id"]))
            await to_the_end(hand)

        negotiated = pkg.NegotiatedRevision(OLD, "handshake")
        clients = (client(OLD), client(STATELESS))
        async with pkg.connect(Accepting(play), *clients, negotiated=negotiated) as ours:
            assert ours.negotiated == negotiated
        assert heard == ["initialize"]

    def test_with_two_clients_of_one_revision_nothing_is_opened(self) -> None:
        async def play(hand: Hand) -> None:
            raise AssertionError("never opened")

        with pytest.raises(ValueError, match="at most one client for each revision"):
            pkg.connect(Accepting(play), client(OLD), client(OLD))
        with pytest.raises(ValueError, match="at most one client for each revision"):
            pkg.connect_http("http://localhost/mcp", client(OLD), client(OLD))


async def test_unconnected_client_refuses_calls() -> None:
    accepting, _ = modern(DONE)

    ours = client(STATELESS)
    with pytest.raises(pkg.LocalError, match="not connected"):
        await ours.list_tools()
    with pytest.raises(pkg.LocalError, match="not connected"):
        _ = ours.negotiated
    async with pkg.connect(accepting, ours):
        pass
    with pytest.raises(pkg.Disconnected):
        await ours.list_tools()


async def test_an_error_inside_the_block_is_not_wrapped() -> None:
    accepting, _ = modern()
    with pytest.raises(KeyError, match="own"):
        async with connect(accepting, STATELESS):
            raise KeyError("own")


class Ended:
    """The transport of a process that has written something and ended."""

    def __init__(self, *lines: bytes) -> None:
        self.lines = list(lines)

    async def send(self, messages: Sequence[bytes]) -> None:
        raise pkg.Disconnected("the server ended with code 2")

    async def receive(self) -> Sequence[bytes]:
        lines, self.lines = self.lines, []
        return lines

    async def close(self) -> None:
        """There is nothing to close."""


class TestStrayLines:
    @pytest.mark.parametrize("early", [True, False])
    async def test_timeout_quotes_what_came_in_place_of_messages(self, early: bool) -> None:
        lines: tuple[tuple[list[object], str], ...] = (
            ([b"usage: server --stdio"], "'usage: server --stdio' where messages are expected"),
            (
                [b"{", b' "jsonrpc": "2.0",', b"}", b"4th"],
                "'{', '\"jsonrpc\": \"2.0\",', '}' where",
            ),
            ([{"level": 30, "msg": "up"}], '"level": 30'),
            ([b"\x1b[31mred \xff"], "'\\x1b[31mred"),
            ([b"x" * 1000], f"'{'x' * 80}' where"),
            (
                [b"Content-Length: 7"],
                "'Content-Length: 7' where messages are expected (Content-Len",
            ),
            ([b"7"], "'7' where"),
        )
        for written, quoted in lines:

            async def play(hand: Hand, written: list[object] = written) -> None:
                if early:
                    await hand.send(*written)
                else:
                    await hand.send(welcome((await hand.take())["id"], tools={}))
                    await hand.take()
                    await hand.send(*written)
                await to_the_end(hand)

            with case(written), pytest.raises(pkg.RequestTimeout, match="within") as caught:
                async with connect(Accepting(play), OLD, timeout=1.0, timeouts={}) as ours:
                    await ours.call_tool("x")
            assert str(caught.value).startswith("the server wrote ")
            assert quoted in str(caught.value)
            assert "4th" not in str(caught.value)

    async def test_end_of_connection_quotes_what_came_in_place_of_messages(self) -> None:
        async def play(hand: Hand) -> None:
            await hand.send(welcome((await hand.take())["id"], tools={}), b"Traceback:")
            await hand.take()

        with pytest.raises(pkg.Disconnected, match="wrote 'Traceback:' where messages"):
            async with connect(Accepting(play), OLD) as ours:
                await ours.call_tool("x")

    async def test_last_words_of_a_process_that_ended_early_are_quoted(self) -> None:
        async def start() -> Any:
            return Ended(b"usage: server --stdio")

        with pytest.raises(pkg.Disconnected, match=r"'usage: server --stdio' where .* code 2"):
            async with pkg.connect(start, client(OLD)):
                pass

    async def test_messages_are_not_quoted(self) -> None:
        async def play(hand: Hand) -> None:
            await hand.send(notification("notifications/x"), error(77, -1, "no"))
            await to_the_end(hand)

        with pytest.raises(pkg.RequestTimeout) as caught:
            async with connect(Accepting(play), OLD):
                pass
        text = "initialize was not answered within 0.5 s; meanwhile the server answered a request"
        assert str(caught.value).startswith(text)
