"""Scopes that calls need: of methods, of tools, prompts and resources, and in handlers."""

from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from itertools import product
from typing import Any, TypeAlias

import pytest
from support.auth.guarding import METADATA, RESOURCE, allowing, read_challenges, telling
from support.http.serving import Site, serving, text_in
from support.revisions import ERAS, OLD, STATELESS
from support.sessions.talking import pkg, request
from support.tables import case
from support.toolkit.kits import Toolkit, kit, mcp, tool
from support.toolkit.mounting import app, in_memory, text_of

BATCHING = "2025-03-26"
ROOTS = "notifications/roots/list_changed"
HELD = f'resource_metadata="{METADATA}"'


def shop(revision: str = OLD, seen: list[Any] | None = None) -> Any:
    """Return an app whose items need scopes, with middleware that records calls."""
    made = app(revision, "shop")
    ran: list[Any] = [] if seen is None else seen

    async def note(call: Any, next: Any) -> Any:
        if call.method != "notifications/initialized":
            ran.append(call.method)
        return await next(call)

    made.middleware = [note]

    @made.tool
    async def look() -> str:
        return "open"

    @made.tool(scopes={"write"})
    async def put() -> str:
        return "put"

    @made.tool(scopes=["write", "admin"])
    def reset() -> str:
        return "reset"

    @made.tool(scopes={"secret"}, enabled=False)
    def hidden() -> str:
        return "hidden"

    @made.prompt(scopes={"plan"}, completions={"day": ["Monday"]})
    def plan(day: str) -> str:
        return day

    @made.resource("log://all", scopes={"all"})
    async def everything() -> str:
        return "all"

    @made.resource("log://{day}", scopes={"day"}, completions={"day": ["Monday"]})
    async def of_day(day: str) -> str:
        return day

    return made


def mounting(revision: str, own: str, seen: list[Any]) -> Any:
    outer, middle = app(revision, "outer"), app(revision, "middle")
    middle.mount("b", shop(own, seen))
    outer.mount("a", middle)
    return outer


def site_of(server: Any, **chosen: Any) -> Any:
    guard = telling(resource=RESOURCE, **chosen.pop("guard", {}))
    return serving(server, pkg.REVISIONS, authentication=guard, **chosen)


Ask: TypeAlias = Callable[..., Awaitable[Any]]


async def asker(site: Site, way: str, *begun: str) -> Ask:
    """Yield a function that sends requests in one of the ways, with a token of these scopes.

    A session begins with a different token.
    """
    session = await site.initialize(OLD, allowing(*begun)) if way == "in a session" else None

    async def ask(scopes: Iterable[str], method: str, **params: Any) -> Any:
        fields = allowing(*scopes)
        if way == "stateless":
            return await site.modern(method, headers=fields, **params)
        message = request(method, 1, **params)
        if session is not None:
            return await session.post(message, fields)
        return await site.post(message, {"mcp-protocol-version": OLD, **fields})

    return ask


WAYS = {"stateless": True, "in a session": True, "without sessions": False}


def needs(way: str, a: str = "", s: str = "") -> list[tuple[str, dict[str, Any], set[str]]]:
    """Requests, and the scopes that each needs; `a` and `s` are prefixes of names and URIs."""
    reference = {"type": "ref/resource", "uri": f"log://{s}{{day}}"}
    argument = {"name": "day", "value": "M"}
    found: list[tuple[str, dict[str, Any], set[str]]] = [
        ("tools/call", {"name": f"{a}look"}, set()),
        ("tools/call", {"name": f"{a}put"}, {"write"}),
        ("tools/call", {"name": f"{a}reset"}, {"write", "admin"}),
        ("prompts/get", {"name": f"{a}plan", "arguments": {"day": "x"}}, {"plan"}),
        ("resources/read", {"uri": f"log://{s}all"}, {"all"}),
        ("resources/read", {"uri": f"log://{s}monday"}, {"day"}),
        ("completion/complete", {"ref": reference, "argument": argument}, {"day"}),
        (
            "completion/complete",
            {"ref": {"type": "ref/prompt", "name": f"{a}plan"}, "argument": argument},
            {"plan"},
        ),
        ("tools/list", {}, set()),
    ]
    if way != "stateless":
        found.append(("resources/subscribe", {"uri": f"log://{s}all"}, {"all"}))
    return found


