"""An MCP server with an authorization server, on real sockets."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from support.auth.authorization_server import AuthorizationServer
from support.auth.hosting import Hosted, request_of, send_response
from support.auth.resource import Resource
from support.http.serving import app_of, echo, run_own_app
from support.sessions.talking import tools


class GuardedServer(Hosted):
    """An MCP server, its authorization servers and all their metadata, as one application."""

    def __init__(self, app: Any) -> None:
        super().__init__()
        self.app = app

    @property
    def url(self) -> str:
        return f"{self.origin}/mcp"

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] != "/mcp":
            await super().__call__(scope, receive, send)
            return
        response = self.resource.answer(request_of(scope, self.origin))
        if response.status == 200:
            await self.app(scope, receive, send)
        else:
            await send_response(send, response)

    @property
    def server(self) -> AuthorizationServer:
        return self.resource.servers[0]

    @property
    def resource(self) -> Resource:
        """Return the MCP server as a protected resource."""
        (found,) = (part for part in self.parts if isinstance(part, Resource))
        return found


@asynccontextmanager
async def serve_guarded(
    revision: str,
    setup: Mapping[str, Any] | None = None,
    resource: Mapping[str, Any] | None = None,
) -> AsyncGenerator[GuardedServer, None]:
    """Serve the tool `echo`; `setup` is for the authorization server."""
    app = app_of(tools(revision, echo))
    guard = GuardedServer(app)
    async with run_own_app(app, guard, lifespan="off") as port:
        guard.origin = f"http://127.0.0.1:{port}"
        server = AuthorizationServer(issuer=f"{guard.origin}/login", **(setup or {}))
        guard.parts += [server, Resource([server], url=guard.url, **(resource or {}))]
        yield guard
