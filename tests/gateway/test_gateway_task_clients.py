"""Foreign clients that know tasks, at a server with tasks behind a gateway, which carries none."""

from typing import Final

import pytest
from support import tables
from support.gateway.processes import gateway_before
from support.peers import visits
from support.peers.task_visits import AGREED, VISITORS, tasks_server
from support.peers.visits import Expected, Peers, Step
from support.revisions import OLD, STATELESS

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("foreign clients")]

YES: Final = {"action": "accept", "content": {"confirm": True}}
ROWS: Final[list[tuple[Step, Expected]]] = [
    (("call", "up_greet", {"name": "Ada"}), {"text": "Hello, Ada!"}),
    (("call", "up_slow_compute", {"seconds": 0.1, "label": "x"}), {"text": "computed x in 0.1 s"}),
    (
        ("call", "up_confirm_delete", {"filename": "a.txt"}, (YES,)),
        {"text": "Deleted a.txt", "asked": ["up: Delete a.txt?"]},
    ),
]


@pytest.mark.parametrize("own", [OLD, STATELESS])
def test_clients_that_know_tasks_call_tools_without_them(peers: Peers, own: str) -> None:
    async def script() -> None:
        address = await peers.enter(gateway_before("http", up=tasks_server(own)))
        visitors = [
            visitor
            for visitor in VISITORS
            # Where it gets no task, it takes only objects as structured content.
            if own == OLD or visitor[:2] != ("ext-tasks", "extension")
        ]
        for client, _, revision in tables.some(visitors, 2, f"task clients of {own}"):
            visitor = await peers.visitor(client)
            seen, _ = await visitor.visit(address, [step for step, _ in ROWS], revision)
            agreed = AGREED.get(client, STATELESS) if revision == "newest" else revision
            visits.check(client, seen, ROWS, revision=agreed, server="gateway")
            with tables.case((client, revision)):
                # Calls that become tasks have some.
                assert not any(result.get("statuses") for result in seen["results"])

    peers.run(script())
