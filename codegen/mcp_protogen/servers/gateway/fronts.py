"""The servers that clients see: one for each revision, with all upstream servers mounted.

The messages of a client reach an upstream server in the client's own revision, which loses nothing
if the upstream speaks it.
"""

from types import ModuleType
from typing import Any, Final

from mcp_protogen.runtime.core.revision import Revision
from mcp_protogen.runtime.server.base import ServerBase
from mcp_protogen.runtime.toolkit.mounting import add_mount
from mcp_protogen.runtime.toolkit.remote_mounts import RemoteMount
from mcp_protogen.runtime.toolkit.remote_settings import RemoteSettings
from mcp_protogen.servers.gateway.names import names_of
from mcp_protogen.servers.gateway.settings import GatewaySettings, ServerSettings

VERSION: Final = "0"


def make_fronts(settings: GatewaySettings, package: ModuleType) -> list[ServerBase[Any]]:
    """Return a server for each revision of clients."""
    return [make_front(settings, package, revision) for revision in package.REVISIONS]


def make_front(
    settings: GatewaySettings, package: ModuleType, revision: Revision
) -> ServerBase[Any]:
    """Return the server for clients of one revision."""
    module: Any = revision.load()
    about = {"title": settings.title, "instructions": settings.instructions}
    front: ServerBase[Any] = module.App(settings.name, version=VERSION, **about)
    toolkit: Any = front.__mcp_runtime__
    for server in settings.servers:
        proxy, remote = package.Bridge.proxy, remote_settings(settings, server)
        mount = RemoteMount(front, names_of(server), proxy, server.opener, remote)
        add_mount(toolkit, mount)
    return front


def remote_settings(settings: GatewaySettings, server: ServerSettings) -> RemoteSettings:
    return RemoteSettings(
        name=server.name,
        list_timeout=settings.list_timeout,
        timeout=server.timeout,
        max_timeout=server.max_timeout,
        max_connections=server.max_connections,
        questions=server.questions,
        concurrency=server.concurrency,
    )
