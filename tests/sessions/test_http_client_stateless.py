"""Header fields that repeat a message, and who gets to see what a client sends."""

import asyncio
import logging
import ssl
import sys
from collections.abc import Callable, Generator
from types import SimpleNamespace
from typing import Any, cast

import httpx2
import pytest
from mcp_protogen.runtime.core.spec import Rules
from mcp_protogen.runtime.http.client import request as http_request
from mcp_protogen.runtime.http.client.client_state import ClientState
from mcp_protogen.runtime.http.client.outgoing import message_of
from mcp_protogen.runtime.messages.jsonrpc import write_call
from mcp_revisions.v2025_11_25.models import NotificationParams
from support.json_types import Json, JsonObject
from support.revisions import OLD, STATELESS
from support.sessions.odd_servers import (
    Handshaking,
    Modern,
    Play,
    Reply,
    Request,
    answer_call,
    connecting,
    http_error,
    odd_server,
)
from support.sessions.talking import (
    CAPABILITIES,
    VERSION,
    client,
    discover_result,
    error,
    models,
    notification,
    pkg,
)
from support.tables import case


def tool(name: str, **properties: Any) -> JsonObject:
    """A tool with these properties."""
    return {"name": name, "inputSchema": {"type": "object", "properties": properties}}


def header_property(header: Any = "Region", type: str = "string") -> JsonObject:
    return {"type": type, "x-mcp-header": header}


def list_result(*tools: JsonObject, **more: Any) -> JsonObject:
    """The result of `tools/list`."""
    cached = {"ttlMs": 0, "cacheScope": "public", "resultType": "complete"}
    return {"tools": list(tools), **cached, **more}


def listing(*tools: JsonObject, call: Play = answer_call) -> Modern:
    """A server with these tools."""

    async def play(request: Request, reply: Reply) -> None:
        if request.method == "tools/list":
            await reply.result(request, list_result(*tools))
        else:
            await call(request, reply)

    return Modern(play)


def own(request: Request) -> dict[str, str]:
    """The fields of a request that only this protocol has."""
    return {name: value for name, value in request.headers.items() if name.startswith("mcp-")}


async def using(play: Play, use: Callable[[Any], Any], **more: Any) -> list[Request]:
    """Connect, and use the client; what the server was asked afterwards."""
    async with odd_server(play) as server, connecting(server.url, **more) as ours:
        await use(ours)
        return [*server.requests]


class TestStandardFields:
    async def test_each_request_repeats_its_revision_and_method(self) -> None:
        seen = await using(listing(), lambda ours: ours.list_tools())
        for request in seen:
            meta = request.value["params"]["_meta"]
            assert own(request) == {
                "mcp-protocol-version": meta[VERSION],
                "mcp-method": request.method,
            }
            assert CAPABILITIES in meta
        assert [seen_request.method for seen_request in seen] == ["server/discover", "tools/list"]

    async def test_what_a_request_is_about_is_named_safely(self) -> None:
        async def call(request: Request, reply: Reply) -> None:
            await reply.send(200, error(request.id, -32602))

        async def use(ours: Any) -> None:
            for asked in (
                ours.call_tool("größe"),
                ours.read_resource("file:///a%20b/ü"),
                ours.get_prompt("greet"),
            ):
                with pytest.raises(pkg.McpError):
                    await asked

        class Capable(Modern):
            async def __call__(self, request: Request, reply: Reply) -> None:
                if request.method == "server/discover":
                    able = discover_result(request.id, tools={}, prompts={}, resources={})
                    await reply.send(200, able)
                else:
                    await call(request, reply)

        seen = await using(Capable(), use)
        assert [seen_request.headers.get("mcp-name") for seen_request in seen] == [
            None,
            "=?base64?Z3LDtsOfZQ==?=",
            "=?base64?ZmlsZTovLy9hJTIwYi/DvA==?=",
            "greet",
        ]


