"""What authorizes the requests to one server, against servers without sockets."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx2
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


async def test_what_another_origin_answers_gets_nobody_to_log_in() -> None:
    site = Site(dpop=DPoP())
    assert await site.call() == 200
    other = "https://evil.example/mcp"
    challenge = 'Bearer resource_metadata="https://evil.example/metadata"'
    answer = _values({"www-authenticate": challenge, "dpop-nonce": "theirs"})
    assert site.authorizer.headers("POST", other) == {}
    assert not site.authorizer.refuses(Exchange("POST", other, {}, 401, answer))
    forbidden = _values({"www-authenticate": 'Bearer error="insufficient_scope"'})
    assert not site.authorizer.refuses(Exchange("POST", other, {}, 403, forbidden))


async def test_a_redirect_to_another_origin_gets_nobody_to_log_in() -> None:
    other = "https://evil.example/mcp"
    challenge = 'Bearer resource_metadata="https://evil.example/metadata"'
    sent: list[str] = []

    def answered(request: httpx2.Request) -> httpx2.Response:
        sent.append(str(request.url))
        if sent[-1] == URL:
            return httpx2.Response(307, headers={"location": other})
        return httpx2.Response(401, headers={"www-authenticate": challenge})

    transport = httpx2.MockTransport(answered)
    async with httpx2.AsyncClient(transport=transport, follow_redirects=True) as http:
        auth = OAuth(http=http).httpx_auth(URL)
        assert (await http.post(URL, auth=auth)).status_code == 401
    assert sent == [URL, other]


def test_what_authorized_a_request_is_not_shown() -> None:
    fields = {"authorization": "Bearer of-the-user"}
    exchange = Exchange("POST", URL, fields, 401, _values({}), b"of-the-user")
    assert "of-the-user" not in repr(exchange)
