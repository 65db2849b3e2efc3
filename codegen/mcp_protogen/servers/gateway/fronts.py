"""The servers that clients see: one for each revision, with all upstream servers mounted.

The messages of a client reach an upstream server in the client's own revision, which loses nothing
if the upstream speaks it.
"""

from types import ModuleType
from typing import Any, Final

from mcp_protogen.runtime.core.revision import Revision
from mcp_protogen.runtime.server.base import ServerBase
from mcp_protogen.runtime.toolkit.mounting import add_mount
from mcp_protogen.runtime.toolkit.remote_settings import RemoteSettings
from mcp_protogen.servers.gateway.access_log import LoggedMount, remember_call
from mcp_protogen.servers.gateway.names import names_of
from mcp_protogen.servers.gateway.settings import GatewaySettings, ServerSettings
from mcp_protogen.servers.gateway.tracing import make_telemetry, trace_requests

VERSION: Final = "0"


def make_fronts(settings: GatewaySettings, package: ModuleType) -> list[ServerBase[Any]]:
    """Return a server for each revision of clients; raise `ProblemError` (`missing-package`)."""
    return [make_front(settings, package, revision) for revision in package.REVISIONS]


def make_front(
    settings: GatewaySettings, package: ModuleType, revision: Revision
) -> ServerBase[Any]:
    """Return the server for clients of one revision."""
    module: Any = revision.load()
    about = {"title": settings.title, "instructions": settings.instructions}
    front: ServerBase[Any] = module.App(settings.name, version=VERSION, **about)
    front.middleware = (remember_call,)
    if settings.telemetry:
        front.middleware = (make_telemetry(package), remember_call)
    toolkit: Any = front.__mcp_runtime__
    for server in settings.servers:
        proxy, remote = package.Bridge.proxy, remote_settings(settings, server)
        if settings.telemetry:
            proxy = trace_requests(proxy, make_telemetry(package, server.name))
        mount = LoggedMount(front, names_of(server), proxy, server.opener, remote)
        mount.server_name = server.name
        add_mount(toolkit, mount)
    return front


def remote_settings(settings: GatewaySettings, server: ServerSettings) -> RemoteSettings:
    return RemoteSettings(
        list_timeout=settings.list_timeout,
        timeout=server.timeout,
        max_timeout=server.max_timeout,
        max_connections=server.max_connections,
        questions=server.questions,
        concurrency=server.concurrency,
    )
