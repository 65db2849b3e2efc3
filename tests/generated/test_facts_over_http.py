"""Facts about errors and header fields, which both ends over HTTP follow without further code."""

import json
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Final

import pytest
from mcp_protogen.runtime.http.client.connect import open_http
from pydantic import Field
from support.generated.renamed_revisions import RENAMED, write_package
from support.generated.schema_folders import package_with
from support.generating import write_files
from support.http.serving import run_app, serving
from support.revisions import NEWEST, OLD
from support.tables import case

Json = dict[str, Any]

LIMITED: Final = -32990
MISMATCH: Final = -32920
ACCEPT: Final = "io.modelcontextprotocol/acceptLanguage"
CONTENT: Final = "io.modelcontextprotocol/contentLanguage"
TENANT: Final = "com.example/tenant"
PAGE_ORIGIN: Final = "https://app.example.com"
MARK: Final[Json] = {"x-mcp-header": "Zone"}
PAGE: Final = {"source": "basic/index"}
FACTS: Final[Json] = {
    "errors": {
        str(LIMITED): {
            "name": "RATE_LIMITED",
            "emit": "server",
            "http_status": 429,
            **PAGE,
            "retry": {"member": "retryAfterMs", "unit": "ms"},
        },
        "-32020": None,
        str(MISMATCH): {"name": "HEADER_MISMATCH", "emit": "server", "http_status": 409, **PAGE},
    },
    "headers": {
        "request": {
            "accept-language": {
                "level": "MAY",
                "repeats": {"meta": ACCEPT, "policy": "if_present"},
                **PAGE,
            },
            "traceparent": {
                "level": "MAY",
                "repeats": {"meta": "traceparent", "policy": "header_wins"},
                **PAGE,
            },
            "mcp-tenant": {
                "level": "MAY",
                "repeats": {"meta": TENANT, "policy": "header_wins"},
                **PAGE,
            },
            "mcp-uri": {"level": "MUST", **PAGE},
        },
        "response": {
            "content-language": {
                "level": "MAY",
                "repeats": {"meta": CONTENT, "policy": "if_present"},
                **PAGE,
            },
            "cache-control": {"level": "MUST", "when": "failed", "value": "no-store", **PAGE},
        },
    },
    "meta_keys": {
        ACCEPT: {"on": ["request"], "type": "string", "required": False, "varies": True, **PAGE},
        TENANT: {"on": ["request"], "type": "string", "required": False, **PAGE},
        CONTENT: {"on": ["result"], "type": "string", "required": False, **PAGE},
    },
    "methods": {
        "resources/read": {
            "headers": {"mcp-name": None, "mcp-uri": {"member": "uri", "policy": "both"}}
        }
    },
}


class Site:
    """A server, a client that sends `meta`, and the HTTP exchanges between them."""

    def __init__(self, package: Any) -> None:
        self.package = package
        self.mcp: Any = package.load(NEWEST)
        self.meta: Json = {}
        self.answers: list[Json | Exception] = []
        self.heard: list[Json] = []
        self.reads = 0
        self.posts: list[Any] = []
        self.replies: list[Any] = []
        self.bend: Callable[[Any], object] = lambda reply: None
        self.url = ""
        self.http: Any = None

    def server(self, *middleware: Any) -> Any:
        m, site = self.mcp.models, self

        async def on_call_tool(self: Any, session: Any, params: Any) -> Any:
            answer: Any = site.answers.pop(0) if site.answers else {}
            if isinstance(answer, Exception):
                raise answer
            return m.CallToolResult(content=[], meta=m.ResultMetaObject(**answer))

        async def on_read_resource(self: Any, session: Any, params: Any) -> Any:
            site.reads += 1
            return m.ReadResourceResult(contents=[], ttl_ms=60_000, cache_scope="private")

        async def hear(call: Any, next: Any) -> Any:
            site.heard.append(dict(call.meta))
            return await next(call)

        members = {"on_call_tool": on_call_tool, "on_read_resource": on_read_resource}
        return type(
            "Answering", (self.mcp.Server,), {**members, "middleware": (hear, *middleware)}
        )()

    def client(self) -> Any:
        async def add(call: Any, next: Any) -> Any:
            return await next(call.with_meta(self.meta) if self.meta else call)

        return type("Asking", (self.mcp.Client,), {"middleware": (add,)})()

    async def again(self, method: str, **headers: str | None) -> Any:
        """Send the last request of a method once more, with other header fields."""
        post = next(post for post in reversed(self.posts) if body_of(post)["method"] == method)
        changed = {name.replace("_", "-"): value for name, value in headers.items()}
        fields = {name: value for name, value in post.headers.items() if name not in changed}
        fields |= {name: value for name, value in changed.items() if value is not None}
        return await self.http.post(self.url, content=post.content, headers=fields)


