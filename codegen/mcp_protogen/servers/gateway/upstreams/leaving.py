"""Servers that leave a gateway while it serves."""

from asyncio import get_running_loop
from collections.abc import Collection
from typing import Any, Final

from mcp_protogen.runtime.core.errors import INTERNAL_ERROR, McpError
from mcp_protogen.runtime.server.context import RequestContext
from mcp_protogen.runtime.toolkit.remotes import Remote, RemoteKey
from mcp_protogen.servers.gateway.upstreams.guarded_mounts import GuardedMount

DRAIN: Final = 30.0
"""The time in which requests that a server got before it left can finish."""


class ServerLeft(McpError):
    """The server of a request has left before it got the request."""

    def __init__(self, server: str) -> None:
        data = {"server": server, "reason": "unreachable"}
        super().__init__(INTERNAL_ERROR, f"The server of {server} has left the gateway", data)


class LeavingMount(GuardedMount):
    """A server that can leave; requests that it has not got by then raise `ServerLeft`."""

    has_left = False

    def leave(self) -> None:
        """Take no more requests; each connection ends with its last one, or after `DRAIN`."""
        self.has_left = True
        for remote in [*self._remotes.values()]:
            if not remote.is_open:
                remote.fail(ServerLeft(self.server_name))
            self._end_unused(remote)
        get_running_loop().call_later(DRAIN, self._end_all)

    def _end_all(self) -> None:
        for remote in self._remotes.values():
            remote.end()
        self._remotes.clear()

    def is_used(self) -> bool:
        """Return whether it still has connections."""
        return bool(self._remotes)

    def awaits(self, outer: RequestContext) -> bool:
        """Return whether a request that the server got waits for this answer of its client."""
        remote = self._remotes.get(self._key(outer))
        asked: object = None if remote is None else outer.questions.once.done.get("forwarded")
        return remote is not None and asked in _requests_in(remote)

    def _end_unused(self, remote: Remote) -> None:
        is_used = remote.users or _requests_in(remote)
        if not is_used and self._remotes.get(remote.key) is remote:
            del self._remotes[remote.key]
            remote.end()

    def _end_use(self, remote: Remote, outer: RequestContext) -> None:
        super()._end_use(remote, outer)
        if self.has_left:
            self._end_unused(remote)

    def _remote(self, key: RemoteKey, outer: RequestContext) -> Remote:
        if self.has_left and not self.awaits(outer):
            raise ServerLeft(self.server_name)
        return super()._remote(key, outer)


def _requests_in(remote: Remote) -> Collection[object]:
    """Return the keys of the requests that a server got, also if they wait for their client."""
    runtime: Any = remote.server.__mcp_runtime__ if remote.is_open else None
    return () if runtime is None else runtime._forwarded.keys()
