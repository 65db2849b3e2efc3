"""Random schedules of calls and reloads, on simulated time."""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace
from random import Random
from typing import Any, Final

import pytest
from mcp_protogen.servers.gateway.gateway import Gateway
from mcp_protogen.servers.gateway.settings.settings import ServerSettings
from support import tables
from support.gateway.gateways import behind, client_of, gateway_settings
from support.gateway.listing import Listing, tools_of
from support.revisions import ERAS
from support.sessions.talking import pkg
from support.tables import case

NAMES: Final = "abcd"
SCHEDULES: Final = 100
SAMPLE: Final = 20
STEPS: Final = 12

_REASONS: Final = {"unreachable", "interrupted", "timeout"}


class Schedule:
    """Clients that call the servers of a gateway while it is reloaded."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.servers = {name: self._server() for name in NAMES}
        self.settings = [behind(name, self.servers[name]) for name in NAMES]
        self.gateway = Gateway(gateway_settings(*self.settings), pkg)
        self.versions = dict.fromkeys(NAMES, 0)
        """How often each server was changed, removed or added."""
        self.calls: list[asyncio.Task[None]] = []
        self.called = 0
        """The number of calls that were answered."""

    def _server(self) -> Listing:
        server = Listing("x", revision=self.random.choice(ERAS))
        server.delay = self.random.choice((0.0, 0.5, 3.0, 40.0))
        return server

    async def run(self) -> None:
        async with AsyncExitStack() as stack:
            clients = [
                await stack.enter_async_context(client_of(self.gateway.fronts, revision=revision))
                for revision in ERAS
            ]
            for _ in range(STEPS):
                step = self.random.choice((self.reload, self.call, self.call, self.list))
                await step(self.random.choice(clients))
                await asyncio.sleep(self.random.choice((0, 0.01, 0.2, 2.0)))
            await asyncio.gather(*self.calls)
            await asyncio.sleep(100)
            for client in clients:
                await tools_of(client)
                await asyncio.sleep(100)
                assert await tools_of(client) == [f"{server.name}_x" for server in self.settings]
            used = {server.name for server in self.settings}
            for name, server in self.servers.items():
                assert server.open <= (len(ERAS) if name in used else 0), name

    async def reload(self, _: object) -> None:
        """Change, remove, add and move servers."""
        known = {server.name: server for server in self.settings}
        names = self.random.sample(NAMES, self.random.randint(1, len(NAMES)))
        self.settings = [self._next_settings(known.get(name), name) for name in names]
        for name in NAMES:
            if known.get(name) not in self.settings or (name in names) != (name in known):
                self.versions[name] += 1
        self.gateway.apply(gateway_settings(*self.settings))

    def _next_settings(self, known: ServerSettings | None, name: str) -> ServerSettings:
        settings = known or behind(name, self.servers[name])
        if self.random.random() < 0.3:
            return replace(settings, opener_digest=str(self.random.random()))
        return settings

    async def call(self, one: Any) -> None:
        name = self.random.choice(NAMES)
        self.calls.append(asyncio.create_task(self._call(one, name)))

    async def _call(self, one: Any, name: str) -> None:
        version = self.versions[name]
        is_served = any(server.name == name for server in self.settings)
        try:
            await one.call_tool(f"{name}_x")
            self.called += 1
        except pkg.McpError as error:
            assert not is_served or self.versions[name] > version, error
            reason: Any = error.data and error.data["reason"]
            assert reason in _REASONS or f"Unknown tool: {name}_x" in str(error), error

    async def list(self, one: Any) -> None:
        self.calls.append(asyncio.create_task(self._list(one)))

    async def _list(self, one: Any) -> None:
        listed = await tools_of(one)
        assert {*listed} <= {f"{name}_x" for name in NAMES} and len({*listed}) == len(listed)


@pytest.mark.skips_time(within=10_000_000)
async def test_no_call_to_an_unchanged_server_fails() -> None:
    called = 0
    seeds = tables.some(range(SCHEDULES), SAMPLE, "schedules of reloads")
    for seed in seeds:
        with case(seed):
            schedule = Schedule(seed)
            await schedule.run()
            called += schedule.called
    assert called > len(seeds)
