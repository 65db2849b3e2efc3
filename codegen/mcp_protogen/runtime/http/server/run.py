"""Serving HTTP from the main of a program, with uvicorn."""

from collections.abc import Iterable
from importlib import import_module
from typing import Any, Final

from ...core.options import Options
from ...core.revision import Revision
from ...server.serve import Server
from .app import HttpApp, http_app
from .options import HttpOptions
from .uvicorn_limits import limited

_USUAL: Final = Options()
_USUAL_HTTP: Final = HttpOptions()
_LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")


def run_http(
    servers: Server | Iterable[Server],
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    revisions: Iterable[Revision] | None = None,
    options: Options = _USUAL,
    http: HttpOptions = _USUAL_HTTP,
) -> None:
    """Serve HTTP until the process is told to end; the parameters are those of `http_app`.

    Only this machine can reach the server unless `host` says otherwise; then `http` has to name the
    `allowed_hosts`. SIGTERM and Ctrl-C end it: streams are closed, and handlers get
    `options.drain` seconds to finish. Raise `ValueError` for a server that would answer nobody,
    and `ImportError` where uvicorn is not installed.
    """
    if host not in _LOOPBACK and not http.allowed_hosts:
        raise ValueError(f"a server on {host} needs HttpOptions.allowed_hosts, its public names")
    app = http_app(servers, revisions=revisions, options=options, http=http)
    _server(app, host, port, options.drain).run()


def _server(app: HttpApp, host: str, port: int, drain: float) -> Any:
    try:
        # By name, so that nobody's type checker misses it who goes without.
        uvicorn: Any = import_module("uvicorn")
    except ImportError:
        raise ImportError("run_http needs uvicorn: pip install uvicorn") from None
    protocol = import_module("uvicorn.protocols.http.auto").AutoHTTPProtocol
    http = app.options
    config = uvicorn.Config(
        app,
        http=limited(protocol, http.head_timeout, http.max_headers, http.send_timeout),
        host=host,
        port=port,
        # A program's standard output is its own.
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=max(1, round(drain)),
    )
    server = uvicorn.Server(config)
    wait_for_responses = server.shutdown

    async def shutdown(sockets: Any = None) -> None:
        # uvicorn waits for open responses, and streams do not end by themselves.
        await app.close()
        for connection in list(server.server_state.connections):
            if connection.flow.write_paused:
                # Nobody takes in what is left, and it would be waited for.
                connection.transport.abort()
        await wait_for_responses(sockets)

    server.shutdown = shutdown
    return server
