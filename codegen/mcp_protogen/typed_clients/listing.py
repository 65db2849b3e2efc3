"""The contract of a server that runs: connect, list what it offers, and leave."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Final

from mcp_protogen.calling.kinds import Kind
from mcp_protogen.connecting.failures import ERRORS, problem_error
from mcp_protogen.connecting.protocol import protocol
from mcp_protogen.connecting.server_target import ServerTarget
from mcp_protogen.runtime.core.errors import METHOD_NOT_FOUND, McpError
from mcp_protogen.runtime.core.options import Options
from mcp_protogen.typed_clients.contract import LISTS, MOST_OFFERS, Contract, contract

_ITEMS: Final[Mapping[Kind, tuple[str, str]]] = {
    Kind.TOOLS: ("tools", "iter_tools"),
    Kind.PROMPTS: ("prompts", "iter_prompts"),
    Kind.TEMPLATES: ("resources", "iter_resource_templates"),
}
"""The capability of which each list is, and what lists it."""


def listed_contract(target: ServerTarget, timeout: float) -> Contract:
    """Return the contract of a server; `timeout` is for each answer, in seconds.

    Raise `ProblemError`: those of `ServerTarget.opener` and of `connecting.failures`, and
    `bad-contract`.
    """
    opener = target.opener()
    # What is lost between revisions is not in the contract.
    options = Options(timeout=timeout, on_loss=lambda loss: None)
    try:
        return asyncio.run(_listed(protocol().connect(opener, options=options)))
    except ERRORS as error:
        raise problem_error(error, target.shown) from error


async def _listed(connecting: AbstractAsyncContextManager[Any]) -> Contract:
    async with connecting as client:
        lists = {kind: [one async for one in _offered(client, kind)] for kind in LISTS}
        about = client.server_info
        return contract(None if about is None else about.to_wire(), str(client.revision), lists)


async def _offered(client: Any, kind: Kind) -> AsyncIterator[object]:
    capability, items = _ITEMS[kind]
    if getattr(client.server_capabilities, capability, None) is None:
        return
    number = 0
    try:
        async for one in getattr(client, items)():
            yield one.to_wire()
            number += 1
            if number > MOST_OFFERS:
                return
    except McpError as error:
        # Many servers with resources do not answer for templates.
        if kind is not Kind.TEMPLATES or error.code != METHOD_NOT_FOUND:
            raise
