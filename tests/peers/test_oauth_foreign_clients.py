"""Foreign clients get tokens for our server, each in its own way.

A client with a token was given all necessary information by our server.
"""

from pathlib import Path
from typing import Any

import pytest
from support import tables
from support.peers.oauth_visits import (
    DOCUMENT,
    GuardedServer,
    start_guarded,
    through_remote,
    visit_by,
)
from support.peers.visits import Peers, Step

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("foreign clients")]

CLIENTS = tables.some(
    ("mcp 2", "fastmcp", "TypeScript 1", "TypeScript 2"), 2, "clients that sign in"
)
CALL: Step = ("call", "whoami", {})
CHANGE: Step = ("call", "change", {})


@pytest.fixture(scope="module")
def site(peers: Peers) -> GuardedServer:
    return peers.run(start_guarded(peers))


@pytest.fixture(scope="module")
def worn(peers: Peers) -> GuardedServer:
    """A server at which a token ends after four requests."""
    return peers.run(start_guarded(peers, 4))


def results(
    peers: Peers, client: str, site: GuardedServer, *steps: Step, **oauth: Any
) -> list[Any]:
    """Return the results of a visit's steps, for calls as texts."""
    seen = peers.run(visit_by(peers, client, site, steps, **oauth))
    assert "failed" not in seen, seen["failed"]
    return [
        result["content"][0]["text"] if "content" in result else result
        for result in seen["results"]
    ]


def token_forms(site: GuardedServer) -> list[dict[str, str]]:
    """The forms of all requests for tokens."""
    return [request.form for request in site.issuer.requests_to("token")]


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_finds_where_to_get_a_token_and_registers(
    peers: Peers, site: GuardedServer, client: str
) -> None:
    assert results(peers, client, site, CALL) == ["ada"]
    assert len(site.issuer.requests_to("register")) == 1
    (form,) = token_forms(site)
    assert (form["grant_type"], form["resource"]) == ("authorization_code", site.url)
    asked = site.issuer.requests_to("authorize")[-1].query
    assert "read" in asked["scope"].split()
    assert "write" not in asked["scope"].split()


@pytest.mark.parametrize("client", ["mcp 2", "TypeScript 2"])
def test_a_client_with_a_metadata_document_does_not_register(
    peers: Peers, site: GuardedServer, client: str
) -> None:
    assert results(peers, client, site, CALL, document=DOCUMENT) == ["ada"]
    assert not site.issuer.requests_to("register")
    assert {form["client_id"] for form in token_forms(site)} == {DOCUMENT}


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_gets_another_token_when_its_own_has_ended(
    peers: Peers, worn: GuardedServer, client: str
) -> None:
    assert results(peers, client, worn, *[CALL] * 6) == ["ada"] * 6
    grants = [form["grant_type"] for form in token_forms(worn)]
    assert grants[0] == "authorization_code"
    assert len(grants) > 1


def test_a_client_binds_its_token_to_a_key(peers: Peers, site: GuardedServer) -> None:
    assert results(peers, "TypeScript 2", site, CALL, CALL, dpop=True) == ["ada", "ada"]
    (request,) = site.issuer.requests_to("token")
    assert "dpop" in request.headers


def test_a_bridge_signs_in_for_clients_that_cannot(
    peers: Peers, site: GuardedServer, tmp_path: Path
) -> None:
    async def script() -> None:
        async with through_remote(site, tmp_path) as client:
            assert (await client.call_tool("whoami")).text == "ada"

    peers.run(script())
    (form,) = token_forms(site)
    assert form["resource"] == site.url
    site.issuer.requests.clear()
    # Now it knows its token.
    peers.run(script())
    assert not token_forms(site)


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_asks_for_the_scopes_that_it_turns_out_to_need(
    peers: Peers, site: GuardedServer, client: str
) -> None:
    assert results(peers, client, site, CALL, CHANGE, CALL) == ["ada", "changed", "ada"]
    scopes = [
        set(request.query["scope"].split()) for request in site.issuer.requests_to("authorize")
    ]
    assert "write" not in scopes[0]
    assert {"read", "write"} <= scopes[-1]
