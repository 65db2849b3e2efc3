"""HTTP with SSE, the transport of 2024-11-05, for old clients."""

import asyncio
from typing import Any

import pytest
from mcp_revisions.v2025_11_25 import Session
from mcp_revisions.v2025_11_25.models import CallToolRequestParams
from support.http.old_sse import REVISION, open_old_sse, shaken
from support.http.serving import EVENTS, JSON, calling, run_app, serving, text_in
from support.revisions import HANDSHAKE, OLD, STATELESS
from support.sessions.talking import hello, pkg, request, tools, whose
from support.tables import case

CHANGED = "notifications/tools/list_changed"
TOLD = frozenset({CHANGED, "notifications/message"})


async def call(session: Session, params: CallToolRequestParams) -> str:
    if params.name == "asks":
        return str(len((await session.list_roots()).roots))
    if params.name == "who":
        return str(whose(session))
    await session.log("info", "on the way")
    return str(params.name)


def ours(revision: str = REVISION) -> Any:
    return tools(revision, call, SENDS=TOLD)


@pytest.mark.shows("S0-40")
async def test_the_first_event_names_where_to_post() -> None:
    async with serving(ours(), old_sse=True) as site, site.get(path="/sse") as events:
        assert events.response.headers["content-type"] == EVENTS
        first = await events.event()
        assert first is not None
        assert first.event == "endpoint"
        assert first.data.startswith("/messages?")


@pytest.mark.shows("S0-39", "S0-42")
async def test_messages_are_posted_and_come_back_as_events() -> None:
    for revision in HANDSHAKE:
        with case(revision):
            spoken = [known for known in pkg.REVISIONS if known.id in HANDSHAKE]
            async with (
                serving(ours(OLD), spoken, old_sse=True) as site,
                shaken(site, revision) as client,
            ):
                answer = await client.post(request("tools/call", 5, name="x"))
                assert (answer.status_code, answer.content) == (202, b"")
                event = await client.events.event()
                assert event is not None
                assert event.event == "message"
                assert event.message["params"]["data"] == "on the way"
                result = await client.events.take()
                assert (result["id"], result["result"]["content"][0]["text"]) == (5, "x")


@pytest.mark.shows("S0-28", "S0-38")
async def test_many_clients_are_served_and_kept_apart() -> None:
    async with serving(ours(), old_sse=True) as site, shaken(site) as one, shaken(site) as two:
        assert one.where != two.where
        await one.post(request("tools/call", 1, name="one"))
        await two.post(request("tools/call", 1, name="two"))
        for client, name in ((one, "one"), (two, "two")):
            await client.events.take()
            answer = await client.events.take()
            assert answer["result"]["content"][0]["text"] == name


@pytest.mark.shows("S0-43")
async def test_to_close_the_stream_ends_the_connection() -> None:
    begun, cancelled = asyncio.Event(), asyncio.Event()

    async def waits(session: Session, params: CallToolRequestParams) -> str:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return "never"

    server = tools(REVISION, waits)
    async with serving(server, old_sse=True, drain=0.01) as site:
        async with shaken(site) as client:
            await client.post(request("tools/call", 1, name="x"))
            await begun.wait()
        await cancelled.wait()
        while (await client.post(request("ping"))).status_code != 404:
            await asyncio.sleep(0.005)
        assert server.sessions == ()


async def test_the_server_may_ask_and_tell() -> None:
    server = ours()
    async with serving(server, old_sse=True) as site, shaken(site) as client:
        asked = await client.ask("tools/call", 7, name="asks")
        assert asked["method"] == "roots/list"
        roots = {"roots": [{"uri": "file:///r"}]}
        await client.post({"jsonrpc": "2.0", "id": asked["id"], "result": roots})
        assert (await client.events.take())["result"]["content"][0]["text"] == "1"
        await server.tools_list_changed()
        assert (await client.events.take())["method"] == CHANGED


async def test_malformed_message_is_answered_on_stream() -> None:
    async with serving(ours(), old_sse=True) as site, shaken(site) as client:
        headers = {"content-type": JSON}
        answer = await site.http.post(client.where, headers=headers, content=b"{")
        assert answer.status_code == 202
        assert (await client.events.take())["error"]["code"] == -32700


@pytest.mark.shows("S3-51")
async def test_both_transports_stand_side_by_side() -> None:
    async with (
        serving(ours(STATELESS), pkg.REVISIONS, old_sse=True) as site,
        shaken(site) as client,
    ):
        session = await site.initialize()
        assert (await client.ask("ping"))["result"] == {}
        async with session.calling("x") as events:
            assert (await events.all())[-1].message["id"] == 1
        assert text_in(await site.modern("tools/call", name="x")) == "x"


