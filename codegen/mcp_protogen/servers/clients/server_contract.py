"""The contract of a running server: connect, list its items, and leave."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace

from mcp_protogen.runtime.core.losses import Loss
from mcp_protogen.runtime.core.models.base import member_at
from mcp_protogen.runtime.core.options import Options
from mcp_protogen.runtime.features.tasks.client.calls import CORE_CALLS
from mcp_protogen.runtime.transports.base import Opener
from mcp_protogen.servers.call.connections import JSON, has_core_tasks, has_task_extension
from mcp_protogen.servers.call.kinds import Kind
from mcp_protogen.servers.call.listing import Listing, listing
from mcp_protogen.servers.clients.contract import ITEM_KINDS, MOST_ITEMS, Contract, contract
from mcp_protogen.servers.connect.failures import ERRORS, mended_problems, problem_error
from mcp_protogen.servers.connect.named_server import NamedServer
from mcp_protogen.servers.connect.protocol import protocol


def listed_contract(server: NamedServer, timeout: float) -> Contract:
    """Return the contract of a server; `timeout` is for each answer, in seconds.

    Raise `ProblemError`: those of `NamedServer.opener` and of `connect.failures`, and
    `bad-contract`.
    """
    try:
        return asyncio.run(fetch_contract(server.opener(), server.safe_text, timeout))
    except ERRORS as error:
        raise problem_error(error, server.safe_text) from error


async def fetch_contract(opener: Opener, shown: str, timeout: float) -> Contract:
    """Connect to a server, and return its contract; `shown` names it in warnings.

    Raise one of `ERRORS`, and `ProblemError` (`bad-contract`).
    """
    losses: list[Loss] = []
    options = Options(timeout=timeout, lenient=True, on_loss=losses.append)
    package = protocol()
    *older, newest = (revision.load() for revision in package.REVISIONS)
    # Tools have no `taskSupport` in the newest revision.
    clients = [module.Client() for module in (*filter(has_core_tasks, older), newest)]
    connecting = package.connect(opener, *clients, revisions=package.REVISIONS, options=options)
    async with connecting as client:
        # One more than the limit shows that there are too many.
        found = await listing(client, ITEM_KINDS, MOST_ITEMS + 1)
        place = client.TABLE.rules.output_schema
        tools = [{**tool, "outputSchema": member_at(tool, place)} for tool in _tools(found)]
        lists = {**found.lists, Kind.TOOLS: tools}
        extension = has_task_extension(client)
        read = contract(found.server, str(client.revision), lists, task_extension=extension)
    # Losses between revisions do not affect the contract.
    mended = [loss for loss in losses if not loss.wire]
    return replace(read, warnings=mended_problems(mended, shown))


def _tools(found: Listing) -> Iterator[JSON]:
    """Yield the tools, without their `taskSupport` if the server does not declare tasks.

    2025-11-25, basic/utilities/tasks, "Tool-Level Negotiation": it has no effect then.
    """
    has_tasks = CORE_CALLS.declared_in(found.capabilities)
    for tool in found.lists[Kind.TOOLS]:
        yield tool if has_tasks else {**tool, "execution": None}
