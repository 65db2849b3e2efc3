"""The server's end of one connection: which server, in which era, a message is for.

One connection may carry both eras: requests that name their revision in `_meta`, each by itself,
and beside them one handshake (2026-07-28, basic/versioning, "Backward Compatibility"). The rules
are in `server_negotiation`; this module keeps the sides they choose between.
"""

from logging import getLogger
from typing import Any, Final

from ..connection.connection import CANCELLED, Connection
from ..core.errors import InvalidAnswer, InvalidRequest, RemoteError
from ..core.json import is_object
from ..core.throttle import Throttle
from ..messages import jsonrpc
from ..messages.jsonrpc import Answer, Batch, Call, Malformed
from ..rpc.send_queue import MessageSink
from ..rules import server_negotiation
from ..translation.revision_view import RevisionViews
from ..transports.base import Received
from .base import ServerBase
from .bound_server import BoundServer, BoundServers
from .connection import ServerConnection
from .initialize import admitted
from .shared import ServerState

_log: Final = getLogger(__name__)


class Router:
    """The receiver of what a client sends, for the servers of all its revisions."""

    def __init__(
        self,
        views: RevisionViews[ServerBase[Any]],
        shared: ServerState,
        outbox: MessageSink,
        principal: str | None = None,
    ) -> None:
        self._views = views
        self._bound_servers = BoundServers(views)
        self._offer = views.offer
        self._shared = shared
        self._outbox = outbox
        self._principal = principal
        self._log = Throttle(_log)
        self.sides: list[ServerConnection] = []
        """All sides that have been needed so far."""
        self._session: ServerConnection | None = None
        self._stateless: dict[str, ServerConnection] = {}

    async def room(self) -> None:
        """Wait until it is right to read on."""
        for side in self.sides:
            await side.endpoint.room()

    def take(self, received: Received) -> bool:
        """Take in one message, or what is wrong with one; return whether to read on."""
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
        for side in self.sides:  # noqa: SIM110
            if side.endpoint.crowded:
                return False
        return True

    def _take_other(self, message: Answer | Malformed | Batch) -> None:
        session = self._session
        if isinstance(message, Batch):
            self._check_batch(message)
        if session is not None:
            session.endpoint.receive(message)
        elif isinstance(message, Malformed) and not isinstance(message.error, InvalidAnswer):
            raise message.error
        else:
            # A client never answers in the stateless era (2026-07-28, basic/transports/stdio).
            self._log.info("ignored an answer to nothing")

    def _check_batch(self, batch: Batch) -> None:
        if self._session is None:
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
        session = self._session
        route = server_negotiation.route(call, self._offer, handshaken=session is not None)
        match route:
            case server_negotiation.Route.HANDSHAKE if session is not None:
                session.endpoint.receive(call)
            case str(revision):
                self._stateless_side(revision).endpoint.receive(call)
            case server_negotiation.Route.INITIALIZE:
                self._initialize(call)
            case _:
                # A ping is answered before any handshake; notifications are ignored.
                if call.id is not None:
                    self._outbox.put(jsonrpc.write_result(call.id, b"{}"))

    def _cancelled(self, call: Call) -> None:
        # It belongs to the era of the request it names, and carries no mark of its own.
        id = call.params.get("requestId")
        for side in self.sides:
            if isinstance(id, (int, str)) and side.endpoint.connection.is_open(id):
                side.endpoint.receive(call)
                return
        self._log.info("ignored the cancellation of a request that is not open")

    def _initialize(self, call: Call) -> None:
        revision = server_negotiation.answer_initialize(call.params, self._offer, call.id)
        bound_server = self._bound_servers[revision]
        connection, answer = admitted(bound_server, call, self._shared.options)
        self._session = self._side(bound_server, connection)
        if answer is not None:
            self._outbox.put(answer)

    def _side(self, bound_server: BoundServer, connection: Connection) -> ServerConnection:
        side = ServerConnection(bound_server, connection, self._shared, self._outbox)
        side.endpoint.principal = self._principal
        side.register()
        self.sides.append(side)
        return side

    def _stateless_side(self, revision: str) -> ServerConnection:
        side = self._stateless.get(revision)
        if side is None:
            bound_server = self._bound_servers[revision]
            side = self._side(bound_server, bound_server.connection())
            self._stateless[revision] = side
        return side

    def _refuse(self, error: RemoteError) -> None:
        self._log.info("refused a message: %r", str(error))
        id = error.id
        if id is not None and any(side.endpoint.connection.is_open(id) for side in self.sides):
            # The first request of that id is still to be answered, and no id is answered twice.
            id = None
        if id is None and not self._may_lack_id():
            return
        data = jsonrpc.write_error(id, error.code, error.message, error.data)
        self._outbox.put(data)

    def _may_lack_id(self) -> bool:
        if self._session is not None:
            return self._session.endpoint.connection.table.rules.error_id_optional
        return any(server.TABLE.rules.error_id_optional for server in self._views.handlers)
