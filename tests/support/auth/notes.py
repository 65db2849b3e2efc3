"""The notes server of `examples/authorization` and its identity provider, as processes."""

import asyncio
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Final

import httpx2
from support.auth.browsing import COMMAND
from support.auth.identity_provider import EXAMPLE, provider
from support.generated.package_copy import copied_package
from support.peers.http_peers import Served
from support.peers.places import Command
from support.peers.visits import Peers
from support.ports import free_port
from support.sessions.talking import pkg

SECRET: Final = "only-to-try-it"


@dataclass(frozen=True)
class Notes:
    """Both processes."""

    url: str
    issuer: str
    server: Served
    folder: Path
    """A folder with the package that both programs import."""

    async def token_of_robot(self, scope: str = "notes:read", **form: str) -> httpx2.Response:
        """Request a token for a program without a user."""
        given = {"grant_type": "client_credentials", "scope": scope, "resource": self.url, **form}
        async with httpx2.AsyncClient() as client:
            auth = ("notes-robot", SECRET)
            return await client.post(f"{self.issuer}/token", data=given, auth=auth)

    async def run_client(self, *arguments: str, **environment: str) -> tuple[int, str]:
        """Run the client of the example; return its exit code and output."""
        variables = {"PYTHONPATH": str(self.folder), "BROWSER": COMMAND, **environment}
        command: Command = ("-P", EXAMPLE / "notes_client.py", self.url, *arguments)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, *command),
            env={**os.environ, **variables},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        written, _ = await process.communicate()
        return process.returncode or 0, written.decode()

    def connect(self, token: str) -> Any:
        return pkg.connect_http(self.url, headers={"authorization": f"Bearer {token}"})


async def running(peers: Peers, *options: str, **environment: str) -> Notes:
    """Start both for the tests of a module.

    `options` are for the server, `environment` is for the provider.
    """
    port, folder = free_port(), Path(mkdtemp(dir=os.environ["MADE_ONCE"]))
    url = f"http://127.0.0.1:{port}/mcp"
    login = await peers.server(*provider(url, environment))
    issuer = f"http://127.0.0.1:{login.port}"
    (folder / "pkg").symlink_to(copied_package())
    program: Command = (sys.executable, "-P", EXAMPLE / "notes_server.py")
    path = f"PYTHONPATH={folder}"
    command: Command = ("env", path, *program, issuer, "--http", "PORT", *options)
    return Notes(url, issuer, await peers.server(*command, port=port), folder)
