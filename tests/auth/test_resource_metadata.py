"""The metadata of a protected resource (RFC 9728): its content, and its place."""

import asyncio
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from support.auth.guarding import RESOURCE, authentication
from support.http.serving import JSON, app_of, calling, echo, run_app, serving
from support.revisions import OLD
from support.sessions.talking import hello, pkg, tools
from support.tables import case

WELL_KNOWN = "/.well-known/oauth-protected-resource"
ISSUER = "https://login.example.com"


def resource(url: str, **more: Any) -> Any:
    given: dict[str, Any] = {"url": url, "authorization_servers": [ISSUER], **more}
    return pkg.ProtectedResource(**given)


@pytest.mark.shows("PR-01", "PR-02")
async def test_the_document_says_what_was_said_of_the_resource_and_no_more() -> None:
    usual = {
        "resource": "https://mcp.example.com/mcp",
        "authorization_servers": [ISSUER],
        "bearer_methods_supported": ["header"],
    }
    more: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({}, {}),
        ({"scopes": ["a", "b"]}, {"scopes_supported": ["a", "b"]}),
        ({"name": "Ours", "documentation": "https://x"}, {"resource_name": "Ours"}),
        ({"policy": "https://p", "terms": "https://t"}, {"resource_policy_uri": "https://p"}),
    ]
    for given, members in more:
        with case(given):
            guard = authentication(resource=resource("https://mcp.example.com/mcp", **given))
            async with serving(tools(OLD, echo), authentication=guard) as site:
                found = await site.http.get(f"{WELL_KNOWN}/mcp")
                document = found.json()
                assert {key: document[key] for key in (*usual, *members)} == {**usual, **members}
                assert len(document) == len(usual) + len(given)


@pytest.mark.shows("PR-04")
def test_metadata_path_follows_resource_url() -> None:
    for url, expected in (
        ("https://a.example", WELL_KNOWN),
        ("https://a.example/", WELL_KNOWN),
        ("https://a.example/mcp", f"{WELL_KNOWN}/mcp"),
        # RFC 9728, section 3.1: only the slash after the host goes.
        ("https://a.example/mcp/", f"{WELL_KNOWN}/mcp/"),
        ("https://a.example:8443/x/y", f"{WELL_KNOWN}/x/y"),
        ("https://a.example/mcp?tenant=1", f"{WELL_KNOWN}/mcp?tenant=1"),
    ):
        with case(url):
            made = resource(url)
            origin = "/".join(url.split("/")[:3])
            assert made.metadata_url == f"{origin}{expected}"
            assert {expected.partition("?")[0], WELL_KNOWN} == made.paths


@pytest.mark.shows("PR-10")
def test_unusable_metadata_is_refused_at_construction() -> None:
    url = "https://a.example/mcp"
    wrong: list[tuple[str, dict[str, Any], type[Exception], str]] = [
        (url, {"authorization_servers": []}, ValueError, "one or more"),
        (url, {"authorization_servers": ISSUER}, ValueError, "one or more"),
        (url, {"authorization_servers": ["login.example.com"]}, ValueError, "absolute"),
        (url, {"scopes": ["offline_access"]}, ValueError, "offline_access"),
        (url, {"scopes": "read"}, TypeError, "not a single string"),
        (url, {"scopes": ['a"b']}, ValueError, "invalid scope"),
        ("/mcp", {}, ValueError, "absolute"),
        ("mcp.example.com/mcp", {}, ValueError, "absolute"),
        ("ftp://a.example/mcp", {}, ValueError, "absolute"),
        ("https:///mcp", {}, ValueError, "absolute"),
        (f"{url}#x", {}, ValueError, "fragment"),
        (f"{url}#", {}, ValueError, "fragment"),
        (f'{url}"\r\nx: y', {}, ValueError, "absolute"),
        (f"{url}é", {}, ValueError, "absolute"),
        ("https://user@a.example/mcp", {}, ValueError, "absolute"),
    ]
    for resource_url, given, error, why in wrong:
        with case((resource_url, given)), pytest.raises(error, match=why):
            resource(resource_url, **given)


