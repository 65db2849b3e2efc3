"""The method table of one revision, and its messages as bytes, in and out.

Reading looks a message up by the method and the side that sent it, or for an answer by the request
it answers. Writing goes from the instance's own compiled serialiser straight into the envelope.
Nothing here knows a connection: which requests are pending is asked of the caller.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, Final, Literal, TypeAlias, TypeVar, get_args

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError, to_json

from .answers import result_reader
from .dispatch import (
    Calls,
    Error,
    Notification,
    NotInRevision,
    Request,
    Result,
    Unfit,
    read_error,
    read_notification,
    read_request,
    read_result,
)
from .era import ERAS
from .errors import InvalidAnswer, InvalidRequest, LocalError, ProtocolError, RequestId
from .jsonrpc import kind_of, parse, write_call, write_error, write_result
from .jsonvalue import JSONObject, is_array
from .meta import written
from .model import Validate, validator_of
from .spec import ErrorSpec, NotificationSpec, RequestSpec, Role, Rules

P = TypeVar("P")
R = TypeVar("R")

Message: TypeAlias = Request[Any] | Notification[Any] | Result[Any] | Error
Outcome: TypeAlias = Message | NotInRevision | Unfit
Part: TypeAlias = Literal["params", "result"]
Pending: TypeAlias = Callable[[RequestId], RequestSpec[Any, Any] | None]

_ROLES: Final[tuple[Role, ...]] = ("client", "server")


class MethodTable:
    """Everything that may travel in one revision.

    `requests` and `notifications` are by wire name, `errors` by code. `input_requests` are those
    that travel inside a result only. `rules` says what else differs between revisions.
    """

    __slots__ = (
        "_notifications",
        "_requests",
        "era",
        "errors",
        "input_requests",
        "notifications",
        "requests",
        "revision",
        "rules",
    )

    def __init__(
        self,
        revision: str,
        *,
        requests: Mapping[str, RequestSpec[Any, Any]],
        notifications: Mapping[str, NotificationSpec[Any]],
        errors: Mapping[int, ErrorSpec],
        input_requests: Mapping[str, RequestSpec[Any, Any]] | None = None,
        rules: Rules = Rules(),  # noqa: B008 (frozen)
    ) -> None:
        self.revision = revision
        self.requests = requests
        self.notifications = notifications
        self.errors = errors
        self.input_requests = input_requests or {}
        self.rules = rules
        self.era = ERAS[rules.era]
        self._requests = {role: Calls(requests, role) for role in _ROLES}
        self._notifications = {role: Calls(notifications, role) for role in _ROLES}

    @property
    def wire(self) -> "MethodTable":
        """The table of the revision that is on the wire: this one, unless it translates."""
        return self

    def request(self, method: str, sender: Role) -> RequestSpec[Any, Any] | None:
        """The request of that wire name that `sender` may send, if there is one."""
        spec = self.requests.get(method)
        return spec if spec is not None and sender in spec.senders else None

    def notification(self, method: str, sender: Role) -> NotificationSpec[Any] | None:
        """The notification of that wire name that `sender` may send, if there is one."""
        spec = self.notifications.get(method)
        return spec if spec is not None and sender in spec.senders else None

    def interpret(self, message: Any, sender: Role, pending: Pending) -> Outcome:
        """What one decoded message sent by `sender` comes to, as a value.

        `pending` gives the request that is waiting for an answer with an id, if there is one.
        Raises `RemoteError` if the envelope itself is wrong or answers nothing.
        """
        kind = kind_of(message)
        if kind == "request":
            return read_request(self._requests[sender], message)
        if kind == "notification":
            return read_notification(self._notifications[sender], message)
        if kind == "error":
            return read_error(message)
        spec = pending(message["id"])
        if spec is None:
            raise InvalidAnswer("a result for a request that is not pending", id=message["id"])
        return read_result(spec, message, self.result_reader(spec))

    def members(self, value: object) -> list[Any] | None:
        """The messages of a decoded batch, or None if `value` is not an array.

        Raises `InvalidRequest` for an empty batch, and for any where the revision has none
        (2025-03-26, basic, "Batching"; JSON-RPC 2.0, section 6).
        """
        if not is_array(value):
            return None
        if not self.rules.batching:
            raise InvalidRequest(f"{self.revision} has no batches")
        if not value:
            raise InvalidRequest("a batch cannot be empty")
        return value

    def parse(self, data: bytes | str, *, sender: Role, pending: Pending) -> Message:
        """Read one message sent by `sender`.

        `pending` gives the request that is waiting for an answer with an id, if there is one.
        Raises `RemoteError`.
        """
        outcome = self.interpret(parse(data), sender, pending)
        if type(outcome) is NotInRevision or type(outcome) is Unfit:
            raise outcome.error()
        return outcome

    def parse_request(self, data: bytes | str, *, sender: Role) -> Request[Any]:
        """Read a request sent by `sender`; raises `RemoteError`."""
        message = parse(data)
        if kind_of(message) != "request":
            raise InvalidRequest("not a request")
        outcome = read_request(self._requests[sender], message)
        if type(outcome) is not Request:
            raise outcome.error()
        return outcome

    def parse_notification(self, data: bytes | str, *, sender: Role) -> Notification[Any]:
        """Read a notification sent by `sender`; raises `RemoteError`."""
        message = parse(data)
        if kind_of(message) != "notification":
            raise InvalidRequest("not a notification")
        outcome = read_notification(self._notifications[sender], message)
        if type(outcome) is not Notification:
            raise outcome.error()
        return outcome

    def parse_answer(self, data: bytes | str, *, spec: RequestSpec[Any, R]) -> Result[R] | Error:
        """Read what answers a request made with `spec`; raises `RemoteError`."""
        message = parse(data)
        kind = kind_of(message)
        if kind == "error":
            return read_error(message)
        if kind != "result":
            raise InvalidAnswer("not an answer")
        outcome = read_result(spec, message, self.result_reader(spec))
        if type(outcome) is not Result:
            raise outcome.error()
        return outcome

    def read_result(self, spec: RequestSpec[Any, R], result: Any) -> R:
        """Read the decoded result of a request made with `spec`; raises `InvalidAnswer`."""
        outcome = read_result(spec, {"id": 0, "result": result}, self.result_reader(spec))
        if type(outcome) is not Result:
            raise outcome.error()
        value: R = outcome.value
        return value

    def result_reader(self, spec: RequestSpec[Any, Any]) -> Validate:
        """What reads the decoded results of `spec`."""
        return result_reader(spec, self.rules)

    def serialise_request(
        self,
        spec: RequestSpec[P, Any],
        id: RequestId,
        params: P | None,
        *,
        meta: bytes | None = None,
    ) -> bytes:
        """A request as JSON text.

        Params of None are left out where the method can do without. `meta` holds members, as JSON
        text, that its `_meta` is to have beside those of `params`. Raises `LocalError`.
        """
        if self.requests.get(spec.method) is not spec:
            raise LocalError(f"{spec.method} is not a request of {self.revision}")
        return write_call(id, method_text(spec), params_text(spec, params, meta))

    def serialise_notification(
        self, spec: NotificationSpec[P], params: P | None, *, meta: bytes | None = None
    ) -> bytes:
        """A notification as JSON text, `meta` as for a request; raises `LocalError`."""
        if self.notifications.get(spec.method) is not spec:
            raise LocalError(f"{spec.method} is not a notification of {self.revision}")
        return write_call(None, method_text(spec), params_text(spec, params, meta))

    def serialise_result(
        self, spec: RequestSpec[Any, R], id: RequestId, result: R, *, meta: bytes | None = None
    ) -> bytes:
        """The result of a request as JSON text, `meta` as for a request; raises `LocalError`."""
        if type(result) not in spec.results and not isinstance(result, spec.results):
            raise LocalError(f"{type(result).__name__} is not a result of {spec.method}")
        return write_result(id, body_text(spec.method, result, meta))

    def write_question(self, spec: RequestSpec[P, Any], params: P | None) -> JSONObject:
        """A request that travels inside a result, as a JSON object; raises `LocalError`."""
        model: Any = params
        given = {} if model is None else {"params": model.to_wire()}
        return {"method": spec.method, **given}

    def read_response(self, spec: RequestSpec[Any, R], value: Any) -> R:
        """What answers such a request, which was found to be valid on the wire."""
        response: R = validator_of(spec.results[0])(value)
        return response

    def carry_out(self, method: str, part: Part, value: JSONObject) -> JSONObject:
        """The params or the result of a method as the wire has them; raises `Untranslatable`."""
        return value

    def declared_by(self, role: Role, capabilities: JSONObject) -> JSONObject:
        """The capabilities that came over the wire, as this side's own revision has them."""
        return capabilities

    def called(self, info: JSONObject) -> JSONObject:
        """What the peer calls itself, as this side's own revision has it."""
        return info

    def presuming(self, members: Callable[[], Mapping[str, Any]]) -> "MethodTable":
        """The same table, for a connection whose requests all have these members in `_meta`."""
        return self

    def admit(self, method: str, sender: Role) -> None:
        """Raise `LocalError` for a method that is not this side's to send on the wire."""

    def lost(self, method: str, error: LocalError) -> None:
        """Take note that a message was not sent because it cannot be said on the wire."""
        raise error

    def code_to_send(self, method: str, code: int) -> int:
        """The code on the wire of an error that answers a method."""
        return code

    def code_that_came(self, method: str, code: int) -> int:
        """The code, in this side's own revision, of an error that answered a method."""
        return code

    def refusal(self, method: str, id: RequestId | None, error: ProtocolError) -> bytes | None:
        """The error that answers a method; None if the revision has no words for it."""
        code = self.code_to_send(method, error.code)
        try:
            return self.serialise_error(id, code, error.message, error.data)
        except LocalError:
            if id is None:
                return None
            # What a handler put beside its error has no JSON form; the error itself still has.
            return self.serialise_error(id, code, error.message)

    def serialise_error(
        self, id: RequestId | None, code: int, message: str, data: Any = None
    ) -> bytes:
        """An error as JSON text; raises `LocalError`."""
        if id is None and not self.rules.error_id_optional:
            raise LocalError(f"{self.revision} has no errors without an id")
        try:
            return write_error(id, code, message, data)
        except PydanticSerializationError as error:
            raise LocalError(f"the data of an error cannot be written: {error}") from error


