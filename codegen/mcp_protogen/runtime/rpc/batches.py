"""The channels for the answers to a batch; only 2025-03-26 has batches."""

from ..core.errors import ProtocolError
from .jobs import Reply


class GatheredReply:
    """The channel for the members of a batch that one task awaits."""

    def __init__(self, reply: Reply) -> None:
        self.awaits = reply.awaits
        self.beside = reply.beside
        self.principal = reply.principal
        self.http_request = reply.http_request
        self.answers: list[bytes] = []

    @property
    def array(self) -> bytes:
        return b"[%b]" % b",".join(self.answers)

    async def answer(self, data: bytes, error: ProtocolError | None, /) -> None:
        self.answers.append(data)

    def skip(self) -> None: ...

    async def release(self) -> None: ...


class BatchReply(GatheredReply):
    """The channel for a batch of `size` members: one array, once all answers are there.

    Without any answers, nothing is sent (JSON-RPC 2.0, section 6).
    """

    def __init__(self, reply: Reply, size: int) -> None:
        super().__init__(reply)
        self._missing = size

    async def answer(self, data: bytes, error: ProtocolError | None, /) -> None:
        self.answers.append(data)
        self._missing -= 1
        if not self._missing:
            await self.beside.send(self.array)

    def skip(self) -> None:
        self._missing -= 1
        if not self._missing and self.answers:
            self.beside.put(self.array)