async def test_metadata_is_public_and_read_only() -> None:
    guard = authentication(resource=RESOURCE)
    app = pkg.metadata_app(RESOURCE)
    for served in (app_of(tools(OLD, echo), authentication=guard), app):
        async with run_app(served) as port, calling(port) as site:
            for path in (WELL_KNOWN, f"{WELL_KNOWN}/mcp"):
                with case((served, path)):
                    found = await site.http.get(path, headers={"origin": "https://evil.example"})
                    assert found.json()["resource"] == RESOURCE.url
                    assert found.headers["content-type"] == JSON
                    head = await site.http.head(path)
                    assert (head.status_code, head.content) == (200, b"")
                    assert head.headers["content-length"] == str(len(found.content))
                    refused = await site.http.post(path)
                    assert refused.status_code == 405
                    assert refused.headers["allow"] == "GET, HEAD, OPTIONS"
                    for answer in (found, await site.http.options(path)):
                        assert answer.headers["access-control-allow-origin"] == "*"


async def test_an_application_serves_it_for_servers_that_are_mounted_in_it() -> None:
    one, two = resource("http://localhost/one/mcp"), resource("http://localhost/two/mcp")
    servers = {
        name: app_of(tools(OLD, echo), authentication=authentication(resource=held))
        for name, held in (("one", one), ("two", two))
    }
    metadata = pkg.metadata_app(one, two)
    outer = Starlette(
        routes=[
            Mount(WELL_KNOWN, metadata),
            *(Mount(f"/{name}", app) for name, app in servers.items()),
        ]
    )
    async with run_app(outer) as port, calling(port) as site:
        for name in servers:
            site.path = f"/{name}/mcp"
            refused = await site.post(hello())
            where = f"{WELL_KNOWN}/{name}/mcp"
            assert (
                f'resource_metadata="http://localhost{where}"'
                in refused.headers["www-authenticate"]
            )
            assert (await site.http.get(where)).json()["resource"].endswith(f"/{name}/mcp")
        # None of several is the host's.
        assert (await site.http.get(f"{WELL_KNOWN}/")).status_code == 404
        assert (await site.http.get(f"{WELL_KNOWN}/three/mcp")).status_code == 404
    for wrong in ((), (one, resource("https://other.example/one/mcp"))):
        with pytest.raises(ValueError, match="metadata"):
            pkg.metadata_app(*wrong)


async def test_the_application_of_metadata_is_asked_for_nothing_but_http() -> None:
    with pytest.raises(NotImplementedError, match="lifespan"):
        await pkg.metadata_app(RESOURCE)({"type": "lifespan"}, None, None)  # type: ignore[arg-type]


async def test_a_document_leaves_no_timer_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    timers: list[asyncio.TimerHandle] = []
    loop = asyncio.get_running_loop()
    call_at = loop.call_at

    def call_noted(*given: Any, **more: Any) -> asyncio.TimerHandle:
        timers.append(call_at(*given, **more))
        return timers[-1]

    monkeypatch.setattr(loop, "call_at", call_noted)
    sent: list[Any] = []

    async def send(message: Any) -> None:
        await asyncio.sleep(0)  # a limit begins when sending waits
        sent.append(message)

    # No other request has begun it.
    app = app_of(tools(OLD, echo), authentication=authentication(resource=RESOURCE))
    metadata = pkg.metadata_app(RESOURCE)
    rows = (
        (app, WELL_KNOWN, 200),
        (app, "/", 400),
        (metadata, WELL_KNOWN, 200),
        (metadata, "/", 404),
    )
    for served, path, status in rows:
        timers.clear()
        sent.clear()
        scope: Any = {"type": "http", "method": "GET", "path": path, "headers": []}
        await served(scope, None, send)  # type: ignore[arg-type]
        with case((served, path)):
            assert sent[0]["status"] == status
            assert timers
            assert all(timer.cancelled() for timer in timers)
