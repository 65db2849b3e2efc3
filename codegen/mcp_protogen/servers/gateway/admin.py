"""The admin address: health, status and metrics of a gateway, which nothing can change there."""

from asyncio import get_running_loop
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from logging import getLogger
from socket import AF_INET, AF_INET6, create_server
from typing import Any, Final

from mcp_protogen.runtime.core.options import USUAL
from mcp_protogen.runtime.http.headers import JSON
from mcp_protogen.runtime.http.server.app import HttpApp, Running
from mcp_protogen.runtime.http.server.asgi import HttpExchange, HttpRefusal
from mcp_protogen.runtime.http.server.options import HttpOptions
from mcp_protogen.runtime.http.server.routes import RouteResponse
from mcp_protogen.runtime.http.server.run import new_server
from mcp_protogen.runtime.http.server.sessions.servers import Served
from mcp_protogen.servers.bridge.http_side import Address, cannot_listen
from mcp_protogen.servers.gateway.gateway import Gateway, missing_for_admin
from mcp_protogen.servers.gateway.operating.metrics import TEXT
from mcp_protogen.servers.gateway.status import status_of

_log: Final = getLogger("mcp_protogen.gateway")

_METHODS: Final = ("GET", "HEAD")


class AdminApp(HttpApp):
    """The pages of the admin address."""

    def __init__(self, gateway: Gateway) -> None:
        hosts, metrics = gateway.settings.admin_hosts, gateway.metrics
        assert metrics is not None  # as the settings have an admin address
        http = HttpOptions(allowed_hosts=hosts, health_path=None, ready_path=None)
        super().__init__(Served((), (), USUAL, http))
        self._gateway, self._metrics = gateway, metrics
        self._pages: Mapping[str, Callable[[], Awaitable[RouteResponse]]] = {
            "/health": self._health,
            "/ready": self._ready_page,
            "/status": self._status,
            "/metrics": self._metrics_page,
        }

    async def _health(self) -> RouteResponse:
        return _page({"status": "ok"})

    async def _ready_page(self) -> RouteResponse:
        if missing := self._gateway.readiness.missing():
            return _page({"status": f"waiting for {', '.join(missing)}"}, 503)
        return _page({"status": "ready"})

    async def _status(self) -> RouteResponse:
        return _page(status_of(self._gateway))

    async def _metrics_page(self) -> RouteResponse:
        return _page(await self._metrics.text(), kind=TEXT)

    async def _serve(self, exchange: HttpExchange, running: Running | None) -> None:
        self.guard.check(exchange.fields.get(b"host"), exchange.fields.get(b"origin"))
        page, method = self._pages.get(exchange.path), exchange.scope["method"]
        if page is None:
            raise HttpRefusal(404, f"Not found; there are {', '.join(self._pages)}")
        if method not in _METHODS:
            raise HttpRefusal.not_allowed(_METHODS)
        await exchange.send(*(await page()).messages(method))


def _page(content: Any, status: int = 200, kind: str = JSON) -> RouteResponse:
    return RouteResponse(content, status, {"cache-control": "no-store", "content-type": kind})


class AdminServer:
    """The server of an application in the loop of the gateway; it listens at once.

    Raise `ProblemError` if it cannot: `missing-package`, or as `--http` does.
    """

    def __init__(self, app: AdminApp, address: Address) -> None:
        try:
            self._server, _ = new_server(app, *address)
        except ImportError as error:
            raise missing_for_admin(str(error)) from error
        family = AF_INET6 if ":" in address.host else AF_INET
        try:
            self._listening = create_server(address, family=family)
        except OSError as error:
            raise cannot_listen(address, f", the admin address: {error.strerror}") from error
        self.address: Final = Address(address.host, self._listening.getsockname()[1])

    @asynccontextmanager
    async def serve(self) -> AsyncGenerator[None, None]:
        """Serve until the end of the block; a lifespan."""
        config = self._server.config
        # The signals are those of the gateway, so the server itself does not run.
        protocol = partial(config.http, server_state=self._server.server_state)
        listener = await get_running_loop().create_server(protocol, sock=self._listening)
        _log.info("serving http://%s, the admin address", self.address)
        try:
            yield
        finally:
            listener.close()
            for connection in list(config.http.connections):
                connection.abort()
