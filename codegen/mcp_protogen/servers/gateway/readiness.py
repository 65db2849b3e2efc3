"""Whether the required servers have been reached."""

from asyncio import sleep, timeout
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from logging import getLogger
from types import ModuleType
from typing import Final

from mcp_protogen.runtime.core.tasks import Tasks
from mcp_protogen.servers.connect.failures import ERRORS
from mcp_protogen.servers.gateway.credentials import wants_user
from mcp_protogen.servers.gateway.settings import GatewaySettings, ServerSettings

_log: Final = getLogger("mcp_protogen.gateway")

# Seconds for opening a connection, and before the next attempt.
_OPENING: Final = 30.0
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0


class Readiness:
    """The required servers that have not been reached so far."""

    def __init__(self, settings: GatewaySettings, package: ModuleType) -> None:
        self._connect = package.connect
        self._missing = {server.name: server for server in settings.servers if server.required}

    def missing(self) -> Sequence[str]:
        """Return the names of servers that have not been reached."""
        return tuple(self._missing)

    @asynccontextmanager
    async def reach_servers(self) -> AsyncGenerator[None, None]:
        """Connect to each until it answers; a lifespan."""
        tasks = Tasks()
        for server in self._missing.values():
            tasks.start(self._reach(server))
        try:
            yield
        finally:
            await tasks.cancel()

    async def _reach(self, server: ServerSettings) -> None:
        pause = _FIRST_PAUSE
        while server.name in self._missing:
            try:
                async with timeout(_OPENING), self._connect(server.opener):
                    del self._missing[server.name]
            except ERRORS as error:
                if wants_user(server, error):
                    del self._missing[server.name]
                    return
                text = "%s, which is required, cannot be reached: %s; the next attempt is in %g s"
                _log.warning(text, server.name, error, pause)
                await sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
