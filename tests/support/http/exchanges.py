"""Requests with only a head, for the insides of the HTTP server."""

from collections.abc import Iterable

from mcp_protogen.runtime.core.throttle import Throttle
from mcp_protogen.runtime.http.server.asgi import Field, HttpExchange, Message
from mcp_protogen.runtime.http.server.time_limits import SharedTimer


def exchange_of(headers: Iterable[Field] = (), path: str = "/mcp", root: str = "") -> HttpExchange:
    """Return a request without body and response."""

    async def receive() -> Message:
        raise AssertionError("the body is not read here")

    async def send(message: Message) -> None:
        raise AssertionError(message)

    scope = {"type": "http", "method": "POST", "path": root + path, "root_path": root}
    log = Throttle(__name__)
    return HttpExchange({**scope, "headers": list(headers)}, receive, send, SharedTimer(1.0), log)
