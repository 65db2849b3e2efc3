"""Gateways in this process: their settings, and clients of them."""

from collections.abc import AsyncGenerator, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from mcp_protogen.servers.gateway.fronts import make_fronts
from mcp_protogen.servers.gateway.settings import GatewaySettings, ServerSettings

from support.http.serving import run_app
from support.revisions import OLD
from support.sessions.talking import pkg
from support.toolkit.mounting import revision_of


def behind(name: str, server: Any = None, **options: Any) -> ServerSettings:
    """Return the settings of a server behind a gateway; a server may be an opener."""

    async def missing() -> Any:
        raise pkg.Disconnected("nothing runs there")

    opener = missing if server is None else pkg.connect.opener(server)
    place = f"gateway.toml#/servers/{name}"
    given: dict[str, Any] = {"prefix": name, **options}
    return ServerSettings(name=name, place=place, address=name, opener=opener, **given)


def gateway(*servers: ServerSettings, **options: Any) -> list[Any]:
    """Return the servers that clients of a gateway see."""
    return make_fronts(GatewaySettings(file="gateway.toml", servers=servers, **options), pkg)


def client_of(
    fronts: Iterable[Any], one: Any = None, revision: str = OLD
) -> AbstractAsyncContextManager[Any]:
    """Connect a client of one revision to a gateway."""
    made = pkg.load(revision).Client() if one is None else one
    return pkg.connect(pkg.in_memory([*fronts]), made, revisions=(revision_of(made),))


@asynccontextmanager
async def http_client_of(
    fronts: Iterable[Any], one: Any, **headers: str
) -> AsyncGenerator[Any, None]:
    """Connect a client of one revision to a gateway over HTTP."""
    served = pkg.http_app([*fronts])
    async with run_app(served) as port:
        try:
            opener = pkg.open_http(f"http://127.0.0.1:{port}/mcp", headers=headers)
            async with pkg.connect(opener, one, revisions=(revision_of(one),)) as connected:
                yield connected
        finally:
            await served.close()
