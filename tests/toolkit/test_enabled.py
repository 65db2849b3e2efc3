"""Tools, prompts and resources that are there for some clients, and at some times."""

from collections.abc import Awaitable, Callable
from itertools import product
from typing import Any, cast

import pytest
from support.revisions import ERAS, OLD, STATELESS
from support.sessions.talking import whose
from support.tables import case
from support.toolkit.kits import Toolkit, mcp, pkg, prompt, resource, tool
from support.toolkit.mounting import (
    Hearing,
    app,
    in_memory,
    names_of,
    over_http,
    serving_over_http,
    text_of,
)

NAMES = {"tools": "reset", "prompts": "plan", "resources": "log://all", "templates": "log://{day}"}
TOKENS = {name * 6: pkg.Principal(name) for name in ("admin", "ben")}
KNOWN = pkg.HttpOptions(authentication=pkg.Authentication(verify=pkg.static_tokens(TOKENS)))


def of(name: str) -> Any:
    """Return the header fields that identify a principal."""
    return {"authorization": f"Bearer {name * 6}"}


def shop(revision: str = OLD, **options: Any) -> Any:
    """An app with an item of each kind that says `options`, and one that does not."""
    made = app(revision, "shop")
    made.add_tool(lambda: "open", name="look")

    @made.tool(name="reset", **options)
    async def reset() -> str:
        return "reset"

    @made.prompt(name="plan", **options)
    async def plan() -> str:
        return "plan"

    @made.resource("log://all", **options)
    async def everything() -> str:
        return "all"

    @made.resource("log://{day}", completions={"day": ["Monday"]}, **options)
    async def of_day(day: str) -> str:
        return day

    return made


async def visible_names(one: Any) -> set[str]:
    return {name for names in (await names_of(one)).values() for name in names} - {"look"}


async def refusals(one: Any) -> None:
    """Missing items are answered like unknown names."""
    kinds: list[tuple[Callable[[str], Awaitable[Any]], tuple[str, str]]] = [
        (one.call_tool, ("reset", "reste")),
        (one.get_prompt, ("plan", "plna")),
        (lambda name: one.read_resource(f"log://{name}"), ("all", "any/x")),
    ]
    for asked, names in kinds:
        errors: list[Any] = []
        for name in names:
            with pytest.raises(pkg.McpError) as refused:
                await asked(name)
            error = refused.value
            errors.append((error.code, error.message.replace(name, "*"), error.data and "uri"))
        assert errors[0] == errors[1]


ALL = {*NAMES.values()}


def _raise(session: Any) -> bool:
    raise RuntimeError("nobody knows")


async def _no(session: Any) -> bool:
    return False


def _never(session: Any) -> bool:
    return False


NEVER: tuple[Any, ...] = (False, _raise, _no, _never)


async def test_disabled_item_is_neither_listed_nor_called() -> None:
    for own, enabled, spoken in product(ERAS, NEVER, ERAS):
        with case((own, enabled, spoken)):
            async with in_memory(pkg.load(spoken).Client(), shop(own, enabled=enabled)) as one:
                assert await visible_names(one) == set()
                assert await text_of(one, "look") == "open"
                await refusals(one)


async def test_a_function_says_for_whom_something_is_there() -> None:
    def is_admin(session: Any) -> bool:
        return whose(session) == "admin"

    for own in ERAS:
        made = shop(own, enabled=is_admin)
        above = app(OLD)
        above.mount("s", shop(own, enabled=is_admin))
        for server, start in ((made, ""), (above, "s_")):
            async with serving_over_http(server, http=KNOWN) as connect:
                for spoken, name in product(ERAS, ("admin", "ben")):
                    with case((own, start, spoken, name)):
                        one = await connect(pkg.load(spoken).Client(), **of(name))
                        allowed = name == "admin"
                        assert (len(await visible_names(one)) >= 4) is allowed
                        if allowed:
                            assert await text_of(one, f"{start}reset") == "reset"


