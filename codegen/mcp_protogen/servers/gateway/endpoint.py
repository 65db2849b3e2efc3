"""A gateway that runs until its client disconnects or a signal ends it."""

from logging import getLogger
from typing import Any, Final

from mcp_protogen.runtime.core.options import Options
from mcp_protogen.servers.bridge.http_side import HttpSide, serve_http
from mcp_protogen.servers.bridge.logs import log_loss
from mcp_protogen.servers.connect.protocol import protocol
from mcp_protogen.servers.gateway.fronts import make_fronts
from mcp_protogen.servers.gateway.settings import GatewaySettings

_log: Final = getLogger("mcp_protogen.gateway")


def run_gateway(settings: GatewaySettings, side: HttpSide | None) -> None:
    """Serve clients until the end; raise `ProblemError` if the gateway cannot start."""
    package = protocol()
    fronts = make_fronts(settings, package)
    # The upstream servers decide how often they report progress.
    options = Options(lenient=True, on_loss=log_loss, progress_interval=0.0)
    if side is None:
        _log.info("waiting for a client on standard input; its end, or Ctrl-C, ends the gateway")
        package.run_stdio(fronts, options=options)
        return

    def make_app(http: Any) -> Any:
        return package.http_app(fronts, options=options, http=http)

    _log.info("serving %s", side.url)
    serve_http(package, make_app, side)
