"""Servers that answer 401 or 403: the client gets an error of the server, never a login."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import product
from typing import Any

import httpx2
import pytest
from support.gateway.gateways import behind, client_at, gateway_settings, serve_gateway
from support.http.serving import Site, run_own_app
from support.json_types import Json, JsonObject
from support.revisions import ERAS, HANDSHAKE
from support.sessions.talking import hello, pkg, request
from support.tables import case
from support.toolkit.mounting import Hearing, only, text_of, weather

CHALLENGE = (
    'Bearer error="invalid_token", scope="all",'
    ' resource_metadata="https://evil.example/.well-known/oauth-protected-resource"'
)
REFUSED = {
    "code": -32603,
    "message": "The server of up refuses the credentials that it was sent",
    "data": {"server": "up", "reason": "unauthorized"},
}
REQUESTS: dict[str, JsonObject] = {
    "tools/call": {"name": "up_forecast", "arguments": {"place": "Rome"}},
    "prompts/get": {"name": "up_pack", "arguments": {"place": "Rome"}},
    "resources/read": {"uri": "data://up/now"},
    "completion/complete": {
        "ref": {"type": "ref/resource", "uri": "data://up/{place}"},
        "argument": {"name": "place", "value": "R"},
    },
}
LISTS = ("tools", "prompts", "resources")
FOLLOWED = "data://up/now"


class Refusing:
    """An application that refuses requests with a status, while it has one."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self.status = 0
        self.body = b""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or not self.status:
            await self.app(scope, receive, send)
            return
        headers = [
            (b"www-authenticate", CHALLENGE.encode()),
            (b"content-type", b"application/json"),
            (b"content-length", str(len(self.body)).encode()),
        ]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.body})


@asynccontextmanager
async def refusing(revision: str) -> AsyncGenerator[tuple[Refusing, Site], None]:
    """Serve a gateway without tokens, with such a server behind it."""
    inner = only(weather(revision)).http()
    guard = Refusing(inner)
    async with run_own_app(inner, guard) as port:
        opener = pkg.open_http(f"http://127.0.0.1:{port}/mcp")
        async with serve_gateway(gateway_settings(behind("up", opener))) as site:
            yield guard, site


class Caller:
    """A client of a gateway that sees the responses, which must not be refusals."""

    def __init__(self, site: Site, revision: str) -> None:
        self.site, self.revision = site, revision
        self.session: Any = None

    async def ask(self, method: str, **params: Any) -> Json:
        """Return the answer to a request."""
        if self.revision in HANDSHAKE:
            self.session = self.session or await self.site.initialize(self.revision)
            response = await self.session.post(request(method, 1, **params))
        else:
            response = await self.site.modern(method, **params)
        assert response.status_code == 200 and "www-authenticate" not in response.headers
        return last_message(response)


def last_message(response: httpx2.Response) -> Json:
    if response.headers["content-type"] == "application/json":
        return response.json()
    *_, last = (line for line in response.text.splitlines() if line.startswith("data: {"))
    return json.loads(last.removeprefix("data: "))


async def test_refused_request_is_an_error_of_the_server_and_no_refusal_of_the_gateway() -> None:
    for own in ERAS:
        async with refusing(own) as (guard, site):
            # The first connection of a client is refused, then one that is open.
            for spoken, status in product(ERAS, (401, 403)):
                with case((own, spoken, status)):
                    caller, guard.status = Caller(site, spoken), status
                    for method, params in REQUESTS.items():
                        assert (await caller.ask(method, **params))["error"] == REFUSED
                    for kind in LISTS:
                        # Known items stay listed.
                        assert "error" not in await caller.ask(f"{kind}/list")
                    if spoken in HANDSHAKE:
                        assert (await site.post(hello(spoken))).status_code == 200
                        subscribed = await caller.ask("resources/subscribe", uri=FOLLOWED)
                        assert subscribed["error"] == REFUSED
                    guard.status = 0
                    for method in ("tools/call", "resources/read"):
                        assert "error" not in await caller.ask(method, **REQUESTS[method])
                    guard.status = status
                    for method, params in REQUESTS.items():
                        assert (await caller.ask(method, **params))["error"] == REFUSED


async def test_client_that_follows_a_refusing_server_follows_it_later() -> None:
    for own, spoken in product(ERAS, ERAS):
        with case((own, spoken)):
            async with refusing(own) as (guard, site):
                hearing = Hearing(spoken)
                guard.status = 401
                async with client_at(site.url, hearing.client) as one:
                    if spoken in HANDSHAKE:
                        with pytest.raises(pkg.McpError, match="refuses the credentials"):
                            await hearing.client.subscribe(FOLLOWED)
                        guard.status = 0
                    async with hearing.hearing(FOLLOWED):
                        guard.status = 0
                        assert await text_of(one, "up_touch") == "touched"
                        # A listen stream accepts no resource of a server that refuses it.
                        expected = FOLLOWED if spoken in HANDSHAKE else "tool"
                        while expected not in hearing.heard:
                            await asyncio.sleep(0.01)


async def test_message_in_a_refusal_is_an_answer_of_the_server() -> None:
    error = {"code": -32000, "message": "Log in"}
    for own in ERAS:
        async with refusing(own) as (guard, site):
            for spoken in ERAS:
                with case((own, spoken)):
                    caller, guard.status = Caller(site, spoken), 0
                    await caller.ask("tools/call", **REQUESTS["tools/call"])
                    message = {"jsonrpc": "2.0", "id": None, "error": error}
                    guard.status, guard.body = 401, json.dumps(message).encode()
                    answer = await caller.ask("tools/call", **REQUESTS["tools/call"])
                    assert answer["error"] == error
