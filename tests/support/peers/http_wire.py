"""A proxy between a client and a server over HTTP that records traffic and can break a stream."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final

import httpx2
from support.http.serving import run_app
from support.json_types import Json

# In these messages, only the method is written so.
_METHOD: Final = re.compile(rb'"method":\s*"([^"]+)"')
_LIMITS: Final = httpx2.Limits(max_connections=None, max_keepalive_connections=0)


@dataclass
class Exchange:
    verb: str
    path: str
    asked: dict[str, str]
    body: bytes
    status: int | None = None
    """None if the connection ended before."""
    answered: dict[str, str] = field(default_factory=dict[str, str])
    answer: bytes = b""

    @property
    def message(self) -> Json:
        return json.loads(self.body)

    @property
    def method(self) -> str | None:
        """Return the method of the posted message, if it has one."""
        found = _METHOD.search(self.body)
        return None if found is None else found[1].decode()


class Wire:
    """The proxy as an ASGI application; it breaks the first response with the text `cut_after`."""

    def __init__(self, http: httpx2.AsyncClient, cut_after: bytes | None = None) -> None:
        self.port = 0
        self.cuts = 0
        self.exchanges: list[Exchange] = []
        self._http = http
        self._cut_after = cut_after

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        assert scope["type"] == "http"
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        query = b"?" * bool(scope["query_string"]) + scope["query_string"]
        path = (scope["raw_path"] + query).decode()
        exchange = Exchange(scope["method"], path, _fields(scope["headers"]), body)
        self.exchanges.append(exchange)
        passing = asyncio.create_task(self._pass_on(exchange, scope["headers"], send))
        ending = asyncio.create_task(receive())
        await asyncio.wait({passing, ending}, return_when=asyncio.FIRST_COMPLETED)
        for task in (passing, ending):
            task.cancel()
        await asyncio.gather(passing, ending, return_exceptions=True)

    async def _pass_on(self, exchange: Exchange, headers: Any, send: Any) -> None:
        """Pass on a request and its response, whose end is missing if it breaks."""
        request = self._http.build_request(
            exchange.verb, exchange.path, headers=headers, content=exchange.body
        )
        # Its client sees that the server broke off.
        with suppress(httpx2.TransportError):
            response = await self._http.send(request, stream=True)
            try:
                kept = [pair for pair in response.headers.raw if pair[0] != b"transfer-encoding"]
                exchange.status, exchange.answered = response.status_code, _fields(kept)
                await send(
                    {"type": "http.response.start", "status": exchange.status, "headers": kept}
                )
                async for piece in response.aiter_raw():
                    exchange.answer += piece
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
                    if self._cut_after and not self.cuts and self._cut_after in exchange.answer:
                        self.cuts += 1
                        return
                await send({"type": "http.response.body"})
            finally:
                await response.aclose()

    def posts_of(self, method: str) -> list[Exchange]:
        return [exchange for exchange in self.exchanges if exchange.method == method]

    def verbs(self, verb: str) -> list[Exchange]:
        return [exchange for exchange in self.exchanges if exchange.verb == verb]

    def versions(self) -> set[str | None]:
        """Return the revisions in header fields, except those of `initialize`."""
        openings = self.posts_of("initialize")
        return {
            exchange.asked.get("mcp-protocol-version")
            for exchange in self.exchanges
            if exchange not in openings
        }


def _fields(headers: Any) -> dict[str, str]:
    return {name.decode().lower(): value.decode("latin-1") for name, value in headers}


def run_proxy(app: Any) -> AbstractAsyncContextManager[int]:
    """Run an application whose open responses end with it."""
    return run_app(app, lifespan="off", timeout_graceful_shutdown=0)


@asynccontextmanager
async def wire_app(port: int, cut_after: bytes | None = None) -> AsyncGenerator[Wire, None]:
    """Yield a proxy to a local port as an application."""
    async with httpx2.AsyncClient(
        base_url=f"http://127.0.0.1:{port}", timeout=None, limits=_LIMITS, verify=False
    ) as http:
        http.headers.clear()
        yield Wire(http, cut_after)


@asynccontextmanager
async def wire_to(port: int, *, cut_after: bytes | None = None) -> AsyncGenerator[Wire, None]:
    """Run a proxy to a local port."""
    async with wire_app(port, cut_after) as wire, run_proxy(wire) as wire.port:
        yield wire
