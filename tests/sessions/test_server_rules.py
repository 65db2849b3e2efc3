"""A server on the wire. Tests carry the ids of the rows of the decision tables they show."""

import asyncio
from typing import Any, cast

import pytest
from mcp_revisions import v2026_07_28 as stateless
from mcp_revisions.v2025_11_25 import Session
from mcp_revisions.v2025_11_25.models import (
    CallToolRequestParams,
    ElicitRequestURLParams,
    PaginatedRequestParams,
)
from support.revisions import ERAS, OLD, STATELESS
from support.sessions.bridging import serve_bridged
from support.sessions.talking import (
    CAPABILITIES,
    INITIALIZED,
    META,
    VERSION,
    Accepting,
    Hand,
    client,
    content_of,
    entry,
    hello,
    models,
    modern,
    notification,
    pkg,
    request,
    serve_by_hand,
    shaken,
    tools,
    welcome,
)
from support.sessions.wiretap import agree, shake
from support.tables import case

# All is in memory.
pytestmark = pytest.mark.skips_time


async def echo(session: Session, params: CallToolRequestParams) -> str:
    return str(params.name)


CALL = {"name": "x"}


def both() -> list[Any]:
    return [tools(OLD, echo), tools(STATELESS, echo)]


class TestHandshake:
    @pytest.mark.shows("S0-23", "S1-05")
    async def test_HS01_S0_23_the_answer_names_revision_capabilities_and_server(self) -> None:
        m = models(OLD)
        info = m.Implementation(name="s", version="2")
        async with serve_by_hand(tools(OLD, echo, info=info, instructions="Read me.")) as hand:
            await hand.send(hello())
            result = (await hand.take())["result"]
            assert result == {
                "protocolVersion": OLD,
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "s", "version": "2"},
                "instructions": "Read me.",
            }

    @pytest.mark.shows("S1-03")
    async def test_HS04_what_initialize_lacks_is_named_and_it_may_come_again(self) -> None:
        for missing in ["protocolVersion", "capabilities", "clientInfo"]:
            with case(missing):
                async with serve_by_hand(both()) as hand:
                    message = hello()
                    del message["params"][missing]
                    await hand.send(message)
                    refused = (await hand.take())["error"]
                    assert refused["code"] == -32602
                    assert refused["data"]["problems"][0]["pointer"] == f"/params/{missing}"
                    await hand.send(hello())
                    assert "result" in await hand.take()

    @pytest.mark.shows("S3-04")
    async def test_HS05_HS06_arrays_are_refused_before_and_where_there_are_none(self) -> None:
        batching = tools("2025-03-26", echo)
        async with serve_by_hand(batching) as hand:
            await hand.send([hello("2025-03-26")])
            assert (await hand.take())["error"]["code"] == -32600
            await hand.greet("2025-03-26")
            await hand.send([hello("2025-03-26", 5)])
            assert (await hand.take())["error"]["code"] == -32600
            await hand.send([request("ping", 1), notification("x"), request("nope", 2)])
            answers = await hand.take()
            assert [(answer["id"], "result" in answer) for answer in answers] == [
                (1, True),
                (2, False),
            ]
        async with shaken(both()) as hand:
            await hand.send([request("ping", 1)])
            assert (await hand.take())["error"]["code"] == -32600

    async def test_HS07_a_second_initialize_is_refused_and_the_session_goes_on(self) -> None:
        async with shaken(both()) as hand:
            await hand.send(hello(id=5))
            assert (await hand.take())["error"]["code"] == -32600
            assert "result" in await hand.ask("tools/call", 6, **CALL)

    @pytest.mark.shows("S1-01")
    async def test_HS08_before_initialize_only_ping_is_answered(self) -> None:
        async with serve_by_hand(both()) as hand:
            assert (await hand.ask("ping"))["result"] == {}
            assert (await hand.ask("tools/list"))["error"]["code"] == -32600
            await hand.send(INITIALIZED, hello())
            assert (await hand.take())["id"] == 0

    @pytest.mark.shows("S1-08")
    async def test_HS09_S1_08_until_initialized_a_server_sends_nothing_but_pings_and_logs(
        self,
    ) -> None:
        ours = tools(OLD, echo, SENDS=frozenset({"notifications/message"}))
        async with serve_by_hand(ours) as hand:
            await hand.send(hello(sampling={}, roots={}))
            await hand.take()
            (session,) = ours.sessions
            with pytest.raises(Exception, match="cannot be sent yet"):
                await session.list_roots()
            await session.log("info", "early")
            assert (await hand.take())["method"] == "notifications/message"
            # A client's request after the answer is served (nothing forbids it).
            assert "result" in await hand.ask("tools/call", 6, **CALL)
            pinged = asyncio.create_task(session.ping())
            await hand.send({"jsonrpc": "2.0", "id": (await hand.take())["id"], "result": {}})
            await pinged
            await hand.send(INITIALIZED)
            await hand.ask("ping", 9)
            listing = asyncio.create_task(session.list_roots())
            asked = await hand.take()
            await hand.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": []}})
            assert (await listing).roots == []

    @pytest.mark.shows("S0-25", "S1-20")
    async def test_HS11_CN03_what_is_not_in_the_revision_or_not_declared_is_not_found(self) -> None:
        async with shaken(tools("2024-11-05", echo), "2024-11-05") as hand:
            for method in ("tasks/list", "prompts/list", "server/discover", "nope"):
                assert (await hand.ask(method))["error"]["code"] == -32601

    async def test_S0_05_an_id_in_use_is_refused_without_answering_it_twice(self) -> None:
        going = asyncio.Event()

        async def wait(session: Session, params: CallToolRequestParams) -> str:
            await going.wait()
            return "done"

        async with shaken(tools(OLD, wait)) as hand:
            await hand.send(request("tools/call", 5, **CALL), request("ping", 5))
            refused = await hand.take()
            assert refused["error"]["code"] == -32600
            assert "id" not in refused
            going.set()
            assert (await hand.take())["result"]["content"][0]["text"] == "done"
            assert await hand.is_silent()


