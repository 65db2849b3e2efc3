"""Authorization servers of tests on ports of this machine."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from mcp_protogen.runtime.features.auth.steps import Fetched
from support.auth.authorization_server import AuthorizationServer
from support.auth.messages import Request
from support.auth.playing import NOT_FOUND
from support.auth.resource import Resource
from support.http.serving import run_app


class Hosted:
    """Authorization servers and resources as one ASGI app; the first that knows a URL answers."""

    def __init__(self) -> None:
        self.parts: list[AuthorizationServer | Resource] = []
        self.origin = ""
        self.requests: list[Request] = []
        """All that came, whoever has answered it."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        request = request_of(scope, self.origin, body)
        self.requests.append(request)
        answers = (part.answer(request) for part in self.parts)
        found = next((answer for answer in answers if answer.status != 404), NOT_FOUND)
        await send_response(send, found)


def request_of(scope: Any, origin: str, body: bytes = b"") -> Request:
    query = scope["query_string"].decode()
    path = scope["raw_path"].decode().partition("?")[0]
    return Request(
        method=scope["method"],
        url=f"{origin}{path}{'?' if query else ''}{query}",
        headers={name.decode(): value.decode("latin-1") for name, value in scope["headers"]},
        body=body,
    )


@asynccontextmanager
async def authorization_server(
    path: str = "", **chosen: Any
) -> AsyncGenerator[AuthorizationServer, None]:
    """Serve an authorization server on a port; `chosen` are arguments of `AuthorizationServer`."""
    app = Hosted()
    async with run_app(app, lifespan="off") as port:
        app.origin = f"http://127.0.0.1:{port}"
        server = AuthorizationServer(issuer=app.origin + path, **chosen)
        app.parts.append(server)
        yield server


async def send_response(send: Any, response: Fetched) -> None:
    headers = {**response.headers, "content-length": str(len(response.body))}
    fields = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": response.status, "headers": fields})
    await send({"type": "http.response.body", "body": response.body})
