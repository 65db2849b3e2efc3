"""The cache of a client: results are not requested again while they are fresh."""

import asyncio
from typing import Any, ClassVar

import pytest
from mcp_protogen.runtime.client import cache as client_cache
from mcp_protogen.runtime.messages.codec import MessageCodec
from mcp_revisions import v2025_11_25 as old
from mcp_revisions import v2026_07_28 as mcp
from support.http.serving import serving
from support.revisions import HANDSHAKE
from support.sessions.talking import entry, pkg, stub
from support.tables import case

m = mcp.models
MINUTE = 60_000
RULES = mcp.Client.TABLE.rules


class Library(mcp.Server):
    """A server that counts requests, and states how long answers are fresh."""

    SENDS = frozenset({"notifications/tools/list_changed", "notifications/resources/updated"})
    DECLARES: ClassVar = {"resources": {"subscribe": True}}
    ttl = MINUTE
    scope: Any = "private"

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def on_list_tools(
        self, session: mcp.Session, params: m.PaginatedRequestParams
    ) -> m.ListToolsResult:
        self.asked.append(f"tools {params.cursor}")
        one = m.Tool(name=f"tool{params.cursor or ''}", input_schema={"type": "object"})
        more = None if params.cursor else "2"
        return m.ListToolsResult(
            tools=[one], next_cursor=more, ttl_ms=self.ttl, cache_scope=self.scope
        )

    async def on_read_resource(
        self, session: mcp.Session, params: m.ReadResourceRequestParams
    ) -> m.ReadResourceResult:
        self.asked.append(params.uri)
        text = m.TextResourceContents(uri=params.uri, text="x" * 100)
        return m.ReadResourceResult(contents=[text], ttl_ms=self.ttl, cache_scope=self.scope)

    async def on_call_tool(
        self, session: mcp.Session, params: m.CallToolRequestParams
    ) -> m.CallToolResult:
        self.asked.append("call")
        return m.CallToolResult(content=[])


def reading(uri: str) -> m.ReadResourceRequestParams:
    return m.ReadResourceRequestParams(uri=uri)


async def twice(client: mcp.Client) -> None:
    for _ in range(2):
        assert [tool.name async for tool in client.iter_tools()]
        for uri in ("a://1", "a://2"):
            assert (await client.read_resource(uri)).contents[0].uri == uri
        await client.call_tool("tool")


EACH = ["tools None", "tools 2", "a://1", "a://2", "call"]


