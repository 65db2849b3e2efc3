"""The server's end of one connection: which server, in which era, a message is for.

One connection may carry both eras: requests that name their revision in `_meta`, each by itself,
and beside them one handshake (2026-07-28, basic/versioning, "Backward Compatibility"). The rules
are in `server_negotiation`; this module keeps the connections they choose between.
"""

from logging import getLogger
from typing import Final

from ..connection.connection import CANCELLED, Connection
from ..core.errors import InvalidAnswer, InvalidRequest, RemoteError
from ..core.json import is_object
from ..core.throttle import Throttle
from ..messages import jsonrpc
from ..messages.jsonrpc import Answer, Batch, Call, Malformed
from ..rpc.send_queue import MessageSink
from ..rules import server_negotiation
from ..transports.base import Received
from .connection import ServerConnection
from .state import BoundServer, ServerState

_log: Final = getLogger(__name__)


class Router:
    """The receiver of what a client sends, for the servers of all its revisions."""

    def __init__(self, state: ServerState, sink: MessageSink, principal: str | None = None) -> None:
        self._state = state
        self._sink = sink
        self._principal = principal
        self._log = Throttle(_log)
        self.connections: list[ServerConnection] = []
        """All that have been needed so far, one for each revision."""
        self._handshaken: ServerConnection | None = None
        self._stateless: dict[str, ServerConnection] = {}

    async def room(self) -> None:
        for connection in self.connections:
            await connection.endpoint.room()

    def take(self, received: Received) -> bool:
        try:
            if isinstance(received, bytes):
                message = jsonrpc.read(received)
                if isinstance(message, Call):
                    self._route(message)
                else:
                    self._take_other(message)
            elif isinstance(received, RemoteError):
                raise received
        except RemoteError as error:
            self._refuse(error)
        # Asked for each message, so no generator is made.
        for connection in self.connections:  # noqa: SIM110
            if connection.endpoint.crowded:
                return False
        return True

    def _take_other(self, message: Answer | Malformed | Batch) -> None:
        handshaken = self._handshaken
        if isinstance(message, Batch):
            self._check_batch(message)
        if handshaken is not None:
            handshaken.endpoint.receive(message)
        elif isinstance(message, Malformed) and not isinstance(message.error, InvalidAnswer):
            raise message.error
        else:
            # A client never answers in the stateless era (2026-07-28, basic/transports/stdio).
            self._log.info("ignored an answer to nothing")

    def _check_batch(self, batch: Batch) -> None:
        if self._handshaken is None:
            raise InvalidRequest("no batch can come before initialize was answered")
        if any(
            is_object(one) and one.get("method") == server_negotiation.INITIALIZE
            for one in batch.values
        ):
            raise InvalidRequest("initialize cannot be part of a batch")

    def _route(self, call: Call) -> None:
        if call.id is None and call.method == CANCELLED:
            self._cancelled(call)
            return
        handshaken = self._handshaken
        offer = self._state.offer
        match server_negotiation.route(call, offer, handshaken=handshaken is not None):
            case server_negotiation.Route.HANDSHAKE if handshaken is not None:
                handshaken.endpoint.receive(call)
            case str(revision):
                self._stateless_connection(revision).endpoint.receive(call)
            case server_negotiation.Route.INITIALIZE:
                revision = server_negotiation.answer_initialize(call.params, offer, call.id)
                bound_server = self._state.bound_server(revision)
                connection, answer = bound_server.initialize(call, self._state.options)
                self._handshaken = self._served(bound_server, connection)
                if answer is not None:
                    self._sink.put(answer)
            case _:
                # A ping is answered before any handshake; notifications are ignored.
                if call.id is not None:
                    self._sink.put(jsonrpc.write_result(call.id, b"{}"))

    def _cancelled(self, call: Call) -> None:
        # It belongs to the era of the request it names, and carries no mark of its own.
        id = call.params.get("requestId")
        for connection in self.connections:
            if isinstance(id, (int, str)) and connection.endpoint.connection.is_open(id):
                connection.endpoint.receive(call)
                return
        self._log.info("ignored the cancellation of a request that is not open")

    def _served(self, bound_server: BoundServer, connection: Connection) -> ServerConnection:
        served = ServerConnection(bound_server, connection, self._state, self._sink)
        served.endpoint.principal = self._principal
        served.register()
        self.connections.append(served)
        return served

    def _stateless_connection(self, revision: str) -> ServerConnection:
        known = self._stateless.get(revision)
        if known is None:
            bound_server = self._state.bound_server(revision)
            known = self._served(bound_server, bound_server.connection())
            self._stateless[revision] = known
        return known

    def _refuse(self, error: RemoteError) -> None:
        self._log.info("refused a message: %r", str(error))
        id = error.id
        if id is not None and any(
            connection.endpoint.connection.is_open(id) for connection in self.connections
        ):
            # The first request of that id is still to be answered, and no id is answered twice.
            id = None
        spoken = self._handshaken
        rules = self._state if spoken is None else spoken.endpoint.connection.table.rules
        if id is None and not rules.error_id_optional:
            return
        self._sink.put(jsonrpc.write_error(id, error.code, error.message, error.data))
