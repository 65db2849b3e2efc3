"""A gateway: its upstream servers, and the front for clients of each revision."""

from types import ModuleType
from typing import Any, Final

from mcp_protogen.runtime.server.base import ServerBase
from mcp_protogen.servers.gateway.fronts import make_front
from mcp_protogen.servers.gateway.names import names_of
from mcp_protogen.servers.gateway.settings import GatewaySettings
from mcp_protogen.servers.gateway.upstream import Upstream


class Gateway:
    """The upstream servers, by name and in the order of the file, mounted in each front."""

    def __init__(self, settings: GatewaySettings, package: ModuleType) -> None:
        self.settings: Final = settings
        self.upstreams: Final = {
            server.name: Upstream(server, names_of(server), settings.rules_of(server.name))
            for server in settings.servers
        }
        self.fronts: Final[list[ServerBase[Any]]] = [
            make_front(settings, self.upstreams.values(), package, revision)
            for revision in package.REVISIONS
        ]
