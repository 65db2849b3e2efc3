"""What servers and clients of a revision do by facts that no pinned revision states.

It runs on a copy of the checkout, with the revision, the one before it, and the behaviours to try
as its arguments. Names and numbers are those of the generated tables.
"""

import asyncio
import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Final

from mcp_protogen.runtime.core.middleware import MethodCall
from mcp_protogen.runtime.core.spec import CALL_TOOL, LIST_TOOLS
from mcp_revisions import REVISIONS, Cache, McpError, Options, client_of, connect, load

Json = dict[str, Any]

NEXT, BEFORE, *BEHAVIOURS = sys.argv[1:]
mcp: Any = load(NEXT)

INTERNAL_ERROR: Final = -32603
MISSING_CAPABILITY: Final = -32021
HAVE_META: Final = {BEFORE: True, "2025-06-18": True, "2025-03-26": False}
"""Whether tools of a revision have `_meta`."""


def side(role: str, revision: str = NEXT, /, **members: Any) -> Any:
    """Return an object of a class with these members."""
    return type(role, (getattr(load(revision), role),), members)()


def revisions_of(*names: str) -> tuple[Any, ...]:
    return tuple(revision for revision in REVISIONS if revision.id in names)


async def error_of(call: Coroutine[Any, Any, Any]) -> McpError:
    try:
        result = await call
    except McpError as error:
        return error
    raise AssertionError(f"no error, but {result}")


class Lists:
    """A middleware of servers: clients may keep lists, and it counts those that they fetch."""

    fetched = 0

    async def __call__(self, call: Any, next: Any) -> Any:
        result = await next(call)
        if call.method == LIST_TOOLS:
            self.fetched += 1
            result = result.model_copy(update={"ttl_ms": 60_000, "cache_scope": "private"})
        return result


async def try_gates() -> None:
    """Show, refuse and allow tools by the capabilities that they need."""
    key, lists = mcp.Client.__mcp_entry_needs__.key, Lists()
    app: Any = type("Gated", (mcp.App,), {"middleware": (lists,)})("gated")
    forms: Json = {"elicitation": {"form": {}}}
    urls: Json = {"elicitation": {"url": {}}}
    nothing: Json = {}
    needs: dict[str, Json] = {"by_form": forms, "by_url": urls, "freely": {}}
    for name, needed in needs.items():
        app.tool(name=name, meta={key: needed})(lambda: "done")
    with suppress(TypeError):
        app.add_tool(lambda: "done", name="wrong", meta={key: {"elicitation": 1}})
        raise AssertionError("invalid needs were taken")
    everything: Json = {"elicitation": {"form": {}, "url": {}}}
    cases: list[tuple[Json, set[str]]] = [
        (nothing, {"by_form", "by_url"}),
        ({"elicitation": {}}, {"by_url"}),
        (urls, {"by_form"}),
        (everything, set()),
    ]
    for declared, refused in cases:
        client = side("Client", DECLARES=declared)
        client.cache, lists.fetched = Cache(), 0
        async with client_of(app, client):
            tools = [tool async for tool in client.iter_tools()]
            missing = {tool.name: client.missing_capabilities(tool) for tool in tools}
            assert missing == {name: needs[name] if name in refused else {} for name in needs}
            for name in needs.keys() - refused:
                assert (await client.call_tool(name)).text == "done"
            await client.list_tools()
            assert lists.fetched == 1
            for number, name in enumerate(sorted(refused), 2):
                error = await error_of(client.call_tool(name))
                assert error.code == MISSING_CAPABILITY, error
                assert error.data == {"requiredCapabilities": needs[name]}
                await client.list_tools()
                assert lists.fetched == number
    for revision, has_meta in HAVE_META.items():
        losses: list[Any] = []
        options = Options(on_loss=losses.append)
        older = side("Client", revision)
        async with client_of(app, older, options=options):
            listed = [tool.to_wire() async for tool in older.iter_tools()]
            assert [key in tool.get("_meta", {}) for tool in listed] == [has_meta] * len(needs)
            assert len([loss for loss in losses if "_meta" in loss.pointer]) == (not has_meta)
            await error_of(older.call_tool("by_url"))


