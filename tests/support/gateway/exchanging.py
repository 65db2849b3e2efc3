"""A token endpoint that exchanges tokens, and servers behind a gateway that want these tokens."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from mcp_protogen.runtime.features.auth.client.values import ClientInformation
from mcp_protogen.runtime.features.auth.steps import Fetch, Fetched
from mcp_protogen.servers.gateway.access.credentials import TokenExchange
from mcp_protogen.servers.gateway.gateway import Gateway
from mcp_protogen.servers.gateway.settings.settings import ExchangeSettings
from support.auth.guarding import GUARD, TOKENS, authentication
from support.auth.issuing import Clock
from support.auth.playing import document, form_sent
from support.gateway.gateways import behind, gateway_settings
from support.http.serving import Site, app_of, run_own_app, serving
from support.sessions.talking import pkg
from support.toolkit.mounting import app, only

ENDPOINT: Final = "https://login.example.com/token"
SECRET: Final = "the-secret-of-the-gateway"
EXCHANGE: Final = ExchangeSettings(
    exchange=ENDPOINT,
    audience="https://api.example.com",
    scopes=frozenset({"api"}),
    client=ClientInformation(client_id="gateway", client_secret=SECRET),
)


@dataclass
class TokenEndpoint:
    """A token endpoint; tokens that it issues name the token that they are for."""

    clock: Clock = field(default_factory=Clock)
    lifetime: float | None = 600.0
    answer: Fetched | None = None
    """What is answered in place of a token."""
    failure: Exception | None = None
    gate: asyncio.Event | None = None
    """What answers wait for."""
    asked: list[Fetch] = field(default_factory=list[Fetch])
    owners: dict[str, str] = field(default_factory=dict[str, str])
    """The tokens that are valid, each with the token of a client that it was issued for."""

    async def __call__(self, request: Fetch) -> Fetched:
        self.asked.append(request)
        token = f"issued-{len(self.asked)}"
        if self.gate is not None:
            await self.gate.wait()
        if self.failure is not None:
            raise self.failure
        if self.answer is not None:
            return self.answer
        subject = form_sent(request)["subject_token"]
        self.owners[token] = subject
        lasting = {} if self.lifetime is None else {"expires_in": self.lifetime}
        kind = "urn:ietf:params:oauth:token-type:access_token"
        members = {"access_token": token, "token_type": "Bearer", "issued_token_type": kind}
        return document({**members, **lasting})

    async def verify(self, token: str) -> pkg.Principal | None:
        owner = self.owners.get(token)
        return None if owner is None else pkg.Principal(TOKENS[owner].id)


class Watched:
    """An application that notes the header fields of its requests, and can refuse all tokens."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self.seen: list[str] = []
        self.refuses = 0
        """The status of its refusals."""
        self.verbs = {"GET", "POST", "DELETE"}
        """The requests that are refused then."""
        self.refused: list[str] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        fields = {name.decode(): value.decode() for name, value in scope["headers"]}
        self.seen += [f"{name}: {value}" for name, value in fields.items()]
        if not self.refuses or scope["method"] not in self.verbs:
            await self.app(scope, receive, send)
            return
        self.refused.append(scope["method"])
        # Some servers repeat what they were sent.
        body = f"no {fields.get('authorization')}".encode()
        headers = [(b"content-type", b"text/plain"), (b"www-authenticate", b"Bearer")]
        headers.append((b"content-length", str(len(body)).encode()))
        await send({"type": "http.response.start", "status": self.refuses, "headers": headers})
        await send({"type": "http.response.body", "body": body})


@dataclass
class Exchanging:
    """A gateway whose server `up` wants exchanged tokens."""

    endpoint: TokenEndpoint
    server: Watched
    site: Site
    gateway: Gateway

    def front_of(self, revision: str) -> Any:
        """Return the server that clients of a revision see."""
        (front,) = (made for made in self.gateway.fronts if made.TABLE.revision == revision)
        return front


@asynccontextmanager
async def exchanging(server: Any, **options: Any) -> AsyncGenerator[Exchanging, None]:
    """Serve a gateway over HTTP, with a server over HTTP behind it."""
    endpoint = TokenEndpoint()
    inner = app_of(server, authentication=authentication(verify=endpoint.verify))
    watched = Watched(inner)
    async with run_own_app(inner, watched) as port:
        open_as = partial(_open_as, f"http://127.0.0.1:{port}/mcp")
        settings = behind("up", token_exchange=EXCHANGE, open_as=open_as, **options)
        gateway = Gateway(gateway_settings(settings), pkg)
        exchange = gateway.upstreams["up"].users
        assert isinstance(exchange, TokenExchange)
        exchange.fetch, exchange.clock = endpoint, endpoint.clock
        async with serving(gateway.fronts, authentication=GUARD) as site:
            yield Exchanging(endpoint, watched, site, gateway)


def _open_as(url: str, user: Any) -> Any:
    return pkg.open_http(url, auth=user)


def credential_server(revision: str) -> Any:
    """Return a server with a tool that returns the credential of its request."""
    made = only(app(revision, "telling"))

    async def tell(session: Any) -> str:
        return str(session.http_request.headers["authorization"])

    tell.__annotations__["session"] = pkg.load(revision).Session
    made.add_tool(tell)
    return made