class TestStateless:
    async def test_SO01_SS05_SS06_what_is_no_message_is_refused_without_id(self) -> None:
        async with serve_by_hand(tools(STATELESS, echo)) as hand:
            for sent, code in ((b"{", -32700), (b"5", -32600), (b"[]", -32600), (b"{}", -32600)):
                await hand.send(sent)
                refused = await hand.take()
                assert refused["error"]["code"] == code
                assert "id" not in refused

    async def test_SO04_SS13_unknown_and_undeclared_methods_are_not_found(self) -> None:
        async with serve_by_hand(tools(STATELESS, echo)) as hand:
            for method in (
                *("nope", "prompts/list", "tasks/list", "ping", "logging/setLevel"),
                *("resources/subscribe", "resources/unsubscribe"),
            ):
                await hand.send(modern(method))
                assert (await hand.take())["error"]["code"] == -32601

    async def test_SO06_answers_of_a_client_are_ignored(self) -> None:
        async with serve_by_hand(tools(STATELESS, echo)) as hand:
            await hand.send({"jsonrpc": "2.0", "id": 1, "result": {}})
            await hand.send(modern("tools/call", 2, **CALL))
            assert (await hand.take())["id"] == 2

    def test_SO08_questions_travel_in_results_of_three_methods_only(self) -> None:
        m = models(STATELESS)
        asking = {
            method
            for method, spec in tools(STATELESS, echo).TABLE.requests.items()
            if m.InputRequiredResult in spec.results
        }
        assert asking == {"tools/call", "prompts/get", "resources/read"}
        table = tools(STATELESS, echo).TABLE
        assert not any("server" in spec.senders for spec in table.requests.values())

    async def test_SS15_an_unknown_log_level_is_invalid(self) -> None:
        async with serve_by_hand(tools(STATELESS, echo)) as hand:
            meta: Any = {**META, "io.modelcontextprotocol/logLevel": "loud"}
            await hand.send(modern("tools/call", 1, **CALL, _meta=meta))
            assert (await hand.take())["error"]["code"] == -32602

    @pytest.mark.shows("S2-43")
    async def test_SS16_params_that_do_not_fit_are_invalid_with_a_pointer(self) -> None:
        async with serve_by_hand(tools(STATELESS, echo)) as hand:
            await hand.send(modern("tools/call", 1, name=5))
            refused = (await hand.take())["error"]
            assert refused["code"] == -32602
            assert refused["data"]["problems"][0]["pointer"] == "/params/name"

    async def test_SS18_CN04_a_missing_client_capability_is_named_as_an_object(self) -> None:
        m = models(STATELESS)

        async def ask(
            session: stateless.Session, params: stateless.models.CallToolRequestParams
        ) -> object:
            return session.input_required({"r": m.ListRootsRequest()})

        async with serve_by_hand(tools(STATELESS, ask)) as hand:
            await hand.send(modern("tools/call", 1, **CALL))
            refused = (await hand.take())["error"]
            assert refused["code"] == -32021
            assert refused["data"] == {"requiredCapabilities": {"roots": {}}}

    async def test_SS19_a_state_of_nobody_is_refused(self) -> None:
        async with serve_by_hand(tools(STATELESS, echo)) as hand:
            await hand.send(modern("tools/call", 1, **CALL, requestState="made up"))
            refused = (await hand.take())["error"]
            assert refused["code"] == -32602
            assert refused["data"]["problems"][0]["pointer"] == "/params/requestState"

    async def test_SS20_results_have_type_cache_hints_and_server_info(self) -> None:
        m = models(STATELESS)

        async def on_list_tools(
            self: object, session: Session, params: PaginatedRequestParams
        ) -> object:
            return m.ListToolsResult(tools=[])

        ours = tools(STATELESS, echo, on_list_tools=on_list_tools)
        async with serve_by_hand(ours) as hand:
            await hand.send(modern("tools/list"))
            assert (await hand.take())["result"] == {
                "resultType": "complete",
                "tools": [],
                "ttlMs": 0,
                "cacheScope": "private",
                "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "Ours", "version": "0"}},
            }

    async def test_CN01_CN02_declarations_of_request_apply_to_no_other(self) -> None:
        async def describe_client(session: Session, params: CallToolRequestParams) -> str:
            declared = session.client_capabilities.to_wire()
            info = session.client_info
            return f"{sorted(declared)} {info.name if info else None}"

        async with serve_by_hand(tools(STATELESS, describe_client)) as hand:
            meta: Any = {
                VERSION: STATELESS,
                CAPABILITIES: {"sampling": {}},
                "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"},
            }
            await hand.send(modern("tools/call", 1, **CALL, _meta=meta))
            assert (await hand.take())["result"]["content"][0]["text"] == "['sampling'] c"
            await hand.send(modern("tools/call", 2, **CALL))
            assert (await hand.take())["result"]["content"][0]["text"] == "[] None"


