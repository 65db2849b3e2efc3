"""The connections to the workers of an endpoint: by sockets, or in the same process."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from typing import Protocol

from support.http.fire import Answer, Wire, http


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

    def __init__(self, wire: Wire, head: Answer) -> None:
        lines = (line.partition(":") for line in head.head.decode("latin-1").split("\r\n")[1:])
        self.status = head.status
        self.fields = {name.lower(): value.strip() for name, _, value in lines}
        self._wire = wire

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        try:
            if self.fields.get("transfer-encoding") == "chunked":
                async for piece in self._wire.pieces():
                    yield piece
            elif length := int(self.fields.get("content-length", "0")):
                yield await self._wire.reader.readexactly(length)
        except asyncio.IncompleteReadError:
            raise ConnectionResetError("it broke") from None
        finally:
            self.break_off()

    def break_off(self) -> None:
        self._wire.vanish()


class Sockets:
    """Workers on local ports."""

    def __init__(self, ports: list[int]) -> None:
        self._ports = ports

    async def ask(
        self, worker: int, method: str, fields: Mapping[str, str], body: bytes, path: str = "/mcp"
    ) -> SocketReply:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self._ports[worker])
        except OSError as error:
            raise ConnectionRefusedError(str(error)) from None
        wire = Wire(reader, writer)
        try:
            writer.write(http(body, method, path, connection="close", **fields))
            return SocketReply(wire, await wire.head())
        except BaseException as error:
            wire.vanish()
            if isinstance(error, asyncio.IncompleteReadError):
                raise ConnectionResetError("it broke") from None
            raise
