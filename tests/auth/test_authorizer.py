"""The authorizer of requests to one server, against servers without sockets."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import httpx2
import pytest
from mcp_protogen.runtime.features.auth.client.authorizer import ResourceAuthorizer
from mcp_protogen.runtime.features.auth.client.grants import WorkloadIdentity
from mcp_protogen.runtime.features.auth.client.oauth import OAuth
from mcp_protogen.runtime.features.auth.client.storage import MemoryStorage
from mcp_protogen.runtime.features.auth.client.values import ClientInformation
from mcp_protogen.runtime.features.auth.dpop import DPoP
from mcp_protogen.runtime.features.auth.errors import AuthorizationError, OAuthError
from mcp_protogen.runtime.features.auth.steps import (
    AuthorizationRequest,
    AuthorizationResponse,
    Fetch,
    Fetched,
)
from mcp_protogen.runtime.http.client.authorization import Exchange
from support.auth.authorization_server import AuthorizationServer, Behaviour
from support.auth.resource import Resource
from support.auth.token_requests import NOW, REDIRECT_URI
from support.auth.world import World
from support.tables import case

URL = "https://mcp.example.com/mcp"


class Site:
    """A resource, its authorization server, and a user who agrees to everything."""

    redirect_uri = REDIRECT_URI

    def __init__(self, behaviour: Behaviour | None = None, **settings: Any) -> None:
        self.server = AuthorizationServer(behaviour=behaviour or Behaviour())
        self.resource = Resource([self.server])
        self.world = World(self.server, self.resource)
        self.now = NOW
        self.opened: Callable[[], Awaitable[None]] | None = None
        """Awaited before the user opens a page."""
        self.fetched: Callable[[Fetch], Awaitable[None]] | None = None
        """Awaited before each answer to a request of a flow."""
        oauth = OAuth(user_agent=self, clock=lambda: self.now, **settings)
        self.authorizer = ResourceAuthorizer(oauth, self._fetch, URL)

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
        answer = self.world(request)
        assert isinstance(answer, Fetched)
        if self.fetched is not None:
            await self.fetched(request)
        return answer

    async def call(self) -> int:
        """Post to the resource until it is done; return the last status."""
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


def _values(headers: Mapping[str, str]) -> Callable[[str], Sequence[str]]:
    return lambda name: [headers[name]] if name in headers else []


async def test_answer_of_another_origin_does_not_start_login() -> None:
    site = Site(dpop=DPoP())
    assert await site.call() == 200
    other = "https://evil.example/mcp"
    challenge = 'Bearer resource_metadata="https://evil.example/metadata"'
    answer = _values({"www-authenticate": challenge, "dpop-nonce": "theirs"})
    assert site.authorizer.headers("POST", other) == {}
    assert not site.authorizer.refuses(Exchange("POST", other, {}, 401, answer))
    forbidden = _values({"www-authenticate": 'Bearer error="insufficient_scope"'})
    assert not site.authorizer.refuses(Exchange("POST", other, {}, 403, forbidden))


def answers(number: int, status: int, challenge: str, **fields: str) -> list[Exchange]:
    """Return several answers to one request, each with the same challenge."""
    values = _values({"www-authenticate": challenge, "dpop-nonce": "n"})
    return [Exchange("POST", URL, fields, status, values) for _ in range(number)]


async def test_request_is_sent_again_up_to_the_limits() -> None:
    site = Site(dpop=DPoP())
    assert await site.call() == 200
    # Another request has got a token meanwhile, so there is no login.
    old, proof = "DPoP old", "proof"
    nonce = 'DPoP error="use_dpop_nonce"'
    scopes = 'DPoP error="insufficient_scope", scope="read"'
    first = answers(1, 401, "DPoP")
    rows: list[tuple[str, list[Exchange], bool]] = [
        ("9 answers", answers(9, 403, scopes, authorization=old), True),
        ("10 answers", answers(10, 403, scopes, authorization=old), False),
        ("2 nonces", answers(2, 401, nonce, authorization=old, dpop=proof), True),
        ("3 nonces", answers(3, 401, nonce, authorization=old, dpop=proof), False),
        ("2 tokens", answers(2, 401, "DPoP", authorization=old), True),
        ("3 tokens", answers(3, 401, "DPoP", authorization=old), False),
        ("the first token", first, True),
        ("2 tokens, none at first", first + answers(1, 401, "DPoP", authorization=old), False),
    ]
    for name, exchanges, again in rows:
        with case(name):
            assert await site.authorizer.again(exchanges) is again


async def test_a_redirect_to_another_origin_gets_nobody_to_log_in() -> None:
    other = "https://evil.example/mcp"
    challenge = 'Bearer resource_metadata="https://evil.example/metadata"'
    sent: list[str] = []

    def respond(request: httpx2.Request) -> httpx2.Response:
        sent.append(str(request.url))
        if sent[-1] == URL:
            return httpx2.Response(307, headers={"location": other})
        return httpx2.Response(401, headers={"www-authenticate": challenge})

    transport = httpx2.MockTransport(respond)
    async with httpx2.AsyncClient(transport=transport, follow_redirects=True) as http:
        auth = OAuth(http=http).httpx_auth(URL)
        assert (await http.post(URL, auth=auth)).status_code == 401
    assert sent == [URL, other]


def test_credentials_are_hidden_in_repr() -> None:
    fields = {"authorization": "Bearer of-the-user"}
    exchange = Exchange("POST", URL, fields, 401, _values({}), b"of-the-user")
    assert "of-the-user" not in repr(exchange)


async def test_a_refresh_that_was_sent_is_not_lost_with_the_request_that_needed_it() -> None:
    site = Site()
    assert await site.call() == 200
    sent, go_on = asyncio.Event(), asyncio.Event()

    async def pause_fetch(request: Fetch) -> None:
        if request.method == "POST":
            sent.set()
            await go_on.wait()

    site.fetched = pause_fetch
    site.now += 1000
    call = asyncio.ensure_future(site.call())
    await sent.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    go_on.set()
    assert await site.call() == 200
    assert len(site.server.requests_to("token")) == 2, "the refresh token counts once"


async def test_failure_of_one_operation_does_not_affect_others() -> None:
    opened, go_on = asyncio.Event(), asyncio.Event()

    async def opening() -> None:
        opened.set()
        await go_on.wait()
        raise OSError("no browser")

    site = Site()
    assert await site.call() == 200
    site.opened = opening
    scopes = _values({"www-authenticate": 'Bearer error="insufficient_scope", scope="write"'})
    fields = site.authorizer.headers("POST", URL) or {}
    refused = Exchange("POST", URL, fields, 403, scopes)
    stepping_up = asyncio.ensure_future(site.authorizer.again([refused]))
    await opened.wait()
    preparing = asyncio.ensure_future(site.authorizer.prepare())
    await asyncio.sleep(0)
    go_on.set()
    with pytest.raises(OSError, match="no browser"):
        await stepping_up
    await preparing


@pytest.mark.shows("SC-10")
async def test_a_user_who_refuses_more_scopes_is_not_asked_without_end() -> None:
    asked = 0

    async def refusing() -> None:
        nonlocal asked
        asked += 1
        raise OAuthError("access_denied")

    site = Site()
    assert await site.call() == 200
    site.opened = refusing
    scopes = _values({"www-authenticate": 'Bearer error="insufficient_scope", scope="write"'})
    for _ in range(10):
        fields = site.authorizer.headers("POST", URL) or {}
        with pytest.raises(AuthorizationError):
            await site.authorizer.again([Exchange("POST", URL, fields, 403, scopes)])
    assert asked == 3


async def test_a_client_whose_user_refuses_stays_registered() -> None:
    async def refusing() -> None:
        raise OAuthError("access_denied")

    storage = MemoryStorage()
    site = Site(storage=storage)
    site.opened = refusing
    for _ in range(2):
        with pytest.raises(OAuthError):
            await site.call()
    assert len(site.server.requests_to("register")) == 1
    again = Site(storage=storage)
    again.server, again.resource, again.world = site.server, site.resource, site.world
    assert await again.call() == 200
    assert len(site.server.requests_to("register")) == 1


async def test_a_user_who_refuses_takes_no_tokens_from_another_process() -> None:
    storage = MemoryStorage()
    one, other, later = (Site(storage=storage) for _ in range(3))
    other.server, other.resource, other.world = one.server, one.resource, one.world
    later.server, later.resource, later.world = one.server, one.resource, one.world

    async def refusing_when_the_other_is_there() -> None:
        assert await other.call() == 200
        raise OAuthError("access_denied")

    one.opened = refusing_when_the_other_is_there
    with pytest.raises(OAuthError):
        await one.call()
    assert await later.call() == 200
    assert len(one.server.requests_to("token")) == 1


@pytest.mark.shows("RE-15", "RE-16")
def test_a_secret_is_for_one_server_unless_it_is_said_who_may_see_it() -> None:
    client = ClientInformation(client_id="c", client_secret="s")
    static = WorkloadIdentity(assertion="of the platform")
    unsafe: tuple[dict[str, Any], ...] = ({"client": client}, {"grant": static})
    for settings in unsafe:
        with case(settings):
            oauth = OAuth(**settings)
            oauth.authorizer(URL)
            oauth.authorizer("https://mcp.example.com:443/other")
            with pytest.raises(ValueError, match="issuer"):
                oauth.authorizer("https://evil.example/mcp")
    safe: tuple[dict[str, Any], ...] = (
        {},
        {"client": replace(client, issuer="https://login.example.com")},
        {"client": client, "issuer": "https://login.example.com"},
        {"client": replace(client, client_secret=None)},
        {"grant": WorkloadIdentity(assertion=lambda audience: f"for {audience}")},
    )
    for settings in safe:
        with case(settings):
            oauth = OAuth(**settings)
            assert oauth.authorizer(URL) is oauth.authorizer(URL)
            oauth.authorizer("https://second.example/mcp")


async def test_a_server_that_takes_no_token_has_its_user_log_in_once() -> None:
    site = Site(Behaviour(claims={"aud": "https://other.example"}))
    assert await site.call() == 401
    assert len(site.server.requests_to("authorize")) == 1


async def test_a_timeout_inside_of_a_login_starts_no_second_login() -> None:
    site = Site()
    assert await site.call() == 200
    calls: list[asyncio.Task[int]] = []

    async def pause_fetch(request: Fetch) -> None:
        # A timeout does this until its block ends, in this project and in libraries.
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            calls.append(asyncio.create_task(site.call()))
            for _ in range(3):
                await asyncio.sleep(0)
        assert task.uncancel() == 0
        site.fetched = None

    site.fetched = pause_fetch
    site.server.tokens.clear()
    assert await site.call() == 200
    assert await asyncio.gather(*calls) == [200]
    assert len(site.server.requests_to("token")) == 2