class TestBothEras:
    @pytest.mark.parametrize("era", ["handshake", "stateless"])
    async def test_SO07_DS10_a_cancellation_finds_the_era_of_its_request(self, era: str) -> None:
        stopped = asyncio.Event()

        async def wait(session: Session, params: CallToolRequestParams) -> str:
            try:
                await asyncio.sleep(60)
            finally:
                stopped.set()
            return "never"

        async with shaken([tools(OLD, wait), tools(STATELESS, wait)]) as hand:
            make = request if era == "handshake" else modern
            await hand.send(make("tools/call", 3, **CALL))
            await asyncio.sleep(0.01)
            await hand.send(notification("notifications/cancelled", requestId=4))
            await hand.send(notification("notifications/cancelled", requestId=3))
            await stopped.wait()
            assert await hand.is_silent()

    async def test_CN05_unknown_capabilities_are_passed_over(self) -> None:
        async with serve_by_hand(both()) as hand:
            await hand.send(hello(telepathy={"range": 3}))
            assert "result" in await hand.take()

    async def test_no_server_or_two_of_one_revision_are_a_mistake(self) -> None:
        for servers in [[], [tools(OLD, echo), tools(OLD, echo)]]:
            with case(servers), pytest.raises(ValueError, match="at least one server"):
                async with serve_by_hand(servers):
                    pass


