"""Web pages of other origins: preflight requests, and the header fields for reading answers."""

import asyncio
import json
import shutil
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from mcp_revisions import Cors, RateLimit, Route
from mcp_revisions.v2025_11_25 import Session
from mcp_revisions.v2025_11_25.models import CallToolRequestParams
from support import missing
from support.http.serving import Site, run_app, serving
from support.revisions import OLD, STATELESS
from support.sessions.talking import hello, pkg, request, tools
from support.tables import case

PAGE, EVIL = "https://app.example.com", "https://evil.example"
ALLOW = "access-control-allow-origin"
TOKEN = "t" * 16
EVERY_FIELD = (
    "accept, authorization, content-type, dpop, last-event-id, mcp-method, mcp-name, "
    "mcp-param-region, mcp-protocol-version, mcp-session-id"
)


async def call(session: Session, params: CallToolRequestParams) -> str:
    if params.name == "steps":
        await session.progress(1, 2)
    if params.name == "fails":
        raise RuntimeError
    return str(params.name)


def fails(_: object) -> None:
    raise RuntimeError


async def app(scope: Any, receive: Any, send: Any) -> None:
    own = [(b"access-control-allow-origin", b"*")] if scope["path"].endswith("/own") else []
    await send({"type": "http.response.start", "status": 200, "headers": own})
    await send({"type": "http.response.body", "body": scope["method"].encode()})


ROUTES = (
    Route("/health", lambda _: "ok"),
    Route("/both", lambda _: "ok", methods=["GET", "POST"]),
    Route("/fails", fails),
    Route("/app", app),
)


def crossing(server: Any = None, **options: Any) -> Any:
    """A server that pages of one other origin may call."""
    chosen: dict[str, Any] = {
        "cors": Cors(),
        "allowed_origins": [PAGE],
        "routes": ROUTES,
        **options,
    }
    return serving(server or tools(STATELESS, call), pkg.REVISIONS, **chosen)


async def preflight(
    site: Site, path: str, method: str = "POST", origin: str = PAGE, fields: str = EVERY_FIELD
) -> Any:
    asked = {"origin": origin, "access-control-request-method": method}
    if fields:
        asked["access-control-request-headers"] = fields
    return await site.http.options(path, headers=asked)


def names(field: str) -> set[str]:
    return {method.strip() for method in field.split(",")}


async def test_a_preflight_is_answered_for_every_path_with_its_methods() -> None:
    stateless = tools(STATELESS, call)
    paths: list[tuple[Mapping[str, Any], str, str, set[str]]] = [
        ({}, "/mcp", "POST", {"POST", "GET", "DELETE"}),
        ({}, "/mcp", "DELETE", {"POST", "GET", "DELETE"}),
        ({"sessions": False}, "/mcp", "POST", {"POST"}),
        ({"old_sse": True}, "/sse", "GET", {"GET"}),
        ({"old_sse": True}, "/messages", "POST", {"POST"}),
        ({}, "/health", "GET", {"GET", "HEAD"}),
        ({}, "/both", "POST", {"GET", "HEAD", "POST"}),
        ({}, "/app/below", "PATCH", {"PATCH"}),
    ]
    for options, path, method, methods in paths:
        with case((options, path, method)):
            async with crossing(stateless, **options) as site:
                answer = await preflight(site, path, method)
                fields = answer.headers
                assert (answer.status_code, answer.content) == (204, b"")
                assert fields[ALLOW] == PAGE
                assert names(fields["access-control-allow-methods"]) == methods
                assert names(fields["access-control-allow-headers"]) == names(EVERY_FIELD)
                assert fields["access-control-max-age"] == "600"
                assert names(fields["vary"]) == {"origin", "access-control-request-headers"}
                assert "access-control-allow-credentials" not in fields
                assert "content-length" not in fields


