"""Tokens and scopes over HTTP with SSE, where answers come over another stream than requests."""

from typing import Any

from support.auth.guarding import RESOURCE, allowing, telling
from support.http.old_sse import REVISION, Client, open_old_sse, shaken
from support.http.serving import serving
from support.revisions import OLD
from support.sessions.talking import INITIALIZED, hello, pkg, request
from support.toolkit.mounting import app


def shop(own: str) -> Any:
    made = app(own)

    def put() -> str:
        return "put"

    made.add_tool(put, scopes={"write"})
    return made


def site_of(server: Any, **chosen: Any) -> Any:
    guard = telling(resource=RESOURCE, **chosen)
    return serving(server, pkg.REVISIONS, authentication=guard, old_sse=True)


def allow(client: Client, *scopes: str) -> None:
    client.fields = {**client.fields, **allowing(*scopes)}


async def test_large_batch_is_checked_without_blocking_others() -> None:
    spoken, most = "2025-03-26", 10
    chosen: dict[str, Any] = {"authentication": telling(), "max_waiting": most, "old_sse": True}
    async with (
        serving(shop(OLD), pkg.REVISIONS, **chosen) as site,
        shaken(site, spoken, **allowing("write")) as client,
    ):
        batch = [request("tools/call", id, name="put") for id in range(most + 1)]
        assert (await client.post(batch)).status_code == 400
        assert (await client.post(batch[:most])).status_code == 202


async def test_scope_check_applies_before_handshake() -> None:
    guard: dict[str, Any] = {"method_scopes": {"initialize": {"begin"}}}
    call = request("tools/call", 2, name="put")
    async with site_of(shop(OLD), **guard) as site, open_old_sse(site, **allowing()) as client:
        assert (await client.post(hello(REVISION))).status_code == 403
        assert (await client.post(call)).status_code == 400
        assert (await client.post([hello(REVISION), call])).status_code in (400, 403)
        allow(client, "begin")
        assert (await client.post(hello(REVISION))).status_code == 202
        assert (await client.events.take())["result"]["protocolVersion"] == REVISION
        assert (await client.post(INITIALIZED)).status_code == 202
        assert (await client.post(call)).status_code == 403
