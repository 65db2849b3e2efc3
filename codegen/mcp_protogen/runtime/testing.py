"""Servers and clients connected within one process, for tests and for embedded servers."""

from asyncio import create_task
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from typing import Final, TypeVar

from .client.base import ClientBase
from .client.connect import connect
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


@asynccontextmanager
async def connect_in_memory(
    client: ClientT,
    server: Server,
    *,
    revisions: Iterable[Revision] | None = None,
    options: Options = _USUAL,
    tap: Tap | None = None,
) -> AsyncGenerator[ClientT, None]:
    """Connect `client` to `server`, negotiate as over any other transport, and yield the client.

    The server speaks `revisions`, or else its own (see `serve`).

    On leaving, handlers still at work are cancelled and unanswered requests raise `Disconnected`.
    """
    opener = in_memory(server, revisions=revisions, options=options, tap=tap)
    async with connect(opener, client, options=options) as one:
        yield one