@cache
def method_text(spec: RequestSpec[Any, Any] | NotificationSpec[Any]) -> bytes:
    """The name of a method as JSON text."""
    return to_json(spec.method)


@cache
def _params_classes(spec: RequestSpec[Any, Any] | NotificationSpec[Any]) -> tuple[type, ...]:
    return tuple(classes_in(spec.params))


def classes_in(expression: Any) -> Iterator[type]:
    """The classes that a type expression names, whatever stands around them."""
    expression = getattr(expression, "__value__", expression)  # what an alias stands for
    if isinstance(expression, type) and not get_args(expression):
        yield expression
    for part in get_args(expression):
        yield from classes_in(part)


def params_text(
    spec: RequestSpec[Any, Any] | NotificationSpec[Any], params: object, meta: bytes | None
) -> bytes | None:
    """Params as JSON text; None if they are left out. Raises `LocalError`."""
    if params is None:
        if not spec.params_required:
            return None if meta is None else written(None, meta)
        params = _left_out(spec)
    elif not isinstance(params, _params_classes(spec)):
        raise LocalError(f"{type(params).__name__} is not what {spec.method} carries")
    return body_text(spec.method, params, meta)


def _left_out(spec: RequestSpec[Any, Any] | NotificationSpec[Any]) -> object:
    """Params of which a caller need say nothing, though the wire needs them."""
    try:
        return spec.params()
    except (TypeError, ValidationError):
        raise LocalError(f"{spec.method} needs params") from None


def body_text(method: str, model: Any, meta: bytes | None) -> bytes:
    """A model as JSON text, with members in its `_meta`; raises `LocalError`."""
    try:
        body: bytes = model.to_json() if meta is None else written(model, meta)
    except PydanticSerializationError as error:
        raise LocalError(f"{method} cannot be written: {error}") from error
    return body
