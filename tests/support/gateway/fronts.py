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
async def url_of(fronts: Iterable[Any], **options: Any) -> AsyncGenerator[str, None]:
    """Serve a gateway over HTTP, with these fields of `HttpOptions`; yield its URL."""
    served = pkg.http_app([*fronts], http=pkg.HttpOptions(**options))
    async with run_app(served) as port:
        try:
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            await served.close()


def client_at(url: str, one: Any, **headers: str) -> AbstractAsyncContextManager[Any]:
    """Connect a client of one revision to a gateway at a URL."""
    return pkg.connect(pkg.open_http(url, headers=headers), one, revisions=(revision_of(one),))
