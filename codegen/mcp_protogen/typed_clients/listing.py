"""The contract of a server that runs: connect, list what it offers, and leave."""

import asyncio
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any

from mcp_protogen.calling.listing import listing
from mcp_protogen.connecting.failures import ERRORS, mended_problems, problem_error
from mcp_protogen.connecting.protocol import protocol
from mcp_protogen.connecting.server_target import ServerTarget
from mcp_protogen.runtime.core.losses import Loss
from mcp_protogen.runtime.core.options import Options
from mcp_protogen.typed_clients.contract import MOST_OFFERS, OFFERED, Contract, contract


def listed_contract(target: ServerTarget, timeout: float) -> Contract:
    """Return the contract of a server; `timeout` is for each answer, in seconds.

    Raise `ProblemError`: those of `ServerTarget.opener` and of `connecting.failures`, and
    `bad-contract`.
    """
    opener = target.opener()
    losses: list[Loss] = []
    options = Options(timeout=timeout, lenient=True, on_loss=losses.append)
    try:
        found = asyncio.run(_listed(protocol().connect(opener, options=options)))
    except ERRORS as error:
        raise problem_error(error, target.shown) from error
    # What is lost between revisions is not in the contract.
    mended = [loss for loss in losses if not loss.wire]
    return replace(found, warnings=mended_problems(mended, target.shown))


async def _listed(connecting: AbstractAsyncContextManager[Any]) -> Contract:
    async with connecting as client:
        # One more than there may be shows that there are too many.
        found = await listing(client, OFFERED, MOST_OFFERS + 1)
        return contract(found.server, str(client.revision), found.lists)