async def test_old_sse_is_off_by_default() -> None:
    async with serving(ours()) as site, site.get(path="/sse") as events:
        assert events.response.status_code == 404


async def test_a_server_without_handshakes_has_no_such_transport() -> None:
    async with serving(ours(STATELESS), old_sse=True) as site, site.get(path="/sse") as events:
        assert events.response.status_code == 404


async def test_the_stateless_revision_is_not_spoken_there() -> None:
    async with (
        serving(ours(STATELESS), pkg.REVISIONS, old_sse=True) as site,
        open_old_sse(site) as client,
    ):
        await client.post(hello(STATELESS))
        assert (await client.events.take())["result"]["protocolVersion"] == OLD


async def test_paths_may_be_chosen() -> None:
    chosen: dict[str, Any] = {"old_sse": True, "old_sse_path": "/s", "old_messages_path": "/m/x"}
    async with serving(ours(), **chosen) as site, shaken(site, path="/s") as client:
        assert client.where.startswith("/m/x?")
        assert (await client.ask("ping"))["result"] == {}


async def test_below_a_mount_the_whole_path_is_named() -> None:
    app = pkg.http_app(ours(), http=pkg.HttpOptions(old_sse=True))

    async def mount(scope: Any, receive: Any, send: Any) -> None:
        await app({**scope, "root_path": "/below here"}, receive, send)

    async with run_app(mount, lifespan="off") as port, calling(port) as site:
        async with shaken(site, path="/below%20here/sse") as client:
            assert client.where.startswith("/below%20here/messages?")
            assert (await client.ask("ping"))["result"] == {}
        await app.close()


class TestRefused:
    async def test_posts_to_a_connection_that_is_not_there(self) -> None:
        async with serving(ours(), old_sse=True) as site:
            for query in ("", "?session_id=", "?session_id=x", "?x=y", "?session_id"):
                answer = await site.http.post(
                    f"/messages{query}", headers={"content-type": JSON}, content=b"{}"
                )
                assert answer.status_code == 404

    async def test_other_methods_and_types(self) -> None:
        async with serving(ours(), old_sse=True) as site, open_old_sse(site) as client:
            assert (await site.http.post("/sse", json={})).status_code == 405
            assert (await site.http.get(client.where)).status_code == 405
            wrong = await client.post({}, **{"content-type": "text/plain"})
            assert wrong.status_code == 415
            async with site.get({"accept": JSON}, "/sse") as events:
                assert events.response.status_code == 406
            for accept, path in [(None, "/sse"), (EVENTS, "/sse/")]:
                async with site.get({"accept": accept}, path) as events:
                    assert events.response.status_code == 200

    async def test_who_is_at_another_page_or_somebody_else(self) -> None:
        names = {"a" * 16: pkg.Principal("ada"), "b" * 16: pkg.Principal("ben")}
        ada, ben = ({"authorization": f"Bearer {token}"} for token in names)
        guard = pkg.Authentication(verify=pkg.static_tokens(names))
        async with serving(ours(), old_sse=True, authentication=guard) as site:
            async with site.get(path="/sse") as events:
                assert events.response.status_code == 401
            async with site.get({**ada, "origin": "http://evil.example"}, "/sse") as events:
                assert events.response.status_code == 403
            async with shaken(site, **ada) as client:
                assert (await client.post(request("ping"), **ben)).status_code == 404
                assert (await client.post(request("ping"), authorization="")).status_code == 401
                evil = await client.post(request("ping"), origin="http://evil.example")
                assert evil.status_code == 403
                answer = await client.ask("tools/call", name="who")
                answer = answer if "result" in answer else await client.events.take()
                assert answer["result"]["content"][0]["text"] == "ada"

    async def test_more_streams_than_may_be(self) -> None:
        async with (
            serving(ours(), old_sse=True, max_streams=1) as site,
            open_old_sse(site),
            site.get(path="/sse") as events,
        ):
            assert events.response.status_code == 503


async def test_a_server_that_closes_ends_the_streams() -> None:
    async with serving(ours(), old_sse=True) as site, shaken(site) as client:
        await site.app.close()
        assert await client.events.take() is None


async def test_a_silent_stream_is_kept_alive() -> None:
    async with serving(ours(), old_sse=True, keep_alive=0.02) as site, shaken(site) as client:
        await client.events.comment()
        assert (await client.ask("ping"))["result"] == {}
