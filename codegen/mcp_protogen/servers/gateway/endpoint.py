"""A gateway that runs until its client disconnects or a signal ends it."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from logging import getLogger
from types import ModuleType
from typing import Any, Final

from mcp_protogen.runtime.core.options import Options
from mcp_protogen.servers.bridge.http_side import HttpSide, serve_http
from mcp_protogen.servers.bridge.logs import log_loss
from mcp_protogen.servers.connect.protocol import protocol
from mcp_protogen.servers.gateway.authentication import with_authentication
from mcp_protogen.servers.gateway.gateway import Gateway
from mcp_protogen.servers.gateway.readiness import Readiness
from mcp_protogen.servers.gateway.settings import GatewaySettings

_log: Final = getLogger("mcp_protogen.gateway")

_OPTIONS: Final = Options(lenient=True, on_loss=log_loss)


def run_gateway(settings: GatewaySettings, side: HttpSide | None) -> None:
    """Serve clients until the end; raise `ProblemError` if the gateway cannot start."""
    package = protocol()
    if side is not None:
        _log.info("serving %s", side.url)
        serve_http(package, lambda http: make_app(settings, package, http), side)
        return
    gateway = Gateway(settings, package)
    if settings.admin is not None:
        _operate(gateway, Readiness(gateway.upstreams.values(), package))
    _log.info("waiting for a client on standard input; its end, or Ctrl-C, ends the gateway")
    package.run_stdio(gateway.fronts, options=_OPTIONS)


def make_app(settings: GatewaySettings, package: ModuleType, http: Any) -> Any:
    """Return the ASGI application of a gateway; `http` are `HttpOptions`."""
    gateway = Gateway(settings, package)
    readiness = Readiness(gateway.upstreams.values(), package)
    _operate(gateway, readiness)
    app = package.http_app(
        gateway.fronts, options=_OPTIONS, http=with_authentication(package, settings, http)
    )
    app.missing = readiness.missing
    return app


def _operate(gateway: Gateway, readiness: Readiness) -> None:
    """Reach the required servers, and serve the admin address, while the gateway serves."""
    lifespans: list[Callable[[], AbstractAsyncContextManager[None]]] = []
    if readiness.missing():
        lifespans.append(readiness.reach_servers)
    if gateway.settings.admin is not None:
        # Without the admin address, a gateway over stdio imports no HTTP server.
        from mcp_protogen.servers.gateway.admin import AdminApp, AdminServer

        app = AdminApp(gateway, readiness)
        lifespans.append(AdminServer(app, gateway.settings.admin).serve)

    @asynccontextmanager
    async def lifespan() -> AsyncGenerator[None, None]:
        async with AsyncExitStack() as stack:
            for enter in lifespans:
                await stack.enter_async_context(enter())
            yield

    if lifespans:
        first: Any = gateway.fronts[0]
        first.lifespan = lifespan
