"""An MCP server with an authorization server and a user, on real sockets."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2

from support.auth.authorization_server import AuthorizationServer
from support.auth.hosting import Hosted
from support.auth.messages import Request
from support.auth.resource import Resource
from support.http.serving import app_of, run_app
from support.sessions.talking import tools


async def echo(session: Any, params: Any) -> str:
    """Return the tool's own name."""
    return str(params.name)


@dataclass(kw_only=True)
class User:
    """A user who logs in wherever a page asks, with the browser of a test."""

    pages: list[str] = field(default_factory=list[str])
    redirects: list[str] = field(default_factory=list[str])

    async def open(self, url: str) -> bool:
        """Open a page, and return the URL it redirects to."""
        self.pages.append(url)
        async with httpx2.AsyncClient(verify=False, trust_env=False) as browser:
            response = await browser.get(url)
            self.redirects.append(response.headers["location"])
            await browser.get(self.redirects[-1])
        return True


class GuardedServer:
    """An MCP server, its authorization servers and all their metadata, as one application."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self.hosted = Hosted()
        self.url = ""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] != "/mcp":
            await self.hosted(scope, receive, send)
            return
        fields = {name.decode(): value.decode("latin-1") for name, value in scope["headers"]}
        request = Request(method=scope["method"], url=self.url, headers=fields)
        response = self.resource.answer(request)
        if response.status == 200:
            await self.app(scope, receive, send)
            return
        headers = [(name.encode(), value.encode()) for name, value in response.headers.items()]
        await send({"type": "http.response.start", "status": response.status, "headers": headers})
        await send({"type": "http.response.body", "body": response.body})

    @property
    def server(self) -> AuthorizationServer:
        return self.resource.servers[0]

    @property
    def resource(self) -> Resource:
        """Return the MCP server as a protected resource."""
        (found,) = (part for part in self.hosted.parts if isinstance(part, Resource))
        return found


@asynccontextmanager
async def serve_guarded(
    revision: str,
    setup: Mapping[str, Any] | None = None,
    resource: Mapping[str, Any] | None = None,
) -> AsyncGenerator[GuardedServer, None]:
    """Serve the tool `echo`; `setup` and `resource` are fields of `Setup` and `ResourceSetup`."""
    app = app_of(tools(revision, echo))
    guard = GuardedServer(app)
    async with run_app(guard, lifespan="off") as port:
        guard.hosted.origin = f"http://127.0.0.1:{port}"
        guard.url = f"{guard.hosted.origin}/mcp"
        server = AuthorizationServer(issuer=f"{guard.hosted.origin}/login", **(setup or {}))
        guard.hosted.parts += [server, Resource([server], url=guard.url, **(resource or {}))]
        try:
            yield guard
        finally:
            await app.close()
