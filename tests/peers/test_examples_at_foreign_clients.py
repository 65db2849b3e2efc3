"""The servers of `examples/`, as processes, used by clients that others wrote."""

from pathlib import Path

import pytest
from support import tables
from support.peers import example_visits
from support.peers.example_visits import EXAMPLES, PAGE, TRANSPORTS, USES, Visits, row, uses
from support.peers.spoken import NEWEST
from support.peers.visits import Peers, check

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("foreign clients")]

# Each starts its own servers.
CLIENTS = tables.some(tuple(NEWEST), 2, "clients of examples")


@pytest.fixture(scope="module")
def example_visits_found(
    peers: Peers, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Visits | BaseException]:
    folder: Path = tmp_path_factory.mktemp("examples")
    return peers.run(example_visits.visits(peers, CLIENTS, folder))


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_gets_all_that_the_servers_offer(
    example_visits_found: dict[str, Visits | BaseException], client: str
) -> None:
    visits = example_visits_found[client]
    if isinstance(visits, BaseException):
        raise visits
    assert set(visits) == {(server, transport) for server in USES for transport in TRANSPORTS}
    for (server, transport), seen in visits.items():
        with tables.case((server, transport)):
            known = {"server": server, "revision": NEWEST[client]}
            check(client, seen, uses(server, client), errors=[], **known)
    assert row(client) in PAGE.read_text(encoding="utf-8").splitlines()


def test_all_servers_are_visited() -> None:
    assert set(USES) == {path.stem.removesuffix("_server") for path in EXAMPLES.glob("*_server.py")}
