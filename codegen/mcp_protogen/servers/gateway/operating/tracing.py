"""Spans and durations of the requests of clients, and of those to each server.

Both are recorded by the middleware `Telemetry`: for OpenTelemetry, for our metrics, or for both.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from time import monotonic
from types import ModuleType
from typing import Any, Final

from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.runtime.core.middleware import CallNext, MethodCall, Middleware, SessionEnd
from mcp_protogen.runtime.toolkit.remote_mounts import Proxy
from mcp_protogen.servers.gateway.access.access_log import revision_of

SERVER: Final = "peer.service"
"""https://opentelemetry.io/docs/specs/semconv/general/attributes/"""


@dataclass(frozen=True)
class Recordings:
    """The middleware that records, or none."""

    package: ModuleType
    providers: Mapping[str, Any] | None
    """Providers for `Telemetry` in place of the global ones; None to record nothing."""

    def of_front(self) -> Sequence[Middleware]:
        """Return the middleware of a front; raise `ProblemError` (`missing-package`)."""
        return () if self.providers is None else (self._telemetry(),)

    def of_server(self, proxy: Proxy, server: str) -> Proxy:
        """Return a proxy that records each request which it forwards to its server."""
        return proxy if self.providers is None else _record(proxy, self._telemetry(server))

    def _telemetry(self, server: str | None = None) -> Any:
        attributes = None if server is None else {SERVER: server}
        try:
            return self.package.Telemetry(attributes=attributes, **(self.providers or {}))
        except ImportError as error:
            hint = "install opentelemetry-api and an SDK that sends spans, or leave out --telemetry"
            raise ProblemError(Problem("missing-package", str(error), hint=hint)) from error


def _record(proxy: Proxy, telemetry: Any) -> Proxy:
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
            began = monotonic()
            try:
                yield server
            finally:
                if client.spoken.era.has_handshake:
                    seconds, broken = monotonic() - began, client.endpoint.broken
                    telemetry.on_session_end(
                        SessionEnd("client", client.revision, seconds, client.network, broken)
                    )

    return connect
