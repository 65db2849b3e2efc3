"""A resource, an authorization server and others on real sockets, and a visiting client."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import httpx2
import pytest
from support.auth.authorization_server import AuthorizationServer, Behaviour, Client
from support.auth.browsing import User
from support.auth.hosting import Hosted, host_parts
from support.auth.messages import Request
from support.auth.resource import Resource
from support.sessions.talking import pkg

APP: Final = Client(client_id="app", redirect_uris=("http://127.0.0.1/callback",))


@dataclass
class Town:
    """A resource, an authorization server, and an inner service that must not be reached."""

    resource: Resource
    server: AuthorizationServer
    inner: Hosted
    user: User = field(default_factory=User)

    @property
    def reached(self) -> list[Request]:
        return self.inner.requests

    async def post(self, **chosen: Any) -> httpx2.Response:
        """Post to the resource with a client that has no token yet."""
        agent = pkg.LoopbackReceiver(open=self.user.open, timeout=10)
        oauth = pkg.OAuth(user_agent=agent, **chosen)
        async with httpx2.AsyncClient(
            auth=oauth.httpx_auth(self.resource.url), trust_env=False, verify=False
        ) as client:
            return await client.post(self.resource.url, json={})

    async def refuse_post(self, **chosen: Any) -> Exception:
        """Post to the resource, and return the expected error."""
        with pytest.raises(pkg.AuthorizationError) as refused:
            await self.post(**chosen)
        return refused.value


@asynccontextmanager
async def town(
    behaviour: Mapping[str, Any] | None = None,
    host: str = "127.0.0.1",
    scopes: Sequence[str] = ("read", "write", "offline_access"),
    **resource: Any,
) -> AsyncGenerator[Town, None]:
    """Serve each on its own port; `host` names the first two."""
    async with AsyncExitStack() as stack:
        hosts = [await stack.enter_async_context(host_parts()) for _ in range(3)]
        for moved_host in hosts[:2]:
            moved_host.origin = moved_host.origin.replace("127.0.0.1", host)
        server = AuthorizationServer(
            issuer=hosts[0].origin,
            clients=(APP,),
            behaviour=Behaviour(**(behaviour or {})),
            scopes=scopes,
        )
        found = Resource([server], url=f"{hosts[1].origin}/mcp", **resource)
        hosts[0].parts.append(server)
        hosts[1].parts.append(found)
        yield Town(found, server, hosts[2])
