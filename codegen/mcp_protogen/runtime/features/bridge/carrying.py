"""The messages of one revision as they come: nothing is read into models, or refused."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Final, Self, TypeVar, cast

from ...client.listen_stream import LISTEN
from ...connection import CANCELLED, INITIALIZED, PROGRESS
from ...core.errors import InvalidAnswer, MethodNotFound, RemoteError, RequestId
from ...core.json import JSONObject, is_object, json_text
from ...core.losses import LossReport
from ...core.models.base import Validate, WireModel
from ...core.spec import AnyRequest, NotificationSpec, RequestSpec, Role
from ...messages.jsonrpc import Call, id_of, named, write_result
from ...messages.method_table import MethodTable, Notification, Request, SpecT, Understood
from ...messages.writing import wire_text
from ...rules.server_negotiation import INITIALIZE

R = TypeVar("R")
T = TypeVar("T")

_BOTH: Final[frozenset[Role]] = frozenset({"client", "server"})
_ALWAYS: Final[Mapping[str, Any]] = {
    "senders": _BOTH,
    "phase": "any",
    "params_required": False,
}
_ABOUT_REQUESTS: Final = frozenset({CANCELLED, PROGRESS})

OF_ONE_END: Final = frozenset({INITIALIZE, INITIALIZED, "ping"})
"""The methods that the runtime sees to at either end by itself."""


class AboutRequest(dict[str, Any]):
    """Params that name a request, by its id or by its token for progress."""

    @property
    def request_id(self) -> RequestId | None:
        return id_of({"id": self.get("requestId")})

    @property
    def progress_token(self) -> RequestId | None:
        return id_of({"id": self.get("progressToken")})


def request_of(method: str) -> AnyRequest:
    traits = frozenset({"long_lived"} if method == LISTEN else ())
    return RequestSpec(method, types=lambda: (Any, object), traits=traits, **_ALWAYS)


def notification_of(method: str) -> NotificationSpec[Any]:
    return NotificationSpec(method, types=lambda: (Any,), **_ALWAYS)


class CarryingTable(MethodTable):
    carries: ClassVar[bool] = True

    def __init__(self, known: MethodTable) -> None:
        super().__init__(
            known.revision,
            requests=known.requests,
            notifications=known.notifications,
            errors=known.errors,
            input_requests=known.input_requests,
            rules=known.rules,
        )
        self.core, self.extensions = known.core, known.extensions

    def interpret(self, call: Call, sender: Role) -> Understood | RemoteError:
        id, method, params, meta, whole = call
        given = whole.get("params")
        if id is None:
            if method in _ABOUT_REQUESTS:
                given = AboutRequest(params)
            return Notification(notification_of(method), given, meta)
        if sender == "server" and not self.rules.server_requests:
            return MethodNotFound(method, id=id)
        known = self.requests.get(method) if method in OF_ONE_END else None
        spec = request_of(method) if known is None else known
        if method == INITIALIZE:
            params = _with_objects(params, "capabilities", "clientInfo")
        request: Request[Any] = named(Request, (id, spec, given, params, meta))
        return request

    def lenient(self, report: LossReport) -> Self:
        return self

    def result_reader(self, spec: AnyRequest) -> Validate:
        return lambda value: value

    def read_result(self, spec: RequestSpec[Any, Any, R], result: Any) -> R:
        """Return the introduction of a server; raise `InvalidAnswer` unless it is an object."""
        if not is_object(result):
            raise InvalidAnswer("Invalid introduction", [("/result", "Input should be an object")])
        return cast(R, _with_objects(result, "capabilities"))

    def _params_text(
        self, known: Mapping[str, SpecT], spec: SpecT, params: Any, meta: bytes | None
    ) -> bytes | None:
        if meta is not None or is_object(params):
            return wire_text(spec.method, params if is_object(params) else {}, meta)
        return None if params is None else json_text(params)

    def serialise_result(
        self, spec: AnyRequest, id: RequestId, result: Any, *, meta: bytes | None = None
    ) -> bytes:
        if isinstance(result, WireModel):
            return super().serialise_result(spec, id, result, meta=meta)
        text = wire_text(spec.method, result, None) if is_object(result) else json_text(result)
        return write_result(id, text)


def _with_objects(given: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    """Return an object whose members of these names are objects, if need be empty ones."""
    empty: JSONObject = {name: {} for name in names if not is_object(given.get(name))}
    return {**given, **empty} if empty else given


class EveryMethod(Mapping[str, T]):
    """Handlers of any method, known or not, except those `OF_ONE_END`."""

    def __init__(self, handler_of: Callable[[str], T]) -> None:
        self._handler_of = handler_of

    def __getitem__(self, method: str) -> T:
        if method in OF_ONE_END:
            raise KeyError(method)
        return self._handler_of(method)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0
