"""Ways back for the answers to requests of the peer."""

from typing import Protocol

from ..connection.connection import Connection
from ..core.errors import RequestId
from .send_queue import MessageSink, SendQueue


class Reply(Protocol):
    """A way for the answer to one request."""

    @property
    def beside(self) -> MessageSink:
        """The sink for what belongs to the request and comes before its answer."""
        ...

    @property
    def principal(self) -> str | None:
        """The id of whoever made the request, where this differs from request to request."""
        ...

    def awaits(self, id: RequestId, /) -> bool:
        """Return whether the peer still waits for the answer."""
        ...

    async def answer(self, data: bytes, code: int | None, /) -> None:
        """Take the answer, an error if it has a `code`; raise `Disconnected`."""
        ...

    def skip(self) -> None:
        """Take note that there will be no answer."""
        ...

    async def release(self) -> None:
        """Let go of the connection, where the answer can be had over another one later."""
        ...


class Workload(Protocol):
    """The work that is being done."""

    @property
    def working(self) -> int:
        """The number of requests that are worked on."""
        ...


class SingleReply:
    """The way back for all requests that came by themselves.

    The only answer there is to give goes out at once; of many, those that are ready at the same
    time go out together.
    """

    __slots__ = ("_load", "awaits", "beside")

    principal: str | None = None

    def __init__(self, connection: Connection, outbox: MessageSink, load: Workload) -> None:
        self.awaits = connection.is_open
        self.beside = outbox
        self._load = load

    async def answer(self, data: bytes, _code: int | None, /) -> None:
        """Send the answer; raise `Disconnected`."""
        way = self.beside
        if self._load.working == 1 and isinstance(way, SendQueue):
            await way.send_now(data)
        else:
            await way.send(data)

    def skip(self) -> None:
        """Do nothing: nobody counts these answers."""

    async def release(self) -> None:
        """Do nothing: there is one connection."""


class BatchReply:
    """The way back for the members of a batch: one array, once all answers are there.

    JSON-RPC 2.0, section 6. If no member is to be answered, nothing is sent.
    """

    __slots__ = ("_answers", "_missing", "awaits", "beside")

    principal: str | None = None

    def __init__(self, connection: Connection, outbox: MessageSink, size: int) -> None:
        self.awaits = connection.is_open
        self.beside = outbox
        self._missing = size
        self._answers: list[bytes] = []

    async def answer(self, data: bytes, _code: int | None, /) -> None:
        """Keep an answer, or send all of them if it is the last one."""
        self._answers.append(data)
        self._missing -= 1
        if not self._missing:
            await self.beside.send(array_of(self._answers))

    def skip(self) -> None:
        """Wait for one answer less."""
        self._missing -= 1
        if not self._missing and self._answers:
            self.beside.put(array_of(self._answers))

    async def release(self) -> None:
        """Do nothing: there is one connection."""


class GatheredReply:
    """The way back for the members of a batch that one task waits for; `answers` are kept."""

    __slots__ = ("answers", "awaits", "beside", "principal")

    def __init__(self, connection: Connection, reply: Reply) -> None:
        self.awaits = connection.is_open
        self.beside = reply.beside
        self.principal = reply.principal
        self.answers: list[bytes] = []

    async def answer(self, data: bytes, _code: int | None, /) -> None:
        """Keep an answer."""
        self.answers.append(data)

    def skip(self) -> None:
        """Do nothing: whoever waits knows when there are no more to come."""

    async def release(self) -> None:
        """Do nothing: the response is that of all members."""


def array_of(answers: list[bytes]) -> bytes:
    """Return the answers to a batch as one JSON text."""
    return b"[%b]" % b",".join(answers)
