"""A server in place of one that does not run: it answers each request with the reason."""

from collections.abc import Callable
from typing import Any, Final

from mcp_protogen import __version__
from mcp_protogen.runtime.core.errors import INTERNAL_ERROR, McpError
from mcp_protogen.runtime.core.middleware import CallNext, MethodCall
from mcp_protogen.runtime.messages.method_table import HANDSHAKE_ERA
from mcp_protogen.runtime.transports.base import Opener
from mcp_protogen.servers.connect.protocol import protocol

_LISTS: Final = {"listChanged": True}
# Clients ask for what is declared here, also later, when the server itself answers.
_DECLARED: Final = {
    "tools": _LISTS,
    "prompts": _LISTS,
    "resources": {**_LISTS, "subscribe": True},
    "logging": {},
    "completions": {},
}
_ANSWERED: Final = ("initialize", "ping", "logging/setLevel")


def unavailable(why: Callable[[], str]) -> Opener:
    """Return an opener of connections to such a server; `why` returns the reason at that time.

    It speaks the handshake revisions, which almost all servers do: the server that takes its place
    must speak the same revision.
    """
    package = protocol()
    *_, newest = package.REVISIONS

    async def refuse(call: MethodCall, next: CallNext) -> Any:
        if call.is_request and call.method not in _ANSWERED:
            raise McpError(INTERNAL_ERROR, why())
        return await next(call)

    module = newest.load()
    info = module.models.Implementation(name="mcp-gen dev", version=__version__)
    members = {"DECLARES": _DECLARED, "middleware": (refuse,), "info": info}
    server = type("Unavailable", (module.Server,), members)()
    spoken = [revision for revision in package.REVISIONS if revision.era == HANDSHAKE_ERA.name]
    opener: Opener = package.in_memory(server, revisions=spoken)
    return opener
