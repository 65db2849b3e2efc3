"""Each transport of ours keeps the contract that users' own ones are held to."""

import asyncio
import socket
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest
from mcp_protogen.runtime.transports.base import Opener
from support.http.serving import serving
from support.sessions.talking import pkg
from support.sessions.transport_contract import (
    CASES,
    OF_PROGRAMS,
    TIME,
    Case,
    Contract,
    program_of,
)
from support.tables import case


@asynccontextmanager
async def in_memory() -> AsyncGenerator[Opener, None]:
    yield pkg.connect.opener(Contract)


@asynccontextmanager
async def over_sockets() -> AsyncGenerator[Opener, None]:
    loop, tasks = asyncio.get_running_loop(), list[asyncio.Task[None]]()

    async def open() -> pkg.LineTransport:
        ours, theirs = [
            (await loop.create_connection(pkg.LineProtocol, sock=end))[1]
            for end in socket.socketpair()
        ]
        tasks.append(asyncio.create_task(pkg.serve(Contract, pkg.LineTransport(theirs))))
        return pkg.LineTransport(ours)

    yield open
    await asyncio.gather(*tasks)


@asynccontextmanager
async def over_stdio() -> AsyncGenerator[Opener, None]:
    words, env = program_of("serve_stdio")
    yield pkg.stdio_client(words, env=env)


@asynccontextmanager
async def over_http() -> AsyncGenerator[Opener, None]:
    async with serving(Contract) as site:
        yield pkg.open_http(f"http://127.0.0.1:{site.port}/mcp")


TRANSPORTS: dict[str, tuple[Callable[[], AbstractAsyncContextManager[Opener]], Iterable[Case]]] = {
    "memory": (in_memory, CASES),
    "lines": (over_sockets, CASES),
    "stdio": (over_stdio, OF_PROGRAMS),
    "http": (over_http, CASES),
}


@pytest.mark.parametrize("name", TRANSPORTS)
async def test_transport_keeps_contract(name: str) -> None:
    ends, cases = TRANSPORTS[name]
    async with ends() as opener:
        for keeps in cases:
            with case(keeps.__name__):
                async with asyncio.timeout(TIME):
                    await keeps(opener)
