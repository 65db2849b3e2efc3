"""The server's end of one connection: which server, in which era, a message is for.

One connection may carry both eras: requests that name their revision in `_meta`, each by itself,
and beside them one handshake (2026-07-28, basic/versioning, "Backward Compatibility"). The rules
are in `negotiate`; this module keeps the sides they choose between.
"""

from collections.abc import Sequence
from logging import getLogger
from typing import Any, Final

from . import jsonrpc, negotiate
from .admission import admitted
from .connection import CANCELLED, Connection
from .errors import InvalidRequest, RemoteError
from .faces import Faces
from .jsonvalue import JSONObject, is_array, is_object
from .outbox import Outgoing
from .repertoire import Repertoire, Repertoires
from .server import ServerBase
from .shared import Shared
from .side import Side
from .throttle import Throttle
from .transport import Received

_log: Final = getLogger(__name__)


class Reception:
    """The receiver of what a client sends, for the servers of all its revisions."""

    def __init__(
        self,
        faces: Faces[ServerBase[Any]],
        shared: Shared,
        outbox: Outgoing,
        principal: str | None = None,
    ) -> None:
        self._faces = faces
        self._repertoires = Repertoires(faces)
        self._offer = faces.offer
        self._shared = shared
        self._outbox = outbox
        self._principal = principal
        self._log = Throttle(_log)
        self.sides: list[Side] = []
        """All sides that have been needed so far."""
        self._session: Side | None = None
        self._stateless: dict[str, Side] = {}

    @property
    def crowded(self) -> bool:
        """Whether so much is to be done already that nothing more should be read."""
        # Asked for each message, so no generator is made.
        for side in self.sides:  # noqa: SIM110
            if side.endpoint.crowded:
                return True
        return False

    async def room(self) -> None:
        """Wait until it is right to read on."""
        for side in self.sides:
            await side.endpoint.room()

    def receive(self, received: Received) -> None:
        """Take in one message, or what is wrong with one."""
        try:
            if isinstance(received, RemoteError):
                raise received
            if isinstance(received, bytes):
                self._receive(jsonrpc.parse(received))
        except RemoteError as error:
            self._refuse(error)

    def _receive(self, message: object) -> None:
        if is_object(message) and "method" in message:
            self._route(message)
        elif is_array(message):
            self._batch(message)
        elif self._session is not None:
            self._session.endpoint.receive(message)
        elif is_object(message) and ("result" in message or "error" in message):
            # A client never answers in the stateless era (2026-07-28, basic/transports/stdio).
            self._log.info("ignored an answer to nothing")
        else:
            raise InvalidRequest("a message has to be an object with a method, result or error")

    def _route(self, message: JSONObject) -> None:
        if "id" not in message and message["method"] == CANCELLED:
            self._cancelled(message)
            return
        session = self._session
        route = negotiate.route(message, self._offer, handshaken=session is not None)
        match route:
            case negotiate.Handshake() if session is not None:
                session.endpoint.receive(message)
            case negotiate.Stateless(revision):
                self._stateless_side(revision).endpoint.receive(message)
            case negotiate.Initialize():
                self._initialize(message)
            case _:
                self._before(message)

    def _before(self, message: JSONObject) -> None:
        """Answer a ping, which needs no handshake; ignore a notification."""
        if jsonrpc.kind_of(message) == "request":
            self._outbox.put(jsonrpc.write_result(message["id"], b"{}"))

    def _cancelled(self, message: JSONObject) -> None:
        # It belongs to the era of the request it names, and carries no mark of its own.
        params = message.get("params")
        id = params.get("requestId") if is_object(params) else None
        for side in self.sides:
            if isinstance(id, (int, str)) and side.endpoint.connection.is_open(id):
                side.endpoint.receive(message)
                return
        self._log.info("ignored the cancellation of a request that is not open")

    def _batch(self, batch: Sequence[Any]) -> None:
        if self._session is None:
            raise InvalidRequest("no batch can come before initialize was answered")
        if any(is_object(member) and member.get("method") == "initialize" for member in batch):
            raise InvalidRequest("initialize cannot be part of a batch")
        self._session.endpoint.receive(batch)

    def _initialize(self, message: JSONObject) -> None:
        jsonrpc.kind_of(message)
        revision = negotiate.answer_initialize(message.get("params"), self._offer, message["id"])
        repertoire = self._repertoires[revision]
        connection, answer = admitted(repertoire, message, self._shared.options)
        self._session = self._side(repertoire, connection)
        if answer is not None:
            self._outbox.put(answer)

    def _side(self, repertoire: Repertoire, connection: Connection) -> Side:
        side = Side(repertoire, connection, self._shared, self._outbox)
        side.endpoint.principal = self._principal
        side.enter()
        self.sides.append(side)
        return side

    def _stateless_side(self, revision: str) -> Side:
        side = self._stateless.get(revision)
        if side is None:
            repertoire = self._repertoires[revision]
            side = self._side(repertoire, repertoire.connection())
            self._stateless[revision] = side
        return side

    def _refuse(self, error: RemoteError) -> None:
        self._log.info("refused a message: %r", str(error))
        if error.id is None and not self._may_lack_id():
            return
        data = jsonrpc.write_error(error.id, error.code, error.message, error.data)
        self._outbox.put(data)

    def _may_lack_id(self) -> bool:
        if self._session is not None:
            return self._session.endpoint.connection.table.rules.error_id_optional
        return any(server.TABLE.rules.error_id_optional for server in self._faces.sides)
