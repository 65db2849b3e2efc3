"""A proxy between clients and a server on this machine, which may watch, delay or break traffic."""

import asyncio
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final, Self, TypeAlias

Watch: TypeAlias = Callable[[bool, bytes], Awaitable[bool]]
"""Called with whether the server sent a piece, and the piece; returns whether to pass on more."""

_PIECE: Final = 65536


class Relay:
    """Passes on what both sides send; each connection is watched by what `watch` returns."""

    def __init__(self, server_port: int) -> None:
        self.port = 0
        self.connections = 0
        self._server_port = server_port
        self._serving: set[asyncio.Task[None]] = set()

    def watch(self) -> Watch:
        raise NotImplementedError

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[Self, None]:
        """Listen on a free port, which is `port` meanwhile."""
        server = await asyncio.start_server(self._take, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            for task in (serving := list(self._serving)):
                task.cancel()
            await asyncio.gather(*serving, return_exceptions=True)

    def _take(self, reader: StreamReader, writer: StreamWriter) -> None:
        self.connections += 1
        task = asyncio.create_task(self._forward(reader, writer))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def _forward(self, reader: StreamReader, writer: StreamWriter) -> None:
        watch = self.watch()
        try:
            inner, outer = await asyncio.open_connection("127.0.0.1", self._server_port)
        except OSError:
            # The server is gone, and the client sees just that.
            writer.close()
            return
        up = asyncio.create_task(_pump(reader, outer, watch, False))
        down = asyncio.create_task(_pump(inner, writer, watch, True))
        try:
            # Neither side uses a connection that the other has closed.
            await asyncio.wait({up, down}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            up.cancel()
            down.cancel()
            await asyncio.gather(up, down, return_exceptions=True)
            outer.close()
            writer.close()


async def _pump(source: StreamReader, sink: StreamWriter, watch: Watch, from_server: bool) -> None:
    try:
        goes_on = True
        while goes_on and (data := await source.read(_PIECE)):
            goes_on = await watch(from_server, data)
            sink.write(data)
            await sink.drain()
    except ConnectionError:
        # The end of either is the end for the other.
        return
