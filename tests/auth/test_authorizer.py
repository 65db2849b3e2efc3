"""What authorizes the requests to one server, against servers without sockets."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp_protogen.runtime.auth.client.authorizer import ResourceAuthorizer
from mcp_protogen.runtime.auth.client.oauth import OAuth
from mcp_protogen.runtime.auth.client.steps import (
    AuthorizationRequest,
    AuthorizationResponse,
    Fetch,
    Fetched,
)
from mcp_protogen.runtime.auth.dpop import DPoP
from mcp_protogen.runtime.auth.errors import AuthorizationError
from mcp_protogen.runtime.http.client.authorization import Exchange
from support.auth.authorization_server import AuthorizationServer
from support.auth.behaviour import Behaviour
from support.auth.resource import Resource
from support.auth.token_requests import NOW, REDIRECT_URI
from support.auth.world import World

URL = "https://mcp.example.com/mcp"


class Site:
    """A resource, its authorization server, and a user who agrees to everything."""

    redirect_uri = REDIRECT_URI

    def __init__(self, behaviour: Behaviour | None = None, **settings: Any) -> None:
        self.server = AuthorizationServer(behaviour=behaviour or Behaviour())
        self.resource = Resource([self.server])
        self.world = World(self.server, self.resource)
        self.now = NOW
        self.opened: Callable[[], Any] | None = None
        """Called when the user is to open a page."""
        self.fetched: Callable[[Fetch], Any] | None = None
        """Awaited before each request of a flow."""
        oauth = OAuth(user_agent=self, clock=lambda: self.now, **settings)
        self.authorizer = ResourceAuthorizer(oauth, oauth, self._fetch, URL)

    @asynccontextmanager
    async def redirection(self, registered: Sequence[str]) -> AsyncGenerator["Site", None]:
        yield self

    async def response(self, request: AuthorizationRequest) -> AuthorizationResponse:
        if self.opened is not None:
            await self.opened()
        answer = self.world(request)
        assert isinstance(answer, AuthorizationResponse)
        return answer

    async def _fetch(self, request: Fetch) -> Fetched:
        if self.fetched is not None:
            await self.fetched(request)
        answer = self.world(request)
        assert isinstance(answer, Fetched)
        return answer

    async def call(self) -> int:
        """Post to the resource until there is nothing more to do; the last status."""
        exchanges: list[Exchange] = []
        while True:
            fields = self.authorizer.headers("POST", URL)
            if fields is None:
                await self.authorizer.prepare()
                fields = self.authorizer.headers("POST", URL) or {}
            answer = self.world.call(self.resource, fields)
            exchange = Exchange("POST", URL, fields, answer.status, _values(answer.headers))
            exchanges.append(exchange)
            if not self.authorizer.refuses(exchange) or not await self.authorizer.again(exchanges):
                return answer.status


def _values(headers: Any) -> Callable[[str], Sequence[str]]:
    return lambda name: [headers[name]] if name in headers else []


async def test_a_token_that_lasts_a_few_seconds_is_used_and_refreshed() -> None:
    site = Site(Behaviour(lifetime=20))
    assert await site.call() == 200
    site.now += 25
    assert await site.call() == 200
    assert len(site.server.asked("authorize")) == 1
