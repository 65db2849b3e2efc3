"""Servers and clients connected within one process, for tests and for embedded servers."""

from asyncio import create_task
from collections.abc import Iterable
from typing import Any, Final, TypedDict, TypeVar, Unpack, overload

from .client.base import ClientBase
from .client.connect import Connecting, connect
from .core.options import Options
from .core.revision import Revision
from .server.serve import Server, serve
from .transports.base import Opener, Transport
from .transports.memory import Tap, memory_pair

ClientT = TypeVar("ClientT", bound=ClientBase)

_USUAL: Final = Options()


class InMemorySettings(TypedDict, total=False):
    """Settings of a server in this process, and of the connection to it; see `serve`."""

    revisions: Iterable[Revision] | None
    options: Options
    tap: Tap | None


def in_memory(
    servers: Server | Iterable[Server],
    *,
    revisions: Iterable[Revision] | None = None,
    options: Options = _USUAL,
    tap: Tap | None = None,
) -> Opener:
    """Return an opener of connections to servers in this process, for `connect`; see `serve`."""

    async def open() -> Transport:
        client_end, server_end = memory_pair(tap)
        serving = create_task(serve(servers, server_end, revisions=revisions, options=options))
        client_end.serving = serving
        # Whatever ends the server ends the connection.
        serving.add_done_callback(lambda _: client_end.feed_eof())
        return client_end

    return open


@overload
def connect_in_memory(
    server: Server, client: ClientT, /, **settings: Unpack[InMemorySettings]
) -> Connecting[ClientT]: ...
@overload
def connect_in_memory(
    client: ClientT, server: Server, /, **settings: Unpack[InMemorySettings]
) -> Connecting[ClientT]: ...
def connect_in_memory(
    server: Server | ClientBase,
    client: ClientBase | Server,
    /,
    **settings: Unpack[InMemorySettings],
) -> Connecting[Any]:
    """Connect a server and a client with `serve` and `connect`, the server first.

    The order of earlier versions, with the client first, is also taken. `connect` takes a server
    too; this has settings for it. Raises `TypeError` for two clients, two servers or a class of
    clients.
    """
    if isinstance(server, ClientBase):
        server, client = client, server
    if isinstance(server, ClientBase) or not isinstance(client, ClientBase):
        raise TypeError("connect_in_memory takes a server, then a client, which is an object")
    opener = in_memory(server, **settings)
    return connect(opener, client, options=settings.get("options", _USUAL))
