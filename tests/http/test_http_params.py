"""Arguments of tools that are repeated in header fields, and how the server compares them."""

import asyncio
from typing import Any

from mcp_revisions.v2025_11_25 import Session
from mcp_revisions.v2025_11_25.models import CallToolRequestParams, PaginatedRequestParams
from support.http.serving import Site, outcome, serving, text_in
from support.json_types import JsonObject
from support.revisions import HANDSHAKE, STATELESS
from support.sessions.talking import models, pkg, tools, whose
from support.tables import case

SCHEMA = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "plain": {"type": "string"},
    },
}


async def echo(session: Session, params: CallToolRequestParams) -> str:
    return str(params.arguments)


class ToolList:
    """The list of tools of a server, and how often it was asked for."""

    def __init__(self, *names: str) -> None:
        self.names = list(names) or ["x"]
        self.asked: list[str | None] = []
        self.schema: JsonObject = SCHEMA

    async def __call__(self, ours: Any, session: Session, params: Any) -> object:
        m = models(STATELESS)
        self.asked.append(whose(session))
        listed = [m.Tool(name=name, input_schema=self.schema) for name in self.names]
        at = int(params.cursor or 0)
        more = str(at + 1) if at + 1 < len(listed) else None
        return m.ListToolsResult(tools=listed[at : at + 1], next_cursor=more)


def listing(listed: Any, call: Any = echo) -> Any:
    """A server with that list of tools."""

    async def on_list_tools(self: Any, session: Session, params: PaginatedRequestParams) -> object:
        return await listed(self, session, params)

    changed = {"notifications/tools/list_changed"}
    return tools(STATELESS, call, on_list_tools=on_list_tools, SENDS=changed)


async def call_outcome(site: Site, arguments: Any, **fields: str | None) -> tuple[int, int | None]:
    """The outcome of a call with these arguments and `Mcp-Param-*`."""
    headers = {f"mcp-param-{name}": value for name, value in fields.items()}
    more = {} if arguments is None else {"arguments": arguments}
    return outcome(await site.modern("tools/call", name="x", headers=headers, **more))


REFUSED = (400, -32020)
SERVED = (200, None)


async def test_SS17_RJ11_fields_are_compared_with_the_arguments() -> None:
    region = {"region": "eu"}
    rows: list[tuple[JsonObject | None, dict[str, str | None], tuple[int, int | None]]] = [
        (region, {"region": "eu"}, SERVED),
        (region, {"region": "eu", "other": "x"}, SERVED),
        (None, {}, SERVED),
        (region, {}, REFUSED),
        (region, {"region": "us"}, REFUSED),
        (None, {"region": "eu"}, REFUSED),
    ]
    async with serving(listing(ToolList())) as site:
        for arguments, fields, expected in rows:
            with case((arguments, fields)):
                assert await call_outcome(site, arguments, **fields) == expected


async def test_SS17_characters_that_no_value_can_have_are_refused() -> None:
    async with serving(listing(ToolList())) as site:
        for arguments in ({"region": "ü"}, {"region": "Ã¼"}, {"region": "\xfc"}):
            for value in (b"\xc3\xbc", b"\xfc"):
                headers: Any = {"mcp-param-region": value}
                answer = await site.modern(
                    "tools/call", name="x", headers=headers, arguments=arguments
                )
                assert outcome(answer) == REFUSED


async def test_the_refusal_names_the_field_and_echoes_the_id() -> None:
    async with serving(listing(ToolList())) as site:
        answer = await site.modern("tools/call", id="r", name="x", arguments={"region": "eu"})
        assert answer.json()["id"] == "r"
        assert "region" in answer.json()["error"]["message"].lower()


async def test_tools_that_mark_nothing_and_unknown_ones_are_left_alone() -> None:
    async with serving(listing(ToolList("other"))) as site:
        assert await call_outcome(site, {"region": "eu"}) == SERVED
        assert await call_outcome(site, {}, region="us") == SERVED


