"""Servers and clients connected within one process, for tests and for embedded servers."""

from asyncio import create_task
from collections.abc import Iterable
from typing import Final, TypeVar

from .client.base import ClientBase
from .client.connect import Connecting, connect
from .core.options import Options
from .core.revision import Revision
from .server.serve import Server, serve
from .transports.base import Opener, Transport
from .transports.memory import Tap, memory_pair

ClientT = TypeVar("ClientT", bound=ClientBase)

_USUAL: Final = Options()


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


def connect_in_memory(
    client: ClientT,
    server: Server,
    *,
    revisions: Iterable[Revision] | None = None,
    options: Options = _USUAL,
    tap: Tap | None = None,
) -> Connecting[ClientT]:
    """Connect `client` to `server` with `connect`, and the server to it with `serve`."""
    opener = in_memory(server, revisions=revisions, options=options, tap=tap)
    return connect(opener, client, options=options)
