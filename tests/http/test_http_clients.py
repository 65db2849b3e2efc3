"""Our client at our server: its requests, seen in between."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import pytest
from mcp_protogen.runtime.messages.jsonrpc import parse
from mcp_revisions.v2025_11_25 import Session
from mcp_revisions.v2025_11_25.models import CallToolRequestParams
from support.http.serving import EVENTS, JSON, Site, app_of, calling, run_app
from support.revisions import HANDSHAKE, OLD, REVISIONS
from support.sessions.talking import META, client, content_of, pkg, tools
from support.tables import case

STREAMABLE = HANDSHAKE[1:]
CHANGED = "notifications/tools/list_changed"


class Seen(NamedTuple):
    """One request, as it came."""

    verb: str
    path: str
    fields: dict[str, str]
    message: Any

    @property
    def method(self) -> str:
        """Return the method of the message, or the verb without one."""
        return str(self.message["method"]) if self.message else self.verb


class Between:
    """An ASGI application in front of another that records requests, and can break a stream."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self.seen: list[Seen] = []
        self.kinds: list[str] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body, messages = b"", list[Any]()
        if scope["type"] == "http" and scope["method"] == "POST":
            messages.append(await receive())
            while messages[-1].get("more_body"):
                messages.append(await receive())
            body = b"".join(part.get("body", b"") for part in messages)
        if scope["type"] == "http":
            fields = {name.decode(): value.decode() for name, value in scope["headers"]}
            message = parse(body) if body else None
            self.seen.append(Seen(scope["method"], scope["path"], fields, message))

        async def again() -> Any:
            return messages.pop(0) if messages else await receive()

        async def noting(message: Any) -> None:
            for name, value in message.get("headers", ()):
                if name == b"content-type":
                    self.kinds.append(value.decode())
            await send(message)

        await self.app(scope, again, noting)

    def of(self, method: str) -> list[Seen]:
        """The requests of a method."""
        return [exchange for exchange in self.seen if exchange.method == method]


