"""The servers in all revisions that are spoken, and what their connections have in common."""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from itertools import count
from typing import Any

from ..connection.connection import Connection
from ..connection.events import Refusal
from ..core.errors import InvalidParams, InvalidRequest, RequestId
from ..core.json import JSONObject
from ..core.options import Options
from ..core.spec import Role
from ..core.tasks import Tasks
from ..messages.envelope import SERVER_INFO, client_envelope, members
from ..messages.jsonrpc import Call
from ..messages.method_table import Request
from ..rules.lifecycle import State
from ..translation.revision_view import RevisionView, RevisionViews
from .base import ServerBase
from .input_required.sealed_state import StateSeal
from .input_required.strategies import Strategy, strategies


class BoundServer:
    """One server in one revision: its handlers, and what all of its connections share."""

    __slots__ = ("audience", "declared", "handlers", "server", "signature", "strategies", "view")

    def __init__(self, view: RevisionView[ServerBase[Any]]) -> None:
        server = view.handlers
        own, revision = server.__mcp_runtime__, view.table.revision
        self.view = view
        self.server = server
        self.handlers: Mapping[str, Callable[..., Awaitable[Any]]] = own.bound(revision)
        """By wire name."""
        self.strategies: Mapping[str, Strategy] = strategies(server.TABLE, view.table)
        """How the handlers of some methods are run."""
        self.audience = f"{type(server).__module__}.{type(server).__qualname__} {revision}"
        """The server that a state is sealed for."""
        self.declared: Mapping[Role, Mapping[str, Any]] = {
            "server": own.declaration(),
            "client": {},
        }
        self.signature = members({SERVER_INFO: view.identity})
        """What belongs into `_meta` of each result of the stateless era."""

    def connection(self, state: State = State.OPEN) -> Connection:
        connection = Connection(self.view.table, "server", self.declared, state=state)
        if self.view.table.era.signs_results:
            connection.signature = self.signature
        return connection

    def introduction(self, result: Any, **members: Any) -> Any:
        """Return the `result` in which the server says what it offers and is called."""
        instructions = getattr(self.server, "instructions", None)
        return result(instructions=instructions, **members, **self.view.introduction(result))

    def initialize(self, call: Call, options: Options) -> tuple[Connection, bytes | None]:
        """Return the connection that `initialize` begins, and the answer to it as JSON text.

        Raise the `RemoteError` that answers it otherwise.
        """
        connection, table = self.connection(State.NEW), self.view.table
        event = connection.take(call)
        if not isinstance(event, Request):
            raise event.error if isinstance(event, Refusal) else InvalidRequest("no handshake")
        said = {name: event.raw[name] for name in ("capabilities", "clientInfo")}
        problems = options.of_client.problems("/params", said)
        if problems:
            raise InvalidParams(problems[0].message, problems, id=event.id)
        declared = table.inward("ClientCapabilities", said["capabilities"])
        self.remember(connection, declared, table.inward("Implementation", said["clientInfo"]))
        result = self.introduction(event.spec.results[0], protocol_version=table.revision)
        answer = connection.answer(event, result)
        connection.enter(State.OPEN_PENDING)
        return connection, answer

    def remember(self, connection: Connection, declared: JSONObject, called: JSONObject) -> None:
        """Remember what a client declares and is called, in the words of the server's revision."""
        own = self.server.TABLE
        connection.declared.keep("client", declared)
        connection.identity.keep("client", called)
        if not own.era.remembers_client:
            # Handlers of the stateless era find it in each request.
            stored, identity = connection.declared, connection.identity
            connection.table = self.view.table.presuming(
                lambda: client_envelope(own.revision, stored["client"], identity["client"])
            )


class ServerState:
    """What is not of one connection in one revision: the servers, and what all connections use."""

    __slots__ = ("_bound_servers", "_views", "ids", "offer", "options", "seal", "tasks")

    def __init__(
        self, views: RevisionViews[ServerBase[Any]], tasks: Tasks, options: Options
    ) -> None:
        self.offer = views.offer
        self.tasks = tasks
        self.options = options
        self.ids: Iterator[RequestId] = count(1)
        """Ids of the requests that are still to be sent."""
        self.seal = StateSeal(options.state_key, lifetime=options.state_lifetime)
        self._views = views
        self._bound_servers: dict[str, BoundServer] = {}

    def bound_server(self, revision: str) -> BoundServer:
        """Return the server of a revision, which is made when it is first needed."""
        if revision not in self._bound_servers:
            self._bound_servers[revision] = BoundServer(self._views[revision])
        return self._bound_servers[revision]

    @property
    def error_id_optional(self) -> bool:
        return any(server.TABLE.rules.error_id_optional for server in self._views.handlers)
