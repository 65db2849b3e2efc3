"""Requests for the insides of the HTTP server, of which only the head is there."""

from collections.abc import Iterable
from logging import getLogger

from mcp_protogen.runtime.core.throttle import Throttle
from mcp_protogen.runtime.http.server.asgi import Field, HttpExchange, Message


def exchange_of(headers: Iterable[Field] = (), path: str = "/mcp", root: str = "") -> HttpExchange:
    """A request whose body nobody may read, and which nobody may answer."""

    async def receive() -> Message:
        raise AssertionError("the body is not read here")

    async def send(message: Message) -> None:
        raise AssertionError(message)

    scope = {"type": "http", "method": "POST", "path": root + path, "root_path": root}
    log = Throttle(getLogger(__name__))
    return HttpExchange({**scope, "headers": list(headers)}, receive, send, 1.0, log)
