"""A proxy between clients and an engine on this machine, which delays what passes."""

import asyncio
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final, Self
from urllib.parse import urlsplit, urlunsplit

_PIECE: Final = 65536


class SlowProxy:
    """A proxy that delays each piece by `delay` seconds."""

    def __init__(self, url: str) -> None:
        self.port = 0
        self.connections = 0
        self.delay = 0.0
        self._to = urlsplit(url)
        self._serving: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        assert self.port, "the proxy is not running"
        place = self._to.netloc.replace(f":{self._to.port}", f":{self.port}")
        return urlunsplit(self._to._replace(netloc=place))

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
        try:
            inner, outer = await asyncio.open_connection("127.0.0.1", self._to.port)
        except OSError:
            # The server is gone, and the client sees just that.
            writer.close()
            return
        both = [
            asyncio.create_task(self._pump(source, sink))
            for source, sink in ((reader, outer), (inner, writer))
        ]
        try:
            # Neither side uses a connection that the other has closed.
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in both:
                task.cancel()
            await asyncio.gather(*both, return_exceptions=True)
            outer.close()
            writer.close()

    async def _pump(self, source: StreamReader, sink: StreamWriter) -> None:
        try:
            while data := await source.read(_PIECE):
                await asyncio.sleep(self.delay)
                sink.write(data)
                await sink.drain()
        except ConnectionError:
            # The end of either is the end for the other.
            return