async def test_method_names_of_client_cannot_forge_log_lines(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level("INFO"):
        async with shaken(tools(OLD, echo)) as hand:
            await hand.send(request("no/such\nFORGED line"))
            assert (await hand.take())["error"]["code"] == -32601
    assert any("no/such" in message for message in caplog.messages)
    assert all("\n" not in message for message in caplog.messages)


def by_url(revision: str) -> Any:
    m = models(revision)
    required = {"elicitation_id": "e"} if revision == OLD else {}
    return m.ElicitRequestURLParams(message="Log in", url="https://example.com", **required)


async def log_in(session: Any, params: CallToolRequestParams) -> object:
    m = models(session.revision)
    if session.revision == OLD:
        return (await session.request(entry(session, "elicitation/create"), by_url(OLD))).action
    if session.inputs is None:
        return session.input_required({"login": m.ElicitRequest(params=by_url(STATELESS))})
    return session.inputs.response("login", m.ElicitResult).action


def answering(revision: str, **members: Any) -> Any:
    async def on_elicit(self: object, params: ElicitRequestURLParams) -> object:
        assert params.url == "https://example.com"
        return models(revision).ElicitResult(action="accept")

    return client(revision, on_elicit=on_elicit, **members)


async def test_CN06_an_empty_elicitation_capability_means_forms_only() -> None:
    for revision in ERAS:
        with case(revision):
            async with pkg.connect_in_memory(answering(revision), tools(revision, log_in)) as ours:
                with pytest.raises(pkg.McpError) as caught:
                    await ours.call_tool("x")
                assert caught.value.code == (-32603 if revision == OLD else -32021)
            willing = answering(revision, DECLARES={"elicitation": {"url": {}}})
            async with pkg.connect_in_memory(willing, tools(revision, log_in)) as ours:
                assert (await ours.call_tool("x")).content[0].text == "accept"


async def test_CN06_a_client_refuses_a_mode_it_did_not_declare() -> None:
    heard: list[Any] = []

    async def play(hand: Hand) -> None:
        await hand.send(welcome((await hand.take())["id"]))
        await hand.take()
        await hand.send(request("elicitation/create", 5, **by_url(OLD).to_wire()))
        heard.append(await hand.take())
        while await hand.take():
            pass

    async with pkg.connect(Accepting(play), answering(OLD)):
        while not heard:
            await asyncio.sleep(0.01)
    assert heard[0]["error"]["code"] == -32602


async def extensions(
    session: stateless.Session, params: stateless.models.CallToolRequestParams
) -> str:
    """A tool that says which extensions the client declares."""
    return str(session.client_capabilities.extensions)


async def test_no_extension_is_on_unless_a_side_declares_it() -> None:
    theirs = cast(stateless.Client, client(STATELESS))
    async with pkg.connect_in_memory(theirs, tools(STATELESS, extensions)) as one:
        assert one.server_capabilities.extensions is None
        assert content_of(await one.call_tool("x"))[0].text == "None"


@pytest.mark.shows("EX-01")
async def test_CN07_extensions_of_both_sides_are_known_to_both() -> None:
    ours: Any = {"com.example/ours": {"depth": 3}}
    server = tools(STATELESS, extensions, DECLARES={"extensions": {"com.example/theirs": {}}})
    theirs = cast(stateless.Client, client(STATELESS, DECLARES={"extensions": ours}))
    async with pkg.connect_in_memory(theirs, server) as one:
        assert one.server_capabilities.extensions == {"com.example/theirs": {}}
        assert content_of(await one.call_tool("x"))[0].text == str(ours)


async def test_a_handler_left_alone_is_not_declared_and_not_found() -> None:
    async with shaken(tools(OLD, log_in)) as hand:
        assert (await hand.ask("prompts/get", 1, name="p"))["error"]["code"] == -32601
    async with serve_by_hand(tools(STATELESS, log_in)) as hand:
        await hand.send(modern("prompts/get", 1, name="p"))
        assert (await hand.take())["error"]["code"] == -32601


@pytest.mark.parametrize("revision", ERAS)
async def test_python_named_capability_is_passed_on_unchanged(revision: str) -> None:
    declared = {"tools": {"list_changed": True}}
    opening = {OLD: hello(), STATELESS: modern("server/discover")}
    begin = {OLD: shake, STATELESS: agree}
    async with serve_bridged(Accepting(lambda hand: begin[revision](hand, **declared))) as hand:
        await hand.send(opening[revision])
        assert (await hand.take())["result"]["capabilities"] == declared