async def test_a_preflight_asks_for_nothing_else_and_needs_no_token() -> None:
    tokens = pkg.Authentication(verify=pkg.static_tokens({TOKEN: pkg.Principal("ada")}))
    async with crossing(authentication=tokens) as site:
        for path in ("/mcp", "/health", "/app"):
            with case(path):
                assert (await preflight(site, path)).status_code == 204
        asked = "x-other, mcp-param-a b, Mcp-Param-Ok,mcp-param-"
        allowed = (await preflight(site, "/mcp", fields=asked)).headers
        assert names(allowed["access-control-allow-headers"]) - names(EVERY_FIELD) == {
            "mcp-param-ok"
        }
        refused = await site.post(hello(), {"origin": PAGE})
        assert refused.status_code == 401
        assert refused.headers[ALLOW] == PAGE
        assert "www-authenticate" in names(refused.headers["access-control-expose-headers"])
        assert (await site.http.options("/mcp", headers={"origin": PAGE})).status_code == 405


async def test_a_page_that_may_not_call_is_told_nothing() -> None:
    async with crossing() as site:
        for origin in (EVIL, "null", "https://app.example.com.evil.example"):
            with case(origin):
                for answer in (
                    await preflight(site, "/mcp", origin=origin),
                    await preflight(site, "/health", origin=origin),
                    await site.post(hello(), {"origin": origin}),
                    await site.http.get("/health", headers={"origin": origin}),
                ):
                    assert answer.status_code == 403
                    assert not [name for name in answer.headers if "access-control" in name]
                    assert answer.headers["vary"] == "origin"
        # Requests of the same origin, or without a page, need no permission.
        plain = await site.post(hello())
        assert (plain.headers["vary"], ALLOW in plain.headers) == ("origin", False)


async def test_pages_at_an_allowed_host_may_read_too_and_all_may_if_all_may_call() -> None:
    cases: list[tuple[dict[str, Any], str, bool]] = [
        ({}, "http://localhost:5173", True),
        ({"allowed_origins": ["*"]}, EVIL, True),
        ({"cors": None}, PAGE, False),
    ]
    for options, origin, readable in cases:
        with case((options, origin)):
            async with crossing(**options) as site:
                answer = await site.post(hello(), {"origin": origin})
                assert (answer.status_code, answer.headers.get(ALLOW) == origin) == (200, readable)
                asked = await preflight(site, "/mcp", origin=origin)
                assert asked.status_code == (204 if readable else 405)


async def answers(site: Site) -> dict[str, Any]:
    """Responses of each kind to a page, with their status."""
    here = {"origin": PAGE}
    session = await site.initialize(headers=here)
    modern = site.modern
    return {
        "a session 200": await site.post(hello(), here),
        "a call 200": await session.call("x"),
        "a call of today 200": await modern("tools/call", name="x", headers=here),
        "a handler that fails 200": await session.call("fails"),
        "no JSON 400": await site.post(b"{", here),
        "an unknown session 404": await site.post(request("ping"), {**here, "mcp-session-id": "x"}),
        "another type 415": await site.post(hello(), {**here, "content-type": "text/plain"}),
        "a field that disagrees 400": await modern("ping", headers={**here, "mcp-method": "x"}),
        "another path 404": await site.http.get("/none", headers=here),
        "another method 405": await site.http.put("/mcp", headers=here),
        "too large 431": await site.post(hello(), {**here, "x-long": "x" * 70_000}),
        "a limit 429": await modern("tools/list", headers=here),
        "a route 200": await site.http.get("/health", headers=here),
        "a route that fails 500": await site.http.get("/fails", headers=here),
        "an application 200": await site.http.get("/app", headers=here),
        "the end of a session 204": await session.delete(),
    }


