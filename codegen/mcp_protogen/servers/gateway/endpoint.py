"""A gateway that runs until its client disconnects or a signal ends it."""

from logging import getLogger
from types import ModuleType
from typing import Any, Final

from mcp_protogen.runtime.core.options import Options
from mcp_protogen.servers.bridge.http_side import HttpSide, serve_http
from mcp_protogen.servers.bridge.logs import log_loss
from mcp_protogen.servers.connect.protocol import protocol
from mcp_protogen.servers.gateway.authentication import check_without_tokens, with_authentication
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
    check_without_tokens(settings)
    _log.info("waiting for a client on standard input; its end, or Ctrl-C, ends the gateway")
    package.run_stdio(Gateway(settings, package).fronts, options=_OPTIONS)


def make_app(settings: GatewaySettings, package: ModuleType, http: Any) -> Any:
    """Return the ASGI application of a gateway; `http` are `HttpOptions`."""
    fronts: list[Any] = Gateway(settings, package).fronts
    readiness = Readiness(settings, package)
    if readiness.missing():
        fronts[0].lifespan = readiness.reach_servers
    app = package.http_app(
        fronts, options=_OPTIONS, http=with_authentication(package, settings, http)
    )
    app.missing = readiness.missing
    return app
