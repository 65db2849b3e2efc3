"""A server behind a gateway at which each user logs in, and the browsers of users."""

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from html import unescape
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2
from mcp_protogen.runtime.features.auth.steps import Fetch, Fetched
from mcp_protogen.servers.gateway.gateway import Gateway
from mcp_protogen.servers.gateway.logins.server_logins import ServerLogins
from mcp_protogen.servers.gateway.logins.waiting import WaitingLogins
from mcp_protogen.servers.gateway.settings.settings import (
    AuthSettings,
    GatewaySettings,
    LoginSettings,
)
from support.auth.authorization_server import AuthorizationServer
from support.auth.guarding import GUARD, authentication
from support.auth.issuing import Clock
from support.auth.messages import Request
from support.auth.resource import Resource
from support.auth.world import World
from support.gateway.exchanging import Watched
from support.gateway.gateways import behind, gateway_settings
from support.http.serving import Site, app_of, run_own_app, serving
from support.sessions.talking import pkg

ORIGIN: Final = "https://mcp.example.com"
AUTH: Final = AuthSettings(issuer="https://issuer.example.com", audience=f"{ORIGIN}/mcp")


@dataclass
class LoggingIn:
    """A gateway whose server `up` wants logins of users."""

    issuer: AuthorizationServer
    world: World
    server: Watched
    settings: GatewaySettings
    gateway: Gateway = field(init=False)
    site: Site = field(init=False)

    @property
    def clock(self) -> Clock:
        clock = self.issuer.now
        assert isinstance(clock, Clock)
        return clock

    @property
    def logins(self) -> ServerLogins:
        found = self.gateway.upstreams["up"].users
        assert isinstance(found, ServerLogins)
        return found

    @property
    def waiting(self) -> WaitingLogins:
        assert self.gateway.logins is not None
        return self.gateway.logins.waiting

    def serve_again(self) -> AbstractAsyncContextManager["LoggingIn"]:
        """Serve another gateway with the same settings."""
        return _serving(replace(self))

    def browser(self) -> "Browser":
        return Browser(self)


@dataclass
class Browser:
    """The browser of a user, with cookies."""

    made: LoggingIn
    cookies: dict[str, str] = field(default_factory=dict[str, str])

    async def open(self, link: str) -> httpx2.Response:
        return await self._send("GET", link)

    async def press_button(self, link: str, origin: str = ORIGIN) -> httpx2.Response:
        """Send the form of the page that a link leads to."""
        page, _, id = unescape(link).partition("?id=")
        fields = {"origin": origin, "content-type": "application/x-www-form-urlencoded"}
        return await self._send("POST", page, fields, f"id={id}")

    def agree(self, page: str) -> str:
        """Log in at the authorization server; return the redirect."""
        return self.made.world.respond(Request(url=page)).headers["location"]

    async def log_in(self, link: str) -> httpx2.Response:
        """Do all that a user does; return the last page."""
        assert (await self.open(link)).status_code == 200
        pressed = await self.press_button(link)
        return await self.open(self.agree(pressed.headers["location"]))

    async def _send(
        self, verb: str, url: str, fields: dict[str, str] | None = None, body: str = ""
    ) -> httpx2.Response:
        assert url.startswith(ORIGIN), url
        parts = urlsplit(url)
        cookies = {"cookie": "; ".join(f"{name}={text}" for name, text in self.cookies.items())}
        response = await self.made.site.http.request(
            verb,
            f"{parts.path}?{parts.query}",
            headers={"host": parts.netloc, **cookies, **(fields or {})},
            content=body.encode(),
        )
        for cookie in response.headers.get_list("set-cookie"):
            name, _, text = cookie.partition(";")[0].partition("=")
            self.cookies[name] = text
        return response


@asynccontextmanager
async def logging_in(server: Any, **of_gateway: Any) -> AsyncGenerator[LoggingIn, None]:
    """Serve a gateway over HTTP, with a server over HTTP behind it that takes logins."""
    issuer = AuthorizationServer(clock=Clock())
    inner = app_of(server, authentication=authentication(verify=partial(_verify, issuer)))
    watched = Watched(inner)
    async with run_own_app(inner, watched) as port:
        url = f"http://127.0.0.1:{port}/mcp"
        world = World(issuer, Resource([issuer], url=url))
        up = behind("up", login=LoginSettings(), open_as=partial(_open_as, url))
        settings = gateway_settings(up, auth=AUTH, **of_gateway)
        async with _serving(LoggingIn(issuer, world, watched, settings)) as made:
            yield made


@asynccontextmanager
async def _serving(made: LoggingIn) -> AsyncGenerator[LoggingIn, None]:
    made.gateway = Gateway(made.settings, pkg)
    made.logins.fetch, made.logins.clock = partial(_fetch, made.world), made.clock
    hosts = ("127.0.0.1", urlsplit(ORIGIN).netloc)
    assert made.gateway.logins is not None
    async with (
        made.gateway.logins.serve(),
        serving(made.gateway.fronts, authentication=GUARD, allowed_hosts=hosts) as site,
    ):
        made.site = site
        yield made


async def _verify(issuer: AuthorizationServer, token: str) -> pkg.Principal | None:
    claims = issuer.tokens.get(token)
    return None if claims is None or claims["exp"] <= issuer.now() else pkg.Principal(token)


async def _fetch(world: World, request: Fetch) -> Fetched:
    fields = {name.lower(): value for name, value in request.headers.items()}
    body = request.body or b""
    sent = Request(method=request.method, url=request.url, headers=fields, body=body)
    return world.respond(sent)


def _open_as(url: str, user: Any) -> Any:
    return pkg.open_http(url, auth=user)
