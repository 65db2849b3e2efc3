"""Servers behind a gateway over HTTP, with or without a stream for their notifications."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from support.http.serving import run_own_app

EVENTS = [(b"content-type", b"text/event-stream")]


class GetAnswer:
    """An application whose GET requests are answered in its place, with a status and no events."""

    def __init__(self, app: Any, status: int | None) -> None:
        self.app, self.status = app, status
        self.gets = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["method"] != "GET" or self.status is None:
            await self.app(scope, receive, send)
            return
        self.gets += 1
        await send({"type": "http.response.start", "status": self.status, "headers": EVENTS})
        await send({"type": "http.response.body", "body": b""})


@asynccontextmanager
async def served_over_http(
    app: Any, status: int | None
) -> AsyncGenerator[tuple[str, GetAnswer], None]:
    served = app.http()
    answering = GetAnswer(served, status)
    async with run_own_app(served, answering) as port:
        yield f"http://127.0.0.1:{port}/mcp", answering