async def test_results_are_kept_as_long_as_the_server_says_and_only_with_a_cache(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, cache, ttl, asked in (
        ("no cache", None, MINUTE, EACH * 2),
        ("a cache", pkg.Cache(), MINUTE, [*EACH, "call"]),
        ("stale at once", pkg.Cache(), 0, EACH * 2),
        ("very long", pkg.Cache(), 10**400, [*EACH, "call"]),
    ):
        server = Library()
        server.ttl = ttl
        with case(name):
            async with pkg.connect(server) as client:
                client.cache = cache
                await twice(client)
                assert server.asked == asked
            server.asked.clear()
            async with (
                serving(server) as site,
                pkg.connect(f"http://127.0.0.1:{site.port}/mcp") as client,
            ):
                client.cache = None if cache is None else pkg.Cache()
                await twice(client)
                # Over HTTP the server lists its tools too, to check header fields of calls.
                reads = [uri for uri in server.asked if uri.startswith("a:")]
                assert reads == [uri for uri in asked if uri.startswith("a:")]
    now = [0.0]
    monkeypatch.setattr(client_cache, "monotonic", lambda: now[0])
    server = Library()
    async with pkg.connect(server) as client:
        client.cache = pkg.Cache()
        for seconds, asked_so_far in ((59.9, 1), (60, 2), (61, 2)):
            await client.read_resource("a://1")
            now[0] = seconds
            await client.read_resource("a://1")
            assert len(server.asked) == asked_so_far


async def test_cache_keeps_8_mib_unless_it_is_told_another_size() -> None:
    cache, asked = pkg.Cache(), list[str]()
    spec = mcp.Client.TABLE.requests["resources/read"]

    def read_result(uri: str, text: str) -> m.ReadResourceResult:
        one = m.TextResourceContents(uri=uri, text=text)
        return m.ReadResourceResult(contents=[one], ttl_ms=MINUTE, cache_scope="public")

    async def read(uri: str, size: int) -> None:
        async def send(*call: Any) -> m.ReadResourceResult:
            asked.append(uri)
            rest = size - len(reading(uri).to_json()) - len(read_result(uri, "").to_json())
            return read_result(uri, "x" * rest)

        await cache.request(None, RULES, send, spec, reading(uri), {})

    uris = [f"a://{number}" for number in range(8)]
    for uri in uris * 2:
        await read(uri, 2**20)
    assert asked == uris
    await read("a://more", 200)
    for uri in (*uris[1:], uris[0]):
        await read(uri, 2**20)
    assert asked == [*uris, "a://more", uris[0]]


async def test_cached_result_is_independent_of_caller() -> None:
    async with pkg.connect(Library()) as client:
        client.cache = pkg.Cache()
        for _ in range(3):
            listed = await client.list_tools()
            assert [tool.name for tool in listed.tools] == ["tool"]
            listed.tools.clear()


async def test_private_results_are_only_for_the_connection_that_asked() -> None:
    for scope, asked in (("private", ["a://1", "a://1"]), ("public", ["a://1"])):
        with case(scope):
            server, cache = Library(), pkg.Cache()
            server.scope = scope
            async with pkg.connect(server) as one, pkg.connect(server) as two:
                one.cache = two.cache = cache
                for client in (one, two, one, two):
                    await client.read_resource("a://1")
            assert server.asked == asked
            async with pkg.connect(server) as one:
                one.cache = cache
                await one.read_resource("a://1")
            assert len(server.asked) == (3 if scope == "private" else 1)


async def test_a_change_makes_stale_what_it_is_about() -> None:
    server = Library()
    async with pkg.connect(server) as client:
        client.cache = pkg.Cache()
        wanted = m.SubscriptionFilter(
            tools_list_changed=True, resource_subscriptions=["a://1", "a://1/part"]
        )
        listening = asyncio.create_task(client.subscriptions_listen(wanted))
        await twice(client)
        for change, asked in (
            (server.tools_list_changed(), ["tools None", "tools 2", "call"]),
            (server.resource_updated("a://1"), ["a://1", "call"]),
            (server.resource_updated("a://1/part"), ["a://1", "call"]),
        ):
            server.asked.clear()
            await change
            await asyncio.sleep(0.05)
            await twice(client)
            assert [request for request in server.asked if request != "call"] == asked[:-1]
        server.asked.clear()
        client.cache.clear("tools/list")
        await twice(client)
        assert server.asked == ["tools None", "tools 2", "call", "call"]
        client.cache.clear()
        await twice(client)
        assert server.asked[4:] == [*EACH, "call"]
        listening.cancel()


async def test_a_changed_list_is_found_by_the_capability_of_its_method() -> None:
    asked, cache = list[str](), pkg.Cache()
    plain = mcp.Client.TABLE.requests["tools/list"]
    members: dict[str, Any] = {"requires": plain.requires, "traits": plain.traits}
    spec: Any = type(plain)(
        "tools/all",
        senders=plain.senders,
        load_params=lambda: m.PaginatedRequestParams,
        load_results=lambda: (m.ListToolsResult,),
        **members,
    )

    async def send(*call: Any) -> m.ListToolsResult:
        asked.append("tools/all")
        return m.ListToolsResult(tools=[], ttl_ms=MINUTE, cache_scope="public")

    notifications = mcp.Client.TABLE.notifications
    table = MessageCodec(
        "made-up", requests={"tools/all": spec}, notifications=notifications, errors={}
    )
    for change, number in (("prompts", 1), ("tools", 2)):
        await cache.request(None, RULES, send, spec, None, {})
        cache.remove_stale(table, f"notifications/{change}/list_changed", None)
        await cache.request(None, RULES, send, spec, None, {})
        assert len(asked) == number


async def test_result_in_flight_during_change_is_not_cached() -> None:
    cache = pkg.Cache()

    async def read(self: Library, session: mcp.Session, params: Any) -> m.ReadResourceResult:
        result = await Library.on_read_resource(self, session, params)
        cache.clear("resources/read")
        return result

    changing = type("Changing", (Library,), {"on_read_resource": read})()
    async with pkg.connect(changing) as client:
        client.cache = cache
        for _ in range(2):
            await client.read_resource("a://1")
    assert changing.asked == ["a://1", "a://1"]


async def test_pages_of_a_list_whose_cursor_is_refused_are_dropped() -> None:
    async def listing(
        self: Library, session: mcp.Session, params: m.PaginatedRequestParams
    ) -> m.ListToolsResult:
        if params.cursor and "refused" not in self.asked:
            self.asked.append("refused")
            raise pkg.InvalidParams("There is no such page")
        return await Library.on_list_tools(self, session, params)

    server = type("Changing", (Library,), {"on_list_tools": listing})()
    async with pkg.connect(server) as client:
        client.cache = pkg.Cache()
        with pytest.raises(pkg.McpError, match="no such page"):
            assert [tool async for tool in client.iter_tools()]
        for _ in range(2):
            assert [tool.name async for tool in client.iter_tools()] == ["tool", "tool2"]
    assert server.asked == ["tools None", "refused", "tools None", "tools 2"]


async def test_a_result_that_follows_from_answers_is_never_kept() -> None:
    async def read(self: Library, session: mcp.Session, params: Any) -> Any:
        await session.list_roots()
        return await Library.on_read_resource(self, session, params)

    asking = type("Asking", (Library,), {"on_read_resource": read})()

    async def roots(self: object, *_: object) -> m.ListRootsResult:
        return m.ListRootsResult(roots=[])

    client: Any = stub(mcp.Client, on_list_roots=roots)
    async with pkg.connect(asking, client):
        client.cache = pkg.Cache()
        for _ in range(2):
            await client.request(entry(client, "resources/read"), reading("a://1"))
    assert asking.asked == ["a://1", "a://1"]


async def test_a_revision_without_hints_says_so_and_an_older_server_gives_none() -> None:
    for revision in HANDSHAKE:
        with case(revision), pytest.raises(pkg.LocalError, match=revision):
            pkg.load(revision).Client().cache = pkg.Cache()

    class Older(old.Server):
        listed = 0

        async def on_list_tools(
            self, session: old.Session, params: old.models.PaginatedRequestParams
        ) -> old.models.ListToolsResult:
            self.listed += 1
            return old.models.ListToolsResult(tools=[])

    server = Older()
    async with pkg.connect(server) as client:
        client.cache = pkg.Cache()
        for _ in range(2):
            await client.list_tools()
    assert server.listed == 2
