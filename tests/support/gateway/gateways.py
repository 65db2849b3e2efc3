"""Gateways in this process, in memory and over HTTP, and as processes."""

import json
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Final

from mcp_protogen.servers.gateway.endpoint import make_app
from mcp_protogen.servers.gateway.fronts import make_fronts
from mcp_protogen.servers.gateway.settings import GatewaySettings, ServerSettings

from support.folders import TESTS
from support.http.serving import Site, calling, run_app
from support.json_types import JsonObject
from support.revisions import OLD
from support.sessions.talking import pkg

GATEWAY: Final = (sys.executable, "-m", "mcp_protogen", "gateway")

NOTHING: Final[Mapping[str, object]] = {}


def server_settings(name: str, opener: Any, **chosen: Any) -> ServerSettings:
    """Return the settings of a server, with its name as prefix."""
    given: dict[str, Any] = {"prefix": name, **chosen}
    return ServerSettings(name=name, place=f"file: {name}", address=name, opener=opener, **given)


def gateway_settings(*servers: ServerSettings, **chosen: Any) -> GatewaySettings:
    """Return the settings of a gateway."""
    return GatewaySettings(file="file", servers=servers, **chosen)


def visit(settings: GatewaySettings, client: Any) -> AbstractAsyncContextManager[Any]:
    """Connect a client to a gateway in memory, in the client's own revision."""
    own = [known for known in pkg.REVISIONS if known.id == client.TABLE.revision]
    return pkg.connect_in_memory(client, make_fronts(settings, pkg), revisions=own)


@asynccontextmanager
async def serve_gateway(settings: GatewaySettings, **http: Any) -> AsyncGenerator[Site, None]:
    """Serve a gateway over HTTP, and yield a caller; `http` are fields of `HttpOptions`."""
    app = make_app(settings, pkg, pkg.HttpOptions(**http))
    async with run_app(app) as port:
        try:
            async with calling(port) as site:
                site.app = app
                yield site
        finally:
            await app.close()


def odd_program(kind: str, revision: str = OLD) -> JsonObject:
    """Return a server of a configuration: `odd_program.py` of a kind."""
    arguments = [str(TESTS / "support" / "gateway" / "odd_program.py"), revision, kind]
    return {"command": sys.executable, "args": arguments, "x-gateway": {"timeout": 1}}


def write_config(
    folder: Path, servers: Mapping[str, Mapping[str, object]], own: Mapping[str, object] = NOTHING
) -> Path:
    """Write the configuration of a host; `own` are members of the gateway."""
    file = folder / "mcp.json"
    file.write_text(json.dumps({"mcpServers": servers, **({"x-gateway": own} if own else {})}))
    return file
