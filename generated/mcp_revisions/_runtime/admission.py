"""The beginning of a connection of the handshake era, on the server's side."""

from typing import Any, NamedTuple

from . import jsonrpc
from .connection import Connection
from .dispatch import Request
from .envelope import client_envelope
from .errors import InvalidRequest
from .events import Refusal
from .jsonvalue import JSONObject
from .lifecycle import Event as Step
from .lifecycle import State
from .model import WireModel
from .repertoire import Repertoire


class Admitted(NamedTuple):
    """A connection that has begun, and the answer to `initialize` as JSON text."""

    connection: Connection
    answer: bytes | None


def admitted(repertoire: Repertoire, message: JSONObject) -> Admitted:
    """What an `initialize` request begins; raises the `RemoteError` to answer it with."""
    jsonrpc.kind_of(message)
    connection = repertoire.connection(State.NEW)
    event = connection.take(message)
    if not isinstance(event, Request):
        raise event.error if isinstance(event, Refusal) else InvalidRequest("no handshake")
    connection.step(Step.INITIALIZE)
    params = message["params"]
    acquaint(connection, repertoire, params["capabilities"], params["clientInfo"])
    answer = connection.answer(event, _welcome(event, repertoire))
    connection.step(Step.INITIALIZE_ACCEPTED)
    return Admitted(connection, answer)


def acquaint(
    connection: Connection, repertoire: Repertoire, capabilities: JSONObject, info: JSONObject
) -> None:
    """Remember what the client has said of itself, in the words of the wire."""
    table = repertoire.face.table
    remember(connection, repertoire, table.declared_by("client", capabilities), table.called(info))


def remember(
    connection: Connection, repertoire: Repertoire, declared: JSONObject, called: JSONObject
) -> None:
    """Remember what a client declares and is called, in the words of the server's own revision."""
    face = repertoire.face
    own = face.side.TABLE
    connection.declared["client"] = declared
    connection.identity = {"client": called, "server": face.identity}
    if own.rules.era == "stateless":
        # Handlers of the stateless era find it in each request.
        envelope = client_envelope(own.revision, declared, called)
        connection.table = face.table.presuming(envelope)


def _welcome(request: Request[Any], repertoire: Repertoire) -> Any:
    face = repertoire.face
    result: JSONObject = {
        "protocolVersion": face.table.revision,
        "capabilities": face.declared,
        "serverInfo": face.identity,
    }
    instructions: str | None = getattr(face.side, "instructions", None)
    if instructions is not None:
        result["instructions"] = instructions
    welcome: type[WireModel] = request.spec.results[0]
    return welcome.from_wire(result)
