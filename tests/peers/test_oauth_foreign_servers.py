"""Our client gets tokens for servers that others wrote, which issue them themselves."""

from typing import Any

import pytest
from support.auth.browsing import User
from support.peers.places import PROGRAMS, python_with
from support.peers.visits import Peers
from support.sessions.talking import pkg

pytestmark = [pytest.mark.long]


@pytest.mark.parametrize("kind", ["mcp", "fastmcp"])
def test_our_client_signs_in_at_a_server_that_issues_tokens_itself(peers: Peers, kind: str) -> None:
    async def script() -> None:
        program = PROGRAMS / "issuing_server.py"
        server = await peers.server(python_with("fastmcp"), program, kind, "PORT")
        user = User()
        oauth = pkg.OAuth(user_agent=pkg.LoopbackReceiver(open=user.open))
        url = f"http://127.0.0.1:{server.port}/mcp"
        for _ in range(2):
            async with pkg.connect_http(url, auth=oauth) as client:
                result: Any = await client.call_tool("add", {"a": 1, "b": 2})
                assert result.text == "3"
        assert len(user.pages) == 1

    peers.run(script())