@pytest.mark.shows("SC-05", "SC-06", "TK-11")
async def test_a_request_needs_the_scopes_of_what_it_is_about_before_anything_runs() -> None:
    for (way, sessions), own, prefix in product(WAYS.items(), ERAS, ("", "a_b_")):
        seen: list[Any] = []
        server = mounting(OLD, own, seen) if prefix else shop(own, seen)
        async with site_of(server, sessions=sessions, guard={"scopes": {"base"}}) as site:
            ask = await asker(site, way, "base")
            for method, params, scopes in needs(way, prefix, "a/b/" if prefix else ""):
                with case((way, own, prefix, method, params)):
                    seen.clear()
                    for fewer in [scopes - {scope} for scope in scopes]:
                        refused = await ask(fewer | {"base"}, method, **params)
                        assert refused.status_code == 403, refused.text
                        (challenge,) = read_challenges(refused)
                        # All of them at once, also those that the token has.
                        named = " ".join(sorted(scopes | {"base"}))
                        why = f"This needs the scopes {named}"
                        assert challenge == (
                            f'Bearer error="insufficient_scope", error_description="{why}",'
                            f' scope="{named}", {HELD}'
                        )
                        error = refused.json()
                        assert error["id"] == 1
                        assert error["error"]["data"] == {"requiredScopes": named.split()}
                        assert seen == []
                    given = await ask(scopes | {"base"}, method, **params)
                    assert given.status_code == 200, given.text
                    assert "result" in given.json()


async def test_hidden_item_is_answered_like_unknown_item() -> None:
    async def no(session: Any) -> bool:
        return False

    never: list[Any] = [False, no]
    for (way, sessions), enabled in product(WAYS.items(), never):
        made = app(OLD, "shop")
        made.add_tool(open_to_all, name="hidden", scopes={"secret"}, enabled=enabled)
        made.add_resource(open_to_all, uri="log://x", scopes={"s"}, enabled=enabled)
        async with site_of(made, sessions=sessions) as site:
            ask = await asker(site, way)
            for method, name, known, unknown in (
                ("tools/call", "name", "hidden", "hiddem"),
                ("resources/read", "uri", "log://x", "log://y"),
            ):
                with case((way, enabled, method)):
                    two = [
                        await ask((), method, **{name: name_or_uri})
                        for name_or_uri in (known, unknown)
                    ]
                    assert {
                        (response.status_code, *read_challenges(response)) for response in two
                    } == {(200,)}
                    texts = [
                        response.text.replace(known, "*").replace(unknown, "*") for response in two
                    ]
                    assert texts[0] == texts[1]


async def test_no_stream_is_opened_without_the_scopes() -> None:
    made = app(STATELESS, "shop")

    async def busy(session: Any) -> str:
        await session.progress(1, 2)
        return "done"

    busy.__annotations__["session"] = pkg.load(STATELESS).Session
    made.add_tool(busy, scopes={"write"})
    made.add_resource(open_to_all, uri="log://all", scopes={"all"})
    meta = {"_meta": {"progressToken": 1}}
    async with site_of(made) as site:
        session = await site.initialize(OLD, allowing())
        call = request("tools/call", 1, name="busy", **meta)
        assert (await session.post(call)).status_code == 403
        given = await session.post(call, allowing("write"))
        assert given.headers["content-type"] == "text/event-stream"
        wanted = {"resourceSubscriptions": ["log://all", "log://other"]}
        refused = await site.modern(
            "subscriptions/listen", headers=allowing(), notifications=wanted
        )
        assert (refused.status_code, 'scope="all"' in read_challenges(refused)[0]) == (403, True)
        async with site.modern_stream(
            "subscriptions/listen", headers=allowing("all"), notifications=wanted
        ) as events:
            assert (await events.take())["method"].endswith("acknowledged")


def test_scopes_of_a_method_that_there_is_not_guard_nothing_and_are_refused() -> None:
    for method in ("tool/call", "tools/Call", "tools/call "):
        guard = pkg.HttpOptions(authentication=telling(method_scopes={method: {"call"}}))
        for server in (shop(OLD), kit(STATELESS)):
            with case((method, server)), pytest.raises(ValueError, match="no revision has"):
                pkg.http_app(server, http=guard)
    for method in ("initialize", "server/discover", "subscriptions/listen", ROOTS):
        guard = pkg.HttpOptions(authentication=telling(method_scopes={method: {"call"}}))
        for server in (shop(OLD), kit(STATELESS)):
            pkg.http_app(server, http=guard)


