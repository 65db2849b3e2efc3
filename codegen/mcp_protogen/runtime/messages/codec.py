"""The messages of one revision as bytes and as typed values."""

from collections.abc import Callable, Mapping
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar, final

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from ..core.errors import (
    InvalidAnswer,
    InvalidParams,
    InvalidRequest,
    LocalError,
    MethodNotFound,
    Problem,
    RemoteError,
    RequestId,
    Untranslatable,
)
from ..core.json import json_text
from ..core.models.base import Validate, validator_of
from ..core.sendable import Unsendable
from ..core.spec import (
    AnyRequest,
    CallSpec,
    ErrorSpec,
    NotificationSpec,
    P,
    R,
    RequestSpec,
    Role,
    Rules,
)
from .jsonrpc import (
    NOTHING,
    Call,
    Malformed,
    Response,
    make_tuple,
    message_of,
    parse,
    write_call,
    write_error,
    write_result,
)
from .results import UnknownResultType, result_reader
from .writing import body_text, classes_in


@final
class Request(NamedTuple, Generic[P]):
    """A valid request; `raw` and `meta` are its params and their `_meta` on the wire."""

    id: RequestId
    spec: AnyRequest
    params: P
    raw: Mapping[str, Any] = NOTHING
    meta: Mapping[str, Any] = NOTHING


@final
class Notification(NamedTuple, Generic[P]):
    """A valid notification; `meta` is the `_meta` of its params as received."""

    spec: NotificationSpec[P]
    params: P
    meta: Mapping[str, Any] = NOTHING


@final
class Result(NamedTuple, Generic[R]):
    id: RequestId
    value: R


@final
class Error(NamedTuple):
    """The error response to the request `id`; without an id, to an unreadable message."""

    id: RequestId | None
    code: int
    message: str
    data: Any = None


TypedCall: TypeAlias = Request[Any] | Notification[Any]

SpecT = TypeVar("SpecT", bound=CallSpec[Any])
CallT = TypeVar("CallT", Request[Any], Notification[Any])


