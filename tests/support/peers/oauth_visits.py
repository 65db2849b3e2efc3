"""Visits of foreign clients to our server with authorization.

The server is that of `programs/http_guarded_server.py`; the tokens come from the authorization
server of the tests.
"""

import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from support.auth import browsing
from support.auth.authorization_server import AuthorizationServer, Behaviour, Client
from support.auth.hosting import authorization_server
from support.json_types import JsonObject
from support.peers.http_peers import Served, with_packages
from support.peers.places import PROGRAMS, node_modules
from support.peers.visits import Peers, Step
from support.sessions.talking import pkg

REDIRECT: Final = "http://127.0.0.1:29999/callback"
"""Nobody listens there: those who want to know where they are redirected look at the response."""

DOCUMENT: Final = "https://client.example.com/client.json"
"""Where a client has its metadata (2025-11-25 and 2026-07-28, client id metadata documents)."""


@dataclass(frozen=True)
class GuardedServer:
    """A server with authorization, and the issuer of its tokens."""

    issuer: AuthorizationServer
    server: Served

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.port}/mcp"


async def start_guarded(peers: Peers, times: int = 1000) -> GuardedServer:
    """Start both for the tests of a module; a token is valid for that number of requests."""
    described = Client(client_id=DOCUMENT, redirect_uris=(REDIRECT,))
    behaviour = Behaviour(metadata={"client_id_metadata_document_supported": True})
    issuer = await peers.enter(authorization_server(clients=(described,), behaviour=behaviour))
    program = PROGRAMS / "http_guarded_server.py"
    command = (*with_packages(), sys.executable, program, "PORT", issuer.issuer, str(times))
    return GuardedServer(issuer, await peers.server(*command))


async def visit_by(
    peers: Peers, client: str, site: GuardedServer, steps: Sequence[Step], **oauth: Any
) -> JsonObject:
    """Let a client without credentials use a server, with a user who agrees to everything."""
    site.issuer.requests.clear()
    known = {"redirect_uri": REDIRECT, **oauth}
    visitor = await peers.visitor(client)
    seen, _ = await visitor.visit(site.url, steps, oauth=known)
    return seen


@asynccontextmanager
async def through_remote(site: GuardedServer, folder: Path) -> AsyncGenerator[Any, None]:
    """Connect our client by stdio to mcp-remote, which signs in at a server over HTTP.

    It stores its credentials in the folder.
    """
    # It waits for the browser before it answers.
    browser = browsing.COMMAND.removesuffix(" &")
    program = node_modules() / "mcp-remote" / "dist" / "proxy.js"
    told = {"BROWSER": browser, "MCP_REMOTE_CONFIG_DIR": str(folder)}
    site.issuer.requests.clear()
    command = ("node", program, site.url)
    opener = pkg.stdio_client(command, env=told, inherit=True, stderr=str)
    async with pkg.connect(opener) as client:
        yield client
