"""Attacks of servers, pages and strangers on our client, over real sockets.

Each attack wants something: a code, a token, a request to an inner service, a page in the browser
of the user.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2
import pytest
from support.auth.authorization_server import AuthorizationServer
from support.auth.browsing import Browser, User
from support.auth.hosting import authorization_server, host_parts
from support.auth.messages import Request, Response, redirect_to
from support.auth.town import APP, Town, town
from support.sessions.talking import pkg
from support.tables import case

ADVERTISED = "authorization_response_iss_parameter_supported"
HOSTED = pkg.FetchPolicy(loopback=False, trusted_hosts=frozenset({"localhost"}))
"""What a program on the web allows, which trusts nothing but the servers of the test."""


def query_params(page: str) -> dict[str, str]:
    """Return the parameters of an authorization request."""
    return {name: value[0] for name, value in parse_qs(urlsplit(page).query).items()}


async def follow_page(page: str, callback: str) -> str:
    """Return the page a user who agrees is redirected to; it is not opened."""
    return (await asyncio.to_thread(Browser().open, page, callback)).url


class Meddled(User):
    """A user whose browser is redirected elsewhere than the authorization server says."""

    def __init__(self, **parameters: str | None) -> None:
        super().__init__()
        self.parameters = parameters

    async def open(self, url: str) -> bool:
        self.pages.append(url)
        callback = query_params(url)["redirect_uri"]
        back = query_params(await follow_page(url, callback))
        given = {**back, **self.parameters}
        changed = {name: value for name, value in given.items() if value is not None}
        async with httpx2.AsyncClient(trust_env=False, verify=False) as browser:
            self.status = (await browser.get(callback, params=changed)).status_code
        return True


@asynccontextmanager
async def two_servers(**lies: Any) -> AsyncGenerator[tuple[Town, AuthorizationServer], None]:
    """Return a resource whose evil authorization server sends its users to an honest one.

    The client has the same id there.
    """
    async with authorization_server(clients=(APP,)) as honest:
        metadata = {"authorization_endpoint": honest.url("authorize"), **lies}
        behaviour = {"metadata": metadata, "registered": {"client_id": APP.client_id}}
        async with town(behaviour) as at:
            yield at, honest


@pytest.mark.shows("IS-02", "IS-04", "GE-06")
async def test_a_code_of_an_honest_server_does_not_go_to_an_evil_one() -> None:
    for advertised in (True, None):
        with case(advertised):
            async with two_servers(**{ADVERTISED: advertised}) as (at, honest):
                await at.refuse_post()
                # The user agreed at the honest server.
                assert len(honest.codes) == 1
                assert not at.server.requests_to("token")


@pytest.mark.shows("PK-02", "GE-06")
async def test_a_code_that_somebody_else_got_is_of_no_use() -> None:
    async with town() as at:
        # The attacker has a code of their own, for the victim's client.
        mine = {
            "response_type": "code",
            "client_id": "app",
            "code_challenge": "c" * 43,
            "code_challenge_method": "S256",
            "state": "s" * 16,
            "resource": at.resource.url,
            "redirect_uri": "http://127.0.0.1:9/callback",
        }
        page = f"{at.server.url('authorize')}?{urlencode(mine)}"
        code = query_params(await follow_page(page, mine["redirect_uri"]))["code"]
        at.user = Meddled(code=code)
        error = await at.refuse_post(client=pkg.ClientInformation(client_id="app"))
        assert isinstance(error, pkg.OAuthError)
        assert error.error == "invalid_grant"
        assert not at.resource.accepted


def inner_names(port: int) -> list[str]:
    """Names of an inner service that try to get past a check."""
    hosts = ("127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0.0.0.0")
    more = ("[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "ip6-localhost", "localhost.", "127.0.0.1.")
    return [f"http://{host}:{port}" for host in (*hosts, *more)]


@pytest.mark.shows("SF-01", "SF-02", "SF-03")
async def test_no_document_sends_a_client_on_the_web_to_an_inner_service() -> None:
    async with town(host="localhost") as at:
        secret = at.inner.origin
        places: list[tuple[dict[str, Any], dict[str, Any]]] = []
        for name in inner_names(urlsplit(secret).port or 0):
            if "localhost." not in name:
                places.append(({}, {"challenge": {"resource_metadata": f"{name}/metadata"}}))
            places.append(({}, {"document": {"authorization_servers": [name]}}))
            for member in ("token_endpoint", "registration_endpoint"):
                places.append(({"metadata": {member: f"{name}/secret"}}, {}))
        for url in ("file:///etc/passwd", "gopher://127.0.0.1:6379/_FLUSHALL", "http:///x", "//x"):
            places.append(({"metadata": {"token_endpoint": url}}, {}))
            places.append(({}, {"document": {"authorization_servers": [url]}}))
        for behaviour, resource in places:
            with case((behaviour, resource)):
                at.server.behave(**{"metadata": {}, **behaviour})
                at.resource.change(**{"document": {}, "challenge": {}, **resource})
                try:
                    answer = await at.post(fetch_policy=HOSTED)
                except pkg.AuthorizationError:
                    assert not at.resource.accepted
                else:
                    # An unavailable document may be skipped: it is elsewhere, too.
                    assert "challenge" in resource
                    assert answer.status_code == 200
                    at.resource.accepted.clear()
                assert not at.reached
        # A program of the machine's user may ask what listens there.
        at.resource.change(document={"authorization_servers": [secret]}, challenge={})
        await at.refuse_post()
        assert at.reached


@pytest.mark.shows("SF-03")
async def test_no_redirect_sends_a_client_on_the_web_to_an_inner_service() -> None:
    async with town(host="localhost") as at:
        for name in inner_names(urlsplit(at.inner.origin).port or 0):
            if "localhost." in name:
                # That name is trusted.
                continue
            for endpoint in ("metadata", "register", "token"):
                with case((name, endpoint)):
                    at.server.behave(instead={endpoint: redirect_to(f"{name}/secret")})
                    await at.refuse_post(fetch_policy=HOSTED)
                    assert not at.reached


class Redirecting:
    """An MCP server that accepts a token, and then redirects with it."""

    def __init__(self, resource: Any, status: int, location: str) -> None:
        self.resource = resource
        self.status = status
        self.location = location

    def stalls(self, request: Request) -> bool:
        return False

    def answer(self, request: Request) -> Response:
        answer: Response = self.resource.answer(request)
        if answer.status == 200 and request.url == self.resource.url:
            return Response(status=self.status, headers={"location": self.location})
        return answer


@pytest.mark.shows("TK-01", "TK-02")
async def test_a_token_does_not_follow_a_redirect_to_another_server() -> None:
    async with town() as at, host_parts() as front:
        for status in (301, 302, 303, 307, 308):
            with case(status):
                at.resource.change(url=f"{front.origin}/mcp")
                elsewhere = f"{at.inner.origin}/mcp"
                front.parts[:] = [Redirecting(at.resource, status, elsewhere)]
                agent = pkg.LoopbackReceiver(open=at.user.open)
                oauth = pkg.OAuth(user_agent=agent)
                with pytest.raises(pkg.HttpError):
                    async with pkg.connect_http(at.resource.url, auth=oauth):
                        pass
                assert not [request for request in at.reached if "authorization" in request.headers]
                assert at.resource.accepted
                assert not [
                    request for request in at.resource.requests if "access_token" in request.url
                ]


async def test_server_text_cannot_control_terminal() -> None:
    nasty = "\x1b[2J\x1b]0;owned\x07\r\nINFO all is well\u202e\x9b31m"
    async with town() as at:
        body = Response(
            status=400,
            headers={"content-type": "application/json"},
            body=('{"error":"invalid_grant","error_description":' + _quote(nasty) + "}").encode(),
        )
        at.server.behave(instead={"token": body})
        assert str(await at.refuse_post()).isprintable()
        at.server.behave(
            instead={},
            redirected={"code": None, "error": "access_denied", "error_description": nasty},
        )
        assert str(await at.refuse_post()).isprintable()


def _quote(text: str) -> str:
    return '"' + "".join(f"\\u{ord(char):04x}" for char in text) + '"'