class MessageCodec:
    """The messages of one revision; `input_requests` only occur inside results."""

    mender: Callable[[Response, AnyRequest], Result[Any] | Error] | None = None
    """Repairs an answer that breaks the schema."""

    def __init__(
        self,
        revision: str,
        *,
        requests: Mapping[str, AnyRequest],
        notifications: Mapping[str, NotificationSpec[Any]],
        errors: Mapping[int, ErrorSpec],
        input_requests: Mapping[str, AnyRequest] = NOTHING,
        rules: Rules = Rules(),  # noqa: B008 (frozen)
    ) -> None:
        self.revision = revision
        self.requests = requests
        self.notifications = notifications
        self.errors = errors
        self.input_requests = input_requests
        self.rules = rules
        # Methods used so far, by sender: the models of other methods are never built.
        self._known: dict[Role, dict[str, Any]] = {"client": {}, "server": {}}
        self._readers: dict[AnyRequest, Validate] = {}
        self._names: dict[CallSpec[Any], bytes] = {}

    def _find(self, sender: Role, is_request: bool, method: str) -> Any:
        calls: Mapping[str, CallSpec[Any]] = self.requests if is_request else self.notifications
        spec = spec_for_sender(calls.get(self.own_name(method)), sender)
        if spec is None:
            return None
        entry = self._known[sender][method] = (is_request, spec, self._params_reader(spec))
        return entry

    def own_name(self, method: str) -> str:
        """Return a method's name here, given that on the wire; empty if it is unknown here."""
        return method

    def _params_reader(self, spec: CallSpec[Any]) -> Validate:
        return validator_of(spec.params)

    def interpret(self, call: Call, sender: Role) -> TypedCall | RemoteError:
        """Return a call of `sender` as a typed value, or its error. Never raises."""
        id, method, params, meta, message = call
        entry = self._known[sender].get(method)
        if entry is None or entry[0] is (id is None):
            entry = self._find(sender, id is not None, method)
            if entry is None:
                return MethodNotFound(method, id=id)
        _, spec, validate = entry
        raw: Any = params or message.get("params", NOTHING)
        if raw is NOTHING and spec.params_required:
            fault = Problem("/params", "Field required")
            return InvalidParams(f"Invalid params of {method}", [fault], id=id)
        try:
            value = validate(raw)
        except (ValidationError, Untranslatable) as error:
            faults = _problems(error, raw, "/params")
            return InvalidParams(f"Invalid params of {method}", faults, id=id)
        if id is None:
            return Notification(spec, value, meta)
        request: Request[Any] = make_tuple(Request, (id, spec, value, params, meta))
        return request

    def read_answer(self, answer: Response, spec: AnyRequest | None) -> Result[Any] | Error:
        """Return an answer to a request as a typed value; raise `InvalidAnswer`."""
        id, result, failure = answer
        if failure is not None:
            return Error(id, failure["code"], failure["message"], failure.get("data"))
        if spec is None:
            raise InvalidAnswer("a result for a request that is not pending", id=id)
        try:
            read = self._readers.get(spec) or self.result_reader(spec)
            answered: Result[Any] = make_tuple(Result, (id, read(result)))
            return answered
        except UnknownResultType:
            faults = [Problem("/result/resultType", "This method has no result of this type")]
        except (ValidationError, Untranslatable) as error:
            if self.mender is not None:
                return self.mender(answer, spec)
            faults = _problems(error, result, "/result")
        raise InvalidAnswer(f"Invalid result of {spec.method}", faults, id=id)

    def parse(
        self, data: bytes | str, *, sender: Role, pending: Callable[[RequestId], AnyRequest | None]
    ) -> TypedCall | Result[Any] | Error:
        """Read one message; `pending` finds the answered request. Raise `RemoteError`."""
        message = message_of(parse(data))
        if isinstance(message, Response):
            return self.read_answer(message, None if message.id is None else pending(message.id))
        outcome = self.interpret(message, sender) if isinstance(message, Call) else message.error
        if isinstance(outcome, RemoteError):
            raise outcome
        return outcome

    def parse_request(self, data: bytes | str, *, sender: Role) -> Request[Any]:
        """Read a request sent by `sender`; raise `RemoteError`."""
        return self._parse_call(data, sender, Request)

    def parse_notification(self, data: bytes | str, *, sender: Role) -> Notification[Any]:
        """Read a notification sent by `sender`; raise `RemoteError`."""
        return self._parse_call(data, sender, Notification)

    def _parse_call(self, data: bytes | str, sender: Role, kind: type[CallT]) -> CallT:
        message = message_of(parse(data))
        if type(message) is not Call or (message.id is None) is (kind is Request):
            wrong = InvalidRequest(f"the message is not a {kind.__name__.lower()}")
            raise message.error if type(message) is Malformed else wrong
        outcome = self.interpret(message, sender)
        if isinstance(outcome, kind):
            return outcome
        assert isinstance(outcome, RemoteError)
        raise outcome

    def parse_answer(
        self, data: bytes | str, *, spec: RequestSpec[Any, Any, R]
    ) -> Result[R] | Error:
        message = message_of(parse(data))
        if type(message) is not Response:
            wrong = InvalidAnswer("the message is not an answer")
            raise message.error if type(message) is Malformed else wrong
        return self.read_answer(message, spec)

    def result_reader(self, spec: AnyRequest) -> Validate:
        read = self._readers.get(spec)
        if read is None:
            read = self._readers[spec] = self._result_reader(spec)
        return read

    def _result_reader(self, spec: AnyRequest) -> Validate:
        return result_reader(spec, self.rules)

    def serialise_request(
        self,
        spec: RequestSpec[P, Any, Any],
        id: RequestId,
        params: P | None,
        *,
        meta: bytes | None = None,
    ) -> bytes:
        """Return a request as JSON text; raise `LocalError`.

        `params` of None are left out if optional. `meta` is JSON text of more `_meta` members.
        """
        name = self._names.get(spec) or self._name_text(self.requests, spec)
        return write_call(id, name, self._params_text(spec, params, meta))

    def serialise_notification(
        self, spec: NotificationSpec[P], params: P | None, *, meta: bytes | None = None
    ) -> bytes:
        """Return a notification as JSON text, with `meta` as for a request; raise `LocalError`."""
        name = self._names.get(spec) or self._name_text(self.notifications, spec)
        return write_call(None, name, self._params_text(spec, params, meta))

    def _name_text(self, specs: Mapping[str, Any], spec: CallSpec[Any]) -> bytes:
        """Return the name of a message on the wire as JSON text; raise `LocalError`."""
        if specs.get(spec.method) is not spec:
            kind = "request" if specs is self.requests else "notification"
            raise LocalError(f"{spec.method} is not a {kind} of {self.revision}")
        name = self._names[spec] = json_text(spec.method)
        return name

    def _params_text(self, spec: CallSpec[Any], params: Any, meta: bytes | None) -> bytes | None:
        """Return params as JSON text; None if they are left out. Raise `LocalError`."""
        if params is None:
            if not spec.params_required:
                return None if meta is None else b'{"_meta":{%b}}' % meta
            try:
                params = spec.params()
            except (TypeError, ValidationError):
                raise LocalError(f"{spec.method} needs params") from None
        elif type(params) is not spec.params and not isinstance(
            params, tuple(classes_in(spec.params))
        ):
            raise LocalError(f"{type(params).__name__} is not the params of {spec.method}")
        return body_text(spec, params, meta, "params")

    def serialise_result(
        self, spec: RequestSpec[Any, Any, R], id: RequestId, result: R, *, meta: bytes | None = None
    ) -> bytes:
        """Return a result as JSON text, with `meta` as for a request; raise `LocalError`."""
        if type(result) not in spec.results and not isinstance(result, spec.results):
            raise LocalError(f"{type(result).__name__} is not a result of {spec.method}")
        return write_result(id, body_text(spec, result, meta))

    def serialise_error(
        self, id: RequestId | None, code: int, message: str, data: Any = None
    ) -> bytes:
        if id is None and not self.rules.error_id_optional:
            raise LocalError(f"{self.revision} does not allow errors without an id")
        try:
            return write_error(id, code, message, data)
        except (PydanticSerializationError, Unsendable) as error:
            raise LocalError(f"the data of an error cannot be JSON: {error}") from error


def spec_for_sender(spec: SpecT | None, sender: Role) -> SpecT | None:
    return spec if spec is not None and sender in spec.senders else None


def _problems(error: ValidationError | Untranslatable, value: Any, at: str) -> list[Problem]:
    if isinstance(error, Untranslatable):
        return [Problem(error.pointer, error.why)]
    from ..core.models.validation_errors import problems

    return problems(error, value, at)