async def test_answers_errors_and_streams_can_be_read_by_the_page() -> None:
    slow = RateLimit(0.001, 1, methods={"tools/list"})
    ours = tools(STATELESS, call, middleware=(slow,), on_list_tools=list_tools)
    async with crossing(ours) as site:
        await site.modern("tools/list")
        for name, answer in (await answers(site)).items():
            with case(name):
                assert str(answer.status_code) in name
                assert_readable(answer)
        assert (await site.http.get("/app/own", headers={"origin": PAGE})).headers[ALLOW] == "*"
        session = await site.initialize(headers={"origin": PAGE})
        meta = {"progressToken": "p"}
        async with session.get() as events:
            assert_readable(events.response)
        async with session.calling("steps", 2, _meta=meta) as events:
            assert_readable(events.response)
        listen = site.modern_stream(
            "subscriptions/listen", notifications={}, headers={"origin": PAGE}
        )
        async with listen as events:
            assert_readable(events.response)


async def list_tools(self: object, session: Any, params: Any) -> Any:
    return pkg.load(STATELESS).models.ListToolsResult(tools=[], ttl_ms=0, cache_scope="private")


def assert_readable(answer: Any) -> None:
    fields = answer.headers
    assert fields.get_list(ALLOW) == [PAGE]
    assert fields["vary"] == "origin"
    assert names(fields["access-control-expose-headers"]) == {
        *("dpop-nonce", "mcp-protocol-version", "mcp-session-id", "retry-after"),
        "www-authenticate",
    }


async def test_more_may_be_sent_read_and_remembered() -> None:
    more = Cors(headers=["X-Tenant"], expose=["X-Trace"], credentials=True, max_age=5)
    async with crossing(cors=more) as site:
        fields = (await preflight(site, "/mcp")).headers
        assert "x-tenant" in names(fields["access-control-allow-headers"])
        assert (fields[ALLOW], fields["access-control-max-age"]) == (PAGE, "5")
        fields = (await site.post(hello(), {"origin": PAGE})).headers
        assert "x-trace" in names(fields["access-control-expose-headers"])
        assert (fields[ALLOW], fields["access-control-allow-credentials"]) == (PAGE, "true")


def test_credentials_are_never_for_all_pages() -> None:
    wrong: list[tuple[Callable[[], object], str]] = [
        (
            lambda: pkg.HttpOptions(cors=Cors(credentials=True), allowed_origins=["*"]),
            r"allowed_origins with scheme and port, not \*: write",
        ),
        (
            lambda: pkg.HttpOptions(cors=Cors(credentials=True), allowed_origins=["null"]),
            "allowed_origins with scheme and port, not null: write",
        ),
        (
            lambda: pkg.HttpOptions(cors=Cors(credentials=True)),
            "allowed_origins with scheme and port, and not hosts alone: write",
        ),
        (
            lambda: pkg.HttpOptions(cors=Cors(credentials=True), allowed_hosts=["app.example.com"]),
            "allowed_origins with scheme and port, and not hosts alone: write",
        ),
        (lambda: Cors(headers="x-tenant"), "headers must be a collection"),
        (lambda: Cors(expose="x-tenant"), "expose must be a collection"),
    ]
    for mistake, why in wrong:
        with case(why), pytest.raises((TypeError, ValueError), match=why):
            mistake()


async def test_with_credentials_only_listed_origins_may_call() -> None:
    listed = ["https://app.example.com:443", "http://app.example.com:8080/", "HTTP://[::1]:81"]
    rows = {
        "https://app.example.com": 200,
        "http://app.example.com:8080": 200,
        "http://[::1]:81": 200,
        "http://app.example.com": 403,
        "https://app.example.com:8080": 403,
        "http://localhost": 403,
        "http://localhost:8080": 403,
        "http://127.0.0.1:8080": 403,
        "null": 403,
    }
    chosen = {"allowed_hosts": ["localhost", "127.0.0.1", "app.example.com"]}
    async with crossing(cors=Cors(credentials=True), allowed_origins=listed, **chosen) as site:
        for origin, status in rows.items():
            with case(origin):
                answer = await site.post(hello(), {"origin": origin})
                assert answer.status_code == status
                assert answer.headers.get(ALLOW) == (origin if status == 200 else None)
                asked = {"origin": origin, "access-control-request-method": "POST"}
                answer = await site.http.options("/mcp", headers=asked)
                assert answer.status_code == (204 if status == 200 else 403)
                assert answer.headers.get(ALLOW) == (origin if status == 200 else None)


