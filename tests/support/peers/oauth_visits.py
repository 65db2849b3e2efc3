"""What clients that others wrote see of a server of ours that wants tokens.

The server is that of `programs/http_guarded_server.py`, the tokens are those of an authorization
server that keeps every rule.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from support.auth.authorization_server import AuthorizationServer
from support.auth.behaviour import GOOD
from support.auth.hosting import authorization_server
from support.json_types import JsonObject
from support.peers.http_peers import Served, with_packages
from support.peers.places import PROGRAMS
from support.peers.visits import Peers, Step

REDIRECT: Final = "http://127.0.0.1:29999/callback"
"""Nobody listens there: those who want to know where they are redirected look at the response."""

DOCUMENT: Final = "https://client.example.com/client.json"
"""Where a client has its metadata (2025-11-25 and 2026-07-28, client id metadata documents)."""


@dataclass(frozen=True)
class Guarded:
    """A server that wants tokens, and the one that issues them."""

    issuer: AuthorizationServer
    server: Served

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.port}/mcp"


async def guarded(peers: Peers, *arguments: str) -> Guarded:
    """Start both, until the tests of a module are over."""
    issuer = await peers.hold(authorization_server())
    program = PROGRAMS / "http_guarded_server.py"
    command = (*with_packages(), sys.executable, program, "PORT", issuer.issuer, *arguments)
    return Guarded(issuer, await peers.server(*command))


async def seen_by(
    peers: Peers, client: str, site: Guarded, steps: Sequence[Step], **oauth: Any
) -> JsonObject:
    """Let a client that knows nothing yet use a server, and its user agree to everything."""
    site.issuer.requests.clear()
    known = {"redirect_uri": REDIRECT, **oauth}
    visitor = await peers.visitor(client)
    seen, _ = await visitor.visit(site.url, steps, oauth=known)
    site.issuer.behave(**{name: getattr(GOOD, name) for name in GOOD.__slots__})
    return seen
