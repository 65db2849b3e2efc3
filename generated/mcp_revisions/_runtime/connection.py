"""One side of one connection: bytes in, events out; calls in, bytes out.

Never awaits and opens nothing. It remembers which requests are waiting for an answer and checks, in
both directions, that the declared capabilities allow what travels. Which side it plays is a value.
"""

from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any, NamedTuple, TypeAlias, TypeVar

from . import gate, jsonrpc
from .codec import MethodTable
from .dispatch import Error, Notification, NotInRevision, Request, Result, Unfit
from .errors import (
    InvalidAnswer,
    InvalidParams,
    LocalError,
    MethodNotFound,
    ProtocolError,
    RemoteError,
    RequestId,
)
from .spec import NotificationSpec, RequestSpec, Role

P = TypeVar("P")
R = TypeVar("R")


class Refusal(NamedTuple):
    """Something that has to be answered with an error, without an id if none could be read."""

    id: RequestId | None
    error: RemoteError


class Failure(NamedTuple):
    """The peer answered the request `id` with something that is no answer to it."""

    id: RequestId
    error: RemoteError


class Ignored(NamedTuple):
    """A message that nobody is waiting for and that must not be answered."""

    error: RemoteError


Event: TypeAlias = (
    Request[Any] | Notification[Any] | Result[Any] | Error | Refusal | Failure | Ignored
)


class Connection:
    """What one side, `role`, knows about its connection in the revision of `table`.

    `declared` maps each side to the JSON object of the capabilities in force; whoever negotiates
    may replace its values at any time.
    """

    __slots__ = ("_ids", "_pending", "declared", "peer", "role", "table")

    def __init__(
        self, table: MethodTable, role: Role, declared: Mapping[Role, Mapping[str, Any]]
    ) -> None:
        self.table = table
        self.role: Role = role
        self.peer: Role = "server" if role == "client" else "client"
        self.declared = dict(declared)
        self._pending: dict[RequestId, RequestSpec[Any, Any]] = {}
        self._ids: Iterator[int] = count(1)

    def request(self, spec: RequestSpec[P, Any], params: P | None) -> tuple[RequestId, bytes]:
        """A new request and its id; raises `LocalError`, and then nothing has changed."""
        gate.check(spec, self.role, params, self.declared)
        id = next(self._ids)
        data = self.table.serialise_request(spec, id, params)
        self._pending[id] = spec
        return id, data

    def forget(self, id: RequestId) -> None:
        """Stop waiting for the answer to the request `id`."""
        self._pending.pop(id, None)

    def notify(self, spec: NotificationSpec[P], params: P | None) -> bytes:
        """A notification; raises `LocalError`."""
        gate.check(spec, self.role, params, self.declared)
        return self.table.serialise_notification(spec, params)

    def answer(self, request: Request[Any], result: Any) -> bytes:
        """The result of a request that came; raises `LocalError`."""
        return self.table.serialise_result(request.spec, request.id, result)

    def refuse(self, id: RequestId | None, error: ProtocolError) -> bytes | None:
        """The error that answers the request `id`; None if the revision has no words for it."""
        try:
            return self.table.serialise_error(id, error.code, error.message, error.data)
        except LocalError:
            if id is None:
                return None
            # What a handler put beside its error has no JSON form; the error itself still has.
            return self.table.serialise_error(id, error.code, error.message)

    def receive(self, data: bytes | str) -> Event | list[Event]:
        """What came: one event, or a list of them for a batch. Never raises."""
        try:
            value = jsonrpc.parse(data)
            members = self.table.members(value)
        except RemoteError as error:
            return Refusal(error.id, error)
        if members is None:
            return self._event(value)
        return [self._event(member) for member in members]

    def _event(self, message: object) -> Event:
        try:
            outcome = self.table.interpret(message, self.peer, self._pending.get)
        except RemoteError as error:
            return self._fault(error)
        if isinstance(outcome, (Result, Error)):
            return self._answered(outcome)
        if isinstance(outcome, (NotInRevision, Unfit)):
            # A notification is never answered, whatever is wrong with it.
            refused = outcome.error()
            return Ignored(refused) if outcome.id is None else self._fault(refused)
        if isinstance(outcome, Request):
            return self._allowed(outcome)
        return outcome

    def _fault(self, error: RemoteError) -> Event:
        if not isinstance(error, InvalidAnswer):
            return Refusal(error.id, error)
        if error.id is None or self._pending.pop(error.id, None) is None:
            return Ignored(error)
        return Failure(error.id, error)

    def _answered(self, answer: Result[Any] | Error) -> Event:
        if answer.id is None or self._pending.pop(answer.id, None) is None:
            return Ignored(InvalidAnswer("an answer to no open request", id=answer.id))
        return answer

    def _allowed(self, request: Request[Any]) -> Event:
        need = gate.unmet(request.spec.requires, self.peer, request.params, self.declared)
        if need is None:
            return request
        # A missing feature hides the whole method; a missing mode of it makes the params wrong
        # (client/elicitation, "Error Handling"; client/roots, "Error Handling").
        method = request.spec.method
        if not need.when:
            return Refusal(request.id, MethodNotFound(method, id=request.id))
        reason = f"{method} needs {need.capability.name} here, which is not declared"
        return Refusal(request.id, InvalidParams(reason, id=request.id))
