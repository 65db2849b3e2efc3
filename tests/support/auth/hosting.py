"""Authorization servers of tests on ports of this machine."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Protocol

from support.auth.authorization_server import AuthorizationServer
from support.auth.messages import Request, Response
from support.http.serving import run_app

Asgi = dict[str, Any]


class Part(Protocol):
    """A handler of requests: an authorization server, a resource, or an attacker."""

    def answer(self, request: Request) -> Response: ...

    def stalls(self, request: Request) -> bool: ...


class Hosted:
    """Authorization servers and resources as one ASGI app; the first that knows a URL answers."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.origin = ""
        self.requests: list[Request] = []
        """All that came, whoever has answered it."""

    async def __call__(self, scope: Asgi, receive: Any, send: Any) -> None:
        assert scope["type"] == "http"
        request = await self._request(scope, receive)
        self.requests.append(request)
        if any(part.stalls(request) for part in self.parts):
            # Until the client gives up.
            while (await receive())["type"] != "http.disconnect":
                pass
            return
        await send_response(send, self._answer(request))

    def _answer(self, request: Request) -> Response:
        answer = Response(status=404)
        for part in self.parts:
            answer = part.answer(request)
            if answer.status != 404:
                break
        return answer

    async def _request(self, scope: Asgi, receive: Any) -> Request:
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        query = scope["query_string"].decode()
        path = scope["raw_path"].decode().partition("?")[0]
        return Request(
            method=scope["method"],
            url=f"{self.origin}{path}{'?' if query else ''}{query}",
            headers={name.decode(): value.decode("latin-1") for name, value in scope["headers"]},
            body=body,
        )


@asynccontextmanager
async def host_parts() -> AsyncGenerator[Hosted, None]:
    """Serve on a port of this machine; `parts` can be added once the `origin` is known."""
    app = Hosted()
    async with run_app(app, lifespan="off") as port:
        app.origin = f"http://127.0.0.1:{port}"
        yield app


@asynccontextmanager
async def authorization_server(
    path: str = "", **chosen: Any
) -> AsyncGenerator[AuthorizationServer, None]:
    """Serve an authorization server on a port; `chosen` are arguments of `AuthorizationServer`."""
    async with host_parts() as app:
        server = AuthorizationServer(issuer=app.origin + path, **chosen)
        app.parts.append(server)
        yield server


async def send_response(send: Any, response: Response) -> None:
    headers = {**response.headers, "content-length": str(len(response.body))}
    fields = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": response.status, "headers": fields})
    await send({"type": "http.response.body", "body": response.body})
