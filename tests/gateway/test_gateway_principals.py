"""Principals with equal credentials for a server: a gateway lets them share nothing."""

from contextlib import AsyncExitStack
from typing import Any

from mcp_protogen.runtime.testing import in_memory
from support.auth.guarding import OTHER, READING, authentication, bearing
from support.gateway.gateways import behind, client_at, gateway_settings, serve_gateway
from support.gateway.listing import Listing, tools_of
from support.revisions import ERAS, OLD
from support.sessions.talking import pkg, request
from support.tables import case
from support.toolkit.mounting import Hearing, app, only, text_of


async def test_principals_have_own_connections_lists_and_changes() -> None:
    for upstream in ERAS:
        for spoken in ERAS:
            server = Listing("x", revision=upstream)
            settings = gateway_settings(behind("a", server))
            ada, ben = Hearing(spoken), Hearing(spoken)
            with case((upstream, spoken)):
                async with (
                    serve_gateway(settings, authentication=authentication()) as site,
                    AsyncExitStack() as stack,
                ):
                    one, other = [
                        await stack.enter_async_context(
                            client_at(site.url, heard.client, **bearing(token))
                        )
                        for heard, token in ((ada, READING), (ben, OTHER))
                    ]
                    for client in (one, other):
                        assert await tools_of(client) == ["a_x"]
                    assert server.opened == 2
                    assert server.asked.count("tools/list") == 2
                    assert await text_of(one, "a_x") == await text_of(other, "a_x") == "called"
                    assert server.opened == 2


async def test_state_of_a_principal_stays_its_own() -> None:
    for upstream in ERAS:
        for spoken in ERAS:
            opened: list[str] = []

            async def open_one(seen: list[str] = opened, revision: str = upstream) -> Any:
                made = app(revision, "notes")
                seen.append("")
                own = len(seen) - 1

                @made.tool
                def add(more: str) -> str:
                    seen[own] += more
                    return seen[own]

                return await in_memory(only(made))()

            settings = gateway_settings(behind("notes", open_one))
            with case((upstream, spoken)):
                async with (
                    serve_gateway(settings, authentication=authentication()) as site,
                    AsyncExitStack() as stack,
                ):
                    clients = [
                        await stack.enter_async_context(
                            client_at(site.url, pkg.load(spoken).Client(), **bearing(token))
                        )
                        for token in (READING, OTHER)
                    ]
                    for client, letter in zip(clients * 2, "abcd", strict=True):
                        await text_of(client, "notes_add", more=letter)
                assert opened == ["ac", "bd"]


async def test_session_of_a_principal_is_unknown_to_another() -> None:
    settings = gateway_settings(behind("a", Listing("x")))
    async with serve_gateway(settings, authentication=authentication()) as site:
        session = await site.initialize(OLD, bearing(READING))
        calls = [
            await session.post(request("tools/list"), bearing(token)) for token in (READING, OTHER)
        ]
    assert [call.status_code for call in calls] == [200, 404]
