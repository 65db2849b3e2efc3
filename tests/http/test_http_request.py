"""The HTTP request of a call, for its handler: `session.http_request`."""

import json
from typing import Any

import pytest
from mcp_protogen.runtime.http.server import asgi
from mcp_revisions import CallNext, HttpRequest, MethodCall, RateLimit, StatusError
from mcp_revisions.v2025_11_25 import Session
from mcp_revisions.v2025_11_25.models import CallToolRequestParams
from support.http.serving import POSTED, Site, outcome, post_request, raw, serving, text_in
from support.http.serving import stateless_request as modern_call
from support.json_types import Json, JsonObject
from support.revisions import HANDSHAKE, OLD, STATELESS
from support.sessions.talking import content_of, hello, pkg, request, tools
from support.tables import case
from support.toolkit.kits import mcp

TOKEN = "t" * 16
FIELDS = {"x-tenant": "one", "X-Other": "two"}
WITH_QUERY = "/mcp?a=1&a=2&b=&c=%C3%A9"


def describe_request(found: HttpRequest | None) -> str:
    """Return everything about a request as JSON."""
    if found is None:
        return "none"
    who = found.principal
    return json.dumps(
        {
            "method": found.method,
            "path": found.path,
            "query": found.query,
            "host": None if found.client is None else found.client.host,
            "tenant": [found.headers.get(name) for name in ("X-TENANT", "x-tenant", "missing")],
            "other": found.headers.get("x-other"),
            "names": "x-other" in found.headers and "X-Other" not in [*found.headers],
            "principal": None if who is None else [who.id, sorted(who.scopes)],
        }
    )


EXPECTED: Json = {
    "method": "POST",
    "path": "/mcp",
    "query": {"a": ["1", "2"], "b": [""], "c": ["é"]},
    "host": "127.0.0.1",
    "tenant": ["one", "one", None],
    "other": "two",
    "names": True,
    "principal": ["ada", ["read", "write"]],
}


async def tell(session: Session, params: CallToolRequestParams) -> str:
    if params.name == "steps":
        await session.progress(1, 2)
    return describe_request(session.http_request)


def guard_options() -> Any:
    ada = pkg.Principal("ada", frozenset({"read", "write"}))
    return pkg.Authentication(verify=pkg.static_tokens({TOKEN: ada}))


async def ask_twice(site: Site, era: str) -> list[str]:
    """Return the reports of handlers about a request: in an immediate answer, and in a stream."""
    fields = {"authorization": f"Bearer {TOKEN}", **FIELDS}
    site.path = WITH_QUERY
    meta = {"progressToken": "p"}
    if era == STATELESS:
        site.path = "/mcp"
        call = post_request(*modern_call("tools/call", headers=fields, name="x"))
        plain = await site.http.post(WITH_QUERY, **call)
        return [text_in(plain)]
    session = await site.initialize(era, fields)
    async with session.calling("steps", 2, _meta=meta) as events:
        streamed = [event.message for event in await events.all() if event.data][-1]
    return [text_in(await session.call("x")), streamed["result"]["content"][0]["text"]]


async def test_a_handler_sees_the_request_that_carries_its_call_in_every_era() -> None:
    for own in (OLD, STATELESS):
        for spoken in (*HANDSHAKE[1:], STATELESS):
            with case((own, spoken)):
                server = tools(own, tell)
                async with serving(server, pkg.REVISIONS, authentication=guard_options()) as site:
                    for text in await ask_twice(site, spoken):
                        assert json.loads(text) == EXPECTED


async def test_request_is_that_of_each_call_in_session() -> None:
    async with serving(tools(OLD, tell)) as site:
        session = await site.initialize(headers={"x-other": "first"})
        for value in ("second", "third"):
            message = request("tools/call", name="x")
            answer = await session.post(message, {"x-other": value})
            assert json.loads(text_in(answer))["other"] == value


async def test_all_values_of_a_name_are_there() -> None:
    async def list_headers(session: Session, params: CallToolRequestParams) -> str:
        found = session.http_request
        assert found is not None
        given = found.headers
        return json.dumps([given["x-tag"], given.getlist("X-Tag"), given.getlist("none")])

    async with serving(tools(OLD, list_headers), sessions=False) as site:
        body = json.dumps(request("tools/call", name="x")).encode()
        usual = [f"{name}: {value}" for name, value in POSTED.items()]
        lines = ["POST /mcp HTTP/1.1", "Host: localhost", *usual, "MCP-Protocol-Version: " + OLD]
        lines += ["X-Tag: a", "x-tag:  b, c ", f"Content-Length: {len(body)}", "Connection: close"]
        answer = await raw(site.port, "\r\n".join([*lines, "", ""]).encode() + body)
        text = json.loads(answer.rpartition(b"\r\n\r\n")[2])["result"]["content"][0]["text"]
        assert json.loads(text) == ["a, b, c", ["a", "b, c"], []]


