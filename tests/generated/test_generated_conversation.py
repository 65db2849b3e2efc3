"""The stubs of every revision, talking to each other in one process by real messages."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from mcp_revisions import McpError, MethodNotFound, MissingCapability, connect_in_memory
from support import tables
from support.generated.golden_package import REVISIONS, load
from support.revisions import HANDSHAKE

Json = dict[str, Any]
Talk = Callable[[Any, Any], Awaitable[None]]


def _meta(revision: str) -> Json:
    """Return the metadata of every request of a stateless revision."""
    if revision in HANDSHAKE:
        return {}
    version = {"io.modelcontextprotocol/protocolVersion": revision}
    return {"_meta": {**version, "io.modelcontextprotocol/clientCapabilities": {}}}


def _server(revision: str) -> Any:
    m: Any = load(revision).models
    cached = {} if revision in HANDSHAKE else {"ttl_ms": 0, "cache_scope": "private"}

    async def on_list_tools(self: Any, session: Any, params: Any) -> Any:
        tool = m.Tool(name="forecast", input_schema={"type": "object"})
        return m.ListToolsResult(tools=[tool], next_cursor=params.cursor, **cached)

    async def on_call_tool(self: Any, session: Any, params: Any) -> Any:
        if params.name == "broken":
            raise RuntimeError("the password is 1234")
        return m.CallToolResult(content=[m.TextContent(text=params.name)])

    return _with(load(revision).Server, on_list_tools, on_call_tool)


def _with(stub: Any, *handlers: Any) -> Any:
    """Return an instance of a subclass of `stub` with these handlers."""
    return type("Overridden", (stub,), {handler.__name__: handler for handler in handlers})()


def _talk(revision: str, talk: Talk, client: Any = None) -> list[tuple[str, Json]]:
    """Run `talk` with a client and the server; return the messages with their senders.

    The messages of the handshake are left out.
    """
    travelled: list[tuple[str, Json]] = []

    def tap(sender: str, data: bytes) -> None:
        travelled.append((sender, json.loads(data)))

    async def converse() -> None:
        client_side = client or load(revision).Client()
        async with asyncio.timeout(30):
            server = _server(revision)
            async with connect_in_memory(client_side, server, tap=tap):
                if revision in HANDSHAKE:
                    # All messages before a ping are read when it is answered.
                    await client_side.ping()
                travelled.clear()
                await talk(client_side, server)

    asyncio.run(converse())
    return travelled


@pytest.mark.shows("S2-04")
def test_a_server_advertises_what_it_overrides() -> None:
    for revision in REVISIONS:
        with tables.case(revision):
            assert _server(revision).capabilities().to_wire() == {"tools": {}}
            assert load(revision).Client().capabilities().to_wire() == {}


def test_a_client_advertises_what_it_overrides() -> None:
    for revision in REVISIONS:
        with tables.case(revision):

            async def on_create_message(self: Any, params: Any) -> Any:
                raise NotImplementedError

            client = _with(load(revision).Client, on_create_message)
            assert client.__mcp_runtime__.handled_methods() == {"sampling/createMessage"}
            assert client.capabilities().to_wire() == {"sampling": {}}


@pytest.mark.parametrize("revision", REVISIONS)
def test_calls_are_answered_with_typed_results(revision: str) -> None:
    m: Any = load(revision).models

    async def talk(client: Any, server: Any) -> None:
        listed = await client.request(
            client.TABLE.requests["tools/list"], _params(revision, "tools/list", cursor="2")
        )
        assert (listed.tools[0].name, listed.next_cursor) == ("forecast", "2")
        result = await client.request(
            client.TABLE.requests["tools/call"], _params(revision, "tools/call", name="forecast")
        )
        assert isinstance(result, m.CallToolResult)
        assert isinstance(result.content[0], m.TextContent)
        assert result.content[0].text == "forecast"

    travelled = _talk(revision, talk)
    assert [sender for sender, _ in travelled] == ["client", "server"] * 2
    request, answer = travelled[2][1], travelled[3][1]
    assert request["method"] == "tools/call"
    assert request["id"] == answer["id"]
    assert answer["result"]["content"] == [{"type": "text", "text": "forecast"}]
    assert ("resultType" in answer["result"]) == (revision not in HANDSHAKE)


def _params(revision: str, method: str, **members: Any) -> Any:
    kind: Any = load(revision).methods.REQUESTS[method].params
    return kind.from_wire({**members, **_meta(revision)})


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_handler_that_fails_tells_nothing(revision: str) -> None:
    async def talk(client: Any, server: Any) -> None:
        with pytest.raises(McpError) as failed:
            await client.request(
                client.TABLE.requests["tools/call"], _params(revision, "tools/call", name="broken")
            )
        assert failed.value.code == -32603

    travelled = _talk(revision, talk)
    assert "password" not in json.dumps(travelled)


@pytest.mark.parametrize("revision", REVISIONS)
def test_undeclared_request_is_not_sent(revision: str) -> None:
    async def talk(client: Any, server: Any) -> None:
        with pytest.raises(MissingCapability, match=r"server\.prompts"):
            await client.request(
                client.TABLE.requests["prompts/get"], _params(revision, "prompts/get", name="p")
            )

    assert _talk(revision, talk) == []


@pytest.mark.parametrize("revision", HANDSHAKE)
def test_a_server_may_ask_its_client(revision: str) -> None:
    m: Any = load(revision).models

    async def on_list_roots(self: Any, params: Any) -> Any:
        return m.ListRootsResult(roots=[m.Root(uri="file:///a")])

    async def talk(client: Any, server: Any) -> None:
        (session,) = server.sessions
        roots = await session.list_roots()
        assert [root.uri for root in roots.roots] == ["file:///a"]

    travelled = _talk(revision, talk, _with(load(revision).Client, on_list_roots))
    assert [sender for sender, _ in travelled] == ["server", "client"]


def test_a_method_left_alone_is_not_found() -> None:
    for revision in REVISIONS:
        with tables.case(revision):
            methods = load(revision).methods
            server = _server(revision)
            handled: frozenset[str] = server.__mcp_runtime__.handled_methods()
            assert handled == {"tools/list", "tools/call"}
            for method, (spec, name) in server.REQUESTS.items():
                assert methods.REQUESTS[method] is spec
                assert callable(getattr(server, name))
                if method in handled:
                    continue
                with pytest.raises(MethodNotFound, match=method):
                    asyncio.run(getattr(server, name)(None, None))


@pytest.mark.parametrize("revision", REVISIONS)
def test_stubs_cover_every_method_of_the_tables(revision: str) -> None:
    package = load(revision)
    tables = {**package.methods.REQUESTS, **package.methods.INPUT_REQUESTS}
    questions = getattr(package.Client, "INPUT_REQUESTS", {})
    client: Json = {**package.Client.REQUESTS, **questions}
    answered = {"client": client, "server": package.Server.REQUESTS}
    heard = {"client": package.Client.NOTIFICATIONS, "server": package.Server.NOTIFICATIONS}
    for receiver, sender in (("client", "server"), ("server", "client")):
        requests = {method for method, spec in tables.items() if sender in spec.senders}
        assert answered[receiver].keys() == requests - {"initialize"}
        notes = package.methods.NOTIFICATIONS.items()
        assert heard[receiver].keys() == {
            method for method, spec in notes if sender in spec.senders
        }


def test_a_client_answers_what_a_result_asks_for() -> None:
    stubs, models = load("2026-07-28"), load("2026-07-28").models

    async def on_list_roots(self: Any, params: Any) -> Any:
        return models.ListRootsResult(roots=[models.Root(uri="file:///")])

    host = _with(stubs.Client, on_list_roots)
    wire = {"resultType": "input_required", "inputRequests": {"where": {"method": "roots/list"}}}
    asked = models.InputRequiredResult.from_wire(wire).input_requests["where"]
    answer = asyncio.run(host.answer(asked))
    assert answer.to_wire() == {"roots": [{"uri": "file:///"}]}
    assert host.capabilities().to_wire() == {"roots": {}}
    with pytest.raises(MethodNotFound):
        asyncio.run(stubs.Client().answer(asked))
