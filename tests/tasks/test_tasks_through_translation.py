"""A server and a client of different revisions: calls become tasks of the kind on the wire."""

from itertools import product
from typing import Any

import pytest
from mcp_protogen.runtime.testing import in_memory
from support.revisions import OLD, STATELESS
from support.sessions.talking import pkg
from support.tables import case
from support.tasks.asking import TASKS
from support.tasks.gateway import CLIENTS, SERVERS

KINDS: dict[str, Any] = {
    OLD: {"tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}},
    STATELESS: {"extensions": {TASKS: {}}},
}
BOTH = {"tasks", "extensions"}


@pytest.mark.skips_time
async def test_calls_become_tasks_of_the_kind_on_the_wire_without_losses() -> None:
    for own, wire, client in product(KINDS, repeat=3):
        lost: list[Any] = []
        options = pkg.Options(on_loss=lost.append)
        spoken = [revision for revision in pkg.REVISIONS if revision.id == wire]
        opener = in_memory(SERVERS[own](), revisions=spoken, options=options)
        ours = CLIENTS[client]()
        with case(f"a client of {client} and a server of {own} in {wire}"):
            async with pkg.connect(opener, ours, revisions=spoken, options=options) as one:
                declared = one.server_capabilities.to_wire()
                assert {name: declared[name] for name in declared.keys() & BOTH} == KINDS[wire]
                handle = await one.start_task("name_revision")
                assert handle.id is not None and (await handle.result()).text == wire
                assert (await one.call_tool("needed")).text == "needed is done"
                assert lost == []
                assert (await (await one.start_task("sure")).result()).text == "True True"
                assert len(ours.asked) == 2
