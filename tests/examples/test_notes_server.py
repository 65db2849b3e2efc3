"""The notes server of `examples/authorization`, behind an identity provider that others made."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from support.auth.browsing import User
from support.auth.notes import Notes, running
from support.peers.visits import Peers
from support.sessions.talking import pkg

# In one process, which starts the provider once.
pytestmark = [pytest.mark.long, pytest.mark.xdist_group("notes")]


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


def test_challenge_leads_to_provider(peers: Peers, notes: Notes) -> None:
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


def test_the_client_writes_for_its_user_and_by_itself(peers: Peers, notes: Notes) -> None:
    for options in ([], ["--robot"]):
        code, written = peers.run(notes.run_client("Buy milk", *options))
        assert code == 0, written
        assert written.endswith("- Buy milk\n")


def test_a_client_that_may_not_says_why(peers: Peers, notes: Notes) -> None:
    asked = notes.run_client("Buy milk", "--robot", ROBOT_SECRET="guessed")
    code, written = peers.run(asked)
    assert (code, written) == (1, "invalid_client: client authentication failed\n")


def signed_in(notes: Notes, user: User, **chosen: Any) -> Any:
    """Connect as a program of a user does."""
    agent = pkg.LoopbackReceiver(open=user.open)
    return pkg.connect_http(notes.url, auth=pkg.OAuth(user_agent=agent, **chosen))


def requested_scopes(page: str) -> set[str]:
    """The scopes that the page of an authorization request is about."""
    return set(parse_qs(urlsplit(page).query)["scope"][0].split())


def test_a_user_agrees_again_only_to_what_is_new(peers: Peers, notes: Notes) -> None:
    async def script() -> None:
        user = User("bob")
        async with signed_in(notes, user) as client:
            assert (await client.call_tool("list_notes")).data == []
            assert [
                requested_scopes(page) & {"notes:read", "notes:write"} for page in user.pages
            ] == [{"notes:read"}]
            for number in (1, 2):
                added = await client.call_tool("add_note", {"text": "tea"})
                assert added.text == f"This is note {number}."
            assert len(user.pages) == 2
            assert requested_scopes(user.pages[1]) >= {"notes:read", "notes:write"}

    peers.run(script())


def test_each_user_has_notes_of_their_own(peers: Peers, notes: Notes) -> None:
    async def script() -> None:
        for name in ("carol", "dave"):
            async with signed_in(notes, User(name)) as client:
                await client.call_tool("add_note", {"text": name})
                assert (await client.call_tool("list_notes")).data == [name]

    peers.run(script())


def test_a_client_that_is_known_already_does_not_register(peers: Peers, notes: Notes) -> None:
    async def script() -> None:
        user = User()
        known = pkg.ClientInformation(client_id="notes-client", issuer=notes.issuer)
        async with signed_in(notes, user, client=known, dpop=pkg.DPoP()) as client:
            await client.call_tool("list_notes")
        assert parse_qs(urlsplit(user.pages[0]).query)["client_id"] == ["notes-client"]

    peers.run(script())


def test_a_user_who_refuses_ends_the_connection(peers: Peers, notes: Notes) -> None:
    async def script() -> None:
        with pytest.raises(pkg.OAuthError) as refused:
            async with signed_in(notes, User(agrees=False)):
                pass
        assert refused.value.error == "access_denied"

    peers.run(script())


def test_the_server_asks_the_provider_about_tokens_that_only_that_can_read(peers: Peers) -> None:
    async def script() -> None:
        notes = await running(peers, "--ask", TOKENS="opaque")
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