async def test_items_are_switched_by_name_or_tag_and_the_last_word_counts() -> None:
    steps: list[tuple[str, tuple[str, ...], set[str], set[str]]] = [
        ("disable", (), {"t"}, set()),
        ("enable", ("plan", "log://all"), set(), {"plan", "log://all"}),
        ("disable", ("plan",), set(), {"log://all"}),
        ("enable", (), {"t", "other"}, ALL),
        ("disable", ("log://{day}",), set(), ALL - {"log://{day}"}),
        ("disable", tuple(ALL), set(), set()),
        ("enable", tuple(ALL), set(), ALL),
    ]
    for own, spoken in product(ERAS, ERAS):
        made = shop(own, tags={"t", "u"})
        async with in_memory(pkg.load(spoken).Client(), made) as one:
            for step, names, tags, expected in steps:
                with case((own, spoken, step, names, tags)):
                    getattr(made, step)(*names, tags=tags)
                    assert await visible_names(one) == expected
                    if "reset" in expected:
                        assert await text_of(one, "reset") == "reset"
                    else:
                        with pytest.raises(pkg.McpError, match="Unknown tool: reset"):
                            await one.call_tool("reset", {})
        catalogue = made.__mcp_runtime__.catalogue
        assert catalogue.lists is catalogue.registered


def shop_that_admits(own: str) -> Any:
    """A shop with a tool that enables another one for the session that calls it."""
    made = shop(own, enabled=False)

    async def admit(session: Any) -> str:
        try:
            made.enable("reset", session=session)
        except pkg.LocalError as error:
            return str(error)
        return "admitted"

    admit.__annotations__["session"] = pkg.load(own).Session
    made.add_tool(admit)
    return made


async def test_switch_of_session_notifies_its_client_only() -> None:
    for own, spoken in product(ERAS, ERAS):
        made, ours, theirs = shop_that_admits(own), Hearing(spoken), Hearing(spoken)
        with case((own, spoken)):
            async with (
                in_memory(ours.client, made) as one,
                in_memory(theirs.client, made) as other,
                ours.hearing(),
                theirs.hearing(),
            ):
                assert await text_of(one, "admit") == "admitted"
                await ours.hears("tool")
                assert await visible_names(one) == {"admit", "reset"}
                assert await visible_names(other) == {"admit"} and theirs.heard == []
                with pytest.raises(pkg.McpError, match="Unknown tool: reset"):
                    await other.call_tool("reset", {})
                made.enable("reset")
                await theirs.hears("tool")
            assert made.__mcp_runtime__.catalogue.visibility.sessions == {}


async def test_over_http_requests_without_a_session_are_not_switched_as_one() -> None:
    rows = ((OLD, "admitted"), (STATELESS, "write principal_id=…"))
    for own, (spoken, said) in product(ERAS, rows):
        with case((own, spoken)):
            async with over_http(pkg.load(spoken).Client(), shop_that_admits(own)) as one:
                assert (await text_of(one, "admit")).endswith(said)
                assert ("reset" in await visible_names(one)) is (spoken == OLD)


async def test_a_principal_is_switched_wherever_it_is() -> None:
    for own, spoken in product(ERAS, ERAS):
        made, admin, ben = shop(own, tags={"t"}), Hearing(spoken), Hearing(spoken)
        made.disable(tags={"t"})
        with case((own, spoken)):
            async with serving_over_http(made, http=KNOWN) as connect:
                one = await connect(admin.client, **of("admin"))
                other = await connect(ben.client, **of("ben"))
                async with admin.hearing(), ben.hearing():
                    made.enable("reset", principal_id="admin")
                    await admin.hears("tool")
                    assert await visible_names(one) == {"reset"}
                    assert await visible_names(other) == set()
                    assert await text_of(one, "reset") == "reset" and ben.heard == []
                    made.disable(tags={"t"}, principal_id="admin")
                    assert await visible_names(one) == set()


