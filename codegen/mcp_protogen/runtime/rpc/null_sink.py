"""A sink without a connection, or whose answers were already given."""

from asyncio import Future
from typing import Any

from ..core.connection_errors import Disconnected


class NullSink:
    __slots__ = ("_reason",)

    full = flooded = False

    def __init__(self, reason: str = "no client is connected to receive this") -> None:
        self._reason = reason

    async def room(self) -> None: ...

    async def send(self, message: bytes, *, unless: Future[Any] | None = None) -> None:
        raise Disconnected(self._reason)

    def put(self, message: bytes) -> None: ...
