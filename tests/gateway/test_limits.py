"""Limits of a gateway: the calls of each principal to a server, at the same time and per minute."""

import asyncio
import logging
from typing import Any

import pytest
from mcp_protogen.runtime.testing import in_memory
from mcp_protogen.runtime.toolkit import middleware
from mcp_protogen.servers.bridge.logs import DETAILS
from support.auth.guarding import OTHER, READING, WRITING, authentication, bearing
from support.coroutines import until
from support.gateway.gateways import behind, client_of, gateway, gateway_settings, serve_gateway
from support.gateway.listing import Listing, tools_of
from support.http.serving import Site
from support.revisions import ERAS, OLD, STATELESS
from support.sessions.talking import pkg, request
from support.tables import case
from support.toolkit.mounting import app, only, text_of


class Clock:
    """A clock that is moved by hand."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        monkeypatch.setattr(middleware, "monotonic", lambda: self.now)


async def call(site: Site, revision: str, token: str, name: str = "a_x") -> Any:
    """Call a tool of a gateway with a token, and return the HTTP response."""
    if revision == STATELESS:
        return await site.modern("tools/call", name=name, headers=bearing(token))
    session = await site.initialize(OLD, bearing(token))
    return await session.post(request("tools/call", 1, name=name))


def check_limited(response: Any, seconds: float) -> None:
    assert response.status_code == 429
    assert response.headers["retry-after"] == str(round(seconds))
    error = response.json()["error"]
    assert (error["code"], error["data"]) == (-32000, {"retryAfter": seconds})


async def test_calls_per_minute_are_those_of_a_principal_and_a_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for revision in ERAS:
        clock = Clock(monkeypatch)
        limited = Listing("x")
        settings = gateway_settings(
            behind("a", limited, limits={"per_minute": 2}), behind("b", Listing("x"))
        )
        with case(revision):
            async with serve_gateway(settings, authentication=authentication()) as site:
                # Tokens of one principal share its limit, and sessions do.
                for token in (READING, WRITING):
                    assert (await call(site, revision, token)).status_code == 200
                check_limited(await call(site, revision, READING), 30)
                assert limited.asked.count("tools/call") == 2
                assert (await call(site, revision, READING, "b_x")).status_code == 200
                assert (await call(site, revision, OTHER)).status_code == 200
                clock.now += 30
                assert (await call(site, revision, READING)).status_code == 200
                check_limited(await call(site, revision, READING), 30)


def waiting(gate: asyncio.Event, begun: list[str]) -> Any:
    """Return a server whose tool and prompt wait."""
    made = app(OLD, "waiting")

    @made.tool
    async def x() -> str:
        begun.append("x")
        await gate.wait()
        return "done"

    @made.prompt
    async def y() -> str:
        begun.append("y")
        await gate.wait()
        return "done"

    return in_memory(only(made))


async def until_begun(begun: list[str], number: int) -> None:
    await until(lambda: len(begun) == number)


async def test_calls_at_the_same_time_are_those_of_a_principal() -> None:
    for revision in ERAS:
        gate, begun = asyncio.Event(), list[str]()
        server = behind("a", waiting(gate, begun), limits={"concurrent": 2})
        with case(revision):
            async with serve_gateway(
                gateway_settings(server), authentication=authentication()
            ) as site:
                running = [
                    asyncio.create_task(call(site, revision, token)) for token in (READING, WRITING)
                ]
                await until_begun(begun, 2)
                check_limited(await call(site, revision, READING), 1)
                running.append(asyncio.create_task(call(site, revision, OTHER)))
                await until_begun(begun, 3)
                gate.set()
                assert {(await task).status_code for task in running} == {200}
                assert (await call(site, revision, READING)).status_code == 200


async def test_clients_without_a_token_share_the_limits() -> None:
    for revision in ERAS:
        gate, begun = asyncio.Event(), list[str]()
        fronts = gateway(behind("a", waiting(gate, begun), limits={"concurrent": 2}))
        with case(revision):
            async with (
                client_of(fronts, revision=revision) as one,
                client_of(fronts, revision=revision) as two,
            ):
                first = asyncio.create_task(text_of(one, "a_x"))
                # Prompts, reads and completions count, too, and lists do not.
                second = asyncio.create_task(two.get_prompt("a_y"))
                await until_begun(begun, 2)
                for client in (one, two):
                    with pytest.raises(pkg.McpError, match="Too many requests") as raised:
                        await text_of(client, "a_x")
                    assert (raised.value.code, raised.value.data) == (-32000, {"retryAfter": 1})
                    assert await tools_of(client) == ["a_x"]
                # A call that is cancelled counts no longer.
                first.cancel()
                await asyncio.wait([first])
                third = asyncio.create_task(text_of(one, "a_x"))
                await until_begun(begun, 3)
                gate.set()
                assert await third == "done"
                await second


async def test_limited_calls_are_in_the_access_log_and_open_no_connection(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO, "mcp_protogen.gateway.access")
    Clock(monkeypatch)
    server = Listing("x")
    fronts = gateway(behind("a", server, limits={"per_minute": 1}))
    for number in range(3):
        async with client_of(fronts) as one:
            try:
                await text_of(one, "a_x")
            except pkg.McpError:
                assert number
    outcomes = [getattr(entry, DETAILS)["outcome"] for entry in caplog.records]
    assert outcomes == ["ok", "limited", "limited"]
    assert server.opened == 1
