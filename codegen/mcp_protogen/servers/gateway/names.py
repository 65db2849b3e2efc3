"""The names and URIs of one server, as clients of the gateway use them."""

from mcp_protogen.runtime.toolkit.mounts import Prefix
from mcp_protogen.servers.gateway.settings import ServerSettings


def names_of(server: ServerSettings) -> Prefix:
    """Return the prefix of a server."""
    return Prefix(server.prefix, server.separator)
