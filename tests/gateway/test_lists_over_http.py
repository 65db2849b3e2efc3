"""Lists of a gateway over HTTP, on both of its sides."""

import asyncio
from typing import Any

import pytest
from support.auth.guarding import ADA, BEN, GUARD
from support.gateway.gateways import (
    behind,
    client_at,
    client_of,
    gateway,
    gateway_settings,
    serve_gateway,
)
from support.gateway.listing import Listing, tools_of
from support.gateway.upstream_http import served_over_http
from support.revisions import ERAS, OLD, STATELESS
from support.sessions.talking import pkg
from support.sessions.wiretap import until
from support.tables import case
from support.toolkit.mounting import Hearing, app, only, text_of


class Counting:
    """Middleware that counts the requests for tools."""

    def __init__(self) -> None:
        self.times = 0

    async def __call__(self, call: Any, next: Any, /) -> Any:
        self.times += call.method == "tools/list"
        return await next(call)


def counted_app(revision: str) -> tuple[Any, Counting]:
    """Return an app with a tool that adds another one, and the count of requests for its tools."""
    made, counting = only(app(revision)), Counting()
    made.middleware = [counting]

    async def grow() -> str:
        made.add_tool(grow, name="more")
        return "grown"

    made.add_tool(grow)
    return made, counting


async def test_a_server_with_a_stream_is_asked_only_after_a_change() -> None:
    for revision in ERAS:
        with case(revision):
            made, counting = counted_app(revision)
            async with served_over_http(made, None) as (url, _):
                hearing = Hearing(OLD)
                fronts = gateway(behind("a", url))
                async with client_of(fronts, hearing.client) as one:
                    for _ in range(3):
                        assert await tools_of(one) == ["a_grow"]
                    assert counting.times == 1
                    await text_of(one, "a_grow")
                    await hearing.hears("tool")
                    for _ in range(3):
                        assert await tools_of(one) == ["a_grow", "a_more"]
                    assert counting.times == 2


@pytest.mark.parametrize("status", [405, 404, 200, 503])
async def test_a_stream_that_fails_or_breaks_announces_nothing(status: int) -> None:
    made, counting = counted_app(OLD)
    async with served_over_http(made, status) as (url, answering):
        hearing = Hearing(OLD)
        async with client_of(gateway(behind("a", url)), hearing.client) as one:
            assert await tools_of(one) == ["a_grow"]
            await until(lambda: answering.gets >= (1 if status < 500 and status != 200 else 2))
            # Without the stream, changes would be missed.
            for times in (2, 3):
                assert await tools_of(one) == ["a_grow"]
                assert counting.times == times
            assert hearing.heard == []


async def test_late_items_are_announced_to_all_connections_of_their_client() -> None:
    for revision in ERAS:
        with case(revision):
            server = Listing("x")
            server.delay = 0.5
            settings = gateway_settings(behind("a", server), list_timeout=0.1)
            hearing = Hearing(revision)
            async with (
                serve_gateway(settings) as site,
                client_at(site.url, hearing.client) as one,
                hearing.hearing(),
            ):
                assert await tools_of(one) == []
                await hearing.hears("tool")
                assert await tools_of(one) == ["a_x"]


async def test_lists_belong_to_their_principal() -> None:
    for revision in ERAS:
        with case(revision):
            server, shared = Listing("x"), Listing("y")
            servers = behind("a", server), behind("b", shared, catalogue="shared")
            async with serve_gateway(gateway_settings(*servers), authentication=GUARD) as site:
                for headers, times in ((ADA, 1), (BEN, 2), (BEN, 2), (ADA, 2)):
                    one: Any = pkg.load(revision).Client()
                    async with client_at(site.url, one, **headers) as connected:
                        assert await tools_of(connected) == ["a_x", "b_y"]
                    if revision == STATELESS:
                        assert server.asked == ["tools/list"] * times
                        assert shared.asked == ["tools/list"]


async def test_a_dead_server_shows_one_principal_nothing_of_another() -> None:
    for revision in ERAS:
        with case(revision):
            server = Listing("x")
            settings = gateway_settings(behind("a", server))
            async with serve_gateway(settings, authentication=GUARD) as site:
                one: Any = pkg.load(revision).Client()
                async with client_at(site.url, one, **ADA) as connected:
                    assert await tools_of(connected) == ["a_x"]
                    await server.end()
                    await asyncio.sleep(0.1)
                    for headers, names in ((BEN, []), (ADA, ["a_x"])):
                        two: Any = pkg.load(revision).Client()
                        async with client_at(site.url, two, **headers) as connected:
                            assert await tools_of(connected) == names
