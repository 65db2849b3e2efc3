"""A gateway that runs until its client disconnects or a signal ends it."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from logging import getLogger
from types import ModuleType
from typing import Any, Final, TypeAlias

from mcp_protogen.runtime.core.options import Options
from mcp_protogen.servers.bridge.http_side import HttpSide, serve_http
from mcp_protogen.servers.bridge.logs import log_loss
from mcp_protogen.servers.connect.protocol import protocol
from mcp_protogen.servers.gateway.access.authentication import with_authentication
from mcp_protogen.servers.gateway.gateway import Gateway
from mcp_protogen.servers.gateway.reload import GatewayFile, Reloading
from mcp_protogen.servers.gateway.settings.sharing import with_sharing, with_state_keys

_log: Final = getLogger("mcp_protogen.gateway")

_OPTIONS: Final = Options(lenient=True, on_loss=log_loss)

Lifespan: TypeAlias = Callable[[], AbstractAsyncContextManager[None]]


def run_gateway(file: GatewayFile, side: HttpSide | None, watches: bool) -> None:
    """Serve clients until the end; raise `ProblemError` if the gateway cannot start."""
    package = protocol()
    gateway = Gateway(file.settings, package)
    keep_up = Reloading(gateway, file, watches).keep_up
    if side is not None:
        _log.info("serving %s", side.url)
        serve_http(package, lambda http: make_app(gateway, package, http, keep_up), side)
        return
    _log.info("waiting for a client on standard input; its end, or Ctrl-C, ends the gateway")
    # Without the admin address, no page says which servers have been reached.
    reach = [gateway.readiness.reach_servers] if gateway.settings.admin else []
    _add_lifespans(gateway, *reach, keep_up)
    package.run_stdio(gateway.fronts, options=with_state_keys(_OPTIONS, gateway.settings))


def make_app(gateway: Gateway, package: ModuleType, http: Any, *lifespans: Lifespan) -> Any:
    """Return the ASGI application of a gateway; `http` are `HttpOptions`."""
    settings = gateway.settings
    _add_lifespans(gateway, gateway.readiness.reach_servers, *lifespans)
    app = package.http_app(
        gateway.fronts,
        options=with_state_keys(_OPTIONS, settings),
        http=with_sharing(package, settings, with_authentication(package, settings, http)),
    )
    app.missing = gateway.readiness.missing
    return app


def _add_lifespans(gateway: Gateway, *lifespans: Lifespan) -> None:
    """Enter these while the gateway serves, and serve its admin address."""
    entered = [*lifespans]
    if gateway.logins is not None:
        entered.append(gateway.logins.serve)
    if gateway.settings.admin is not None:
        # Without the admin address, a gateway over stdio imports no HTTP server.
        from mcp_protogen.servers.gateway.admin import AdminApp, AdminServer

        app = AdminApp(gateway)
        entered.append(AdminServer(app, gateway.settings.admin).serve)

    @asynccontextmanager
    async def lifespan() -> AsyncGenerator[None, None]:
        async with AsyncExitStack() as stack:
            for enter in entered:
                await stack.enter_async_context(enter())
            yield

    first: Any = gateway.fronts[0]
    first.lifespan = lifespan
