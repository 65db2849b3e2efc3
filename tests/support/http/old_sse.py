"""Clients of HTTP with SSE, the transport of 2024-11-05, played by hand."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from support.http.serving import JSON, Events, Site
from support.sessions.talking import INITIALIZED, hello, request

REVISION = "2024-11-05"


class Client:
    def __init__(self, site: Site, events: Events, where: str, fields: Mapping[str, str]) -> None:
        self.site = site
        self.events = events
        self.where = where
        self.fields = fields

    async def post(self, message: object, **fields: str) -> Any:
        headers = {"content-type": JSON, **self.fields, **fields}
        return await self.site.http.post(self.where, headers=headers, json=message)

    async def ask(self, method: str, id: Any = 1, **params: object) -> Any:
        """Send a request, and take the next message."""
        assert (await self.post(request(method, id, **params))).status_code == 202
        return await self.events.take()


@asynccontextmanager
async def open_old_sse(
    site: Site, path: str = "/sse", **fields: str
) -> AsyncGenerator[Client, None]:
    """Open a connection without a handshake."""
    async with site.get(fields, path) as events:
        assert events.response.status_code == 200
        first = await events.event()
        assert first is not None
        assert first.event == "endpoint"
        yield Client(site, events, first.data, fields)


@asynccontextmanager
async def shaken(
    site: Site, revision: str = REVISION, path: str = "/sse", **fields: str
) -> AsyncGenerator[Client, None]:
    """Open a connection, and complete the handshake."""
    async with open_old_sse(site, path, **fields) as client:
        await client.post(hello(revision, roots={}))
        assert (await client.events.take())["result"]["protocolVersion"] == revision
        await client.post(INITIALIZED)
        yield client
