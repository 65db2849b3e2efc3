"""Gateways in this process, in memory and over HTTP, and as processes."""

import json
import sys
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Final

from mcp_protogen.servers.bridge.http_side import Address, HttpSide
from mcp_protogen.servers.gateway.endpoint import make_app
from mcp_protogen.servers.gateway.gateway import Gateway
from mcp_protogen.servers.gateway.settings.settings import GatewaySettings, ServerSettings
from support.folders import TESTS
from support.http.serving import Site, calling_app, serving
from support.json_types import JsonObject
from support.peers.places import Command
from support.revisions import OLD
from support.sessions.talking import pkg
from support.toolkit.mounting import revision_of

GATEWAY: Final = (sys.executable, "-m", "mcp_protogen", "gateway")

NOTHING: Final[Mapping[str, object]] = {}


def behind(name: str, server: Any = None, **options: Any) -> ServerSettings:
    """Return the settings of a server with its name as prefix; a server may be an opener."""

    async def missing() -> Any:
        raise pkg.Disconnected("nothing runs there")

    opener = missing if server is None else pkg.connect.opener(server)
    place = f"gateway.toml#/servers/{name}"
    given: dict[str, Any] = {"prefix": name, **options}
    return ServerSettings(name=name, place=place, address=name, opener=opener, **given)


def gateway_settings(*servers: ServerSettings, **options: Any) -> GatewaySettings:
    return GatewaySettings(file="gateway.toml", servers=servers, **options)


def gateway(*servers: ServerSettings, **options: Any) -> list[Any]:
    """Return the servers that clients of a gateway see."""
    return Gateway(gateway_settings(*servers, **options), pkg).fronts


def client_of(
    fronts: Iterable[Any], one: Any = None, revision: str = OLD
) -> AbstractAsyncContextManager[Any]:
    """Connect a client of one revision to a gateway in memory."""
    made = pkg.load(revision).Client() if one is None else one
    return pkg.connect(pkg.in_memory([*fronts]), made, revisions=(revision_of(made),))


def client_at(address: str | Command, one: Any, **headers: str) -> AbstractAsyncContextManager[Any]:
    """Connect a client of one revision to a gateway at a URL, or to a program."""
    opener = (
        pkg.open_http(address, headers=headers)
        if isinstance(address, str)
        else pkg.stdio_client(address, inherit=True, stderr=str)
    )
    return pkg.connect(opener, one, revisions=(revision_of(one),))


@asynccontextmanager
async def serve_gateway(
    served: GatewaySettings | Gateway, **http: Any
) -> AsyncGenerator[Site, None]:
    """Serve a gateway over HTTP, and yield a caller; `http` are fields of `HttpOptions`."""
    gateway = served if isinstance(served, Gateway) else Gateway(served, pkg)
    async with calling_app(make_app(gateway, pkg, pkg.HttpOptions(**http))) as site:
        yield site


def http_side(host: str = "127.0.0.1") -> HttpSide:
    """Return the options of `--http HOST:8000`, as the command reads them."""
    return HttpSide(
        address=Address(host, 8000),
        path="/mcp",
        allowed_hosts=("*",),
        allowed_origins=(),
        sse=False,
        max_sessions=1,
        session_lifetime=1.0,
    )


def odd_program(kind: str) -> JsonObject:
    """Return a server of a configuration: `odd_program.py` of a kind."""
    arguments = [str(TESTS / "support" / "gateway" / "odd_program.py"), OLD, kind]
    return {"command": sys.executable, "args": arguments, "x-gateway": {"timeout": 1}}


@asynccontextmanager
async def at_url(server: Any) -> AsyncGenerator[JsonObject, None]:
    """Serve in this process; yield the server of a configuration."""
    async with serving(server) as site:
        yield {"url": site.url}


def write_config(
    folder: Path, servers: Mapping[str, Mapping[str, object]], own: Mapping[str, object] = NOTHING
) -> Path:
    """Write the configuration of a host; `own` are members of the gateway."""
    file = folder / "mcp.json"
    file.write_text(json.dumps({"mcpServers": servers, **({"x-gateway": own} if own else {})}))
    return file
