"""OpenTelemetry: a span for each request of a client, and one for each request to a server."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from types import ModuleType
from typing import Any, Final

from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.runtime.core.middleware import CallNext, MethodCall, Middleware
from mcp_protogen.runtime.toolkit.remote_mounts import Proxy
from mcp_protogen.servers.gateway.access_log import revision_of

# https://opentelemetry.io/docs/specs/semconv/general/attributes/
_SERVER: Final = "peer.service"


def make_telemetry(package: ModuleType, server: str | None = None) -> Middleware:
    """Return the middleware of a front, or for the requests to a server.

    Raise `ProblemError` (`missing-package`).
    """
    attributes = None if server is None else {_SERVER: server}
    try:
        telemetry: Middleware = package.Telemetry(attributes=attributes)
    except ImportError as error:
        hint = "install opentelemetry-api, and an SDK that sends spans, or leave out --telemetry"
        raise ProblemError(Problem("missing-package", str(error), hint=hint)) from error
    return telemetry


def trace_requests(proxy: Proxy, telemetry: Middleware) -> Proxy:
    """Return a proxy that records each request which it forwards to its server."""

    @asynccontextmanager
    async def connect(*given: Any) -> AsyncGenerator[Any, None]:
        async with proxy(*given) as server:
            client: Any = server.__mcp_runtime__.client

            async def record(call: MethodCall, next: CallNext) -> Any:
                if call.is_sent:
                    # A question of the server, which the front records.
                    return await next(call)

                async def forward(sent: MethodCall) -> Any:
                    return await next(sent._replace(session=call.session, is_sent=False))

                # The front is the client of the server: its session has the server's network.
                revision, session = revision_of(server), client.owner
                seen = call._replace(revision=revision, session=session, is_sent=True)
                return await telemetry(seen, forward)

            server.middleware = (record,)
            yield server

    return connect
