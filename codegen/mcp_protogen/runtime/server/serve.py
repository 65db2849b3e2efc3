"""Serving: one connection with `serve`, the standard streams of this process with `run_stdio`."""

import asyncio
from asyncio import CancelledError, Task
from collections.abc import Iterable
from logging import getLogger
from typing import Any, Final, TypeAlias

from ..core.errors import Disconnected
from ..core.options import Options
from ..core.revision import Revision
from ..core.tasks import Tasks
from ..rpc.send_queue import SendQueue
from ..translation.revision_view import RevisionViews
from ..transports.base import Transport, read
from .base import ServerBase
from .router import Router
from .state import ServerState

_log: Final = getLogger(__name__)

Server: TypeAlias = ServerBase[Any] | type[ServerBase[Any]]
"""A server, which all its connections share, or a class, of which each connection gets its own."""

_USUAL: Final = Options()


async def serve(
    servers: Server | Iterable[Server],
    transport: Transport,
    *,
    revisions: Iterable[Revision] | None = None,
    options: Options = _USUAL,
) -> None:
    """Serve one connection until the client is gone; each of `servers` speaks one revision.

    `revisions`, such as the `REVISIONS` of the package, are all that is spoken; without them, those
    of the servers are. What is said in one that has no server is translated for the server of the
    next newer one, or else of the newest; `options.on_loss` is told of what cannot be carried.

    What the client offers decides which of them it gets: in a handshake the revision it asks for,
    or else the newest there is; from 2026-07-28 on, request by request, the one it names. When the
    client is gone, or this call is cancelled, handlers get `options.drain` seconds to finish; what
    is then still open is answered with an error. Nothing is left running, and `transport` is
    closed. Raises `ValueError` if no server is given, or two of the same revision.
    """
    try:
        views = RevisionViews(by_revision(servers), revisions, options.on_loss)
        await serve_views(views, transport, options)
    finally:
        await transport.close()


async def serve_views(
    views: RevisionViews[ServerBase[Any]],
    transport: Transport,
    options: Options,
    principal: str | None = None,
) -> None:
    """Serve one connection, which is not closed at the end; `principal` is whose it is."""
    state, queue = ServerState(views, Tasks(), options), SendQueue(transport, options.max_outgoing)
    router = Router(state, queue, principal)
    writer = asyncio.create_task(queue.run())
    try:
        await _read(router, transport, writer)
    finally:
        await _close(router, state, queue, writer)


def by_revision(servers: Server | Iterable[Server]) -> dict[str, ServerBase[Any]]:
    """Return the servers by revision, made where only a class is given; see `serve` for errors."""
    given = servers if isinstance(servers, Iterable) else [servers]
    made = [server() if isinstance(server, type) else server for server in given]
    # Revisions are named by dates: their names sort as they were published.
    found = {server.TABLE.revision: server for server in made}
    if len(found) < len(made) or not made:
        raise ValueError("serve needs at least one server, and one for a revision at most")
    return dict(sorted(found.items()))


async def _read(router: Router, transport: Transport, writer: Task[None]) -> None:
    """Take in what comes until the client is gone, or cannot be written to any more."""
    reader = asyncio.create_task(read(transport, router))
    try:
        await asyncio.wait((reader, writer), return_when=asyncio.FIRST_COMPLETED)
    finally:
        reader.cancel()
        try:
            await reader
        except CancelledError:
            pass
        except Disconnected as error:
            _log.info("the connection broke: %s", error)


async def _close(router: Router, state: ServerState, queue: SendQueue, writer: Task[None]) -> None:
    """End what is under way, in order: calls, streams, handlers, and then the way out."""
    gone, within = Disconnected("the client is gone"), 0.0
    try:
        for connection in router.connections:
            connection.abort(gone)
        async with asyncio.TaskGroup() as group:
            for connection in router.connections:
                group.create_task(connection.endpoint.close(state.options.drain))
        within = state.options.drain
    finally:
        await state.tasks.cancel()
        await queue.close(writer, within)