async def test_the_server_above_switches_what_is_mounted() -> None:
    above = app(OLD)
    below = shop(STATELESS, tags={"t"})
    above.mount("s", below)
    async with in_memory(pkg.load(OLD).Client(), above) as one:
        above.disable("s_reset", "log://s/{day}")
        assert await visible_names(one) == {"s_look", "s_plan", "log://s/all"}
        with pytest.raises(pkg.McpError, match="Unknown tool: s_reset"):
            await one.call_tool("s_reset", {})
        with pytest.raises(pkg.McpError):
            await one.read_resource("log://s/Monday")
        above.disable(tags={"t"})
        assert await visible_names(one) == {"s_look"}
        above.enable(tags={"t"})
        below.disable("plan")
        assert await visible_names(one) == {"s_look", "s_reset", "log://s/all", "log://s/{day}"}
        assert [item["name"] for item in above.tool_schemas()] == ["s_look", "s_reset"]
        above.disable("s_reset")
        assert [item["name"] for item in above.tool_schemas()] == ["s_look"]


async def test_a_mounted_server_switches_for_its_session_what_is_above() -> None:
    above, below = app(OLD), app(OLD, "below")
    above.add_tool(lambda: "reset", name="reset", enabled=False)

    @below.tool
    async def unlock(session: mcp.Session) -> str:
        above.enable("reset", session=session)
        return "unlocked"

    above.mount("s", below)
    async with in_memory(mcp.Client(), above) as one, in_memory(mcp.Client(), above) as other:
        assert await text_of(one, "s_unlock") == "unlocked"
        assert await text_of(one, "reset") == "reset"
        assert [item.name async for item in other.iter_tools()] == ["s_unlock"]


async def test_first_resource_that_a_client_may_see_answers() -> None:
    def exact() -> str:
        return "exact"

    def narrow(x: str) -> str:
        return f"narrow {x}"

    def wide(x: str) -> str:
        return f"wide {x}"

    rows: tuple[tuple[Callable[..., str], str, Callable[[Any], bool], str], ...] = (
        (exact, "a://b", lambda _: True, "exact"),
        (exact, "a://b", lambda _: False, "wide b"),
        (narrow, "a://{x}", lambda _: True, "narrow b"),
        (narrow, "a://{x}", lambda _: False, "wide b"),
    )
    for function, uri, enabled, text in rows:
        made = app(OLD)
        made.add_resource(function, uri, enabled=enabled)
        made.add_resource(wide, "a://{+x}")
        with case((uri, text)):
            async with in_memory(mcp.Client(), made) as one:
                assert (await one.read_resource("a://b")).contents[0].text == text


def test_mistakes_are_errors_that_say_what_to_do() -> None:
    made = shop()
    cases: list[tuple[Any, type[Exception], str]] = [
        (lambda: made.disable("rest"), LookupError, "unknown name rest; did you mean"),
        (lambda: made.disable(), TypeError, "give the name or a tag"),
        (lambda: made.disable(tags="t"), TypeError,
         "tags must be a collection, not a single string: write {'t'}"),
        (lambda: made.enable("reset", principal_id=cast(Any, None)), TypeError,
         "a principal_id that is not None"),
        (lambda: made.enable("reset", session=made, principal_id="ada"), TypeError,
         "give a session, or a principal_id"),
        (lambda: made.add_tool(visible_names, name="x", tags="t"), TypeError,
         "tags must be a collection"),
        (lambda: made.add_tool(lambda: 1, name="x", enabled="no"), TypeError,
         "enabled must be True, False or a function of the session"),
    ]  # fmt: skip
    for attempt, kind, text in cases:
        with case(text), pytest.raises(kind, match=text):
            attempt()


async def test_classes_have_items_that_are_not_enabled_too() -> None:
    class Shop(Toolkit, mcp.Server):
        @tool(enabled=False)
        def one(self) -> str:
            return "one"

        @prompt(tags={"t"})
        def two(self) -> str:
            return "two"

        @resource("a:b", enabled=lambda session: session.revision == OLD)
        def three(self) -> str:
            return "three"

    made = Shop()
    for spoken, expected in ((OLD, {"two", "a:b"}), (STATELESS, {"two"})):
        with case(spoken):
            client = pkg.load(spoken).Client()
            async with pkg.connect_in_memory(client, made, revisions=pkg.REVISIONS) as one:
                assert await visible_names(one) == expected
