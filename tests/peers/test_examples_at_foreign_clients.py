"""The servers of `examples/`, as processes, used by clients that others wrote."""

from itertools import product
from pathlib import Path

import pytest
from support import tables
from support.peers.example_visits import (
    EXAMPLES,
    PAGE,
    TRANSPORTS,
    USES,
    row,
    uses,
    visit_all,
)
from support.peers.spoken import NEWEST
from support.peers.visits import Peers, check

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("foreign clients")]

CLIENTS = tables.some(tuple(NEWEST), 2, "clients of examples")
# Of two clients, the first has one transport, and the second the other.
WAYS = [*product(CLIENTS, TRANSPORTS)][:: tables.count(3, 1)]


@pytest.mark.parametrize(("client", "transport"), WAYS)
def test_a_client_gets_all_that_the_servers_offer(
    client: str, transport: str, peers: Peers, tmp_path: Path
) -> None:
    found = peers.run(visit_all(peers, client, transport, tmp_path))
    assert found.keys() == USES.keys()
    for server, seen in found.items():
        with tables.case(server):
            known = {"server": server, "revision": NEWEST[client]}
            check(client, seen, uses(server, client), errors=[], **known)
    assert row(client) in PAGE.read_text(encoding="utf-8").splitlines()


def test_all_servers_are_visited() -> None:
    assert set(USES) == {path.stem.removesuffix("_server") for path in EXAMPLES.glob("*_server.py")}