async def test_there_is_none_over_other_transports_and_for_notifications() -> None:
    seen: list[object] = []

    async def note(call: MethodCall, next: CallNext) -> Any:
        seen.append((call.method, call.session.http_request is None))
        return await next(call)

    server = tools(OLD, tell, middleware=(note,))
    async with pkg.connect_in_memory(mcp.Client(), server) as client:
        called = await client.call_tool("x")
        assert content_of(called)[0].text == "none"
    async with serving(server) as site:
        assert outcome(await (await site.initialize()).call("x")) == (200, None)
    initialized = "notifications/initialized", True
    assert seen == [initialized, ("tools/call", True), initialized, ("tools/call", False)]


async def test_a_call_that_does_not_ask_for_it_makes_none(monkeypatch: pytest.MonkeyPatch) -> None:
    async def plain(session: Session, params: CallToolRequestParams) -> str:
        return "" if params.name == "plain" else describe_request(session.http_request)

    def refuse(*_: object) -> None:
        raise AssertionError("it was made")

    monkeypatch.setattr(asgi, "HttpRequest", refuse)
    async with serving(tools(STATELESS, plain), pkg.REVISIONS) as site:
        session = await site.initialize()
        assert text_in(await session.call("plain")) == ""
        assert text_in(await site.modern("tools/call", name="plain")) == ""
        assert outcome(await session.call("reads")) == (200, -32603)


class TestStatuses:
    """The status and the fields of an error that a handler, or middleware, has chosen."""

    async def test_a_rate_limit_is_429_with_the_time_to_wait(self) -> None:
        for own in (OLD, STATELESS):
            shared = pkg.Shared(engine=pkg.MemoryEngine())
            chosen: list[JsonObject] = [{}, {"shared": shared}, {"sessions": False}]
            for options in chosen:
                with case((own, options)):
                    limit = RateLimit(0.1, 1, methods={"tools/call"})
                    server = tools(own, tell, middleware=(limit,))
                    async with serving(server, pkg.REVISIONS, **options) as site:
                        for answer in await twice(site, own, **options):
                            error = answer.json()["error"]
                            assert outcome(answer) == (429, -32000)
                            assert answer.headers["retry-after"] == "10"
                            assert 9 < error["data"]["retryAfter"] <= 10
                            assert error["message"].startswith("Too many requests: try again in")

    async def test_where_the_response_has_begun_it_is_the_error_alone(self) -> None:
        async def fails(session: Session, params: CallToolRequestParams) -> str:
            await session.progress(1, 2)
            raise StatusError(-32000, "later", status=429, headers={"retry-after": "1"})

        async with serving(tools(OLD, fails)) as site:
            session = await site.initialize()
            async with session.calling("x", _meta={"progressToken": "p"}) as events:
                assert events.response.status_code == 200
                assert "retry-after" not in events.response.headers
                said = [event.message for event in await events.all() if event.data]
            assert said[-1]["error"] == {"code": -32000, "message": "later"}

    async def test_a_field_that_is_none_is_not_sent(self) -> None:
        async def fails(session: Session, params: CallToolRequestParams) -> str:
            raise StatusError(-32000, "no", status=429, headers={"x": "a\r\nset-cookie: b=c"})

        async with serving(tools(OLD, fails), sessions=False) as site:
            answer = await site.post(request("tools/call", name="x"), {"mcp-protocol-version": OLD})
            assert answer.status_code == 500
            assert "set-cookie" not in answer.headers

    async def test_a_status_that_is_none_is_a_fault_of_the_handler(self) -> None:
        wrong = {"no status": 999, "without content": 204, "not yet an answer": 100}

        async def fails(session: Session, params: CallToolRequestParams) -> str:
            raise StatusError(-32000, "no", status=wrong[params.name])

        async with serving(tools(OLD, fails), sessions=False) as site:
            for name in wrong:
                with case(name):
                    call = request("tools/call", name=name)
                    answer = await site.post(call, {"mcp-protocol-version": OLD})
                    assert outcome(answer) == (200, -32603)


async def twice(site: Site, own: str, sessions: bool = True, **_: object) -> list[Any]:
    """Return the outcomes of calls in each era after one that uses up the limit."""
    modern = [await site.modern("tools/call", name="x") for _ in range(2)]
    assert modern[0].status_code == 200
    call = request("tools/call", name="x")
    if sessions:
        return [modern[1], await (await site.initialize()).post(call)]
    assert (await site.post(hello())).status_code == 200
    return [modern[1], await site.post(call, {"mcp-protocol-version": OLD})]
