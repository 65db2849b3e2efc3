"""Clients that others wrote call tools that are tasks, of a server made of our stubs."""

import pytest
from support.peers.task_visits import AGREED, VISITORS, Visitor, tasks_server, uses
from support.peers.visits import Expected, Peers, Step, check, visit
from support.revisions import OLD, STATELESS

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("foreign clients")]


def name(visitor: Visitor) -> str:
    return f"{visitor.client}-{visitor.kind}-{visitor.revision}"


@pytest.mark.sampled(10)
@pytest.mark.parametrize("own", [OLD, STATELESS])
@pytest.mark.parametrize("visitor", VISITORS, ids=name)
def test_each_client_calls_tools_as_tasks_of_its_kind(
    peers: Peers, visitor: Visitor, own: str
) -> None:
    done = list(uses(visitor))
    client, _, revision = visitor
    steps = [step for step, _ in done]
    found = peers.run(visit(peers, client, revision, tasks_server(own), steps))
    agreed = AGREED.get(client, STATELESS) if revision == "newest" else revision
    check(client, found.seen, done, revision=agreed, server="tasks")
    methods = {
        exchange.message.get("method") for exchange in found.wire.verbs("POST") if exchange.body
    }
    assert ("tasks/get" in methods) == (visitor.kind != "none")


def test_a_client_works_as_tasks_on_what_the_server_asks(peers: Peers) -> None:
    """The official package for tasks, where it receives those of 2025-11-25."""
    ada = {"action": "accept", "content": {"name": "ada"}}
    done: list[tuple[Step, Expected]] = [
        (("receive", "sample_as_task", {}), {"text": "model sampled"}),
        (("receive", "ask_as_task", {}, [ada]), {"text": "accept ada", "asked": ["Your name?"]}),
    ]
    steps = [step for step, _ in done]
    found = peers.run(visit(peers, "ext-tasks", OLD, tasks_server(OLD), steps))
    check("ext-tasks", found.seen, done, revision=OLD)