class Call:
    """A tool with a scripted behaviour."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.cancelled = asyncio.Event()

    async def __call__(self, session: Session, params: CallToolRequestParams) -> str:
        if params.name == "waits":
            self.begun.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.cancelled.set()
                raise
        if params.name == "says":
            await session.log("info", "said")
        if params.name == "lets_go":
            await session.close_stream()
        return str(params.name)


@asynccontextmanager
async def serve_watched(
    revision: str, call: Call, **chosen: Any
) -> AsyncGenerator[tuple[Between, Site], None]:
    """Serve in one revision, with a recorder in front."""
    ours = tools(revision, call, SENDS={CHANGED, "notifications/message"})
    app = app_of(ours, retry=0.01, **chosen)
    between = Between(app)
    async with run_app(between, lifespan="off") as port, calling(port) as site:
        site.app = app
        yield between, site
        await app.close()


async def text_of(ours: Any, revision: str, name: str) -> str:
    """What a tool says."""
    result = await ours.call_tool(name)
    return str(content_of(result)[0].text)


@pytest.mark.shows("S3-13", "S3-14", "S3-19")
async def test_each_message_is_a_post_that_accepts_both_kinds_of_answers() -> None:
    for revision in REVISIONS[1:]:
        with case(revision):
            async with serve_watched(revision, Call()) as (between, site):
                async with pkg.connect_http(site.url, client(revision)) as ours:
                    assert await text_of(ours, revision, "x") == "x"
                    between.kinds.clear()
                    meta = {**META, "io.modelcontextprotocol/logLevel": "info"}
                    more: Any = {"meta": meta} if revision not in HANDSHAKE else {}
                    result = await ours.call_tool("says", **more)
                    assert content_of(result)[0].text == "says"
                    assert between.kinds == [EVENTS]
                posts = [exchange for exchange in between.seen if exchange.verb == "POST"]
                assert all(isinstance(post.message, dict) for post in posts)
                for post in posts:
                    accepted = {kind.strip() for kind in post.fields["accept"].split(",")}
                    assert accepted >= {JSON, EVENTS}
                assert {exchange.path for exchange in between.seen} == {"/mcp"}


@pytest.mark.shows("S1-13", "S3-28", "S3-42", "S3-46", "S3-48")
async def test_session_and_revision_go_with_all_that_follows_the_handshake() -> None:
    for revision in STREAMABLE:
        with case(revision):
            async with serve_watched(revision, Call()) as (between, site):
                async with pkg.connect_http(site.url, client(revision)) as ours:
                    await text_of(ours, revision, "x")
                begun = next(
                    at
                    for at, exchange in enumerate(between.seen)
                    if exchange.method == "initialize"
                )
                first, *later = between.seen[begun:]
                assert "mcp-session-id" not in first.fields
                assert {exchange.method for exchange in later} == {
                    "notifications/initialized",
                    "GET",
                    "tools/call",
                    "DELETE",
                }
                assert later[-1].verb == "DELETE"
                assert len({exchange.fields["mcp-session-id"] for exchange in later}) == 1
                assert {exchange.fields["mcp-protocol-version"] for exchange in later} == {revision}
                (stream,) = between.of("GET")
                assert stream.fields["accept"] == EVENTS


@pytest.mark.shows("S3-45")
async def test_a_session_that_is_lost_is_begun_anew_without_an_id() -> None:
    for revision in STREAMABLE:
        with case(revision):
            async with (
                serve_watched(revision, Call()) as (between, site),
                pkg.connect_http(site.url, client(revision)) as ours,
            ):
                await text_of(ours, revision, "x")
                await site.app.close()
                assert await text_of(ours, revision, "y") == "y"
                first, second = between.of("initialize")
                assert "mcp-session-id" not in first.fields
                assert "mcp-session-id" not in second.fields
                ids = [exchange.fields["mcp-session-id"] for exchange in between.of("tools/call")]
                assert ids[0] == ids[1] != ids[2]


@pytest.mark.shows("S3-25")
async def test_to_cancel_a_message_is_sent() -> None:
    for revision in STREAMABLE:
        with case(revision):
            call = Call()
            async with (
                serve_watched(revision, call) as (between, site),
                pkg.connect_http(site.url, client(revision)) as ours,
            ):
                asking = asyncio.create_task(text_of(ours, revision, "waits"))
                await call.begun.wait()
                asking.cancel()
                await asyncio.wait({asking})
                await call.cancelled.wait()
                (cancelled,) = between.of("notifications/cancelled")
                (asked,) = between.of("tools/call")
                assert cancelled.message["params"]["requestId"] == asked.message["id"]


@pytest.mark.shows("S3-36")
async def test_to_resume_the_last_event_is_named() -> None:
    async with (
        serve_watched(OLD, Call()) as (between, site),
        pkg.connect_http(site.url, client(OLD)) as ours,
    ):
        assert await text_of(ours, OLD, "lets_go") == "lets_go"
        resumed = [exchange for exchange in between.of("GET") if "last-event-id" in exchange.fields]
        assert resumed
        assert all(exchange.fields["accept"] == EVENTS for exchange in resumed)


@pytest.mark.shows("S3-52")
async def test_the_url_of_either_transport_will_do() -> None:
    async with serve_watched("2024-11-05", Call(), old_sse=True) as (between, site):
        for path in ("/mcp", "/sse"):
            between.seen.clear()
            url = site.url.replace("/mcp", path)
            async with pkg.connect_http(url, client("2024-11-05")) as ours:
                assert await text_of(ours, "2024-11-05", "x") == "x"
            first = between.seen[0]
            assert first.verb == "POST"
            accepted = {kind.strip() for kind in first.fields["accept"].split(",")}
            assert accepted >= {JSON, EVENTS}


@pytest.mark.shows("S0-41", "S3-53", "S3-54")
async def test_where_a_post_is_refused_the_old_transport_is_found_and_kept() -> None:
    async with serve_watched("2024-11-05", Call(), old_sse=True) as (between, site):
        url = site.url.replace("/mcp", "/sse")
        async with pkg.connect_http(url, client("2024-11-05")) as ours:
            assert await text_of(ours, "2024-11-05", "x") == "x"
            assert await text_of(ours, "2024-11-05", "y") == "y"
        found = next(at for at, exchange in enumerate(between.seen) if exchange.verb == "GET")
        before, after = between.seen[:found], between.seen[found + 1 :]
        assert {exchange.verb for exchange in before} == {"POST"}
        assert {exchange.path for exchange in before} == {"/sse"}
        assert {exchange.path for exchange in after} == {"/messages"}
        assert [exchange.method for exchange in after] == [
            "initialize",
            "notifications/initialized",
            "tools/call",
            "tools/call",
        ]
