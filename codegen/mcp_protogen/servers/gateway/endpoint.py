"""A gateway that runs until its client disconnects or a signal ends it."""

from logging import getLogger
from types import ModuleType
from typing import Any, Final

from mcp_protogen.runtime.core.options import Options
from mcp_protogen.servers.bridge.http_side import HttpSide, serve_http
from mcp_protogen.servers.bridge.logs import log_loss
from mcp_protogen.servers.connect.protocol import protocol
from mcp_protogen.servers.gateway.authentication import with_authentication
from mcp_protogen.servers.gateway.gateway import Gateway
from mcp_protogen.servers.gateway.settings import GatewaySettings

_log: Final = getLogger("mcp_protogen.gateway")

_OPTIONS: Final = Options(lenient=True, on_loss=log_loss)


def run_gateway(settings: GatewaySettings, side: HttpSide | None) -> None:
    """Serve clients until the end; raise `ProblemError` if the gateway cannot start."""
    package = protocol()
    gateway = Gateway(settings, package)
    if side is not None:
        _log.info("serving %s", side.url)
        serve_http(package, lambda http: make_app(gateway, package, http), side)
        return
    _log.info("waiting for a client on standard input; its end, or Ctrl-C, ends the gateway")
    package.run_stdio(gateway.fronts, options=_OPTIONS)


def make_app(gateway: Gateway, package: ModuleType, http: Any) -> Any:
    """Return the ASGI application of a gateway; `http` are `HttpOptions`."""
    first: Any = gateway.fronts[0]
    first.lifespan = gateway.readiness.reach_servers
    app = package.http_app(
        gateway.fronts,
        options=_OPTIONS,
        http=with_authentication(package, gateway.settings, http),
    )
    app.missing = gateway.readiness.missing
    return app
