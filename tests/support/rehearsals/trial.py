"""A client and a server of a revision, connected in memory: a list, a call, and an error.

It runs on a copy of the checkout, with the revision, the one before it, and a JSON object with new
transports as its arguments. With only the revision and the name of a transport, it serves.
"""

import asyncio
import json
import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import mcp_revisions as package
from mcp_revisions import McpError, client_of, connect, connect_config, load
from support.sessions.transport_contract import OF_PROGRAMS, program_of

Json = dict[str, Any]

NEXT, *_ARGUMENTS = sys.argv[1:]
revision: Any = load(NEXT)
app = revision.App("rehearsal", version="1.0.0")


def add(first: int, second: int) -> int:
    """Add two numbers."""
    return first + second


app.tool(add)


async def use_tools(before: str, open: Callable[..., Any]) -> None:
    """Use a server in its own revision, then with a client of the revision before."""
    for only in (None, before):
        choice: dict[str, Any] = {"as_": load(only)} if only else {}
        async with open(**choice) as client:
            tools = [tool.name async for tool in client.iter_tools()]
            assert tools == ["add"], tools
            result = await client.call_tool("add", {"first": 1, "second": 2})
            assert result.text == "3", result
            try:
                await client.call_tool("subtract", {})
            except McpError:
                continue
            raise AssertionError("a tool that is not there was called")


def program_over(transport: str) -> Any:
    """Return an opener of connections to the server as a program, over a transport."""
    words = {"command": sys.executable, "args": [__file__, NEXT, transport]}
    entry = {**words, "type": transport, "env": {"PYTHONPATH": os.pathsep.join(sys.path)}}
    return connect_config.opener({"mcpServers": {"trial": entry}}, "trial")


async def keep_contract(transport: Json) -> None:
    """Use a transport, by its functions, as each of ours is used."""
    open, serve = (transport[side].rpartition(".")[2] for side in ("client", "server"))
    words, env = program_of(serve)
    opener = getattr(package, open)(words, env=env)
    for keeps in OF_PROGRAMS:
        await keeps(opener)


async def talk(before: str, transports: str) -> None:
    """Use all that the arguments name."""
    await use_tools(before, partial(client_of, app))
    for name, transport in json.loads(transports).items():
        await use_tools(before, partial(connect, program_over(name)))
        await keep_contract(transport)


if len(_ARGUMENTS) == 1:
    app.run(*_ARGUMENTS)
else:
    asyncio.run(talk(*_ARGUMENTS))
