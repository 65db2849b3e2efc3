"""A way to nobody, where answers have been given or there is no connection."""

from asyncio import Future
from typing import Any

from ..core.connection_errors import Disconnected


class NullSink:
    """A sink that leads to nobody, and the reason for it."""

    __slots__ = ("_reason",)

    full = flooded = False

    def __init__(self, reason: str = "there is nobody to say this to") -> None:
        self._reason = reason

    async def room(self) -> None: ...

    async def send(self, message: bytes, *, unless: Future[Any] | None = None) -> None:
        raise Disconnected(self._reason)

    def put(self, message: bytes) -> None: ...