async def test_a_scope_that_implies_others_is_enough_for_items_too() -> None:
    implied: dict[str, list[str]] = {"admin": ["write"]}

    def expand(scopes: frozenset[str]) -> list[str]:
        return [implied_scope for scope in scopes for implied_scope in implied.get(scope, ())]

    async with site_of(shop(OLD), guard={"expand_scopes": expand}) as site:
        session = await site.initialize(OLD, allowing("admin"))
        assert text_in(await session.call("put")) == "put"
        assert text_in(await session.call("reset")) == "reset"


def by_hand(revision: str) -> Any:
    """Return an app that checks scopes itself, before or after its first output."""
    made = app(revision, "shop")

    async def asks(session: Any) -> str:
        session.require_scopes("write", "read")
        return "done"

    async def raises(session: Any) -> str:
        raise pkg.InsufficientScope({"write"}, 'Not "this"')

    async def late(session: Any) -> str:
        await session.progress(1, 2)
        session.require_scopes("write")
        return "late"

    for function in (asks, raises, late):
        function.__annotations__["session"] = pkg.load(revision).Session
        made.add_tool(function)
    return made


async def test_a_handler_asks_for_scopes_by_hand() -> None:
    for (way, sessions), own in product(WAYS.items(), ERAS):
        outer = app(OLD)
        outer.mount(by_hand(own))
        for server in (by_hand(own), outer):
            async with site_of(server, sessions=sessions) as site:
                ask = await asker(site, way)
                with case((way, own, server)):
                    refused = await ask({"write"}, "tools/call", name="asks")
                    assert refused.status_code == 403
                    named = 'error_description="This needs the scopes read write"'
                    assert named in read_challenges(refused)[0]
                    assert 'scope="read write"' in read_challenges(refused)[0]
                    given = await ask({"write", "read"}, "tools/call", name="asks")
                    assert text_in(given) == "done"
                    refused = await ask({}, "tools/call", name="raises")
                    assert (
                        'error_description="Not ?this?", scope="write"'
                        in read_challenges(refused)[0]
                    )
                    assert refused.json()["error"]["message"] == 'Not "this"'


@pytest.mark.shows("SC-06")
async def test_required_scopes_name_session_and_item_scopes() -> None:
    made = app(OLD, "shop")

    async def asks(session: Any) -> str:
        session.require_scopes("admin")
        return "done"

    asks.__annotations__["session"] = pkg.load(OLD).Session
    made.add_tool(asks, scopes={"write"})
    guard = {"scopes": {"base"}, "method_scopes": {"tools/call": {"call"}}}
    for way, sessions in WAYS.items():
        async with site_of(made, sessions=sessions, guard=guard) as site:
            ask = await asker(site, way, "base")
            with case(way):
                refused = await ask({"base", "call", "write"}, "tools/call", name="asks")
                assert refused.status_code == 403
                assert 'scope="admin base call write"' in read_challenges(refused)[0]
                assert refused.json()["error"]["data"] == {"requiredScopes": ["admin"]}


async def test_a_route_asks_for_scopes_by_hand() -> None:
    async def report(request: Any) -> str:
        if "admin" not in request.principal.scopes:
            raise pkg.InsufficientScope({"admin"})
        return "all is well"

    route = pkg.Route("/report", report, authenticated=True)
    async with site_of(app(OLD), routes=[route]) as site:
        refused = await site.http.get("/report", headers=allowing())
        assert (refused.status_code, 'scope="admin"' in read_challenges(refused)[0]) == (403, True)
        assert (await site.http.get("/report", headers=allowing("admin"))).text == "all is well"


async def test_an_answer_that_has_begun_has_the_error_alone() -> None:
    async with site_of(by_hand(OLD)) as site:
        session = await site.initialize(BATCHING, allowing())
        call = request("tools/call", 1, name="late", _meta={"progressToken": 1})
        async with site.stream(call, session.headers) as events:
            assert events.response.status_code == 200
            *_, last = await events.all()
            assert last.message["error"]["data"] == {"requiredScopes": ["write"]}
        batch = await session.post([request("tools/call", 1, name="asks")])
        (member,) = batch.json()
        assert member["error"]["data"] == {"requiredScopes": ["read", "write"]}


