"""Clients that others wrote call tools as tasks, of a server with tasks behind a gateway."""

from collections.abc import Iterator
from typing import Any, Final

import pytest
from mcp_protogen.runtime.core.json import is_object
from support import tables
from support.gateway.processes import gateway_before
from support.peers import visits
from support.peers.task_visits import AGREED, VISITORS, Visitor, tasks_server, uses
from support.peers.visits import Expected, Peers, Step
from support.revisions import OLD, STATELESS

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("foreign clients")]

_UNKNOWN: Final = "nobody"
"""The id of a task that does not exist."""


def uses_of_gateway(visitor: Visitor) -> Iterator[tuple[Step, Expected]]:
    """Return the steps of a client, and what it sees directly, with the names of the gateway."""
    for (verb, name, *rest), expected in uses(visitor):
        seen: Any = expected
        if is_object(expected) and "asked" in expected:
            seen = {**expected, "asked": [f"up: {message}" for message in expected["asked"]]}
        yield (verb, name if name == _UNKNOWN else f"up_{name}", *rest), seen


@pytest.mark.parametrize("own", [OLD, STATELESS])
def test_clients_call_tools_as_tasks_as_they_do_directly(peers: Peers, own: str) -> None:
    async def script() -> None:
        address = await peers.enter(gateway_before("http", up=tasks_server(own)))
        for visitor in tables.some(VISITORS, 2, f"task clients of {own}"):
            client, _, revision = visitor
            done = list(uses_of_gateway(visitor))
            visiting = await peers.visitor(client)
            seen, _ = await visiting.visit(address, [step for step, _ in done], revision)
            agreed = AGREED.get(client, STATELESS) if revision == "newest" else revision
            visits.check(client, seen, done, revision=agreed, server="gateway")

    peers.run(script())