async def try_parts() -> None:
    """Send parts of a result, in their order, to clients that ask for them and can take them."""
    places = mcp.client.PartialResults.__mcp_parts__
    app = mcp.App("piecewise")

    async def count(session: Any) -> str:
        await session.send_part(structured_content=[1])
        await session.progress(1, 2)
        await session.send_part(structured_content=[2], final=True)
        token = session.__mcp_runtime__.meta.get(places.token)
        spec = mcp.methods.NOTIFICATIONS[places.method]
        for late in (1, 0):
            with suppress(Exception):
                told = {places.token: token, places.number: late}
                await session.notify(spec, spec.params.from_wire(told))
        return "1, 2"

    count.__annotations__["session"] = mcp.Session
    app.tool(count)
    taken: list[Json] = []

    async def take(part: Any) -> None:
        # The first one takes longest.
        await asyncio.sleep(0 if taken else 0.05)
        taken.append(part.to_wire())

    wrong: list[tuple[tuple[Any, ...], Json]] = [
        ((mcp.Client, mcp.client.PartialResults), {}),
        ((mcp.client.PartialResults, mcp.Client), {"on_partial_tool_result": take}),
    ]
    for bases, members in wrong:
        with suppress(TypeError):
            type("Wrong", bases, members)
            raise AssertionError("a class that takes no parts was made")
    client: Any = type("Taking", (mcp.client.PartialResults, mcp.Client), {})()
    async with client_of(app, client):
        assert (await client.call_tool("count")).text == "1, 2"
        assert taken == []
        with client.taking_parts(take):
            assert (await client.call_tool("count")).text == "1, 2"
        assert [part[places.number] for part in taken] == [0, 1]
        assert [part["structuredContent"] for part in taken] == [[1], [2]]
        assert len({part[places.token] for part in taken}) == 1
    tokens: list[tuple[str, object]] = [(NEXT, "a"), (BEFORE, "a"), (BEFORE, {})]
    for revision, token in tokens:
        heard: list[Any] = []
        losses: list[Any] = []

        async def hear(self: Any, params: Any, heard: list[Any] = heard) -> None:
            heard.append(params)

        client = side("Client", revision, on_partial_tool_result=hear)
        spec = client.TABLE.spec_of(CALL_TOOL)
        call = MethodCall(spec.method, spec.params(name="count"), "", None, {})
        asking = call.with_meta({places.token: token}).params
        async with client_of(app, client, options=Options(on_loss=losses.append)):
            assert (await client.request(spec, asking)).text == "1, 2"
        assert heard == []
        refused = [loss.method for loss in losses if loss.what == "refused"]
        assert refused == ([places.method] if (revision, token) == (BEFORE, "a") else []), losses
    older, losses = load(BEFORE).App("whole"), []
    older.tool(lambda: "1, 2", name="count")
    client = type("Taking", (mcp.client.PartialResults, mcp.Client), {})()
    options = Options(on_loss=losses.append)
    async with connect(older, client, revisions=revisions_of(BEFORE), options=options):
        with client.taking_parts(take):
            for _ in range(2):
                assert (await client.call_tool("count")).text == "1, 2"
    lost = [loss.pointer for loss in losses if loss.method == CALL_TOOL]
    assert lost == [f"/params/_meta/{places.token}"], losses


