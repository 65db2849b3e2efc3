"""The readiness of a gateway: its required servers have been reached."""

from asyncio import sleep, timeout
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import asynccontextmanager
from logging import getLogger
from types import ModuleType
from typing import Final

from mcp_protogen.runtime.core.tasks import Tasks
from mcp_protogen.runtime.toolkit.remotes import reason_of
from mcp_protogen.servers.connect.failures import ERRORS
from mcp_protogen.servers.gateway.access.credentials import wants_user
from mcp_protogen.servers.gateway.upstreams.upstream import UpstreamServer

_log: Final = getLogger("mcp_protogen.gateway")

# Seconds for opening a connection, and before the next attempt.
_OPENING: Final = 30.0
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0


class Readiness:
    """The required servers that have not been reached so far."""

    def __init__(self, package: ModuleType) -> None:
        self._connect = package.connect
        self._required: dict[str, UpstreamServer] = {}
        self._missing: dict[str, UpstreamServer] = {}
        self._tasks: Tasks | None = None

    def expect(self, upstreams: Iterable[UpstreamServer]) -> None:
        """Wait for those of these servers that are required, and only for them.

        Servers that have been reached are not reached again, unless their settings differ.
        """
        known = self._required
        required = (upstream for upstream in upstreams if upstream.settings.required)
        self._required = {upstream.settings.name: upstream for upstream in required}
        for name in self._missing.keys() - self._required.keys():
            del self._missing[name]
        for name, upstream in self._required.items():
            if known.get(name) is not upstream:
                self._missing[name] = upstream
                if self._tasks is not None:
                    self._tasks.start(self._reach(upstream))

    def missing(self) -> Sequence[str]:
        """Return the names of servers that have not been reached."""
        return tuple(self._missing)

    @asynccontextmanager
    async def reach_servers(self) -> AsyncGenerator[None, None]:
        """Connect to each until it answers; a lifespan."""
        tasks = self._tasks = Tasks()
        for upstream in self._missing.values():
            tasks.start(self._reach(upstream))
        try:
            yield
        finally:
            self._tasks = None
            await tasks.cancel()

    async def _reach(self, upstream: UpstreamServer) -> None:
        server, pause = upstream.settings, _FIRST_PAUSE
        while self._missing.get(server.name) is upstream:
            try:
                async with timeout(_OPENING), self._connect(server.opener):
                    self._note_reached(upstream)
            except ERRORS as error:
                if wants_user(server, error):
                    self._note_reached(upstream)
                if self._missing.get(server.name) is not upstream:
                    return
                reason = reason_of(error) or "unreachable"
                upstream.health.note_failure(reason, str(error))
                text = "%s, which is required, cannot be reached: %s; the next attempt is in %g s"
                _log.warning(text, server.name, error, pause)
                await sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)

    def _note_reached(self, upstream: UpstreamServer) -> None:
        upstream.health.note_success()
        name = upstream.settings.name
        # Another server may have its name by now.
        if self._missing.get(name) is upstream:
            del self._missing[name]