async def test_a_server_that_lists_no_tools_is_left_alone() -> None:
    async with serving(tools(STATELESS, echo)) as site:
        assert await call_outcome(site, {"region": "eu"}) == SERVED


async def test_a_tool_on_a_later_page_is_found() -> None:
    async with serving(listing(ToolList("a", "b", "x"))) as site:
        assert await call_outcome(site, {"region": "eu"}) == REFUSED
        assert await call_outcome(site, {"region": "eu"}, region="eu") == SERVED


async def test_a_tool_with_a_bad_mark_is_compared_to_nothing() -> None:
    listed = ToolList()
    listed.schema = {
        "type": "object",
        "properties": {"region": {"type": "number", "x-mcp-header": "Region"}},
    }
    async with serving(listing(listed)) as site:
        assert await call_outcome(site, {"region": 1}) == SERVED


async def test_the_list_is_not_asked_for_with_each_call() -> None:
    listed = ToolList()
    async with serving(listing(listed)) as site:
        for _ in range(5):
            assert await call_outcome(site, {"region": "eu"}, region="eu") == SERVED
            assert await call_outcome(site, {"region": "eu"}) == REFUSED
        many = [call_outcome(site, {"region": "eu"}, region="eu") for _ in range(5)]
        assert await asyncio.gather(*many) == [SERVED] * 5
        assert len(listed.asked) == 1


async def test_tool_list_is_fetched_again_after_change() -> None:
    listed = ToolList()
    server = listing(listed)
    async with serving(server) as site:
        assert await call_outcome(site, {"region": "eu"}) == REFUSED
        listed.schema = {"type": "object"}
        assert await call_outcome(site, {"region": "eu"}) == REFUSED
        await server.tools_list_changed()
        assert await call_outcome(site, {"region": "eu"}) == SERVED
        assert await call_outcome(site, {"region": "eu"}) == SERVED
        assert len(listed.asked) == 2


async def test_a_change_while_it_is_asked_for_is_not_missed() -> None:
    begun, go, listed = asyncio.Event(), asyncio.Event(), ToolList()

    async def slow(self: Any, session: Session, params: CallToolRequestParams) -> object:
        page = await listed(self, session, params)
        begun.set()
        await go.wait()
        return page

    server = listing(slow)
    async with serving(server) as site:
        calling = asyncio.create_task(call_outcome(site, {"region": "eu"}))
        await begun.wait()
        listed.schema = {"type": "object"}
        await server.tools_list_changed()
        go.set()
        await calling
        assert await call_outcome(site, {"region": "eu"}) == SERVED


async def test_tool_list_is_fetched_again_after_its_lifetime() -> None:
    listed = ToolList()
    async with serving(listing(listed), header_lifetime=0.0) as site:
        for _ in range(3):
            await call_outcome(site, {"region": "eu"})
        assert len(listed.asked) == 3


async def test_each_principal_has_a_list_of_its_own() -> None:
    names = {"a" * 16: pkg.Principal("ada"), "b" * 16: pkg.Principal("ben")}
    listed = ToolList()

    async def different(self: Any, session: Session, params: CallToolRequestParams) -> object:
        listed.schema = SCHEMA if whose(session) == "ada" else {"type": "object"}
        return await listed(self, session, params)

    guard = pkg.Authentication(verify=pkg.static_tokens(names))
    async with serving(listing(different), authentication=guard) as site:
        for _ in range(2):
            found: list[tuple[int, int | None]] = []
            for token in names:
                headers = {"authorization": f"Bearer {token}"}
                answer = await site.modern(
                    "tools/call", name="x", headers=headers, arguments={"region": "eu"}
                )
                found.append(outcome(answer))
            assert found == [REFUSED, SERVED]
        assert listed.asked == ["ada", "ben"]


async def test_revisions_before_know_no_such_fields() -> None:
    async with serving(listing(ToolList()), pkg.REVISIONS) as site:
        for revision in HANDSHAKE:
            session = await site.initialize(revision)
            answer = await session.call("x", arguments={"region": "eu"})
            assert text_in(answer) == "{'region': 'eu'}"
