"""Clients that others wrote, as processes, against a server made of our stubs.

`test_http_foreign_clients.py` has server classes of one revision that speak others.
"""

import sys

import pytest
from support.peers import everything
from support.peers.http_peers import with_packages
from support.peers.places import PROGRAMS
from support.peers.spoken import GENERATION_1, GENERATION_2, NEWEST
from support.peers.visits import Peers

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("foreign clients")]


def check(peers: Peers, client: str, revision: str) -> None:
    done = everything.rows(client, revision, over_http=False)
    server = (*with_packages(), sys.executable, PROGRAMS / "our_server.py")

    async def visit() -> None:
        visitor = await peers.visitor(client)
        seen, written = await visitor.visit(server, [step for step, _ in done], revision)
        everything.check(client, seen, done, revision)
        # The handler was cancelled, and its output does not disturb messages.
        assert "sleep was cancelled" in written
        assert "stray output" in written

    peers.run(visit())


@pytest.mark.shows("S4-07")
@pytest.mark.sampled(2)
@pytest.mark.parametrize("revision", GENERATION_2)
def test_the_python_sdk_of_generation_2(peers: Peers, revision: str) -> None:
    check(peers, "mcp 2", revision)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("revision", GENERATION_1)
def test_the_python_sdk_of_generation_1(peers: Peers, revision: str) -> None:
    check(peers, "mcp 1", revision)


@pytest.mark.shows("S4-08")
@pytest.mark.parametrize("client", NEWEST)
def test_clients_that_choose_the_revision(peers: Peers, client: str) -> None:
    check(peers, client, NEWEST[client])
