"""The beginning of a connection of the handshake era, on the server's side."""

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

from ..connection.connection import Connection
from ..connection.events import Refusal
from ..core.errors import InvalidParams, InvalidRequest
from ..core.json import JSONObject
from ..core.options import Options
from ..core.stored_json import StoredJSON
from ..messages.envelope import client_envelope
from ..messages.jsonrpc import Call
from ..messages.parsed import Request
from ..rules.lifecycle import Event as Step
from ..rules.lifecycle import State
from .bound_server import BoundServer


class Admitted(NamedTuple):
    """A connection that has begun, and the answer to `initialize` as JSON text."""

    connection: Connection
    answer: bytes | None


def admitted(bound_server: BoundServer, call: Call, options: Options) -> Admitted:
    """Return the connection that `initialize` begins; raise the `RemoteError` that answers it."""
    connection = bound_server.connection(State.NEW)
    event = connection.take(call)
    if not isinstance(event, Request):
        raise event.error if isinstance(event, Refusal) else InvalidRequest("no handshake")
    connection.step(Step.INITIALIZE)
    said = {name: event.raw[name] for name in ("capabilities", "clientInfo")}
    problems = options.of_client.problems("/params", said)
    if problems:
        raise InvalidParams(problems[0].message, problems, id=event.id)
    table = bound_server.view.table
    declared = table.declared_by("client", said["capabilities"])
    remember(connection, bound_server, declared, table.called(said["clientInfo"]))
    answer = connection.answer(event, _welcome(event, bound_server))
    connection.step(Step.INITIALIZE_ACCEPTED)
    return Admitted(connection, answer)


def remember(
    connection: Connection, bound_server: BoundServer, declared: JSONObject, called: JSONObject
) -> None:
    """Remember what a client declares and is called, in the words of the server's own revision."""
    view = bound_server.view
    own = view.handlers.TABLE
    connection.declared.keep("client", declared)
    connection.identity.keep("client", called)
    if not own.era.remembers_client:
        # Handlers of the stateless era find it in each request.
        connection.table = view.table.presuming(
            partial(_envelope, own.revision, connection.declared, connection.identity)
        )


def _envelope(revision: str, declared: StoredJSON, identity: StoredJSON) -> Mapping[str, Any]:
    return client_envelope(revision, declared["client"], identity["client"])


def _welcome(request: Request[Any], bound_server: BoundServer) -> Any:
    view, result = bound_server.view, request.spec.results[0]
    return result(
        protocol_version=view.table.revision,
        instructions=getattr(view.handlers, "instructions", None),
        **view.introduction(result),
    )
