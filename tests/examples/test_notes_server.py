"""The notes server of `examples/authorization`, behind an identity provider that others made."""

import httpx2
import pytest
from support.auth.notes import SECRET, Notes, running
from support.peers.visits import Peers

pytestmark = [pytest.mark.long]


@pytest.fixture(scope="module")
def notes(peers: Peers) -> Notes:
    return peers.run(running(peers))


async def token(notes: Notes, *scopes: str) -> str:
    response = await notes.token_of_robot(" ".join(scopes))
    assert response.status_code == 200, response.text
    return str(response.json()["access_token"])


def test_a_token_of_the_provider_is_accepted(peers: Peers, notes: Notes) -> None:
    async def script() -> None:
        async with notes.connect(await token(notes, "notes:read", "notes:write")) as client:
            await client.call_tool("add_note", {"text": "tea"})
            assert (await client.call_tool("list_notes")).data == ["tea"]

    peers.run(script())


def test_what_is_told_leads_to_the_provider(peers: Peers, notes: Notes) -> None:
    async def script() -> None:
        async with httpx2.AsyncClient() as client:
            refused = await client.post(notes.url, json={})
            assert refused.status_code == 401
            place = refused.headers["www-authenticate"].partition('resource_metadata="')[2]
            document = (await client.get(place.partition('"')[0])).json()
            assert document["resource"] == notes.url
            (issuer,) = document["authorization_servers"]
            found = f"{issuer}/.well-known/oauth-authorization-server"
            assert (await client.get(found)).json()["issuer"] == issuer

    peers.run(script())


def test_the_provider_issues_no_token_for_another_server(peers: Peers, notes: Notes) -> None:
    response = peers.run(notes.token_of_robot(resource="https://other.example.com/mcp"))
    assert response.json()["error"] == "invalid_target"


def test_the_server_asks_the_provider_about_tokens_that_only_that_can_read(peers: Peers) -> None:
    async def script() -> None:
        notes = await running(peers, "--secret", SECRET, TOKENS="opaque")
        known = await token(notes, "notes:read")
        assert "." not in known
        async with notes.connect(known) as client:
            assert (await client.call_tool("list_notes")).data == []
        async with httpx2.AsyncClient() as client:
            headers = {"authorization": f"Bearer {known[:-1]}"}
            refused = await client.post(notes.url, json={}, headers=headers)
            assert refused.status_code == 401
            assert 'error="invalid_token"' in refused.headers["www-authenticate"]

    peers.run(script())