class TaggedServer:
    """A server of two pages of tools under a tag, with the `_meta` of the requests that it got."""

    def __init__(self, second_page: str = "public") -> None:
        self.rules: Any = mcp.Client.__mcp_cache_rules__
        self.tag = "first"
        self.second_page = second_page
        self.asked: list[tuple[str, Any]] = []
        self.calls: list[Callable[[], Any]] = []
        members = {"on_list_tools": self.list, "on_call_tool": self.call}
        self.server = side("Server", **members, middleware=(self.hear,))

    async def hear(self, call: Any, next: Any) -> Any:
        self.asked.append((call.method, call.meta.get(self.rules.known)))
        # Middleware may refuse tags, too.
        return self.calls.pop(0)() if call.method == CALL_TOOL else await next(call)

    async def list(self, session: Any, params: Any) -> Any:
        is_last = params.cursor is not None
        page = {
            "tools": [{"name": "b" if is_last else "a", "inputSchema": {"type": "object"}}],
            "ttlMs": 60_000,
            "cacheScope": self.second_page if is_last else "public",
            "resultType": "complete",
            self.rules.tag: self.tag,
            **({} if is_last else {"nextCursor": "2"}),
        }
        return mcp.models.ListToolsResult.from_wire(page)

    async def call(self, session: Any, params: Any) -> Any: ...

    def answer(self, **meta: Any) -> Any:
        wire: Json = {"content": [], "resultType": "complete", "_meta": meta}
        return mcp.models.CallToolResult.from_wire(wire)

    def refuse(self) -> Any:
        listing = {code: of for code, of in self.rules.outdated.items() if isinstance(of, str)}
        ((code, member),) = listing.items()
        raise McpError(code, "stale", {member: [None, {}, LIST_TOOLS]})


async def try_tags() -> None:
    """Send known tags, drop what is stale, and refuse only requests with tags for them."""
    tagged = TaggedServer()
    known = {LIST_TOOLS: "first"}
    client = side("Client")
    client.cache = Cache()
    async with client_of(tagged.server, client):
        for outdate in (
            lambda: tagged.answer(**{tagged.rules.stale: [LIST_TOOLS]}),
            tagged.refuse,
        ):
            tagged.asked.clear()
            for _ in range(2):
                names = [tool.name async for tool in client.iter_tools()]
                assert names == ["a", "b"]
            assert tagged.asked == [(LIST_TOOLS, None), (LIST_TOOLS, known)], tagged.asked
            tagged.calls += [tagged.answer, outdate, tagged.answer]
            for _ in range(3):
                with suppress(McpError):
                    await client.call_tool("a")
            sent = [tags for method, tags in tagged.asked if method == CALL_TOOL]
            assert sent == [known, known, None], sent
        tagged.calls += [tagged.answer] * 2
        await client.list_tools()
        sharing = side("Client")
        sharing.cache = client.cache
        async with client_of(tagged.server, sharing):
            await sharing.list_tools()
            await sharing.call_tool("a")
        assert tagged.asked[-1] == (CALL_TOOL, known), tagged.asked
        assert tagged.asked.count((LIST_TOOLS, None)) == 2, tagged.asked
    async with client_of(tagged.server, client):
        await client.call_tool("a")
    # It might be another server.
    *_, last = tagged.asked
    assert last == (CALL_TOOL, None), tagged.asked
    for revision in (NEXT, BEFORE):
        tagged.asked.clear()
        other = side("Client", revision)
        other.cache = Cache() if revision == BEFORE else None
        async with client_of(tagged.server, other, revisions=revisions_of(BEFORE, NEXT)):
            await other.list_tools()
            tagged.calls.append(tagged.refuse)
            assert (await error_of(other.call_tool("a"))).code == INTERNAL_ERROR
        assert {tags for _, tags in tagged.asked} == {None}


async def try_lists() -> None:
    """Keep the pages of a list under the strictest terms of one of them."""
    tagged = TaggedServer(second_page="private")
    shared = Cache()
    fetched: list[int] = []
    for walks in (3, 1):
        client = side("Client")
        client.cache = shared
        tagged.asked.clear()
        async with client_of(tagged.server, client):
            for _ in range(walks):
                assert len([tool async for tool in client.iter_tools()]) == 2
        fetched.append(sum(method == LIST_TOOLS for method, _ in tagged.asked))
    # A page that is private after a public one is learned by the first walk, and kept by the
    # second; another client gets nothing of it.
    assert fetched == [4, 2], fetched


TRIALS: Final[dict[str, tuple[Callable[[], Coroutine[Any, Any, None]], ...]]] = {
    "caching": (try_tags, try_lists),
    "gates": (try_gates,),
    "reports": (try_parts,),
}


async def try_all() -> None:
    for behaviour in BEHAVIOURS:
        for attempt in TRIALS[behaviour]:
            await attempt()


asyncio.run(try_all())
