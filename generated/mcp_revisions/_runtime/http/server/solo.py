"""A connection as one request sees it that stands by itself.

Requests of the stateless era have nothing in common but the server (2026-07-28, basic,
"Statelessness"). So one connection serves to understand them all, and what each of them has of its
own is whether it is still to be answered.
"""

from typing import Any

from ...codec import MethodTable
from ...connection import Connection
from ...dispatch import Request
from ...errors import ProtocolError, RequestId
from ...spec import Role


class Solo:
    """Answers `request`, once."""

    __slots__ = ("_connection", "_open", "_request")

    peer: Role = "client"

    def __init__(self, connection: Connection, request: Request[Any]) -> None:
        self._connection = connection
        self._request = request
        self._open = True

    @property
    def table(self) -> MethodTable:
        """What travels over it."""
        return self._connection.table

    def is_open(self, id: RequestId, /) -> bool:
        """See `Connection.is_open`."""
        return self._open

    def close(self) -> None:
        """Nobody waits for the answer any more."""
        self._open = False

    def answer(self, request: Request[Any], result: Any) -> bytes | None:
        """See `Connection.answer`."""
        if not self._open:
            return None
        connection = self._connection
        data = connection.table.serialise_result(
            request.spec, request.id, result, meta=connection.signature
        )
        self._open = False
        return data

    def refuse(self, id: RequestId | None, error: ProtocolError) -> bytes | None:
        """See `Connection.refuse`."""
        self._open = False
        return self._connection.table.refusal(self._request.spec.method, id, error)