@pytest.mark.shows("GE-03")
async def test_where_there_are_no_tokens_nothing_needs_scopes() -> None:
    for own in ERAS:
        for spoken in ERAS:
            with case((own, spoken)):
                async with in_memory(pkg.load(spoken).Client(), shop(own)) as one:
                    assert await text_of(one, "reset") == "reset"
                async with in_memory(pkg.load(spoken).Client(), by_hand(own)) as one:
                    assert await text_of(one, "asks") == "done"


def test_items_with_scopes_need_token_verifier() -> None:
    async def put() -> str:
        return "put"

    class Marked(Toolkit, mcp.Server):
        @tool(scopes={"write"})
        def put(self) -> str:
            return "put"

    class Inheriting(Marked):
        pass

    added, mounted, within = app(OLD), app(OLD), app(OLD)
    added.add_tool(put, scopes={"write"})
    mounted.mount("x", within)
    within.mount("y", shop())
    for server in (shop(), added, mounted, Marked(), Marked, Inheriting, Inheriting()):
        with case(server), pytest.raises(ValueError, match="requires scopes"):
            pkg.http_app(server)
    for server in (app(OLD), kit(), kit()):
        pkg.http_app(server)
    guard = pkg.HttpOptions(authentication=telling())
    pkg.http_app([Marked, shop(STATELESS)], http=guard)


async def test_late_items_with_scopes_are_hidden_without_verifier(
    caplog: pytest.LogCaptureFixture,
) -> None:
    for way, sessions in WAYS.items():
        made, inner = app(OLD), app(OLD)
        made.mount("in", inner)
        made.add_tool(open_to_all, name="look")
        async with serving(made, pkg.REVISIONS, sessions=sessions) as site:
            ask = await asker(site, way)
            inner.add_tool(open_to_all, name="put", scopes={"write"})
            later = app(OLD)
            later.add_tool(open_to_all, name="put", scopes={"write"})
            made.mount("later", later)
            for name in ("in_put", "later_put"):
                with case((way, name)):
                    refused = await ask({"write"}, "tools/call", name=name)
                    assert (refused.status_code, read_challenges(refused)) == (403, [])
                    assert "tokens are not checked" in caplog.text
            assert text_in(await ask((), "tools/call", name="look")) == "open"


async def test_middleware_that_puts_another_name_in_its_place_goes_round_nothing() -> None:
    made = shop(OLD)

    async def rename(call: Any, next: Any) -> Any:
        if call.target == "look":
            call = call.replace(params=call.params.model_copy(update={"name": "put"}))
        return await next(call)

    made.middleware = [rename]
    async with site_of(made) as site:
        session = await site.initialize(OLD, allowing())
        refused = await session.call("look")
        assert (refused.status_code, 'scope="write"' in read_challenges(refused)[0]) == (403, True)
        session.headers = {**session.headers, **allowing("write")}
        assert text_in(await session.call("look")) == "put"


async def test_malformed_item_names_are_not_looked_up() -> None:
    wrong: list[Any] = [None, 1, [], {}, {"uri": 1}, {"name": ["put"]}]
    async with site_of(shop(OLD)) as site:
        session = await site.initialize(OLD, allowing())
        for value in wrong:
            for method, member in (
                ("tools/call", "name"),
                ("resources/read", "uri"),
                ("completion/complete", "ref"),
            ):
                with case((method, value)):
                    answer = await session.post(request(method, 1, **{member: value}))
                    assert (answer.status_code, answer.json()["error"]["code"]) == (200, -32602)
        lists: list[Any] = [[1], {}]
        for value in (None, 1, *({"resourceSubscriptions": uris} for uris in lists)):
            with case(value):
                answer = await site.modern(
                    "subscriptions/listen", headers=allowing(), notifications=value
                )
                assert answer.json()["error"]["code"] == -32602


def test_invalid_item_scopes_are_refused_at_creation() -> None:
    def item() -> str:
        return "x"

    wrong: list[tuple[Any, type[Exception]]] = [
        ("write", TypeError),
        (["a b"], ValueError),
        (["offline_access"], ValueError),
    ]
    for scopes, error in wrong:
        made = app(OLD)
        for add in (made.add_tool, made.add_prompt, partial(made.add_resource, uri="a://b")):
            with case((scopes, add)), pytest.raises(error, match="item: "):
                add(item, scopes=scopes)


def test_a_server_that_needs_none_is_asked_for_none() -> None:
    for server in (app(OLD), kit()(), app(STATELESS)):
        server.add_tool(open_to_all)
        assert not server.__mcp_runtime__.wants_scopes


async def open_to_all() -> str:
    return "open"
