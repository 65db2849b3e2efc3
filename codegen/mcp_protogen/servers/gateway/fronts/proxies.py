"""The connections to one server, with the limits that the file sets."""

from asyncio import Semaphore
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from types import ModuleType
from typing import Any, get_args

from mcp_protogen.runtime.core.json import JSONObject, without
from mcp_protogen.runtime.toolkit.remote_mounts import Proxy
from mcp_protogen.servers.gateway.fronts.unknown_values import pass_unknown_values
from mcp_protogen.servers.gateway.settings.settings import Asking, ServerSettings
from mcp_protogen.servers.gateway.tasks.adapters import GatewayTasks


def proxy_for(package: ModuleType, server: ServerSettings) -> Proxy:
    """Return the proxy of a server: in its revision, with its questions and concurrency."""
    revisions = [known for known in package.REVISIONS if server.revision in (None, known.id)]
    hidden = {*get_args(Asking)} - server.questions
    bridge: Any = type("GatewayBridge", (package.Bridge,), {"TASKS": GatewayTasks()})

    @asynccontextmanager
    async def connect(
        revision: str, declared: JSONObject, *given: Any
    ) -> AsyncGenerator[Any, None]:
        shown = without(declared, *hidden)
        async with bridge.proxy(revision, shown, *given, revisions) as proxy:
            runtime: Any = proxy.__mcp_runtime__
            if server.concurrency is not None:
                runtime.turn = Semaphore(server.concurrency)
            if runtime.client.same_revision:
                connection = runtime.client.connection
                pass_unknown_values(connection.view.table, connection.endpoint.log)
            yield proxy

    return connect
