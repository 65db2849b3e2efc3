"""Our client gets tokens for servers that others wrote, from them and from another server."""

from typing import Any

import pytest
from support.auth.browsing import User
from support.auth.hosting import authorization_server
from support.peers.places import PROGRAMS, python_with
from support.peers.visits import Peers
from support.sessions.talking import pkg

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("logins")]

KINDS = ("mcp", "fastmcp")


async def serve_foreign(peers: Peers, kind: str, *issuer: str) -> str:
    """Start a server that wants tokens; return its URL."""
    program = PROGRAMS / "oauth_server.py"
    server = await peers.server(python_with("mcp-2"), program, kind, "PORT", *issuer)
    return f"http://127.0.0.1:{server.port}/mcp"


async def call_add(url: str, oauth: pkg.OAuth) -> str:
    """Call a tool of the server; return its text."""
    async with pkg.connect_http(url, auth=oauth) as client:
        result: Any = await client.call_tool("add", {"a": 1, "b": 2})
        return str(result.text)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", KINDS)
def test_our_client_signs_in_at_a_server_that_issues_tokens_itself(peers: Peers, kind: str) -> None:
    async def script() -> None:
        user = User()
        oauth = pkg.OAuth(user_agent=pkg.LoopbackReceiver(open=user.open))
        url = await serve_foreign(peers, kind)
        assert [await call_add(url, oauth) for _ in range(2)] == ["3", "3"]
        assert len(user.pages) == 1

    peers.run(script())


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", KINDS)
def test_our_client_gets_tokens_elsewhere_for_a_server(peers: Peers, kind: str) -> None:
    async def script() -> None:
        issuer = await peers.enter(authorization_server())
        user = User()
        oauth = pkg.OAuth(user_agent=pkg.LoopbackReceiver(open=user.open))
        url = await serve_foreign(peers, kind, issuer.issuer)
        assert await call_add(url, oauth) == "3"
        (request,) = issuer.requests_to("token")
        assert request.form["resource"] == url
        assert len(user.pages) == 1

    peers.run(script())
