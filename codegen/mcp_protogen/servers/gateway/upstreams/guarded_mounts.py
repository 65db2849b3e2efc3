"""Remote servers that are not tried while their circuits are open."""

from asyncio import CancelledError
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any

from mcp_protogen.runtime.core.connection_errors import Disconnected
from mcp_protogen.runtime.core.errors import McpError, ProtocolError
from mcp_protogen.runtime.rules.server_negotiation import DISCOVER
from mcp_protogen.runtime.server.base import ServerBase
from mcp_protogen.runtime.server.context import RequestContext
from mcp_protogen.runtime.toolkit.links import Link, Work
from mcp_protogen.runtime.toolkit.remotes import Remote
from mcp_protogen.servers.gateway.upstreams.circuit import OPENING, SENDING, Circuit
from mcp_protogen.servers.gateway.upstreams.user_mounts import UserMount


class GuardedMount(UserMount):
    """A remote server that is not tried while its circuit is open."""

    circuit: Circuit
    connects_for_requests = False
    """Whether each request may need a connection, as over HTTP."""

    @asynccontextmanager
    async def _connect(
        self, remote: Remote, outer: RequestContext
    ) -> AsyncGenerator[ServerBase[Any], None]:
        async with AsyncExitStack() as stack:
            try:
                with self.circuit.attempt(OPENING, partial(_origin, remote)):
                    server = await stack.enter_async_context(super()._connect(remote, outer))
            finally:
                # Clients that follow changes come back when it may be tried.
                remote.pause = max(remote.pause, self.circuit.time_left)
            yield server

    def use(self, outer: RequestContext, work: Work) -> Any:
        guarded = partial(self._request, work) if self.connects_for_requests else work
        return super().use(outer, guarded)

    async def _request(self, work: Work, link: Link) -> Any:
        if self.circuit.is_open:
            await self._ping(link)
        with self.circuit.attempt(SENDING):
            return await work(link)

    async def _ping(self, link: Link) -> None:
        """Get an answer of the server by a request without effects, which closes the circuit."""
        runtime: Any = link.connection.server.__mcp_runtime__
        connection = runtime.client.connection
        remembers = connection.view.table.wire.era.remembers_client
        try:
            with self.circuit.attempt(OPENING):
                await connection.request_native("ping" if remembers else DISCOVER)
        except (ProtocolError, Disconnected):
            # An error may be an answer.
            if self.circuit.is_open:
                raise self.circuit.refusal() from None


def _origin(remote: Remote, error: BaseException) -> BaseException | None:
    """Return why a connection could not be opened; `error` is what clients are told."""
    if not isinstance(error, CancelledError):
        return error.__context__
    # Its task was cancelled: for the time limit, or because no client needs it any longer.
    told = remote.ready.exception() if remote.ready.done() else None
    return TimeoutError() if isinstance(told, McpError) and told.data else error
