"""Methods and results that a bridge between two sides of the same revision does not know.

Extensions have methods, notifications and types of results that no schema of a revision lists. A
bridge does not have to understand them: it forwards them unchanged.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final, TypeVar, cast

from pydantic_core import to_json

from .answers import UnknownResultType
from .codec import MethodTable, Outcome, Pending, body_text
from .dispatch import Calls, NotInRevision, read_notification, read_request
from .envelope import SUBSCRIPTION_ID, meta_in
from .errors import RequestId
from .jsonrpc import write_call, write_result
from .model import Validate, WireModel, validator_of
from .spec import NotificationSpec, RequestSpec, Role

P = TypeVar("P")
R = TypeVar("R")
HandlerT = TypeVar("HandlerT", bound=Callable[..., Any])

_BOTH: Final[frozenset[Role]] = frozenset({"client", "server"})
_LIKE_MOST: Final[Mapping[str, Any]] = {
    "senders": _BOTH,
    "phase": "ready",
    "params_required": False,
}


class Carried(WireModel):
    """Params or a result, unchanged."""


class CarriedNotification(Carried):
    """The params of a notification, unchanged."""


def off_stream(params: CarriedNotification) -> CarriedNotification:
    """Return the params without the id of a listen stream, which the receiver did not open."""
    wire = params.to_wire()
    meta = dict(meta_in(wire))
    if meta.pop(SUBSCRIPTION_ID, None) is None:
        return params
    del wire["_meta"]
    return CarriedNotification.from_wire({**wire, "_meta": meta} if meta else wire)


# The peer chooses these names, so there may be any number: nothing made for a name is kept.


def request_of(method: str) -> RequestSpec[Any, Any]:
    """Return the spec of a request that no revision has."""
    return RequestSpec(method, params=Carried, result=Carried, results=(Carried,), **_LIKE_MOST)


def notification_of(method: str) -> NotificationSpec[Any]:
    """Return the spec of a notification that no revision has."""
    return NotificationSpec(method, params=CarriedNotification, **_LIKE_MOST)


def _is_known(table: MethodTable, method: str) -> bool:
    return any(method in one for one in (table.requests, table.notifications, table.input_requests))


class CarryingTable(MethodTable):
    """A method table with all of `known`, which forwards unknown methods and results unchanged."""

    def __init__(self, known: MethodTable) -> None:
        super().__init__(
            known.revision,
            requests=known.requests,
            notifications=known.notifications,
            errors=known.errors,
            input_requests=known.input_requests,
            rules=known.rules,
        )

    def interpret(self, message: Any, sender: Role, pending: Pending) -> Outcome:
        outcome = super().interpret(message, sender, pending)
        if type(outcome) is not NotInRevision or _is_known(self, outcome.method):
            return outcome
        method = outcome.method
        if outcome.id is None:
            return read_notification(Calls({method: notification_of(method)}, sender), message)
        if sender == "server" and not self.rules.server_requests:
            return outcome
        return read_request(Calls({method: request_of(method)}, sender), message)

    def result_reader(self, spec: RequestSpec[Any, Any]) -> Validate:
        carried = validator_of(Carried)
        if spec.params is Carried:
            return carried
        read = super().result_reader(spec)

        def either(value: Any) -> Any:
            try:
                return read(value)
            except UnknownResultType:
                return carried(value)

        return either

    def serialise_request(
        self,
        spec: RequestSpec[P, Any],
        id: RequestId,
        params: P | None,
        *,
        meta: bytes | None = None,
    ) -> bytes:
        if spec.params is not Carried:
            return super().serialise_request(spec, id, params, meta=meta)
        return write_call(id, to_json(spec.method), body_text(spec.method, params, meta))

    def serialise_notification(
        self, spec: NotificationSpec[P], params: P | None, *, meta: bytes | None = None
    ) -> bytes:
        if spec.params is not CarriedNotification:
            return super().serialise_notification(spec, params, meta=meta)
        return write_call(None, to_json(spec.method), body_text(spec.method, params, meta))

    def serialise_result(
        self, spec: RequestSpec[Any, R], id: RequestId, result: R, *, meta: bytes | None = None
    ) -> bytes:
        if not isinstance(result, Carried):
            return super().serialise_result(spec, id, result, meta=meta)
        return write_result(id, body_text(spec.method, result, meta))


class CarryingHandlers(Mapping[str, HandlerT]):
    """Handlers by method; `other` handles what `table` lacks, with the method as first argument.

    `own` are methods that are not forwarded to the other end.
    """

    def __init__(
        self,
        handlers: Mapping[str, HandlerT],
        other: Callable[..., Any],
        table: MethodTable,
        own: frozenset[str],
    ) -> None:
        self._handlers = handlers
        self._other = other
        self._table = table
        self._own = own

    def __getitem__(self, method: str) -> HandlerT:
        handler = self._handlers.get(method)
        if handler is not None:
            return handler
        if method in self._own or _is_known(self._table, method):
            raise KeyError(method)
        return cast(HandlerT, partial(self._other, method))

    def __iter__(self) -> Iterator[str]:
        return iter(self._handlers)

    def __len__(self) -> int:
        return len(self._handlers)
