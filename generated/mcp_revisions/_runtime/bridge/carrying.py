"""Methods and results that a bridge between peers of the same revision does not know.

Extensions have methods, notifications and types of results that no schema of a revision lists. A
bridge does not have to understand them: it forwards them unchanged.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final, TypeAlias

from ..core.errors import RequestId
from ..core.models.base import Validate, WireModel, validator_of
from ..core.spec import NotificationSpec, RequestSpec, Role
from ..messages.envelope import SUBSCRIPTION_ID, meta_in
from ..messages.jsonrpc import write_result
from ..messages.method_table import Known, MethodSpecs, MethodTable, SpecT
from ..messages.results import UnknownResultType
from ..messages.writing import body_text, is_exact
from ..rules.handlers import Handlers

AnySpec: TypeAlias = RequestSpec[Any, Any] | NotificationSpec[Any]
Handler: TypeAlias = Callable[..., Awaitable[Any]]

_BOTH: Final[frozenset[Role]] = frozenset({"client", "server"})
_LIKE_MOST: Final[Mapping[str, Any]] = {
    "senders": _BOTH,
    "phase": "ready",
    "params_required": False,
}

# What only the handshake era has, and a bridge does for listen streams of the other by itself.
_SUBSCRIBING: Final = frozenset({"resources/subscribe", "resources/unsubscribe"})

# What the runtime sees to at either end by itself.
_OF_ONE_END: Final = frozenset(
    {
        "initialize",
        "notifications/cancelled",
        "notifications/initialized",
        "notifications/progress",
        "notifications/subscriptions/acknowledged",
        "ping",
        "server/discover",
        "subscriptions/listen",
    }
)


class Carried(WireModel):
    """Params or a result, unchanged."""


class CarriedNotification(Carried):
    """The params of a notification, unchanged."""


def off_stream(params: Any) -> Any:
    """Return params without the id of a listen stream, which the receiver did not open."""
    if not isinstance(params, CarriedNotification):
        return params
    wire = params.to_wire()
    meta = dict(meta_in(wire))
    if meta.pop(SUBSCRIPTION_ID, None) is None:
        return params
    del wire["_meta"]
    return CarriedNotification.from_wire({**wire, "_meta": meta} if meta else wire)


def as_it_came(
    spec: NotificationSpec[Any], params: WireModel | None
) -> tuple[NotificationSpec[Any], CarriedNotification | None]:
    """Return a notification in a form that nobody holds to what was declared."""
    carried = None if params is None else CarriedNotification.from_wire(params.to_wire())
    return _notification_of(spec.method), carried


def _request_of(method: str) -> RequestSpec[Any, Any]:
    return RequestSpec(method, types=lambda: (Carried, Carried), **_LIKE_MOST)


def _notification_of(method: str) -> NotificationSpec[Any]:
    return NotificationSpec(method, types=lambda: (CarriedNotification,), **_LIKE_MOST)


def _is_known(table: MethodTable, method: str) -> bool:
    return any(method in one for one in (table.requests, table.notifications, table.input_requests))


class _CarryingCalls(MethodSpecs[Any]):
    """The calls that `sender` may make in a revision, and any of a method that it does not have."""

    __slots__ = ("_table", "_unlisted")

    def __init__(
        self,
        table: MethodTable,
        specs: Mapping[str, Any],
        sender: Role,
        unlisted: Callable[[str], AnySpec],
    ) -> None:
        super().__init__(specs, sender, lambda spec: validator_of(spec.params))
        self._table = table
        self._unlisted = unlisted

    def find(self, method: str) -> Known[Any] | None:
        if _is_known(self._table, method):
            return super().find(method)
        if method in _SUBSCRIBING:
            return None
        # There is no end of the peer's names: what is made for one is not kept.
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
        self._known = known
        self.core, self.extensions = known.core, known.extensions
        for role in _BOTH:
            if role == "client" or self.rules.server_requests:
                self._requests[role] = _CarryingCalls(self, self.requests, role, _request_of)
            notifications = _CarryingCalls(self, self.notifications, role, _notification_of)
            self._notifications[role] = notifications

    def claimed(self, method: str, result_type: str) -> type[Any] | None:
        return self._known.claimed(method, result_type)

    def claims(self, method: str) -> tuple[type[Any], ...]:
        return self._known.claims(method)

    def undeclared(self, result: Any, declared: Callable[[], Mapping[str, Any]]) -> str | None:
        return self._known.undeclared(result, declared)

    def result_reader(self, spec: RequestSpec[Any, Any]) -> Validate:
        carried = validator_of(Carried)
        if spec.params is Carried:
            return carried
        read = self._known.result_reader(spec)

        def either(value: Any) -> Any:
            try:
                return read(value)
            except UnknownResultType:
                return carried(value)

        return either

    def _params_text(
        self, known: Mapping[str, SpecT], spec: SpecT, params: Any, meta: bytes | None
    ) -> bytes | None:
        if spec.params in (Carried, CarriedNotification):
            return body_text(spec.method, params, meta, exact=is_exact(spec))
        return super()._params_text(known, spec, params, meta)

    def serialise_result(
        self, spec: RequestSpec[Any, Any], id: RequestId, result: Any, *, meta: bytes | None = None
    ) -> bytes:
        if not isinstance(result, Carried):
            return self._known.serialise_result(spec, id, result, meta=meta)
        return write_result(id, body_text(spec.method, result, meta))


class ForwardingHandlers(Mapping[str, Handler]):
    """Handlers of all that `proxy` gets, by method; those of `own` go first.

    They forward requests with `ask` and notifications with `notify`, which get the spec first. With
    `carries` there is also a handler for any method that no revision has.
    """

    def __init__(
        self,
        proxy: Handlers,
        ask: Handler,
        notify: Handler,
        own: Mapping[str, Handler],
        *,
        carries: bool,
    ) -> None:
        self._ask, self._notify = ask, notify
        self._table = proxy.TABLE if carries else None
        self._handlers: dict[str, Handler] = {}
        for forward, entries in (
            (ask, {**proxy.REQUESTS, **proxy.INPUT_REQUESTS}),
            (notify, proxy.NOTIFICATIONS),
        ):
            for method, (spec, _) in entries.items():
                if method not in _OF_ONE_END:
                    self._handlers[method] = partial(forward, spec)
        for extension in proxy.TABLE.extensions if carries else ():
            self._forward_all(ask, extension.requests, proxy.ROLE)
            self._forward_all(notify, extension.notifications, proxy.ROLE)
        self._handlers |= own

    def _forward_all(self, forward: Handler, specs: Mapping[str, AnySpec], role: Role) -> None:
        """Forward what the other side than `role` sends."""
        for method, spec in specs.items():
            if spec.senders - {role}:
                self._handlers[method] = partial(forward, spec)

    def __getitem__(self, method: str) -> Handler:
        handler = self._handlers.get(method)
        if handler is not None:
            return handler
        if self._table is None or method in _OF_ONE_END or _is_known(self._table, method):
            raise KeyError(method)
        return partial(self._carry, method)

    async def _carry(self, method: str, *given: Any) -> Any:
        if isinstance(given[-1], CarriedNotification):
            return await self._notify(_notification_of(method), *given)
        return await self._ask(_request_of(method), *given)

    def __iter__(self) -> Iterator[str]:
        return iter(self._handlers)

    def __len__(self) -> int:
        return len(self._handlers)