class TestArguments:
    """Arguments in `Mcp-Param-*` (streamable-http, "Custom Headers from Tool Parameters")."""

    TOOL = tool(
        "x",
        region=header_property(),
        count=header_property("Count", "integer"),
        on=header_property("On", "boolean"),
        where={"type": "object", "properties": {"id": header_property("Where-Id")}},
        plain={"type": "string"},
    )

    async def fields(self, arguments: JsonObject | None) -> dict[str, str]:
        """The fields that repeat these arguments."""

        async def use(ours: Any) -> None:
            await ours.list_tools()
            await ours.call_tool("x", arguments)

        seen = await using(listing(self.TOOL), use)
        return {
            name.removeprefix("mcp-param-"): value
            for name, value in own(seen[-1]).items()
            if name.startswith("mcp-param-")
        }

    async def test_marked_ones_are_repeated(self) -> None:
        arguments = {
            "region": "Hello, 世界",
            "count": -7,
            "on": False,
            "where": {"id": "7"},
            "plain": "x",
        }
        assert await self.fields(arguments) == {
            "region": "=?base64?SGVsbG8sIOS4lueVjA==?=",
            "count": "-7",
            "on": "false",
            "where-id": "7",
        }

    async def test_absent_arguments_have_no_header(self) -> None:
        values: list[Json] = [None, {}, {"region": None, "where": {}}, {"plain": "x"}]
        for arguments in values:
            assert await self.fields(arguments) == {}

    async def test_tools_with_bad_marks_are_left_out_one_by_one(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        tools = [
            tool("good", a=header_property()),
            tool("empty", a=header_property("")),
            tool("spaced", a=header_property("a b")),
            tool("twice", a=header_property("A"), b=header_property("a")),
            tool("number", a=header_property("A", "number")),
            tool("hidden", a={"type": "array", "items": header_property()}),
            tool("plain"),
        ]
        names: list[str] = []

        async def use(ours: Any) -> None:
            result = await ours.list_tools()
            names.extend(tool.name for tool in result.tools)

        with caplog.at_level(logging.WARNING):
            await using(listing(*tools), use)
        assert names == ["good", "plain"]
        said = [record.getMessage() for record in caplog.records]
        assert len(said) == 5
        assert said[0].startswith("the tool 'empty' is left out: inputSchema/properties/a/")

    async def test_the_newest_list_counts(self) -> None:
        lists = [
            [tool("x", a=header_property())],
            [tool("x", a=header_property("Other"))],
            [tool("x")],
        ]

        async def call(request: Request, reply: Reply) -> None:
            if request.method == "tools/list":
                await reply.result(request, list_result(*lists.pop(0)))
            else:
                await answer_call(request, reply)

        async def use(ours: Any) -> None:
            while lists:
                await ours.list_tools()
                await ours.call_tool("x", {"a": "b"})

        calls = [
            call_request
            for call_request in await using(Modern(call), use)
            if call_request.method == "tools/call"
        ]
        fields = [[name for name in own(sent) if "param" in name] for sent in calls]
        assert fields == [["mcp-param-region"], ["mcp-param-other"], []]


class TestCorrection:
    """A server that misses fields of a call (streamable-http, "Client Behavior")."""

    @staticmethod
    def strict(*pages: list[JsonObject]) -> Modern:
        """A server that wants `Mcp-Param-Region`, and lists its tools on these pages."""

        async def play(request: Request, reply: Reply) -> None:
            if request.method == "tools/list":
                at = int(request.value["params"].get("cursor", "0"))
                more = {"nextCursor": str(at + 1)} if at + 1 < len(pages) else {}
                await reply.result(request, list_result(*pages[at], **more))
            elif "mcp-param-region" in request.headers:
                await answer_call(request, reply)
            else:
                await reply.send(400, error(request.id, -32020, "no region"))

        return Modern(play)

    @pytest.mark.parametrize(
        ("last", "pages"), [(2000, pkg.Options().max_pages), (3, 4)], ids=["endless", "repeated"]
    )
    def test_list_may_have_as_many_pages_as_any(
        self, last: int, pages: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked: list[str] = []

        async def ask(_: object, method: str, params: object) -> Any:
            asked.append(method)
            return {"nextCursor": str(min(len(asked), last))}

        monkeypatch.setattr(http_request, "ask", ask)
        log = logging.getLogger("test")

        def facts_of(_: object) -> SimpleNamespace:
            tools = SimpleNamespace(method="tools/list", items="tools")
            return SimpleNamespace(rules=Rules(), tool_list=tools)

        protocol = SimpleNamespace(post_headers=str, facts_of=facts_of)
        state = cast(ClientState, SimpleNamespace(protocol=protocol, log=log))
        call = message_of(write_call("2", b'"tools/call"', b'{"_meta":{}}'))
        assert not asyncio.run(http_request.relearn(state, call))
        assert asked == ["tools/list"] * pages

    @staticmethod
    async def call(ours: Any) -> None:
        result = await ours.call_tool("x", {"a": "b"}, on_progress=print)
        assert result.content[0].text == "done"

    async def fail(self, ours: Any) -> None:
        with pytest.raises(pkg.McpError, match="no region"):
            await self.call(ours)

    async def test_SC07_the_tools_are_listed_and_the_call_is_repeated(self) -> None:
        seen = await using(self.strict([tool("y")], [tool("x", a=header_property())]), self.call)
        _, first, *lists, again = seen
        assert [request.method for request in lists] == ["tools/list", "tools/list"]
        assert first.body == again.body
        meta = first.value["params"]["_meta"]
        assert "progressToken" in meta
        for request in lists:
            theirs = request.value["params"]["_meta"]
            assert {**meta, **theirs} == meta
            assert "progressToken" not in theirs
            assert request.headers["mcp-method"] == "tools/list"

    async def test_SC08_what_that_does_not_change_is_reported(self) -> None:
        for name, tools in {
            "no tools": [],
            "unmarked": [tool("x")],
            "another": [tool("x", other=header_property())],
            "bad": [tool("x", a=header_property(""))],
        }.items():
            with case(name):
                seen = await using(self.strict(tools), self.fail)
                assert [request.method for request in seen] == [
                    "server/discover",
                    "tools/call",
                    "tools/list",
                ]

    async def test_a_list_that_fails_leaves_the_error_as_it_was(self) -> None:
        malformed: JsonObject = {"jsonrpc": "2.0", "id": 0, "error": {}}
        for status, value in ((200, None), (404, None), (503, None), (200, malformed)):

            async def play(
                request: Request, reply: Reply, status: int = status, value: Any = value
            ) -> None:
                if request.method == "tools/list":
                    await reply.send(status, value and {**value, "id": request.id})
                else:
                    await reply.send(400, error(request.id, -32020, "no region"))

            with case((status, value)):
                await using(Modern(play), self.fail)

    async def test_SC08_for_other_methods_nothing_is_listed(self) -> None:
        async def play(request: Request, reply: Reply) -> None:
            await reply.send(400, error(request.id, -32020, "no"))

        async def use(ours: Any) -> None:
            with pytest.raises(pkg.McpError):
                await ours.list_tools()

        assert len(await using(Modern(play), use)) == 2


class TestOrigin:
    """Nothing that was meant for one server is sent to another."""

    @pytest.mark.parametrize("status", [301, 302, 307, 308])
    @pytest.mark.parametrize("follows", [False, True])
    async def test_a_redirect_to_another_origin_is_refused(
        self, status: int, follows: bool
    ) -> None:
        http = httpx2.AsyncClient(follow_redirects=True) if follows else None
        async with odd_server(Modern()) as other:

            async def play(request: Request, reply: Reply) -> None:
                await reply.send(status, location=other.url)

            async with odd_server(play) as server:
                with http_error(status):
                    secret = {"authorization": "Bearer secret"}
                    async with connecting(server.url, headers=secret, http=http):
                        raise AssertionError("connected")
            if http is not None:
                await http.aclose()
            assert other.requests == []

    async def test_a_session_id_does_not_follow_a_redirect_of_a_later_request(self) -> None:
        async with odd_server(Handshaking()) as other:

            async def call(request: Request, reply: Reply) -> None:
                await reply.send(307, location=other.url)

            async with (
                odd_server(Handshaking(call, session="s")) as server,
                connecting(server.url) as ours,
            ):
                with http_error(307):
                    await ours.call_tool("x")
            assert other.requests == []


class TestClient:
    """A given HTTP client."""

    async def test_authentication_of_given_client_is_used_and_client_stays_open(self) -> None:
        class Renewing(httpx2.Auth):
            def auth_flow(
                self, request: httpx2.Request
            ) -> Generator[httpx2.Request, httpx2.Response, None]:
                response = yield request
                if response.status_code == 401:
                    request.headers["authorization"] = "Bearer new"
                    yield request

        class Guarded(Modern):
            async def __call__(self, request: Request, reply: Reply) -> None:
                if request.headers.get("authorization") != "Bearer new":
                    await reply.send(401, www_authenticate="Bearer")
                else:
                    await super().__call__(request, reply)

        async with (
            odd_server(Guarded()) as server,
            httpx2.AsyncClient(auth=Renewing(), headers={"x-ours": "1"}) as http,
        ):
            # Authentication repeats the request, and the era is found out then.
            async with connecting(server.url, http=http) as ours:
                await ours.call_tool("x")
            assert not http.is_closed
            assert len(server.requests) == 4
            assert all(sent.headers["x-ours"] == "1" for sent in server.requests)

    async def test_clients_made_by_transports_share_a_context_which_verifies_and_are_closed(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        made, contexts = list[httpx2.AsyncClient](), list[ssl.SSLContext]()

        class Noted(httpx2.AsyncClient):
            def __init__(self, *, verify: Any = None, **chosen: Any) -> None:
                super().__init__(verify=verify, **chosen)
                made.append(self)
                contexts.append(verify)

        monkeypatch.setattr(httpx2, "AsyncClient", Noted)

        async def use(ours: Any) -> None:
            assert not made[-1].is_closed

        for _ in range(2):
            await using(Modern(), use)
        assert [http.is_closed for http in made] == [True, True]
        first, second = contexts
        assert first is second
        assert first.check_hostname
        assert first.verify_mode is ssl.CERT_REQUIRED

    async def test_error_of_authentication_reaches_caller(self) -> None:
        class Refused(Exception):
            pass

        class Failing(httpx2.Auth):
            def auth_flow(self, request: httpx2.Request) -> Any:
                yield request
                if request.headers["mcp-method"] == "tools/call":
                    raise Refused("no consent")

        async with (
            odd_server(Modern()) as server,
            httpx2.AsyncClient(auth=Failing()) as http,
            connecting(server.url, http=http) as ours,
        ):
            with pytest.raises(Refused, match="no consent"):
                await ours.call_tool("x")

    async def test_error_of_authentication_on_leaving_is_secondary(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        class Failing(httpx2.Auth):
            def auth_flow(
                self, request: httpx2.Request
            ) -> Generator[httpx2.Request, httpx2.Response, None]:
                if request.method == "DELETE":
                    raise RuntimeError("expired")
                yield request

        async with (
            odd_server(Handshaking(session="s")) as server,
            httpx2.AsyncClient(auth=Failing()) as http,
        ):
            with pytest.raises(ZeroDivisionError):
                async with connecting(server.url, http=http):
                    raise ZeroDivisionError
            assert not server.requests_of("DELETE")
        assert (
            "the session could not be ended at the server: RuntimeError('expired')" in caplog.text
        )

    async def test_headers_go_with_every_request_but_do_not_replace_those_of_the_protocol(
        self,
    ) -> None:
        headers = {"Authorization": "Bearer t", "MCP-Protocol-Version": "1999-01-01"}
        seen = await using(Handshaking(), lambda ours: ours.call_tool("x"), headers=headers)
        assert [request.verb for request in seen] == ["POST", "POST", "POST", "GET", "POST"]
        assert {request.headers["authorization"] for request in seen} == {"Bearer t"}
        assert seen[-1].headers["mcp-protocol-version"] == OLD

    def test_invalid_url_is_refused(self) -> None:
        for url in ["", "ftp://x/", "/mcp", "http://", "http://a:b", "mcp"]:
            with case(url), pytest.raises(ValueError, match="is not a URL"):
                connecting(url)

    def test_a_port_that_cannot_be_is_refused_before_anything_is_tried(self) -> None:
        with pytest.raises(ValueError, match="port above 65535"):
            connecting("http://127.0.0.1:99999/mcp")

    def test_a_header_that_cannot_be_sent_is_refused_without_its_value(self) -> None:
        for value in ("Bearer secret\r\nx: y", "secret\n", " secret", "secret\0"):
            with case(value), pytest.raises(ValueError, match="the header X-Key has") as raised:
                connecting("http://127.0.0.1/mcp", headers={"X-Key": value})
            assert "secret" not in str(raised.value)

    def test_without_httpx2_it_says_what_to_install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "httpx2", None)
        with pytest.raises(ImportError, match="pip install httpx2"):
            connecting("http://127.0.0.1/mcp")


async def test_a_listen_stream_stays_open_beside_other_calls() -> None:
    told = asyncio.Event()

    async def play(request: Request, reply: Reply) -> None:
        if request.method == "server/discover":
            await reply.send(200, discover_result(request.id, tools={"listChanged": True}))
        elif request.method == "tools/call":
            await answer_call(request, reply)
        else:
            assert request.headers["mcp-method"] == "subscriptions/listen"
            id = {"io.modelcontextprotocol/subscriptionId": request.id}
            await reply.stream()
            for name in ("subscriptions/acknowledged", "tools/list_changed"):
                wanted = {"toolsListChanged": True}
                await reply.event(
                    notification(f"notifications/{name}", _meta=id, notifications=wanted)
                )
            await reply.wait_until_gone()

    async def on_tool_list_changed(self: object, params: NotificationParams) -> None:
        told.set()

    ours: Any = client(STATELESS, on_tool_list_changed=on_tool_list_changed)
    async with odd_server(play) as server, pkg.connect_http(server.url, ours):
        wanted = models(STATELESS).SubscriptionFilter(tools_list_changed=True)
        listening = asyncio.create_task(ours.subscriptions_listen(wanted))
        await told.wait()
        await ours.call_tool("x")
        listening.cancel()