async def test_where_to_get_a_token_pages_of_all_origins_may_read() -> None:
    resource = pkg.ProtectedResource(
        url="http://localhost/mcp", authorization_servers=("https://login.example.com",)
    )
    tokens = pkg.Authentication(verify=pkg.static_tokens({}), resource=resource)
    path = "/.well-known/oauth-protected-resource"
    for cors in (None, Cors()):
        async with crossing(authentication=tokens, cors=cors) as site:
            asked = await preflight(site, path, "GET", EVIL, "mcp-protocol-version")
            assert asked.status_code == 204
            assert asked.headers["access-control-allow-headers"] == "*"
            assert asked.headers.get_list(ALLOW) == ["*"]


SCRIPT = """
<p id=said>nothing</p><script>
const here = "URL", said = [];
const post = (message, more) => fetch(here, {method: "POST", body: JSON.stringify(message), headers:
  {"content-type": "application/json", "accept": "application/json, text/event-stream", ...more}});
(async () => {
  const begun = await post(HELLO, {});
  const id = begun.headers.get("mcp-session-id");
  said.push(begun.status, id.length, (await begun.json()).result.protocolVersion);
  const fields = {"mcp-session-id": id, "mcp-protocol-version": "OLD"};
  said.push((await post(INITIALIZED, fields)).status);
  const streamed = await post(CALL, fields);
  said.push(streamed.headers.get("content-type"), (await streamed.text()).includes("steps"));
  const modern = await post(MODERN, {"mcp-method": "tools/call", "mcp-name": "x",
    "mcp-protocol-version": "STATELESS", "mcp-param-region": "eu", "authorization": "Bearer x"});
  said.push(modern.status, (await post(7, {})).status);
  said.push((await fetch(here, {method: "DELETE", headers: fields})).status);
  try { await fetch(here.replace("localhost", "127.0.0.1"), {method: "PUT"}); said.push("read"); }
  catch (error) { said.push(error.name); }
})().catch(error => said.push(String(error)))
  .finally(() => document.getElementById("said").innerText = JSON.stringify(said));
</script>
"""


def page_for(port: int) -> Callable[..., Awaitable[None]]:
    """An application that serves a page which calls a server on another port."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientInfo": {"name": "page", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    steps = request("tools/call", 2, name="steps", _meta={"progressToken": "p"})
    text = SCRIPT.replace("URL", f"http://localhost:{port}/mcp").replace("OLD", OLD)
    for name, value in {
        "HELLO": hello(),
        "INITIALIZED": {"jsonrpc": "2.0", "method": "notifications/initialized"},
        "CALL": steps,
        "MODERN": request("tools/call", 3, name="x", _meta=meta),
    }.items():
        text = text.replace(name, json.dumps(value))
    body = text.replace('"STATELESS"', f'"{STATELESS}"').encode()

    async def serve(scope: Any, receive: Any, send: Any) -> None:
        kind = [(b"content-type", b"text/html")]
        await send({"type": "http.response.start", "status": 200, "headers": kind})
        await send({"type": "http.response.body", "body": body})

    return serve


@pytest.mark.long
async def test_a_browser_lets_a_page_of_another_origin_call(tmp_path: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        missing.skip_untested("a browser", "that a page of another origin can call a server")
    async with crossing() as site, run_app(page_for(site.port), lifespan="off") as port:
        options = ("--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}")
        process = await asyncio.create_subprocess_exec(
            *(browser, *options, "--virtual-time-budget=20000", "--dump-dom"),
            f"http://localhost:{port}/",
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        shown, _ = await process.communicate()
    said = json.loads(shown.decode().partition('<p id="said">')[2].partition("</p>")[0])
    expected = [200, 43, OLD, 202, "text/event-stream", True, 200, 400, 204, "TypeError"]
    assert said == expected
