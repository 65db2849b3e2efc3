"""Processes of one gateway that share an engine, in memory."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from random import Random
from typing import Any, Final

import httpx2
from mcp_protogen.servers.gateway.endpoint import make_app
from mcp_protogen.servers.gateway.gateway import Gateway
from mcp_protogen.servers.gateway.settings.settings import GatewaySettings
from support.http.memory_http import MemoryHttp
from support.sessions.talking import pkg
from support.toolkit.mounting import revision_of

URL: Final = "http://localhost/mcp"
STATE_KEY: Final = "a key of sixteen"


class Balancer(httpx2.AsyncBaseTransport):
    """Carries each request to one of the processes that run, as chance or `next` chooses."""

    def __init__(self, processes: Sequence[MemoryHttp], random: Random) -> None:
        self._processes, self._random = processes, random
        self.next: int | None = None
        """The place of the process that gets the next requests; None for any."""
        self.passed: list[int] = []
        """The places of the processes that got requests."""

    def client(self) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(transport=self, timeout=None)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        running = [place for place, http in enumerate(self._processes) if http.app is not None]
        place = self._random.choice(running) if self.next is None else self.next
        self.passed.append(place)
        return await self._processes[place].handle_async_request(request)


class GatewayProcesses(Balancer):
    """Processes of a gateway, which can be killed, behind a balancer."""

    def __init__(self, settings: GatewaySettings, engine: Any, **http: Any) -> None:
        options = pkg.HttpOptions(shared=pkg.Shared(engine=engine), **http)
        self.processes = [
            MemoryHttp(make_app(Gateway(settings, pkg), pkg, options)) for _ in range(2)
        ]
        super().__init__(self.processes, Random(0))

    async def kill(self, place: int) -> None:
        http = self.processes[place]
        app: Any = http.app
        http.app = None
        http.cut()
        await app.close()

    def cut(self) -> None:
        """Break all connections of clients."""
        for http in self.processes:
            http.cut()

    def connect(self, one: Any, place: int | None = None) -> AbstractAsyncContextManager[Any]:
        """Connect a client of its own revision, by the balancer or to one process."""
        through = self if place is None else self.processes[place]
        opener = pkg.open_http(URL, http=through.client)
        return pkg.connect(opener, one, revisions=(revision_of(one),))


@asynccontextmanager
async def gateway_processes(
    settings: GatewaySettings, engine: Any = None, **http: Any
) -> AsyncGenerator[GatewayProcesses, None]:
    processes = GatewayProcesses(settings, engine or pkg.MemoryEngine(), **http)
    try:
        yield processes
    finally:
        for place, process in enumerate(processes.processes):
            if process.app is not None:
                await processes.kill(place)
