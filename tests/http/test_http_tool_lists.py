"""Tool lists that a server makes for one caller stay invisible to others.

They say which arguments must be repeated in header fields.
"""

import asyncio
from typing import Any

from mcp_revisions.v2025_11_25 import Session
from mcp_revisions.v2025_11_25.models import CallToolRequestParams, PaginatedRequestParams
from support.http.fire import until, wait_until_idle
from support.http.serving import Site, echo, outcome, serving
from support.json_types import JsonObject
from support.revisions import STATELESS
from support.sessions.talking import CAPABILITIES, META, models, pkg, tools, whose

SCHEMA = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
ASKING: JsonObject = {**META, CAPABILITIES: {"elicitation": {"form": {}}}}
NAMES = {"a" * 16: "ada", "b" * 16: "ben"}
REFUSED = (400, -32020)
SERVED = (200, None)


def listing(on_list_tools: Any) -> Any:
    """A server whose tools are listed like this."""
    changed = frozenset({"notifications/tools/list_changed"})
    return tools(STATELESS, echo, on_list_tools=on_list_tools, SENDS=changed)


def list_with_header() -> Any:
    """Return a list with a tool that repeats one of its arguments."""
    m = models(STATELESS)
    return m.ListToolsResult(tools=[m.Tool(name="x", input_schema=SCHEMA)])


def empty() -> Any:
    return models(STATELESS).ListToolsResult(tools=[])


async def lying(site: Site, meta: Any = META, token: str | None = None) -> tuple[int, int | None]:
    """The outcome of a call whose header field does not say what its argument says."""
    headers = {"mcp-param-region": "us"}
    if token is not None:
        headers["authorization"] = f"Bearer {token}"
    arguments = {"region": "eu"}
    return outcome(
        await site.modern("tools/call", meta=meta, headers=headers, name="x", arguments=arguments)
    )


async def for_those_that_can_be_asked(
    self: object, session: Session, params: CallToolRequestParams
) -> object:
    return list_with_header() if session.client_capabilities.elicitation is not None else empty()


async def test_a_caller_that_declares_less_is_no_way_around_the_comparison() -> None:
    async with serving(listing(for_those_that_can_be_asked)) as site:
        assert await lying(site) == SERVED
        assert await lying(site, ASKING) == REFUSED


async def test_a_caller_that_declares_more_does_not_change_what_others_have_to_repeat() -> None:
    async with serving(listing(for_those_that_can_be_asked)) as site:
        assert await lying(site, ASKING) == REFUSED
        assert await lying(site) == SERVED


async def test_callers_that_declare_the_same_share_one_list() -> None:
    asked: list[object] = []

    async def on_list_tools(
        self: object, session: Session, params: PaginatedRequestParams
    ) -> object:
        asked.append(session.client_capabilities)
        return list_with_header()

    async with serving(listing(on_list_tools)) as site:
        for meta in (META, ASKING, META, ASKING):
            assert await lying(site, meta) == REFUSED
        assert len(asked) == 2


class Failing:
    """A list that fails until released."""

    def __init__(self) -> None:
        self.fails = True

    def server(self) -> Any:
        async def on_list_tools(
            server: Any, session: Session, params: PaginatedRequestParams
        ) -> object:
            if self.fails:
                raise LookupError("the list is away")
            return list_with_header()

        return listing(on_list_tools)


async def test_a_list_that_failed_once_is_asked_for_again_with_the_next_call() -> None:
    failing = Failing()
    async with serving(failing.server()) as site:
        assert await lying(site) == SERVED
        failing.fails = False
        assert await lying(site) == REFUSED


async def test_an_earlier_list_is_compared_with_while_a_newer_one_fails() -> None:
    failing = Failing()
    server = failing.server()
    async with serving(server) as site:
        failing.fails = False
        assert await lying(site) == REFUSED
        failing.fails = True
        await server.tools_list_changed()
        assert await lying(site) == REFUSED


class Slow:
    """A list that waits until released, perhaps for one caller only."""

    def __init__(self, caller: str | None = None) -> None:
        self.caller = caller
        self.asked = 0
        self.begun = asyncio.Event()
        self.go = asyncio.Event()
        self.ended = asyncio.Event()

    def server(self) -> Any:
        async def on_list_tools(
            server: Any, session: Session, params: PaginatedRequestParams
        ) -> object:
            self.asked += 1
            if whose(session) == self.caller:
                self.begun.set()
                try:
                    await self.go.wait()
                finally:
                    self.ended.set()
            return list_with_header()

        return listing(on_list_tools)


async def test_slow_tool_list_does_not_block_other_principals() -> None:
    verify = pkg.static_tokens({token: pkg.Principal(name) for token, name in NAMES.items()})
    slow = Slow("ben")
    guard = pkg.Authentication(verify=verify)
    async with serving(slow.server(), authentication=guard) as site:
        ben = asyncio.create_task(lying(site, token="b" * 16))
        await slow.begun.wait()
        assert await lying(site, token="a" * 16) == REFUSED
        slow.go.set()
        assert await ben == REFUSED


async def test_calls_that_come_while_a_list_is_made_wait_for_that_one() -> None:
    slow = Slow()
    async with serving(slow.server()) as site:
        first = asyncio.create_task(lying(site))
        await slow.begun.wait()
        second = asyncio.create_task(lying(site))
        await until(lambda: site.app._running.state.working == 2)
        slow.go.set()
        assert [await first, await second] == [REFUSED, REFUSED]
        assert slow.asked == 1


async def test_a_list_that_nobody_waits_for_any_more_is_given_up() -> None:
    slow = Slow()
    async with serving(slow.server()) as site:
        calling = asyncio.create_task(lying(site))
        await slow.begun.wait()
        calling.cancel()
        await slow.ended.wait()
        assert not slow.go.is_set()
        await wait_until_idle(site.app)


async def test_who_still_waits_for_a_list_has_it_made_when_another_goes_away() -> None:
    slow = Slow()
    async with serving(slow.server()) as site:
        leaves = asyncio.create_task(lying(site))
        await slow.begun.wait()
        stays = asyncio.create_task(lying(site))
        await until(lambda: site.app._running.state.working == 2)
        leaves.cancel()
        await slow.ended.wait()
        slow.go.set()
        assert await stays == REFUSED