def body_of(message: Any) -> Json:
    body: Json = json.loads(message.content)
    return body


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("facts")
    write_files(
        package_with(tmp_path_factory.mktemp("input"), FACTS, (OLD, NEWEST)).files,
        folder / "with_facts",
    )
    sys.path.insert(0, str(folder))
    return import_module("with_facts")


@asynccontextmanager
async def connection(
    package: Any, *middleware: Any, **options: Any
) -> AsyncGenerator[tuple[Site, Any], None]:
    httpx2: Any = import_module("httpx2")
    site = Site(package)

    async def record_post(post: Any) -> None:
        site.posts.append(post)

    async def record_reply(reply: Any) -> None:
        site.bend(reply)
        site.replies.append(reply)

    hooks = {"request": [record_post], "response": [record_reply]}
    chosen = package.HttpOptions(cors=package.Cors(), allowed_origins=[PAGE_ORIGIN])
    app = package.http_app(site.server(*middleware), revisions=package.REVISIONS, http=chosen)
    async with (
        run_app(app) as port,
        httpx2.AsyncClient(verify=False, event_hooks=hooks) as http,
    ):
        site.url, site.http = f"http://127.0.0.1:{port}/mcp", http
        async with package.connect_http(site.url, site.client(), http=http, **options) as client:
            yield site, client
    await app.close()


async def test_an_error_has_its_status_and_says_when_to_repeat_the_request(package: Any) -> None:
    async with connection(package) as (site, client):
        busy = package.McpError(LIMITED, "Too many", {"retryAfterMs": 30})
        # The client waits for the delay, and then repeats the request.
        site.answers = [busy]
        await client.call_tool("any")
        statuses = [reply.status_code for reply in site.replies[-2:]]
        assert statuses == [429, 200] and site.replies[-2].headers["retry-after"] == "1"

        site.answers = [package.McpError(LIMITED, "Too many", {"retryAfterMs": 1200})]
        answer = await site.again("tools/call")
        assert (answer.status_code, answer.headers["retry-after"]) == (429, "2")
        assert body_of(answer)["error"]["data"] == {"retryAfterMs": 1200}

        for data in (None, {"retryAfterMs": "soon"}, {"retryAfterMs": -1}):
            with case(data):
                site.answers = [package.McpError(LIMITED, "Too many", data)]
                with pytest.raises(package.McpError, match="Too many"):
                    await client.call_tool("any")
                reply = site.replies[-1]
                assert reply.status_code == 429 and "retry-after" not in reply.headers


async def test_an_error_with_deeply_nested_data_has_its_status(package: Any) -> None:
    async with connection(package) as (site, client):
        await client.call_tool("any")
        nested: Any = 0
        for _ in range(220):
            nested = [nested]
        site.answers = [package.McpError(LIMITED, "Too many", nested)]
        assert (await site.again("tools/call")).status_code == 429


async def test_a_rate_limit_answers_with_the_error_of_the_revision(package: Any) -> None:
    limit = package.RateLimit(0.001, 1, methods={"tools/call"})
    async with connection(package, limit) as (site, client):
        await client.call_tool("any")
        answer = await site.again("tools/call")
        assert (answer.status_code, answer.headers["retry-after"]) == (429, "1000")
        error = body_of(answer)["error"]
        assert error["code"] == LIMITED and 999_000 < error["data"]["retryAfterMs"] <= 1_000_000


async def test_a_rate_limit_has_its_status_in_a_revision_without_the_error(package: Any) -> None:
    limit = package.RateLimit(0.001, 1, methods={"tools/call"})
    only_old = [known for known in package.REVISIONS if known.id == OLD]
    async with connection(package, limit, revisions=only_old) as (site, client):
        await client.call_tool("any")
        with pytest.raises(package.McpError, match="Too many"):
            await client.call_tool("any")
        reply = site.replies[-1]
        assert (reply.status_code, reply.headers["retry-after"]) == (429, "1000")


