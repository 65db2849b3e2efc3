"""The contract of a server that runs: connect, list its tools, and leave."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Any

from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.connecting.protocol import protocol
from mcp_protogen.connecting.server_target import ServerTarget
from mcp_protogen.runtime.core.errors import ProtocolError
from mcp_protogen.runtime.core.options import Options
from mcp_protogen.typed_clients.contract import MOST_TOOLS, Contract, contract


def listed_contract(target: ServerTarget, timeout: float) -> Contract:
    """Return the contract of a server; `timeout` is for each answer, in seconds.

    Raise `ProblemError`: those of `ServerTarget.opener`, `server-failed` for a server that cannot
    be reached or breaks off, and `bad-contract`.
    """
    opener = target.opener()
    # What is lost between revisions is not in the contract.
    options = Options(timeout=timeout, on_loss=lambda loss: None)
    try:
        return asyncio.run(_listed(protocol().connect(opener, options=options)))
    except (OSError, ProtocolError) as error:
        message = str(error) or type(error).__name__
        hint = "see whether it starts on its own; --env, --cwd, --header and --auth tell it more"
        raise ProblemError(Problem("server-failed", message, target.shown, hint=hint)) from error


async def _listed(connecting: AbstractAsyncContextManager[Any]) -> Contract:
    async with connecting as client:
        offers = client.server_capabilities is not None and client.server_capabilities.tools
        tools = [tool async for tool in _tools(client)] if offers is not None else []
        about = client.server_info
        return contract(None if about is None else about.to_wire(), str(client.revision), tools)


async def _tools(client: Any) -> AsyncIterator[object]:
    number = 0
    async for tool in client.iter_tools():
        yield tool.to_wire()
        number += 1
        if number > MOST_TOOLS:
            return
