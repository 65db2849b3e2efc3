"""The proposed life of subscriptions over HTTP: an error that ends a stream, and a named stream."""

import asyncio
import importlib
import json
import sys
from typing import Any, Final

import pytest
from support.generated.next_revision import NEXT
from support.generated.schema_folders import package_of
from support.generating import write_files
from support.http.serving import run_app
from support.revisions import NEWEST

Json = dict[str, Any]

NAME: Final = "package_with_lifecycle"
ENDED: Final = -32028


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("lifecycle")
    made = package_of("subscription-lifecycle", tmp_path_factory.mktemp("input"), NEWEST)
    write_files(made.files, folder / NAME)
    sys.path.insert(0, str(folder))
    yield importlib.import_module(NAME)
    sys.path.remove(str(folder))


def make_server(package: Any) -> Any:
    """Return a server whose listen streams end with the authorization."""
    mcp = package.load(NEXT)

    async def end(call: Any, next: Any) -> Any:
        if call.method != "subscriptions/listen":
            return await next(call)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(next(call), 0.2)
        raise package.McpError(ENDED, "Ended", {"reason": "token_expiry"})

    async def on_list_tools(self: Any, session: Any, params: Any) -> Any:
        return mcp.models.ListToolsResult(tools=[], ttl_ms=0, cache_scope="private")

    async def on_subscriptions_update(self: Any, session: Any, params: Any) -> Any:
        now = "2027-01-01T00:00:00Z"
        return mcp.models.SubscriptionsUpdateResult(authorized_until=now, last_updated_at=now)

    members = {
        "CAPABILITIES": {"tools": {"listChanged": True}},
        "middleware": (end,),
        "on_list_tools": on_list_tools,
        "on_subscriptions_update": on_subscriptions_update,
    }
    return type("Authorized", (mcp.Server,), members)()


async def test_error_that_ends_a_stream_has_the_status_of_the_stream(package: Any) -> None:
    httpx2: Any = importlib.import_module("httpx2")
    replies: list[Any] = []

    async def record(reply: Any) -> None:
        replies.append(reply)

    app = package.http_app(make_server(package), revisions=package.REVISIONS)
    for revision, got in (
        (NEXT, (ENDED, {"reason": "token_expiry"})),
        (NEWEST, (-32603, None)),
    ):
        mcp = package.load(revision)
        async with (
            run_app(app) as port,
            httpx2.AsyncClient(verify=False, event_hooks={"response": [record]}) as http,
            package.connect_http(f"http://127.0.0.1:{port}/mcp", mcp.Client(), http=http) as peer,
        ):
            wanted = mcp.models.SubscriptionFilter(tools_list_changed=True)
            with pytest.raises(package.McpError) as caught:
                await peer.subscriptions_listen(wanted)
            assert (caught.value.code, caught.value.data) == got
            assert replies[-1].status_code == 200
            assert replies[-1].headers["content-type"] == "text/event-stream"
    await app.close()


async def test_update_of_a_stream_names_it_in_a_header_field(package: Any) -> None:
    httpx2: Any = importlib.import_module("httpx2")
    posts: list[Any] = []

    async def record(post: Any) -> None:
        posts.append(post)

    app = package.http_app(make_server(package))
    client = package.load(NEXT).Client()
    async with (
        run_app(app) as port,
        httpx2.AsyncClient(verify=False, event_hooks={"request": [record]}) as http,
        package.connect_http(f"http://127.0.0.1:{port}/mcp", client, http=http) as peer,
    ):
        await peer.subscriptions_update("s1")
        sent = posts[-1]
        assert json.loads(sent.content)["params"]["streamId"] == "s1"
        assert sent.headers["mcp-name"] == "s1"
        fields = {**sent.headers, "mcp-name": "s2"}
        refusal = await http.post(sent.url, content=sent.content, headers=fields)
        assert (refusal.status_code, refusal.json()["error"]["code"]) == (400, -32020)
    await app.close()