async def test_a_revision_without_the_error_answers_with_its_own_status(package: Any) -> None:
    only_old = [known for known in package.REVISIONS if known.id == OLD]
    async with connection(package, revisions=only_old) as (site, client):
        site.answers = [package.McpError(LIMITED, "Too many", {"retryAfterMs": 1200})]
        with pytest.raises(package.McpError, match="Too many"):
            await client.call_tool("any")
        reply = site.replies[-1]
        assert reply.status_code == 200 and "retry-after" not in reply.headers


async def test_a_header_field_repeats_a_key_of_meta_if_both_are_there(package: Any) -> None:
    async with connection(package) as (site, client):
        site.meta = {ACCEPT: "de-CH, de;q=0.9"}
        await client.call_tool("any")
        assert site.posts[-1].headers["accept-language"] == "de-CH, de;q=0.9"
        refusal = await site.again("tools/call", accept_language="fr")
        assert (refusal.status_code, body_of(refusal)["error"]["code"]) == (409, MISMATCH)
        assert (await site.again("tools/call", accept_language=None)).status_code == 200
        # A value that no field can have stays in the message.
        site.meta = {ACCEPT: "dé"}
        await client.call_tool("any")
        assert site.posts[-1].headers.get("accept-language") != "dé"
        site.meta = {}
        await client.call_tool("any")
        assert (await site.again("tools/call", accept_language="fr")).status_code == 200


async def test_a_header_field_that_wins_replaces_the_key_of_meta(package: Any) -> None:
    async with connection(package) as (site, client):
        site.meta = {"traceparent": "00-aa-bb-01"}
        await client.call_tool("any")
        assert site.posts[-1].headers["traceparent"] == "00-aa-bb-01"
        answer = await site.again("tools/call", traceparent="00-cc-dd-00")
        assert answer.status_code == 200
        assert [heard["traceparent"] for heard in site.heard[-2:]] == [
            "00-aa-bb-01",
            "00-cc-dd-00",
        ]
        await site.again("tools/call", traceparent=None)
        assert site.heard[-1]["traceparent"] == "00-aa-bb-01"


async def test_a_malformed_header_field_that_would_win_is_refused(package: Any) -> None:
    async with connection(package) as (site, client):
        await client.call_tool("any")
        assert (await site.again("tools/call", mcp_tenant="=?base64?b25l?=")).status_code == 200
        assert site.heard[-1][TENANT] == "one"
        heard = len(site.heard)
        refusal = await site.again("tools/call", mcp_tenant="=?base64?!?=")
        assert (refusal.status_code, body_of(refusal)["error"]["code"]) == (409, MISMATCH)
        assert len(site.heard) == heard


async def test_header_fields_repeat_arguments_whatever_calls_of_tools_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {RENAMED: {"tools/call": "tools/run", "tools/list": "tools/enumerate"}}
    write_package(tmp_path / "renamed_tools", names)
    monkeypatch.syspath_prepend(tmp_path)  # pyright: ignore[reportUnknownMemberType]
    pkg: Any = import_module("renamed_tools")

    def move(self: Any, zone: Annotated[str, Field(json_schema_extra=MARK)]) -> str:
        return zone

    async def call(site: Any, ours: str, spoken: str, listed: bool) -> str:
        revisions = [known for known in pkg.REVISIONS if known.id == spoken]
        opener, client = open_http(f"http://127.0.0.1:{site.port}/mcp"), pkg.load(ours).Client()
        async with pkg.connect(opener, client, revisions=revisions) as connected:
            # Without a list, the refused call makes the client ask for one.
            if listed:
                await connected.list_tools()
            text: str = (await connected.call_tool("move", {"zone": "x"})).text
            return text

    members = {"move": pkg.tool(move)}
    for theirs in (NEWEST, RENAMED):
        bases = (pkg.Toolkit, pkg.load(theirs).Server)
        server = type("Moving", bases, members)()
        async with serving(server, pkg.REVISIONS) as site:
            for asked in product((NEWEST, RENAMED), (NEWEST, RENAMED), (True, False)):
                with case((theirs, *asked)):
                    assert await call(site, *asked) == "x"


