"""Clients that others wrote get a token for a server of ours, each in its own way."""

from typing import Any

import pytest
from support.peers.oauth_visits import Guarded, guarded, seen_by
from support.peers.visits import Peers

pytestmark = [pytest.mark.long]

CLIENTS = ("mcp 2", "fastmcp", "TypeScript 1", "TypeScript 2")
CALL = (("call", "whoami", {}),)


@pytest.fixture(scope="module")
def site(peers: Peers) -> Guarded:
    return peers.run(guarded(peers))


def texts(seen: Any) -> list[str]:
    """What the calls of a visit have given."""
    assert "failed" not in seen, seen["failed"]
    return [result["content"][0]["text"] for result in seen["results"]]


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_finds_where_to_get_a_token_and_registers(
    peers: Peers, site: Guarded, client: str
) -> None:
    seen = peers.run(seen_by(peers, client, site, CALL))
    assert texts(seen) == ["ada"]
    (token,) = site.issuer.asked("token")
    print(token.form)
    assert token.form["resource"] == site.url
