"""Servers of two eras behind one gateway that ask and change at the same time."""

import asyncio
from typing import Any

from mcp_protogen.runtime.testing import in_memory
from support.gateway.gateways import behind, gateway_settings, serve_gateway
from support.revisions import ERAS
from support.sessions.talking import pkg
from support.tables import case
from support.toolkit.mounting import Hearing, app, only, text_of


def asking(name: str, revision: str, gate: asyncio.Barrier) -> Any:
    """Return a server that asks when all at the gate do, and then changes."""
    made = app(revision, name)

    async def ask(session: Any) -> str:
        answer = await session.ask(f"{name}?", int)
        await gate.wait()
        await made.resource_updated("data://now")
        await made.tools_list_changed()
        return f"{name} {answer.value}"

    ask.__annotations__["session"] = pkg.load(revision).Session
    made.tool(ask)

    @made.resource("data://now")
    def now() -> str:
        return name

    return in_memory(only(made))


async def test_servers_of_two_eras_ask_and_change_at_once() -> None:
    for spoken in ERAS:
        gate, hearing = asyncio.Barrier(len(ERAS)), Hearing(spoken)
        names = [f"s{number}" for number in range(len(ERAS))]
        servers = [
            behind(name, asking(name, revision, gate))
            for name, revision in zip(names, ERAS, strict=True)
        ]
        uris = [f"data://{name}/now" for name in names]
        with case(spoken):
            async with (
                serve_gateway(gateway_settings(*servers)) as site,
                pkg.connect_http(site.url, hearing.client),
                hearing.hearing(*uris),
            ):
                called = (text_of(hearing.client, f"{name}_ask") for name in names)
                assert await asyncio.gather(*called) == [f"{name} 42" for name in names]
                # Changes of the same list within a moment are one.
                await hearing.hears(*uris, "tool")