async def test_web_pages_may_send_and_read_the_header_fields_of_the_revisions_served(
    package: Any,
) -> None:
    asked = {"origin": PAGE_ORIGIN, "access-control-request-method": "POST"}
    async with connection(package) as (site, client):
        answer = await site.http.options(site.url, headers=asked)
        allowed = set(answer.headers["access-control-allow-headers"].split(", "))
        assert {"accept-language", "mcp-method", "mcp-tenant", "mcp-uri"} <= allowed
        await client.call_tool("any")
        answer = await site.again("tools/call", origin=PAGE_ORIGIN)
        exposed = answer.headers["access-control-expose-headers"].split(", ")
        assert answer.status_code == 200 and "content-language" in exposed


async def test_a_response_says_on_which_header_fields_it_depends_and_to_keep_no_error(
    package: Any,
) -> None:
    async with connection(package) as (site, client):
        await client.call_tool("any")
        rows: list[tuple[Json, int]] = [({}, 200), ({"mcp_method": "x"}, 409)]
        for headers, status in rows:
            with case(headers):
                answer = await site.again("tools/call", **headers)
                assert answer.status_code == status
                assert "accept-language" in answer.headers["vary"].split(", ")
                kept = answer.headers.get("cache-control")
                assert kept == (None if status == 200 else "no-store")


async def test_caches_keep_a_result_for_each_value_on_which_it_depends(package: Any) -> None:
    for in_server in (False, True):
        cached = (package.ResultCache(60),) if in_server else ()
        with case(in_server):
            async with connection(package, *cached) as (site, client):
                client.cache = None if in_server else package.Cache()
                for language, reads in (("de", 1), ("fr", 2), ("de", 2), ("", 3), ("", 3)):
                    site.meta = {ACCEPT: language, TENANT: f"of {reads}"} if language else {}
                    await client.read_resource("file:///a")
                    assert site.reads == reads


async def test_a_client_knows_the_era_by_the_code_of_a_refused_header_field(package: Any) -> None:
    httpx2: Any = import_module("httpx2")
    posts: list[Any] = []

    async def drop(post: Any) -> None:
        posts.append(post)
        post.headers.pop("mcp-method", None)

    site = Site(package)
    app = package.http_app(site.server(), revisions=package.REVISIONS)
    async with (
        run_app(app) as port,
        httpx2.AsyncClient(verify=False, event_hooks={"request": [drop]}) as http,
    ):
        with pytest.raises(package.McpError, match="Mcp-Method differs"):
            async with package.connect_http(
                f"http://127.0.0.1:{port}/mcp", site.client(), http=http
            ):
                raise AssertionError("connected")
        assert [body_of(post)["method"] for post in posts] == ["server/discover"]
    await app.close()


async def test_an_answer_repeats_a_key_of_meta(package: Any) -> None:
    async with connection(package) as (site, client):
        site.answers = [{CONTENT: "de-CH"}]
        await client.call_tool("any")
        assert site.replies[-1].headers["content-language"] == "de-CH"
        site.answers = [package.McpError(-32602, "Nein", {"_meta": {CONTENT: "de"}})]
        with pytest.raises(package.McpError, match="Nein"):
            await client.call_tool("any")
        assert site.replies[-1].headers["content-language"] == "de"

        site.answers = [{CONTENT: "de-CH"}]
        site.bend = lambda reply: reply.headers.update({"content-language": "fr"})
        with pytest.raises(package.RemoteError, match="Content-Language differs"):
            await client.call_tool("any")


async def test_a_method_names_the_header_field_and_the_member_that_it_repeats(package: Any) -> None:
    async with connection(package) as (site, client):
        await client.read_resource("file:///a")
        headers = site.posts[-1].headers
        assert headers["mcp-uri"] == "file:///a" and "mcp-name" not in headers
        for value in (None, "file:///b"):
            with case(value):
                refusal = await site.again("resources/read", mcp_uri=value)
                error = body_of(refusal)["error"]
                assert (refusal.status_code, error["code"]) == (409, MISMATCH)
                assert error["message"].endswith("Mcp-Uri differs from /params/uri")
