"""The connections to the workers of an endpoint: by sockets, or in the same process."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from typing import Protocol


class Reply(Protocol):
    """A response after its head."""

    @property
    def status(self) -> int: ...
    @property
    def fields(self) -> Mapping[str, str]: ...

    def pieces(self) -> AsyncGenerator[bytes, None]:
        """Yield the body; raise `ConnectionError` if it breaks before its end."""
        ...

    def break_off(self) -> None:
        """Disappear at once."""
        ...


class Wires(Protocol):
    async def ask(self, worker: int, method: str, fields: Mapping[str, str], body: bytes) -> Reply:
        """Send a request; raise `ConnectionRefusedError` if it reached no worker.

        Raise another `ConnectionError` if the outcome is unknown.
        """
        ...


class SocketReply:
    """A response over its own connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.status = 0
        self.fields: dict[str, str] = {}
        self._reader = reader
        self._writer = writer

    async def read_head(self) -> None:
        head = await self._until(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        self.status = int(first.split(" ")[1])
        for line in lines:
            name, _, value = line.partition(":")
            self.fields[name.lower()] = value.strip()

    async def _until(self, end: bytes) -> bytes:
        try:
            return await self._reader.readuntil(end)
        except asyncio.IncompleteReadError:
            raise ConnectionResetError("it broke") from None

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        try:
            if self.fields.get("transfer-encoding") == "chunked":
                while size := int(await self._until(b"\r\n"), 16):
                    yield (await self._exactly(size + 2))[:-2]
            elif length := int(self.fields.get("content-length", "0")):
                yield await self._exactly(length)
        finally:
            self.break_off()

    async def _exactly(self, size: int) -> bytes:
        try:
            return await self._reader.readexactly(size)
        except asyncio.IncompleteReadError:
            raise ConnectionResetError("it broke") from None

    def break_off(self) -> None:
        self._writer.transport.abort()


class Sockets:
    """Workers on local ports."""

    def __init__(self, ports: list[int]) -> None:
        self._ports = ports

    async def ask(
        self,
        worker: int,
        method: str,
        fields: Mapping[str, str],
        body: bytes,
        path: str = "/mcp",
    ) -> SocketReply:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self._ports[worker])
        except OSError as error:
            raise ConnectionRefusedError(str(error)) from None
        reply = SocketReply(reader, writer)
        try:
            lines = [f"{method} {path} HTTP/1.1", "host: localhost", "connection: close"]
            lines += [f"{name}: {value}" for name, value in fields.items()]
            lines += [f"content-length: {len(body)}", "", ""]
            writer.write("\r\n".join(lines).encode() + body)
            await reply.read_head()
        except BaseException:
            with suppress(Exception):
                reply.break_off()
            raise
        return reply
