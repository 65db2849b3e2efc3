"""Methods and results that a bridge between two sides of the same revision does not know.

Extensions have methods, notifications and types of results that no schema of a revision lists. A
bridge does not have to understand them: it forwards them unchanged.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar, cast

from pydantic_core import to_json

from ..core.errors import RequestId
from ..core.models.base import Validate, WireModel, validator_of
from ..core.spec import NotificationSpec, RequestSpec, Role
from ..messages.envelope import SUBSCRIPTION_ID, meta_in
from ..messages.jsonrpc import write_call, write_result
from ..messages.method_table import MethodTable
from ..messages.parsed import Known, MethodSpecs
from ..messages.results import UnknownResultType
from ..messages.writing import body_text

P = TypeVar("P")
R = TypeVar("R")
HandlerT = TypeVar("HandlerT", bound=Callable[..., Any])

_Unlisted: TypeAlias = Callable[[str], RequestSpec[Any, Any] | NotificationSpec[Any]]

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


def request_of(method: str) -> RequestSpec[Any, Any]:
    """Return the spec of a request that no revision has."""
    return RequestSpec(method, params=Carried, result=Carried, results=(Carried,), **_LIKE_MOST)


def notification_of(method: str) -> NotificationSpec[Any]:
    """Return the spec of a notification that no revision has."""
    return NotificationSpec(method, params=CarriedNotification, **_LIKE_MOST)


def _is_known(table: MethodTable, method: str) -> bool:
    return any(method in one for one in (table.requests, table.notifications, table.input_requests))


class _CarryingCalls(MethodSpecs[Any]):
    """The calls that one side may send in a revision, and any of a method that none has."""

    __slots__ = ("_table", "_unlisted")

    def __init__(
        self, table: MethodTable, specs: Mapping[str, Any], sender: Role, unlisted: _Unlisted | None
    ) -> None:
        super().__init__(specs, sender)
        self._table = table
        self._unlisted = unlisted

    def find(self, method: str) -> Known[Any] | None:
        """Return what is to be known of a method; None if it is not this side's to use."""
        if self._unlisted is None or _is_known(self._table, method):
            return super().find(method)
        # Names are the peer's, and there is no end of them: what is made for one is not kept.
        spec = self._unlisted(method)
        return spec, validator_of(spec.params)


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
        for role in _BOTH:
            carries = role == "client" or self.rules.server_requests
            requests = request_of if carries else None
            self._requests[role] = _CarryingCalls(self, self.requests, role, requests)
            notifications = _CarryingCalls(self, self.notifications, role, notification_of)
            self._notifications[role] = notifications

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
